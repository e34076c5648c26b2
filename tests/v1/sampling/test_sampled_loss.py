import numpy
import pytest
from numpy.testing import assert_allclose

import daskvars as dv
import daskvars.v1 as tf
from daskvars.v1.sampling import all_candidate_sampler, sampled_loss as ops

generator = numpy.random.RandomState(0)
WEIGHTS, BIASES, INPUTS = (generator.randn(*n) for n in ((6, 3), (6,), (2, 3)))
LABELS = [[1, 2], [0, 5]]
DRAWN = [3, 1, 4], [[0.5, 0.25], [0.75, 0.1]], [0.3, 0.5, 0.2]
# Losses and the gradients of their sums by the inputs, in float64, from TensorFlow.
NCE, NCE_WITHOUT_HITS, SOFTMAX, SOFTMAX_WITHOUT_HITS = (
    (
        [11.10583886, 11.59665177],
        [[4.2871365526, 2.62998517, 0.5017842168], [3.5840095101, 2.432412986, 1.4790180354]],
    ),
    (
        [8.832658957, 11.59665177],
        [[2.277019901, 0.9547561073, 1.378417936], [3.5840095101, 2.432412986, 1.4790180354]],
    ),
    (
        [2.836426847, 1.976311018],
        [[-0.6009897089, -0.4121424128, 0.8500212175], [-0.4568350828, -0.421881225, 0.3933214483]],
    ),
    (
        [2.736909215, 1.976311018],
        [[-0.7314096194, -0.5608957195, 0.9846955638], [-0.4568350828, -0.421881225, 0.3933214483]],
    ),
)


@pytest.mark.parametrize(
    "function, without_hits, golden",
    [
        (ops.nce_loss, False, NCE),
        (ops.nce_loss, True, NCE_WITHOUT_HITS),
        (ops.sampled_softmax_loss, False, SOFTMAX),
        (ops.sampled_softmax_loss, True, SOFTMAX_WITHOUT_HITS),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_losses_are_tensorflows(function, without_hits, golden, dtype):
    with dv.Graph().as_default(), dv.Session() as session:
        weights, biases, inputs = (tf.constant(a, dtype) for a in (WEIGHTS, BIASES, INPUTS))
        loss = function(weights, biases, LABELS, inputs, 3, 6, 2, DRAWN, without_hits)
        slopes = tf.gradients(loss, [weights, biases, inputs])
        assert isinstance(slopes[0], tf.IndexedSlices) and isinstance(slopes[1], tf.IndexedSlices)
        found = session.run([loss, slopes[2]])
    assert found[0].dtype == dtype
    for value, wanted in zip(found, golden, strict=True):
        assert_allclose(value, wanted, rtol=2e-5 if dtype == "float32" else 1e-8)


def test_all_classes_give_the_full_softmax():
    labels = [[1], [4]]
    every = all_candidate_sampler(labels, 1, 6, True)
    found = ops.sampled_softmax_loss(
        WEIGHTS, BIASES, labels, INPUTS, 6, 6, sampled_values=every
    ).numpy()
    wanted = dv.nn.sparse_softmax_cross_entropy_with_logits(
        labels=[1, 4], logits=INPUTS @ WEIGHTS.T + BIASES
    )
    assert_allclose(found, wanted.numpy(), rtol=1e-9)


@pytest.mark.parametrize(
    "strategy, rows", [("mod", ([0, 2, 4], [1, 3, 5])), ("div", ([0, 1, 2], [3, 4, 5]))]
)
def test_weights_in_parts(strategy, rows):
    whole = ops.nce_loss(WEIGHTS, BIASES, LABELS, INPUTS, 3, 6, 2, DRAWN)
    parts = ops.nce_loss(
        [WEIGHTS[r] for r in rows],
        [BIASES[r] for r in rows],
        LABELS,
        INPUTS,
        3,
        6,
        2,
        DRAWN,
        partition_strategy=strategy,
    )
    assert_allclose(parts.numpy(), whole.numpy(), rtol=1e-12)


def test_chunks_and_partitioned_variables():
    with dv.Graph().as_default(), dv.Session() as session:
        with tf.variable_scope("nce", partitioner=tf.fixed_size_partitioner(2)):
            weights = tf.get_variable("weights", initializer=WEIGHTS)
            biases = tf.get_variable("biases", initializer=BIASES)
        labels, inputs = (tf.constant(a, chunks=(1, -1)) for a in (numpy.array(LABELS), INPUTS))
        loss = tf.nn.nce_loss(
            weights, biases, labels, inputs, 3, 6, 2, DRAWN, partition_strategy="div"
        )
        session.run(tf.global_variables_initializer())
        assert_allclose(session.run(loss), NCE[0], rtol=1e-8)


def test_a_seed_repeats_the_sample():
    def loss(seed):
        return (
            ops.sampled_softmax_loss(WEIGHTS, BIASES, [[1], [2]], INPUTS, 2, 6, seed=seed)
            .numpy()
            .tolist()
        )

    dv.set_random_seed(1)
    first, other = loss(3), loss(4)
    dv.set_random_seed(1)
    assert loss(3) == first != other
    dv.set_random_seed(None)


def test_labels_as_a_vector_and_of_the_wrong_width():
    drawn = DRAWN[0], [[0.5], [0.75]], DRAWN[2]
    arguments = INPUTS, 3, 6, 1, drawn
    vector = ops.nce_loss(WEIGHTS, BIASES, numpy.array([1, 0], "i4"), *arguments)
    matrix = ops.nce_loss(WEIGHTS, BIASES, [[1], [0]], *arguments)
    assert vector.numpy().tolist() == matrix.numpy().tolist()
    with pytest.raises(ValueError, match="must have 1 columns"):
        ops.nce_loss(WEIGHTS, BIASES, LABELS, *arguments)
