"""What only TensorFlow-1's `tf.nn` has; the numbers of losses are TensorFlow's."""

import numpy as np
import pytest

import daskvars.v1 as tf

pytestmark = pytest.mark.usefixtures("graph")
LOGITS = np.random.RandomState(0).randn(6, 2, 5).astype(np.float32)


def moved(blank):
    """Return the logits with the blank last."""
    return np.concatenate([np.delete(LOGITS, blank, 2), LOGITS[:, :, [blank]]], 2)


@pytest.mark.parametrize("time_major", [True, False])
@pytest.mark.parametrize("blank", [None, 0, 2, -1])
def test_any_class_may_be_the_blank(sess, blank, time_major):
    index = blank or 0
    dense = np.array([[1, 3, 3], [3, 1, 0]]) if index != -1 else np.array([[1, 2, 2], [3, 0, 0]])
    lengths = [3, 2]
    places = [[i, j] for i, n in enumerate(lengths) for j in range(n)]
    values = np.array([dense[i, j] for i, j in places], np.int32)
    sparse = tf.SparseTensor(places, tf.constant(values), [2, 3])
    last = [v - (index >= 0 and v > index) for v in values]
    plain = tf.nn.ctc_loss(
        tf.SparseTensor(places, tf.constant(np.array(last, np.int32)), [2, 3]),
        tf.constant(moved(index)),
        [6, 5],
    )
    logits = tf.constant(LOGITS if time_major else LOGITS.transpose(1, 0, 2).copy())
    found = tf.nn.ctc_loss_v2(dense, logits, lengths, [6, 5], time_major, blank_index=blank)
    of_sparse = tf.nn.ctc_loss_v2(sparse, logits, None, [6, 5], time_major, blank_index=index)
    wanted, *others = sess.run([plain, found, of_sparse])
    for other in others:
        np.testing.assert_array_equal(other, wanted)
    (dx,) = sess.run(tf.gradients(found, logits))
    assert dx.shape == logits.shape


def test_losses_are_tensorflows(sess):
    loss = tf.nn.ctc_loss_v2([[1, 2, 2], [3, 1, 0]], LOGITS, [3, 2], [6, 5])
    np.testing.assert_allclose(sess.run(loss), [9.0839, 5.75243], rtol=1e-5)


def test_what_a_loss_needs():
    sparse = tf.SparseTensor([[0, 0]], tf.constant([1]), [2, 3])
    with pytest.raises(ValueError, match="blank_index must be given"):
        tf.nn.ctc_loss_v2(sparse, LOGITS, None, [6, 5])
    with pytest.raises(ValueError, match="label_length must be given"):
        tf.nn.ctc_loss_v2([[1], [1]], LOGITS, None, [6, 5])


def test_a_label_that_is_the_blank_is_refused(sess):
    loss = tf.nn.ctc_loss_v2([[1, 0], [2, 1]], LOGITS, [2, 2], [6, 5])
    with pytest.raises(tf.errors.InvalidArgumentError):
        sess.run(loss)


def test_labels_of_sequences(sess):
    distinct, places = sess.run(tf.nn.ctc_unique_labels([[3, 4, 4, 3], [1, 2, 3, 0]]))
    assert distinct.tolist() == [[3, 4, 0, 0], [1, 2, 3, 0]]
    assert places.tolist() == [[0, 1, 1, 0], [0, 1, 2, 3]]
    labels = [[1, 1, 2, 2, 1], [1, 2, 3, 4, 5], [0, 0, 0, 7, 7]]
    found, lengths = sess.run(tf.nn.collapse_repeated(labels, [4, 5, 3]))
    assert found.tolist() == [[1, 2, 0, 0, 0], [1, 2, 3, 4, 5], [0, 0, 0, 0, 0]]
    assert lengths.tolist() == [2, 5, 1]


def test_a_beam_merges_nothing(sess):
    (labels,), _ = tf.nn.ctc_beam_search_decoder_v2([[[9.0, 0]], [[0, 9.0]], [[9.0, 0]]], [3])
    assert sess.run(labels.values).tolist() == [0, 0]


@pytest.mark.parametrize("shape", [(2, 5, 3), (1, 4, 5, 2), (1, 3, 4, 5, 2)])
def test_pooling_is_that_of_the_rank(sess, shape):
    x, rank = np.random.RandomState(1).randn(*shape).astype(np.float32), len(shape) - 2
    for kind in ("avg", "max"):
        plain = getattr(tf.nn, f"{kind}_pool{rank}d")(x, 2, 1, "VALID")
        for size in (2, [2], [1, *[2] * rank, 1]):
            found = getattr(tf.nn, f"{kind}_pool_v2")(x, size, 1, "VALID")
            np.testing.assert_array_equal(*sess.run([found, plain]))
    with pytest.raises(ValueError, match="rank 3, 4 or 5"):
        tf.nn.max_pool_v2(tf.ones([2, 3]), 2, 1, "VALID")


def test_transposes_are_those_of_the_rank(sess):
    one = tf.nn.conv_transpose(tf.ones([1, 2, 3]), tf.ones([2, 2, 3]), [1, 4, 2], [2])
    two = tf.nn.conv_transpose(tf.ones([1, 2, 2, 3]), tf.ones([2, 2, 2, 3]), [1, 4, 4, 2], 2)
    shape = tf.constant([1, 1, 4, 1, 2])
    filters = np.arange(12, dtype=np.float32).reshape(1, 2, 1, 2, 3)
    three = tf.nn.conv_transpose(tf.ones([1, 1, 2, 1, 3]), filters, shape, [1, 2, 1])
    found = sess.run([one, two, three])
    assert [y.shape for y in found] == [(1, 4, 2), (1, 4, 4, 2), (1, 1, 4, 1, 2)]
    assert np.unique(found[0]) == np.unique(found[1]) == [3.0]
    assert found[2].ravel().tolist() == [3.0, 12.0, 21.0, 30.0] * 2
    with pytest.raises(ValueError, match="of length 3, 4 or 5 but was 2"):
        tf.nn.conv_transpose(tf.ones([1, 2]), tf.ones([1, 2]), [1, 1], 1)


def test_losses_of_a_batch(sess):
    losses = tf.constant([[1.0, 3.0], [2.0, 5.0]])
    found = [
        tf.nn.compute_average_loss(losses),
        tf.nn.compute_average_loss(losses, [1.0, 2.0]),
        tf.nn.compute_average_loss(losses, [[1.0, 2.0], [0.0, 1.0]], 4),
        tf.nn.scale_regularization_loss([losses, losses]),
    ]
    assert sess.run(found) == [5.5, 9.0, 3.0, 22.0]
    with pytest.raises(ValueError, match="at least rank 1"):
        tf.nn.compute_average_loss(1.0)


def test_arguments_have_tensorflows_names(sess):
    image = np.arange(4.0, dtype="f4").reshape(1, 2, 2, 1)
    found = [
        tf.nn.avg_pool2d(value=image, ksize=2, strides=2, padding="VALID"),
        tf.nn.avg_pool2d(input=image, ksize=2, strides=2, padding="VALID"),
        tf.nn.softplus(features=image) - tf.math.softplus(image),
        tf.nn.softsign(features=image) - tf.math.softsign(image),
        tf.math.nextafter(x1=image, x2=0.0) - image,
    ]
    assert [float(np.abs(value).max().round(1)) for value in sess.run(found)] == [1.5, 1.5, 0, 0, 0]
