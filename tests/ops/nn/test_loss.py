import numpy
import pytest
from numpy.testing import assert_allclose

import daskvars as dv
import daskvars.v1 as tf
from daskvars.ops.nn import loss as ops

rng = numpy.random.default_rng(0)
LOGITS = rng.normal(size=(4, 3)) * 3
LABELS = rng.dirichlet(numpy.ones(3), 4)


def log_softmax(x):
    x = x - x.max(-1, keepdims=True)
    return x - numpy.log(numpy.exp(x).sum(-1, keepdims=True))


def test_l2_loss():
    x = rng.normal(size=(3, 4))
    assert_allclose(float(ops.l2_loss(x)), (x**2).sum() / 2, rtol=1e-12)


# -- softmax -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "function", [ops.softmax_cross_entropy_with_logits, ops.softmax_cross_entropy_with_logits_v2]
)
def test_dense_cross_entropy(function):
    wanted = -(LABELS * log_softmax(LOGITS)).sum(-1)
    assert_allclose(function(labels=LABELS, logits=LOGITS).numpy(), wanted, rtol=1e-10)
    turned = function(labels=LABELS.T, logits=LOGITS.T, dim=0).numpy()
    assert_allclose(turned, wanted, rtol=1e-10)
    sequences = function(labels=LABELS.reshape(2, 2, 3), logits=LOGITS.reshape(2, 2, 3)).numpy()
    assert_allclose(sequences, wanted.reshape(2, 2), rtol=1e-10)


@pytest.mark.parametrize("labels_shape", [(1, 4, 3), (4, 1, 3), (2, 2, 3), (4, 3)])
@pytest.mark.parametrize("logits_shape", [(4, 3), (2, 2, 3), (1, 4, 3)])
def test_rows_of_labels_may_be_arranged_otherwise(labels_shape, logits_shape):
    """As in TensorFlow, which flattens both; the loss is arranged as the logits are."""
    with dv.Graph().as_default(), dv.Session() as session:
        labels = tf.placeholder(dv.float64, [None, *labels_shape[1:]])
        logits = tf.placeholder(dv.float64, [None, *logits_shape[1:]])
        loss = ops.softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits)
        fed = {labels: LABELS.reshape(labels_shape), logits: LOGITS.reshape(logits_shape)}
        found = session.run([loss, *dv.gradients(loss, [labels, logits])], fed)
    wanted = -(LABELS * log_softmax(LOGITS)).sum(-1)
    slope = numpy.exp(log_softmax(LOGITS)) - LABELS
    assert_allclose(found[0], wanted.reshape(logits_shape[:-1]), rtol=1e-10)
    assert_allclose(found[1], -log_softmax(LOGITS).reshape(labels_shape), rtol=1e-9)
    assert_allclose(found[2], slope.reshape(logits_shape), rtol=1e-9, atol=1e-12)


def test_labels_have_a_gradient_in_v2_only():
    with dv.Graph().as_default(), dv.Session() as session:
        labels, logits = tf.constant(LABELS), tf.constant(LOGITS)
        old = ops.softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        assert dv.gradients(old, [labels]) == [None]
        new = ops.softmax_cross_entropy_with_logits_v2(labels, logits)  # by place, as of 1.13
        found = session.run(dv.gradients(new, [labels, logits]))
    assert_allclose(found[0], -log_softmax(LOGITS), rtol=1e-9)
    assert_allclose(found[1], numpy.exp(log_softmax(LOGITS)) - LABELS, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("sparse", [False, True])
def test_second_derivative_is_the_slope_of_softmax(sparse):
    with dv.Graph().as_default(), dv.Session() as session:
        logits = tf.constant(LOGITS[0])
        if sparse:
            loss = ops.sparse_softmax_cross_entropy_with_logits(labels=1, logits=logits)
        else:
            loss = ops.softmax_cross_entropy_with_logits(labels=LABELS[0], logits=logits)
        (hessian,) = dv.hessians(loss, [logits])
        p = numpy.exp(log_softmax(LOGITS[0]))
        assert_allclose(session.run(hessian), numpy.diag(p) - numpy.outer(p, p), atol=1e-12)


def test_sparse_cross_entropy():
    classes = numpy.array([2, 0, 1, 1])
    wanted = -log_softmax(LOGITS)[numpy.arange(4), classes]
    for dtype in ("int32", "int64"):
        found = ops.sparse_softmax_cross_entropy_with_logits(
            labels=classes.astype(dtype), logits=LOGITS
        )
        assert_allclose(found.numpy(), wanted, rtol=1e-10)
    found = ops.sparse_softmax_cross_entropy_with_logits(
        labels=classes.reshape(2, 2), logits=LOGITS.reshape(2, 2, 3)
    )
    assert_allclose(found.numpy(), wanted.reshape(2, 2), rtol=1e-10)


def test_a_label_that_is_no_class():
    with dv.Graph().as_default(), dv.Session() as session:
        labels = tf.placeholder(dv.int32, [None])
        loss = ops.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=LOGITS)
        with pytest.raises(dv.errors.InvalidArgumentError, match=r"label value of 3.*\[0, 3\)"):
            session.run(loss, {labels: [0, 1, 2, 3]})


def test_half_precision_computes_in_float32():
    logits = numpy.array([[0.0, 12.0]], numpy.float16)
    loss = ops.sparse_softmax_cross_entropy_with_logits(labels=[1], logits=logits)
    assert loss.dtype == dv.float16
    assert_allclose(loss.numpy(), [6.1e-6], rtol=0.05)


# -- sigmoid and Poisson -----------------------------------------------------------------------


def test_sigmoid_cross_entropy():
    wanted = -LABELS * numpy.log(1 / (1 + numpy.exp(-LOGITS)))
    wanted -= (1 - LABELS) * numpy.log(1 - 1 / (1 + numpy.exp(-LOGITS)))
    found = ops.sigmoid_cross_entropy_with_logits(labels=LABELS, logits=LOGITS)
    assert_allclose(found.numpy(), wanted, rtol=1e-9)
    far = ops.sigmoid_cross_entropy_with_logits(labels=[1.0, 0.0], logits=[1000.0, 1000.0])
    assert far.numpy().tolist() == [0, 1000]


def test_weighted_cross_entropy():
    wanted = -2.5 * LABELS * numpy.log(1 / (1 + numpy.exp(-LOGITS)))
    wanted -= (1 - LABELS) * numpy.log(1 - 1 / (1 + numpy.exp(-LOGITS)))
    found = ops.weighted_cross_entropy_with_logits(LABELS, LOGITS, 2.5)
    assert_allclose(found.numpy(), wanted, rtol=1e-9)
    found = ops.weighted_cross_entropy_with_logits(
        targets=LABELS, logits=LOGITS, pos_weight=numpy.array([2.5, 2.5, 2.5])
    )
    assert_allclose(found.numpy(), wanted, rtol=1e-9)


def test_log_poisson_loss():
    counts = numpy.array([0.0, 1.0, 5.0])
    logs = numpy.array([0.5, -1.0, 2.0])
    plain = numpy.exp(logs) - logs * counts
    assert_allclose(ops.log_poisson_loss(counts, logs).numpy(), plain)
    stirling = 5 * numpy.log(5) - 5 + numpy.log(2 * numpy.pi * 5) / 2
    found = ops.log_poisson_loss(counts, logs, compute_full_loss=True).numpy()
    assert_allclose(found, plain + [0, 0, stirling])


# -- arguments ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "function",
    [
        ops.softmax_cross_entropy_with_logits,
        ops.sparse_softmax_cross_entropy_with_logits,
        ops.sigmoid_cross_entropy_with_logits,
    ],
)
def test_only_named_arguments(function):
    with pytest.raises(ValueError, match="named arguments"):
        function(LOGITS, LABELS)
    with pytest.raises(ValueError, match="Both labels and logits"):
        function(logits=LOGITS)


def test_names_and_shapes():
    with dv.Graph().as_default():
        logits, labels = (tf.placeholder(dv.float32, [None, 10]) for _ in range(2))
        loss = ops.softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        assert loss.op.name == "softmax_cross_entropy_with_logits_sg"
        assert loss.shape.as_list() == [None]
        loss = ops.softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits)
        assert loss.op.name == "softmax_cross_entropy_with_logits"
        classes = tf.placeholder(dv.int64, [None])
        loss = ops.sparse_softmax_cross_entropy_with_logits(labels=classes, logits=logits)
        assert loss.op.name == "SparseSoftmaxCrossEntropyWithLogits"
        loss = ops.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)
        assert loss.op.name == "logistic_loss"
        assert ops.l2_loss(logits).shape.as_list() == []


def test_errors():
    with dv.Graph().as_default():
        logits = tf.placeholder(dv.float32, [None, 10])
        with pytest.raises(ValueError, match="same size"):
            ops.softmax_cross_entropy_with_logits(labels=tf.zeros([4, 9]), logits=logits)
        with pytest.raises(ValueError, match="Rank mismatch: Rank of labels"):
            ops.sparse_softmax_cross_entropy_with_logits(
                labels=tf.placeholder(dv.int32, [None, 10]), logits=logits
            )
        with pytest.raises(ValueError, match="Shape mismatch"):
            ops.sparse_softmax_cross_entropy_with_logits(
                labels=tf.placeholder(dv.int32, [3]), logits=tf.zeros([4, 10])
            )
        with pytest.raises(ValueError, match="Logits cannot be scalars"):
            ops.sparse_softmax_cross_entropy_with_logits(labels=1, logits=tf.constant(1.0))
        with pytest.raises(ValueError, match="must have the same shape"):
            ops.sigmoid_cross_entropy_with_logits(labels=tf.zeros([4]), logits=logits)
        with pytest.raises(TypeError):
            ops.sparse_softmax_cross_entropy_with_logits(labels=[1.5], logits=tf.zeros([1, 10]))
