"""Images: results are TensorFlow's; what is by chance, and what is refused."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf
from daskvars.errors import InvalidArgumentError
from tests.ops.image import cases

# -- by chance ---------------------------------------------------------------------------------


def test_each_image_is_flipped_or_not():
    images = cases.floats(40, 2, 3, 1)
    for function, turned in (
        (dv.image.random_flip_left_right, images[:, :, ::-1]),
        (dv.image.random_flip_up_down, images[:, ::-1]),
    ):
        found = function(images, seed=4).numpy()
        is_turned = (found == turned).all((1, 2, 3))
        assert 0 < is_turned.sum() < 40
        assert (found[~is_turned] == images[~is_turned]).all()


def test_an_image_is_flipped_in_some_runs():
    image = cases.pixels(2, 3, 1)
    with tf.Graph().as_default(), tf.Session() as session:
        flipped = tf.image.random_flip_left_right(image, seed=2)
        found = [session.run(flipped) for _ in range(12)]
    turned = [(each == image[:, ::-1]).all() for each in found]
    assert {*turned} == {True, False}
    assert all((each == image).all() for each, t in zip(found, turned, strict=True) if not t)


@pytest.mark.parametrize(
    "function, bounds",
    [
        (dv.image.random_brightness, [0.4]),
        (dv.image.random_contrast, [0.5, 1.5]),
        (dv.image.random_hue, [0.3]),
        (dv.image.random_saturation, [0.5, 1.5]),
    ],
)
def test_what_is_by_chance_follows_its_seed(function, bounds):
    image = cases.floats(3, 4, 3)
    found = []
    for _ in range(2):
        dv.set_random_seed(3)
        found.append([function(image, *bounds, seed=1).numpy() for _ in range(2)])
    np.testing.assert_array_equal(found[0], found[1])
    assert (found[0][0] != found[0][1]).any()


def test_a_part_by_chance_covers_enough_of_an_object():
    box = np.array([[[0.4, 0.4, 0.6, 0.7]]], np.float32)
    for seed in range(8):
        begin, size, part = dv.image.sample_distorted_bounding_box(
            [50, 40, 3], box, seed=seed, min_object_covered=1.0, area_range=(0.2, 0.9)
        )
        (top, left, _), (height, width, channels) = begin.numpy(), size.numpy()
        assert channels == -1
        assert top <= 20 and top + height >= 30 and left <= 16 and left + width >= 28
        y1, x1, y2, x2 = part.numpy().ravel()
        assert np.allclose([y1, x1], [top / 50, left / 40])
        assert np.allclose([y2, x2], [(top + height) / 50, (left + width) / 40])
    with pytest.raises(InvalidArgumentError, match="No bounding boxes"):
        dv.image.sample_distorted_bounding_box([5, 5, 3], np.zeros((1, 0, 4), "f"))[0].numpy()


def test_a_program_that_prepares_images(tmp_path):
    """What programs of TensorFlow 1 do to a file, for a batch of images of one size."""
    path = tmp_path / "image.png"
    path.write_bytes(dv.image.encode_png(cases.pixels(30, 20, 3)).numpy())
    with tf.Graph().as_default(), tf.Session() as session:
        image = tf.image.decode_jpeg(tf.read_file(str(path)), channels=3)
        image = tf.image.convert_image_dtype(image, tf.float32)
        image = tf.random_crop(tf.image.resize_image_with_crop_or_pad(image, 28, 28), [24, 24, 3])
        image = tf.image.random_flip_left_right(image)
        image = tf.image.random_brightness(image, max_delta=63 / 255)
        image = tf.image.random_contrast(image, lower=0.2, upper=1.8)
        image = tf.image.per_image_standardization(image)
        assert image.shape.as_list() == [24, 24, 3]
        found = session.run(image)
    assert abs(found.mean()) < 1e-5
    assert abs(found.std() - 1) < 1e-3


# -- refused -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda x: dv.image.resize_images(x[0, 0], [2, 2]), "3 or 4 dimensions"),
        (lambda x: dv.image.resize_images(x, [2, 2, 2]), "2 elements"),
        (lambda x: dv.image.resize_images(x, [2, 2], method=7), "not implemented: 7"),
        (lambda x: dv.image.resize_bilinear(x, [0, 2]), "output dimensions must be positive"),
        (lambda x: dv.image.resize_bilinear(x[:, :0], [1, 2]), "non-zero size"),
        (lambda x: dv.image.resize_bilinear(x, [2, 2], True, None, True), "align_corners"),
        (lambda x: dv.image.crop_to_bounding_box(x, 0, 2, 1, 9), "width must be >= target"),
        (lambda x: dv.image.pad_to_bounding_box(x, 4, 0, 5, 9), "height must be <= target"),
        (lambda x: dv.image.central_crop(x, 0.0), r"within \(0, 1\]"),
        (lambda x: dv.image.rgb_to_hsv(x[..., :2]), "3 channels"),
        (lambda x: dv.image.crop_and_resize(x, [[0.0, 0, 1]], [0], [2, 2]), "num_boxes, 4"),
        (lambda x: dv.image.extract_image_patches(x, 2, 1, 1, "FULL"), "SAME"),
        (lambda x: dv.image.ssim(x, x, 1.0), "11 by 11 or larger"),
        (lambda x: dv.image.random_hue(x, 0.7), "from 0 to 0.5"),
        (lambda x: dv.image.adjust_gamma(x, -1), "non-negative"),
    ],
)
def test_what_cannot_be_is_refused_in_words(call, words):
    with pytest.raises(ValueError, match=words):
        call(dv.constant(cases.floats(2, 3, 4, 3)))


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: dv.image.decode_png(b"no file at all"), "PNG or JPEG.*begin with b'no file"),
        (lambda: dv.image.decode_png(b"\x89PNG\r\n\x1a\n\0\0"), "Invalid PNG data"),
        (lambda: dv.image.decode_gif(dv.image.encode_png(cases.pixels(2, 2, 3))), "got PNG"),
        (
            lambda: dv.image.crop_and_resize(
                cases.floats(1, 2, 2, 1), [[0.0, 0, 1, 1]], [3], [2, 2]
            ),
            r"box_index\[0\] = 3 is not in \[0, 1\)",
        ),
        (
            lambda: dv.image.encode_jpeg(cases.pixels(2, 2, 3), format="grayscale"),
            "needs 1 channels, got 3",
        ),
    ],
)
def test_what_only_the_run_can_tell_is_refused_in_words(call, words):
    with pytest.raises(InvalidArgumentError, match=words):
        call().numpy()


def test_without_pillow_the_error_says_what_to_install(monkeypatch):
    file = dv.image.encode_png(cases.pixels(2, 2, 3)).numpy()
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    with pytest.raises(Exception, match=r"pip install daskvars\[image\]"):
        dv.image.decode_png(file).numpy()


def test_what_is_of_one_image_is_cut_along_the_batch():
    with dv.config.set(batch_parts=2), tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 6, 6, 3])
        y = tf.image.resize_images(tf.image.random_flip_left_right(x), [3, 3])
        y = tf.image.adjust_saturation(tf.image.per_image_standardization(y), 0.5)
        y = tf.image.draw_bounding_boxes(y, tf.zeros([4, 1, 4]))
        program, _ = session._executable(y, (x,))
        plan = program.plan([cases.floats(4, 6, 6, 3)])
    assert [region.grid for region in plan.regions] == [(2,)]


def test_a_worse_file_is_another_image():
    image = cases.floats(16, 16, 3)
    good, bad = (dv.image.adjust_jpeg_quality(image, q).numpy() for q in (100, 5))
    assert good.dtype == np.float32 and good.shape == (16, 16, 3)
    assert abs(bad - image).mean() > abs(good - image).mean() > 0
    with tf.Graph().as_default(), tf.Session() as session:
        found = tf.image.random_jpeg_quality(image, 10, 90, seed=5)
        assert (session.run(found) != session.run(found)).any()
    with pytest.raises(ValueError, match="in order, got 9 and 9"):
        dv.image.random_jpeg_quality(image, 9, 9)
