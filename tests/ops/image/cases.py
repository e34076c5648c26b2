"""Programs on images that TensorFlow has run: their results are in `tensorflow.json`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.ops.tensorflow_cases import Cases

CASES = Cases()
case = CASES.case


def floats(*shape: int, seed: int = 1) -> np.ndarray:
    return np.random.RandomState(seed).uniform(0, 1, shape).astype(np.float32)


def pixels(*shape: int, seed: int = 2) -> np.ndarray:
    return np.random.RandomState(seed).randint(0, 256, shape).astype(np.uint8)


# -- resized -----------------------------------------------------------------------------------

SIZES = {"up": (7, 8), "down": (2, 3), "mixed": (2, 9), "one": (1, 1), "same": (4, 5)}
WAYS = {
    "bilinear": "resize_bilinear",
    "nearest": "resize_nearest_neighbor",
    "bicubic": "resize_bicubic",
    "area": "resize_area",
}


def _resizing(way: str, size: str, options: dict[str, bool]) -> None:
    def run(tf: Any) -> Any:
        function = getattr(tf.image, WAYS[way])
        x = tf.constant(floats(2, 4, 5, 3))
        y = function(x, SIZES[size], **options)
        found = [y, function(tf.constant(pixels(1, 5, 3, 1)), SIZES[size], **options)]
        if way != "area":  # which has no gradient in TensorFlow
            weights = floats(2, *SIZES[size], 3, seed=5)
            found += tf.gradients(tf.reduce_sum(y * weights), x)
        return found

    CASES["_".join([way, size, *options])] = run


for _way in WAYS:
    for _size in SIZES:
        _resizing(_way, _size, {})
        _resizing(_way, _size, {"align_corners": True})
        if _way != "area":
            _resizing(_way, _size, {"half_pixel_centers": True})


@case
def resized_images(tf):
    one, many = tf.constant(floats(4, 6, 1)), tf.constant(pixels(2, 4, 6, 1))
    return [
        tf.image.resize_images(one, [3, 5]),
        tf.image.resize_images(one, [8, 9], method=tf.image.ResizeMethod.BICUBIC),
        tf.image.resize_images(many, tf.constant([2, 3]), tf.image.ResizeMethod.AREA),
        tf.image.resize(many, [7, 5], tf.image.ResizeMethod.NEAREST_NEIGHBOR, align_corners=True),
        tf.image.resize_images(one, [8, 8], preserve_aspect_ratio=True),
        tf.image.resize_images(many, [4, 6]),
        tf.image.resize_image_with_pad(one, 6, 6),
        tf.image.resize_image_with_pad(many, 3, 7),
    ]


# -- glimpses ------------------------------------------------------------------------------------

PLACES = [[0, 0], [0.5, -0.3], [2, 1], [-1.5, -2.5], [1, -1]]


@case
def glimpses(tf: Any) -> Any:
    """Where windows are: noise, which is no whole number, is written as -1."""
    images = np.arange(1, 31, dtype=np.float32).reshape(1, 5, 6, 1).repeat(len(PLACES), 0)
    found = []
    for centered in (True, False):
        for normalized in (True, False):
            seen = tf.image.extract_glimpse(
                images, [3, 2], np.array(PLACES, np.float32), centered, normalized
            )
            found.append(tf.where(tf.equal(seen, tf.floor(seen)), seen, -tf.ones_like(seen)))
    return found


# -- cropped, padded, turned -------------------------------------------------------------------


@case
def cropped(tf):
    one, many = tf.constant(pixels(5, 7, 2)), tf.constant(floats(2, 5, 7, 2))
    return [
        tf.image.crop_to_bounding_box(one, 1, 2, 3, 4),
        tf.image.crop_to_bounding_box(many, 0, 3, 5, 1),
        tf.image.pad_to_bounding_box(one, 1, 0, 7, 9),
        tf.image.pad_to_bounding_box(many, 0, 2, 5, 9),
        tf.image.resize_image_with_crop_or_pad(one, 8, 3),
        tf.image.resize_image_with_crop_or_pad(many, 2, 10),
        tf.image.central_crop(one, 0.5),
        tf.image.central_crop(many, 0.7),
    ]


@case
def cropped_in_the_run(tf):
    one = tf.placeholder_with_default(pixels(5, 7, 2), [None, None, 2])
    size = tf.constant(3) + 1
    parts = [
        tf.image.resize_image_with_crop_or_pad(one, 8, 3),
        tf.image.central_crop(one, 0.5),
        tf.image.crop_to_bounding_box(one, size - 3, 0, size, 2),
        tf.image.pad_to_bounding_box(one, 0, 1, size + 3, 9),
    ]
    assert parts[0].shape.as_list() == [8, 3, 2]
    assert parts[3].shape.as_list()[1:] == [9, 2]
    return parts


@case
def turned(tf):
    one, many = tf.constant(pixels(2, 3, 1)), tf.constant(floats(2, 3, 2, 1))
    found = [f(x) for f in (tf.image.flip_left_right, tf.image.flip_up_down) for x in (one, many)]
    found += [tf.image.transpose_image(x) for x in (one, many)]
    found += [tf.image.rot90(x, k) for x in (one, many) for k in (0, 1, 2, 3, 5)]
    return [*found, tf.image.rot90(one, tf.constant(2) + 1)]


# -- colours -----------------------------------------------------------------------------------


@case
def colors(tf):
    x = tf.constant(floats(2, 3, 3))
    grey = tf.constant([[[0.5, 0.5, 0.5], [0, 0, 0], [1, 1, 1], [0.2, 0.7, 0.7]]], tf.float32)
    names = ["rgb_to_hsv", "hsv_to_rgb", "rgb_to_yuv", "yuv_to_rgb", "rgb_to_yiq", "yiq_to_rgb"]
    return [getattr(tf.image, name)(image) for name in names for image in (x, grey)]


@case
def greys(tf):
    x, y = tf.constant(floats(2, 3, 3)), tf.constant(pixels(2, 2, 3, 3))
    return [
        *[tf.image.rgb_to_grayscale(image) for image in (x, y)],
        *[tf.image.grayscale_to_rgb(image[..., :1]) for image in (x, y)],
    ]


@case
def dtypes(tf):
    x, y = tf.constant(floats(3, 3, 1)) * 1.2 - 0.1, tf.constant(pixels(3, 3, 1))
    return [
        tf.image.convert_image_dtype(x, tf.uint8, saturate=True),
        tf.image.convert_image_dtype(x, tf.int16, saturate=True),
        tf.image.convert_image_dtype(x, tf.float64),
        tf.image.convert_image_dtype(y, tf.float32),
        tf.image.convert_image_dtype(y, tf.int16),
        tf.image.convert_image_dtype(tf.image.convert_image_dtype(y, tf.int32), tf.uint8),
        tf.image.convert_image_dtype(y, tf.uint8),
    ]


@case
def adjusted(tf):
    x, y = tf.constant(floats(2, 4, 3, 3)), tf.constant(pixels(4, 3, 3))
    calls = [
        lambda image: tf.image.adjust_brightness(image, 0.3),
        lambda image: tf.image.adjust_contrast(image, 1.7),
        lambda image: tf.image.adjust_gamma(image, 0.5, 1.1),
        lambda image: tf.image.adjust_hue(image, 0.3),
        lambda image: tf.image.adjust_hue(image, -0.4),
        lambda image: tf.image.adjust_saturation(image, 0.4),
        lambda image: tf.image.adjust_saturation(image, 3.0),
    ]
    return [call(image) for call in calls for image in (x, y)]


@case
def standardized(tf):
    x = tf.constant(floats(2, 4, 3, 3))
    y = tf.image.per_image_standardization(x)
    flat = tf.image.per_image_standardization(tf.fill([2, 2, 1], 7.0))
    return [y, flat, *tf.gradients(tf.reduce_sum(y * floats(2, 4, 3, 3, seed=9)), x)]


# -- boxes -------------------------------------------------------------------------------------

BOXES = np.array(
    [[0.1, 0.2, 0.8, 0.9], [0.9, 0.9, 0.2, 0.1], [-0.2, 0.3, 1.3, 0.6], [0, 0, 1, 1]], np.float32
)


@case
def crops(tf):
    x, boxes = tf.constant(floats(2, 5, 6, 3)), tf.constant(BOXES)
    found = []
    for method in ("bilinear", "nearest"):
        for size in ((3, 4), (1, 1), (7, 2)):
            y = tf.image.crop_and_resize(x, boxes, [0, 1, 1, 0], size, method, 0.5)
            weights = floats(4, *size, 3, seed=4)
            wanted = [x, boxes] if method == "bilinear" else [x]
            found += [y, *tf.gradients(tf.reduce_sum(y * weights), wanted)]
    return [
        *found,
        tf.image.crop_and_resize(tf.constant(pixels(1, 4, 4, 1)), boxes[:1], [0], [2, 2]),
    ]


@case
def suppressed(tf):
    corners = floats(12, 2, 2, seed=3)
    boxes = np.concatenate([corners.min(1), corners.max(1)], axis=1)
    boxes[3] = boxes[3][[2, 3, 0, 1]]
    boxes[4] = boxes[5]
    scores = floats(12, seed=8)
    scores[7] = scores[6]
    overlaps = floats(12, 12, seed=6)
    found = [
        tf.image.non_max_suppression(boxes, scores, most, iou, lowest)
        for most, iou, lowest in ((12, 0.5, 0.0), (3, 0.1, 0.0), (12, 0.05, 0.4), (0, 0.5, 0.0))
    ]
    return [
        *found,
        tf.image.non_max_suppression_overlaps(overlaps, scores, 12, 0.4),
        *tf.image.non_max_suppression_padded(boxes, scores, 9, 0.1, pad_to_max_output_size=True),
    ]


@case
def drawn(tf):
    boxes = np.stack([BOXES, BOXES[::-1] * 0.7], axis=0)
    return [tf.image.draw_bounding_boxes(floats(2, 6, 7, depth), boxes) for depth in (1, 3, 4)] + [
        tf.image.draw_bounding_boxes(floats(2, 6, 7, 3), boxes, colors=[[0.1, 0.2, 0.3]])
    ]


@case
def patches(tf):
    x = tf.constant(floats(2, 5, 6, 2))
    found = []
    for size, stride, rate in ((2, 1, 1), (3, 2, 1), (2, 2, 2)):
        for padding in ("SAME", "VALID"):
            args = [[1, n, n, 1] for n in (size, stride, rate)]
            y = tf.image.extract_image_patches(x, *args, padding)
            weights = tf.reshape(tf.range(tf.cast(tf.size(y), tf.float32)), tf.shape(y)) / 100
            found += [y, *tf.gradients(tf.reduce_sum(y * weights), x)]
    return found


# -- compared ----------------------------------------------------------------------------------


@case
def compared(tf):
    a, b = floats(2, 13, 12, 3), floats(2, 13, 12, 3, seed=7)
    whole = pixels(2, 13, 12, 1), pixels(2, 13, 12, 1, seed=3)
    big = floats(1, 45, 52, 1), floats(1, 45, 52, 1) * 0.8
    return [
        tf.image.psnr(tf.constant(a), tf.constant(b), 1.0),
        tf.image.psnr(tf.constant(whole[0]), tf.constant(whole[1]), 255),
        tf.image.ssim(tf.constant(a), tf.constant(b), 1.0),
        tf.image.ssim(tf.constant(a[0]), tf.constant(b[0]), 1.0, filter_size=5, k1=0.1),
        tf.image.ssim(tf.constant(whole[0]), tf.constant(whole[1]), 255),
        tf.image.ssim_multiscale(*big, 1.0, [0.3, 0.7, 0.2]),
        tf.image.total_variation(tf.constant(a)),
        tf.image.total_variation(tf.constant(a[0])),
        *tf.image.image_gradients(tf.constant(a[:1, :4, :3])),
        tf.image.sobel_edges(tf.constant(a[:1, :4, :3])),
    ]


# -- files -------------------------------------------------------------------------------------


@case
def files(tf):
    grey, color, clear = (pixels(3, 4, depth) for depth in (1, 3, 4))
    found = []
    for image in (grey, color, clear):
        file = tf.image.encode_png(tf.constant(image))
        found += [tf.image.decode_png(file), tf.image.decode_image(file, dtype=tf.float32)]
        found.append(tf.image.decode_png(file, channels=3))
    flat = tf.image.encode_jpeg(tf.fill([8, 16, 3], tf.constant(90, tf.uint8)))
    found += [
        tf.image.decode_jpeg(flat),
        tf.image.decode_jpeg(flat, channels=1),
        tf.image.extract_jpeg_shape(flat),
        tf.image.decode_and_crop_jpeg(flat, [1, 2, 3, 4]),
        tf.image.decode_png(
            tf.image.encode_png(tf.constant(grey.astype(np.uint16) * 200)), 0, tf.uint16
        ),
        tf.image.is_jpeg(flat),
    ]
    return found


def plain(value: Any) -> Any:
    """Return a result as plain data: dtype, shape and elements."""
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    array = np.asarray(value)
    flat = array.ravel().tolist()
    if array.dtype.kind == "f":
        flat = [float(f"{each:.7g}") for each in flat]
    return [array.dtype.name, list(array.shape), flat]


def compare(found: Any, expected: Any) -> None:
    """Compare elements: results are as near as float32 lets them be."""
    # A whole number may be another by one, where a float lies between two.
    absolute = 2e-5 if found[0].startswith("float") else 1
    np.testing.assert_allclose(
        np.array(found[2], float), np.array(expected[2], float), rtol=2e-5, atol=absolute
    )


if __name__ == "__main__":
    CASES.write(plain)
