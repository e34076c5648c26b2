import numpy

from daskvars.graph.interpreter import apply
from daskvars.ops.nn import loss as ops
from tests.ops.sample import Sample

rng = numpy.random.default_rng(0)
X = rng.normal(size=(4, 3)) * 2
LABELS = rng.dirichlet(numpy.ones(3), 4)
CUBE, CUBE_LABELS = rng.normal(size=(2, 3, 4)), rng.dirichlet(numpy.ones(3), (2, 4))
CLASSES = numpy.array([2, 0, 1, 1], numpy.int32)
COUNTS = numpy.array([[0.0, 1.0, 2.5], [4.0, 0.5, 7.0], [3.0, 2.0, 9.0], [1.5, 6.0, 2.0]])


def dense(function, **options):
    return lambda logits, labels: function(labels=labels, logits=logits, **options)


SAMPLES = [
    Sample("L2Loss", ops.l2_loss, (X,), (0,)),
    Sample("L2Loss", ops.l2_loss, (X.astype("f4"),), rtol=1e-5, id="float32"),
    Sample(
        "SoftmaxCrossEntropyWithLogits",
        dense(ops.softmax_cross_entropy_with_logits_v2),
        (X, LABELS),
        (0, 1),
    ),
    Sample(
        "SoftmaxCrossEntropyWithLogits",
        dense(ops.softmax_cross_entropy_with_logits),
        (X, LABELS),
        (0,),
        id="v1",
    ),
    Sample(
        "SoftmaxCrossEntropyWithLogits",
        dense(ops.softmax_cross_entropy_with_logits_v2, axis=1),
        (CUBE, CUBE_LABELS.transpose(0, 2, 1).copy()),
        (0, 1),
        id="middle",
    ),
    Sample(
        "SoftmaxCrossEntropyWithLogits",
        lambda *a: list(apply(ops.CROSS_ENTROPY, *a)),
        (X, LABELS),
        id="both",
    ),
    Sample(
        "SoftmaxCrossEntropyBackprop",
        lambda logits, labels: apply(
            ops.CROSS_ENTROPY_BACKPROP, apply(ops.CROSS_ENTROPY, logits, labels)[1], logits, labels
        ),
        (X, LABELS),
        (0, 1),
    ),
    Sample(
        "SparseSoftmaxCrossEntropyWithLogits",
        dense(ops.sparse_softmax_cross_entropy_with_logits),
        (X, CLASSES),
        (0,),
    ),
    Sample(
        "SparseSoftmaxCrossEntropyWithLogits",
        dense(ops.sparse_softmax_cross_entropy_with_logits),
        (CUBE, numpy.array([[0, 3, 1], [2, 2, 0]])),
        (0,),
        id="sequences",
    ),
    Sample(
        "SparseSoftmaxCrossEntropyBackprop",
        lambda logits, labels: apply(
            ops.SPARSE_CROSS_ENTROPY_BACKPROP,
            apply(ops.SPARSE_CROSS_ENTROPY, logits, labels)[1],
            logits,
        ),
        (X, CLASSES),
        (0,),
    ),
    Sample("Sub", dense(ops.sigmoid_cross_entropy_with_logits), (X, LABELS), (0, 1), id="logistic"),
    Sample(
        "Add",
        dense(ops.weighted_cross_entropy_with_logits, pos_weight=2.5),
        (X, LABELS),
        (0, 1),
        id="weighted logistic",
    ),
    Sample(
        "Sub", lambda x, n: ops.log_poisson_loss(n, x), (X, COUNTS), (0, 1), id="log_poisson_loss"
    ),
    Sample(
        "Add",
        lambda x, n: ops.log_poisson_loss(n, x, compute_full_loss=True),
        (X, COUNTS),
        (0,),
        id="full log_poisson_loss",
    ),
]
