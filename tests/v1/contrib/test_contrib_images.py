"""Images that are turned, moved and projected, against a loop over pixels."""

import math

import numpy as np
import pytest

import daskvars.v1 as tf

image = tf.contrib.image
RNG = np.random.default_rng(0)
IMAGES = RNG.uniform(size=(3, 5, 4, 2)).astype("f4")
PROJECTION = np.float32([0.9, 0.2, -0.5, -0.1, 1.1, 0.3, 0.02, -0.03])


def seen(pictures, transforms, method, size=None):
    """Return what TensorFlow's kernel does, pixel by pixel."""
    batch, height, width, channels = pictures.shape
    rows, columns = size or (height, width)
    found = np.zeros((batch, rows, columns, channels))

    def read(n, y, x):
        inside = 0 <= y < height and 0 <= x < width
        return pictures[n, int(y), int(x)].astype("f8") if inside else np.zeros(channels)

    for n, y, x in np.ndindex(batch, rows, columns):
        a0, a1, a2, b0, b1, b2, c0, c1 = transforms[n % len(transforms)].astype("f4")
        k = np.float32(c0 * x + c1 * y + 1)
        at_x, at_y = (a0 * x + a1 * y + a2) / k, (b0 * x + b1 * y + b2) / k
        if method == "NEAREST":
            near = [math.copysign(math.floor(abs(p) + 0.5), p) for p in (at_y, at_x)]
            found[n, y, x] = read(n, *near)
        else:
            top, left = math.floor(at_y), math.floor(at_x)
            for row, heavy in ((top, top + 1 - at_y), (top + 1, at_y - top)):
                for column, wide in ((left, left + 1 - at_x), (left + 1, at_x - left)):
                    found[n, y, x] += heavy * wide * read(n, row, column)
    return found


@pytest.mark.parametrize("method", ["NEAREST", "BILINEAR"])
@pytest.mark.parametrize("many", [False, True])
def test_transforms_are_those_of_each_image(graph, method, many):
    transforms = np.stack([PROJECTION, PROJECTION * 0.5, PROJECTION * 1.5]) if many else PROJECTION
    pictures = tf.placeholder(tf.float32, [None, None, None, 2])
    found = image.transform(pictures, transforms, method)
    cut = image.transform(pictures, transforms, method, output_shape=[3, 6])
    (gradient,) = tf.gradients(tf.reduce_sum(found * IMAGES), [pictures])
    with tf.Session() as sess:
        values, parts, slopes = sess.run([found, cut, gradient], {pictures: IMAGES})
    of_each = transforms.reshape(-1, 8)
    np.testing.assert_allclose(values, seen(IMAGES, of_each, method), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(parts, seen(IMAGES, of_each, method, (3, 6)), rtol=1e-4, atol=1e-5)
    # The gradient is the adjoint: <seen(x), y> is linear in x.
    other = RNG.uniform(size=IMAGES.shape).astype("f4")
    product = (seen(other, of_each, method) * IMAGES).sum()
    np.testing.assert_allclose((slopes * other).sum(), product, rtol=1e-4)


def test_quarters_of_a_turn_are_exact_and_small_angles_keep_the_middle(graph):
    square = np.arange(25, dtype="f4").reshape(5, 5)
    angles = tf.constant([0.0, math.pi / 2, math.pi, -math.pi / 2])
    turned = image.rotate(np.stack([square[..., None]] * 4), angles)
    bent = image.rotate(square, 0.3, interpolation="BILINEAR")
    with tf.Session() as sess:
        values, middle = sess.run([turned[..., 0], bent])
    for n, found in enumerate(values):
        np.testing.assert_array_equal(found, np.rot90(square, n))
    assert middle.shape == (5, 5) and middle[2, 2] == pytest.approx(12.0, abs=1e-4)


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.int64, np.float16, np.float64])
def test_images_keep_their_dtype(graph, dtype):
    picture = (np.arange(12).reshape(3, 4) * 10).astype(dtype)
    moved = image.translate(picture[..., None], [1.0, -1.0])
    halves = image.translate(picture, [0.5, 0.0], "BILINEAR")
    with tf.Session() as sess:
        near, between = sess.run([moved, halves])
    wanted = np.zeros_like(picture)
    wanted[:2, 1:] = picture[1:, :3]
    assert near.dtype == between.dtype == dtype
    np.testing.assert_array_equal(near[..., 0], wanted)
    np.testing.assert_array_equal(between[1], np.array([20, 45, 55, 65]).astype(dtype))


def test_transforms_that_follow_one_another_are_one(graph):
    turn = image.angles_to_projective_transforms([0.3, 0.4, 0.5], 5.0, 4.0)
    move = image.translations_to_projective_transforms([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    both = image.compose_transforms(turn, move)
    back = image.matrices_to_flat_transforms(image.flat_transforms_to_matrices(both))
    with tf.Session() as sess:
        one, two, joined, same = sess.run([turn, move, both, back])
    np.testing.assert_allclose(joined, same, rtol=1e-6)
    whole = [np.append(row, 1).reshape(3, 3) for row in (*one, *two)]
    for n in range(3):
        product = whole[n] @ whole[n + 3]
        np.testing.assert_allclose(joined[n], (product / product[2, 2]).ravel()[:8], atol=1e-5)


def test_what_is_no_image_or_transform_is_refused(graph):
    with pytest.raises(TypeError, match="rank between 2 and 4"):
        image.rotate(tf.zeros([3]), 1.0)
    with pytest.raises(TypeError, match="must be statically known"):
        image.rotate(tf.placeholder(tf.float32), 1.0)
    with pytest.raises(TypeError, match="Invalid dtype"):
        image.translate(tf.zeros([2, 2], tf.bool), [1.0, 1.0])
    with pytest.raises(ValueError, match="NEAREST or BILINEAR"):
        image.rotate(tf.zeros([2, 2]), 1.0, "CUBIC")
    with pytest.raises(TypeError, match="rank 0 or 1"):
        image.angles_to_projective_transforms([[1.0]], 2.0, 2.0)
    with pytest.raises(TypeError, match="transforms should have rank 1 or 2"):
        image.transform(tf.zeros([2, 2]), tf.zeros([1, 1, 8]))
    with pytest.raises(ValueError, match="at least one"):
        image.compose_transforms()
