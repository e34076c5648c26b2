"""Images: results are TensorFlow's; what is by chance, and what is refused."""

from __future__ import annotations

import io
import re
import struct
import sys
import zlib

import numpy as np
import PIL.Image
import pytest

import daskvars as dv
import daskvars.v1 as tf
from daskvars.errors import InvalidArgumentError
from daskvars.kernels.image import boxes as kernels, png
from tests.ops.image import cases

# -- resized -----------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [(4, 4), (2, 2), (8, 8)])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_pixels_go_into_the_area_that_they_cover_and_no_other(size, value):
    x = np.ones((1, 4, 4, 1), np.float32)
    x[0, 1, 2] = value
    covered = np.kron(~np.isfinite(x[0, ..., 0]), np.ones((2, 2), bool))
    covered = covered.reshape(size[0], 8 // size[0], size[1], 8 // size[1]).any((1, 3))
    found = dv.image.resize_area(x, size).numpy()[0, ..., 0]
    np.testing.assert_array_equal(found, np.where(covered, np.float32(value), 1))


@pytest.mark.parametrize("size", [(8, 9), (4, 6), (4, 3), (5, 6), (2, 3)])
@pytest.mark.parametrize("channels", [3, 8])
def test_gradients_of_the_nearest_pixel_are_sums(size, channels):
    x, weights = cases.floats(2, 4, 3, channels), cases.floats(2, *size, channels)
    places = [np.arange(m) * n // m for n, m in zip((4, 3), size, strict=True)]
    wanted = np.zeros_like(x)
    np.add.at(wanted, (slice(None), places[0][:, None], places[1]), weights)
    with tf.Graph().as_default(), tf.Session() as session:
        images = tf.constant(x)
        resized = tf.image.resize_nearest_neighbor(images, size)
        (found,) = tf.gradients(resized, images, weights)
        found = session.run(found)
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


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
        (lambda x: dv.image.resize_images(x, [2, 2.0]), "1-D int32 Tensor"),
        (lambda x: dv.image.resize_images(x, dv.constant([2.0, 2.0])), "1-D int32 Tensor"),
        (lambda x: dv.image.resize_images(x, [2, 2], method=7), "not implemented: 7"),
        (lambda x: dv.image.resize_images(x, [2, 2], method="cubic"), "not implemented: 'cubic'"),
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
        (lambda x: dv.image.crop_to_bounding_box(x, -1, 0, 1, 1), "offset_height must be >= 0"),
        (lambda x: dv.image.pad_to_bounding_box(x[:, :0], 0, 0, 5, 9), "must be > 0"),
        (lambda x: dv.image.flip_left_right(x[..., :0]), "must be > 0"),
        (lambda x: dv.image.flip_up_down(x[0, 0]), "must be at least three-dimensional"),
        (lambda x: dv.image.rot90(x[None]), "'image' must have either 3 or 4 dimensions"),
        (lambda x: dv.image.resize_image_with_crop_or_pad(x, 0, 3), "target_height must be > 0"),
        (lambda x: dv.image.non_max_suppression(x[0], [1.0], 3), "must be rank 2 but is rank 3"),
        (lambda x: dv.image.non_max_suppression([[1.0]], [1.0], 3), "must be 4 but is 1"),
        (
            lambda x: dv.image.non_max_suppression([[0.0, 0, 1, 1]], [1.0, 2.0], 3),
            "must be equal, but are 1 and 2",
        ),
        (
            lambda x: dv.image.non_max_suppression([[0.0, 0, 1, 1]], [1.0], [3]),
            "must be rank 0 but is rank 1",
        ),
    ],
)
def test_what_cannot_be_is_refused_in_words(call, words):
    with pytest.raises(ValueError, match=words):
        call(dv.constant(cases.floats(2, 3, 4, 3)))


def test_colours_of_bytes_are_not_weighted_by_rounded_weights():
    for function in (dv.image.rgb_to_yuv, dv.image.yuv_to_rgb, dv.image.yiq_to_rgb):
        with pytest.raises(TypeError, match="Expected uint8"):
            function(cases.pixels(2, 3, 3))


def animation(num_frames):
    file = io.BytesIO()
    frames = [PIL.Image.new("RGB", (2, 1), (20 * n, 0, 0)) for n in range(num_frames)]
    frames[0].save(file, "GIF", save_all=True, append_images=frames[1:])
    return file.getvalue()


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: dv.image.decode_png(b"no file at all"), "PNG or JPEG.*begin with b'no file"),
        (lambda: dv.image.decode_png(b"\x89PNG\r\n\x1a\n\0\0"), "Invalid PNG data"),
        (lambda: dv.image.decode_bmp(dv.image.encode_png(cases.pixels(2, 2, 3))), "got PNG"),
        (lambda: dv.image.decode_jpeg(animation(12)), "Got 12 frames"),
        (lambda: dv.image.decode_image(animation(1), channels=1), "0 or 3 for GIF"),
        (
            lambda: dv.image.decode_image(dv.image.encode_jpeg(cases.pixels(2, 2, 3)), channels=4),
            "0, 1 or 3 for JPEG; got 4",
        ),
        (
            lambda: dv.image.decode_and_crop_jpeg(
                dv.image.encode_jpeg(cases.pixels(4, 4, 3)), [1, 1, 4, 2]
            ),
            "Invalid JPEG data or crop window",
        ),
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


@pytest.mark.parametrize(
    "call, sizes, words",
    [
        (tf.image.crop_to_bounding_box, (0, 0, 3, 3), "height must be >= target + offset"),
        (tf.image.crop_to_bounding_box, (0, -1, 2, 2), "offset_width must be >= 0"),
        (tf.image.pad_to_bounding_box, (0, 0, 1, 5), "height must be <= target - offset"),
        (tf.image.resize_image_with_crop_or_pad, (0, 5), "target_height must be > 0"),
    ],
)
@pytest.mark.parametrize("dtype", [tf.int32, tf.int64])
def test_sizes_that_only_the_run_knows_are_refused_in_words(call, sizes, words, dtype):
    with tf.Graph().as_default(), tf.Session() as session:
        image = tf.placeholder(tf.float32)
        given = tf.placeholder(dtype, [len(sizes)])
        changed = call(image, *tf.unstack(given))
        assert changed.shape.as_list() == [None, None, None]
        with pytest.raises(InvalidArgumentError, match=re.escape(words)):
            session.run(changed, {image: cases.floats(2, 4, 1), given: sizes})
        with pytest.raises(InvalidArgumentError, match="must be > 0"):
            session.run(changed, {image: np.zeros((2, 0, 1)), given: sizes})


def test_sizes_that_the_graph_has_are_refused_at_once():
    with tf.Graph().as_default():
        sizes = tf.unstack(tf.constant([0, 3, 2, 2]))
        with pytest.raises(ValueError, match="width must be >= target"):
            tf.image.crop_to_bounding_box(tf.zeros([4, 4, 1]), *sizes)


def test_a_gamma_of_the_run_is_looked_at_in_the_run():
    with tf.Graph().as_default(), tf.Session() as session:
        changed = tf.image.adjust_gamma([0.5], tf.constant(-1.0))
        with pytest.raises(InvalidArgumentError, match="Gamma should be a non-negative"):
            session.run(changed)


def test_a_file_of_one_frame_is_an_animation_of_one():
    image = cases.pixels(2, 3, 3)
    frames = dv.image.decode_gif(dv.image.encode_png(image))
    assert (frames.numpy() == image[None]).all()
    assert dv.image.decode_image(animation(3), expand_animations=False).numpy().shape == (1, 2, 3)


def filtered(pixels, kind):
    """Return a PNG file of pixels, all rows behind one filter, by the specification's formulas."""
    _, width, channels = pixels.shape
    step = 2 * channels
    rows = pixels.astype(">u2").tobytes()
    rows = [rows[i : i + width * step] for i in range(0, len(rows), width * step)]
    told = b""
    for number, row in enumerate(rows):
        above = bytes(step) + (rows[number - 1] if number else bytes(len(row)))
        now = bytes(step) + row
        told += bytes([kind])
        for i in range(step, len(now)):
            a, b, c = now[i - step], above[i], above[i - step]
            nearest = min((abs(b - c), 0, a), (abs(a - c), 1, b), (abs(a + b - 2 * c), 2, c))[2]
            guess = (0, a, b, (a + b) // 2, nearest)[kind]
            told += bytes([(now[i] - guess) % 256])
    plain = png.write(pixels, 0)
    return plain[:33] + png.chunk(b"IDAT", zlib.compress(told)) + plain[-12:]


def bmp_of(pixels, start=b"BM", is_top_down=False, planes=1):
    """A BMP file of pixels [height, width, 1, 3 or 4], without a palette."""
    height, width, channels = pixels.shape
    order = [2, 1, 0, 3][:channels] if channels > 1 else [0]
    rows = pixels[:: 1 if is_top_down else -1, :, order].reshape(height, width * channels)
    rows = np.pad(rows, [(0, 0), (0, -rows.shape[1] % 4)])
    sizes = (40, width, -height if is_top_down else height, planes, 8 * channels, 0, rows.size)
    header = struct.pack("<IiiHHII", *sizes) + bytes(16)
    return start + struct.pack("<IHHI", 54 + rows.size, 0, 0, 54) + header + rows.tobytes()


@pytest.mark.parametrize("start, is_top_down", [(b"BM", False), (b"BM", True), (b"B@", False)])
@pytest.mark.parametrize("channels", [1, 3, 4])
def test_plain_bmp_files_are_read_byte_by_byte(channels, start, is_top_down):
    pixels = cases.pixels(3, 5, channels)
    file = bmp_of(pixels, start, is_top_down)
    assert (dv.image.decode_bmp(file).numpy() == pixels).all()
    assert (dv.image.decode_bmp(file, channels=channels).numpy() == pixels).all()
    if start == b"BM":
        assert (dv.image.decode_image(file).numpy() == pixels).all()
    with pytest.raises(InvalidArgumentError, match=r"attribute \d does not match bits"):
        dv.image.decode_bmp(file, channels=3 if channels == 1 else 1).numpy()


@pytest.mark.parametrize("mode", ["RGB", "L", "P", "1"])
def test_bmp_files_by_others_have_their_colours(mode):
    image = PIL.Image.fromarray(cases.pixels(3, 5, 3)).convert(mode)
    file = io.BytesIO()
    image.save(file, "BMP")
    found = dv.image.decode_bmp(file.getvalue()).numpy()
    wanted = np.asarray(image.convert("L" if mode in ("L", "1") else "RGB"))
    assert (found == wanted.reshape(found.shape)).all()


@pytest.mark.parametrize(
    "file, words",
    [
        (bmp_of(cases.pixels(3, 5, 3))[:-4], "Incomplete bmp content, requires at least 101 bytes"),
        (bmp_of(cases.pixels(3, 5, 3)[:0]), "height 0 not 0"),
        (bmp_of(cases.pixels(3, 5, 3), b"B@", planes=2), "begin with b'B@"),
        (b"BM", "Invalid BMP data"),
    ],
)
def test_what_is_no_bmp_file_is_refused_in_words(file, words):
    with pytest.raises(InvalidArgumentError, match=words):
        dv.image.decode_bmp(file).numpy()


@pytest.mark.parametrize("kind", range(5))
@pytest.mark.parametrize("channels", [2, 3, 4])
def test_files_of_16_bits_come_back(channels, kind):
    pixels = np.random.default_rng(kind).integers(0, 65536, (4, 5, channels), np.uint16)
    file = dv.image.encode_png(pixels).numpy()
    assert (dv.image.decode_png(file, dtype=dv.uint16).numpy() == pixels).all()
    assert (dv.image.decode_image(filtered(pixels, kind), dtype=dv.uint16).numpy() == pixels).all()
    assert (dv.image.decode_png(file).numpy() == pixels >> 8).all()
    eight = (pixels >> 8).astype(np.uint8)
    with PIL.Image.open(io.BytesIO(file)) as image:  # which reads the upper bits
        assert image.size == (5, 4)
        if channels > 2:
            assert (np.array(image) == eight).all()


@pytest.mark.parametrize("given", [2, 3, 4])
@pytest.mark.parametrize("wanted", [1, 3, 4])
def test_files_of_16_bits_have_the_channels_that_are_asked_for(given, wanted):
    pixels = np.full((2, 2, given), 40000, np.uint16)
    found = dv.image.decode_png(dv.image.encode_png(pixels), wanted, dv.uint16).numpy()
    assert found.shape == (2, 2, wanted)
    assert (found[..., :3] == 40000).all()
    assert (found[..., 3:] == (40000 if given in (2, 4) else 65535)).all()


def test_smooth_images_of_16_bits_are_small_files():
    ramp = np.stack(np.meshgrid(np.arange(64) * 900, np.arange(64) * 500), axis=-1).astype(
        np.uint16
    )
    file = dv.image.encode_png(ramp).numpy()
    assert len(file) < 1000
    assert (dv.image.decode_png(file, dtype=dv.uint16).numpy() == ramp).all()


def test_a_damaged_file_of_16_bits_is_refused():
    file = bytearray(dv.image.encode_png(np.zeros((3, 3, 3), np.uint16)).numpy())
    file[45] ^= 1
    with pytest.raises(InvalidArgumentError, match=r"Invalid PNG data.*checksum of b'IDAT'"):
        dv.image.decode_png(bytes(file), dtype=dv.uint16).numpy()
    with pytest.raises(InvalidArgumentError, match="Invalid PNG data"):
        dv.image.decode_png(bytes(file[:50]), dtype=dv.uint16).numpy()


def test_a_part_by_chance_is_not_smaller_than_it_may_be():
    for seed in range(40):
        _, size, _ = dv.image.sample_distorted_bounding_box(
            [40, 50, 1],
            [[[0.0, 0.0, 1.0, 1.0]]],
            seed=seed,
            min_object_covered=0.0,
            area_range=(0.05, 0.06),
        )
        height, width, _ = size.numpy()
        assert 100 <= height * width <= 120


def test_similarity_at_several_sizes_broadcasts_and_needs_no_known_shape():
    images = cases.floats(3, 26, 23, 1)
    factors = (0.5, 0.5)
    each = [
        [dv.image.ssim_multiscale(a, b, 1.0, factors).numpy()[0] for b in images[:, None]]
        for a in images[:, None]
    ]
    found = dv.image.ssim_multiscale(images[:, None], images[None], 1.0, factors)
    np.testing.assert_allclose(found.numpy(), each, rtol=1e-5)
    with tf.Graph().as_default(), tf.Session() as session:
        a, b = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
        in_run = tf.image.ssim_multiscale(a, b, 1.0, factors)
        fed = session.run(in_run, {a: images[:2], b: images[1:]})
    np.testing.assert_allclose(fed, [each[0][1], each[1][2]], rtol=1e-5)


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


@pytest.mark.parametrize("at_once", [1, 7, 64])
@pytest.mark.parametrize("most", [0, 12, 200])
def test_boxes_are_taken_as_one_after_the_other(at_once, most, monkeypatch):
    """Boxes without area, that are turned over, infinite or NaN are among them."""
    monkeypatch.setattr(kernels, "BOXES_AT_ONCE", at_once)
    rng = np.random.default_rng(0)
    boxes = rng.integers(0, 9, (150, 4)).astype(np.float32) / 8
    boxes[rng.integers(0, 150, 9), rng.integers(0, 4, 9)] = [np.nan, np.inf, -np.inf] * 3
    scores = rng.integers(0, 20, 150).astype(np.float32)

    def overlap(a, b):
        (low, high), (first, last) = (np.sort(box.reshape(2, 2), axis=0) for box in (a, b))
        shared = np.maximum(np.minimum(high, last) - np.maximum(low, first), 0).prod()
        areas = (high - low).prod(), (last - first).prod()
        return shared / (sum(areas) - shared) if all(a > 0 for a in areas) else 0.0

    wanted = []
    with np.errstate(all="ignore"):
        for i in np.argsort(-scores, kind="stable"):
            if len(wanted) < most and all(overlap(boxes[i], boxes[j]) <= 0.4 for j in wanted):
                wanted.append(i)
    assert dv.image.non_max_suppression(boxes, scores, most, 0.4).numpy().tolist() == wanted


def test_boxes_of_all_classes_are_suppressed_class_by_class():
    rng = np.random.default_rng(1)
    corners = np.sort(rng.uniform(-0.2, 1.2, size=(2, 30, 3, 2, 2)), axis=3).astype("f4")
    boxes, scores = corners.reshape(2, 30, 3, 4), rng.uniform(size=(2, 30, 3)).astype("f4")
    found, of_found, classes, counts = (
        t.numpy() for t in dv.image.combined_non_max_suppression(boxes, scores, 4, 7, 0.3, 0.5)
    )
    for n in range(2):
        kept = [
            (scores[n, i, c], c, boxes[n, i, c])
            for c in range(3)
            for i in dv.image.non_max_suppression(
                boxes[n, :, c], scores[n, :, c], 4, 0.3, 0.5
            ).numpy()
        ]
        kept = sorted(kept, key=lambda item: -item[0])[:7]
        assert counts[n] == len(kept)
        for place, (score, number, box) in enumerate(kept):
            assert (of_found[n, place], classes[n, place]) == (score, number)
            np.testing.assert_array_equal(found[n, place], np.clip(box, 0, 1))
        assert not of_found[n, len(kept) :].any() and not found[n, len(kept) :].any()


def test_combined_results_are_as_long_as_they_may_be():
    boxes, scores = np.zeros((1, 5, 1, 4), "f4"), np.ones((1, 5, 2), "f4")
    for padded, size in ((False, 9), (True, 6)):
        found = dv.image.combined_non_max_suppression(boxes, scores, 3, 9, pad_per_class=padded)
        assert found[0].shape.as_list() == [1, size, 4] and found[3].numpy().tolist() == [6]
    with pytest.raises(ValueError, match=r"classes or 1, 4\]"):
        dv.image.combined_non_max_suppression(np.zeros((1, 5, 3, 4)), np.zeros((1, 5, 2)), 3, 9)


@pytest.mark.parametrize(
    ("name", "number"), [("bilinear", 0), ("nearest", 1), ("bicubic", 2), ("area", 3)]
)
def test_ways_to_resize_have_names_too(name, number):
    x = np.random.default_rng(0).random((1, 3, 4, 2), np.float32)
    found = [dv.image.resize_images(x, [5, 6], method).numpy() for method in (name, number)]
    np.testing.assert_array_equal(*found)
