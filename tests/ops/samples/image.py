"""Samples of images: resized, in other colours, cut by boxes, and in files."""

import numpy as np

import daskvars as dv
from daskvars.backpropagation import backpropagated
from daskvars.graph.interpreter import apply
from daskvars.ops.image import boxes, patches, resizing
from tests.ops.sample import Sample, gradient

RNG = np.random.default_rng(8)
IMAGES = RNG.uniform(0.1, 0.9, (2, 4, 3, 2))
COLORS = RNG.uniform(0.1, 0.9, (4, 2, 3))
PIXELS = RNG.integers(0, 256, (2, 3, 4, 3)).astype(np.uint8)
PLACES = {
    "": {},
    "corners": {"align_corners": True},
    "halves": {"half_pixel_centers": True},
}
SIZES = {"larger": (5, 4), "smaller": (3, 2)}
WAYS = {
    "ResizeBilinear": resizing.BILINEAR,
    "ResizeBicubic": resizing.BICUBIC,
    "ResizeArea": resizing.AREA,
    "ResizeNearestNeighbor": resizing.NEAREST,
}
BOXES = np.array([[0.13, 0.21, 0.72, 0.9], [0.9, 0.9, 0.23, 0.12], [-0.2, 0.31, 1.32, 0.6]])
WHICH = np.array([1, 0, 1], np.int32)


def resized(type, size, where):
    """Sample a resize, in float64: TensorFlow's are float32, too coarse for differences."""
    options = {"align_corners": False, "half_pixel_centers": False, "dtype": dv.float64}

    def call(x):
        return apply(WAYS[type], x, size=SIZES[size], **options | PLACES[where])

    def back(x):
        return gradient(call(x), x)

    names = f"{size} {where}".strip()
    return (
        Sample(type, call, (IMAGES,), (0,), id=names),
        Sample(f"{type}Grad", back, (IMAGES,), id=names),
    )


def seconds(type):
    """Sample the gradient of a gradient."""
    options = {"align_corners": False, "half_pixel_centers": False, "dtype": dv.float64}

    def back(dy):
        x = dv.zeros([2, 4, 3, 2], dv.float64)
        return backpropagated(apply(WAYS[type], x, size=(3, 2), **options), x, dy)[0]

    return Sample(f"{type}Grad", back, (RNG.normal(size=(2, 3, 2, 2)),), (0,), id="of gradients")


def crop(x, b, i, method="bilinear", size=(2, 3)):
    options = {"crop_size": size, "method": method, "extrapolation_value": 0.5}
    return apply(boxes.CROP_AND_RESIZE, x, b, i, dtype=dv.float64, **options)


def crop_gradients(x, b, i):
    y = crop(x, b, i)
    return [dv.convert_to_tensor(dx) for dx in backpropagated(y, [x, b], dv.ones_like(y))]


def windows(x, size, stride, rate, padding):
    return dv.image.extract_image_patches(x, size, stride, rate, padding)


def image_file(pixels, kind="PNG"):
    import io

    from PIL import Image

    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, kind)
    return np.array(stream.getvalue(), object)


SAMPLES = [
    *[
        sample
        for type in WAYS
        for size in SIZES
        for where in PLACES
        if not (type == "ResizeArea" and where == "halves")
        for sample in resized(type, size, where)
    ],
    *[seconds(type) for type in WAYS],
    Sample(
        "ResizeBilinear",
        lambda x, size: dv.image.resize_bilinear(x, size),
        (IMAGES, np.array([3, 5], np.int32)),
        chunked=(0,),
        rtol=1e-5,
        id="sizes of-run",
    ),
    Sample("ResizeNearestNeighbor", lambda x: dv.image.resize(x, [3, 2], 1), (PIXELS,), id="uint8"),
    Sample("CropAndResize", crop, (IMAGES, BOXES, WHICH), (0, 1)),
    Sample(
        "CropAndResize",
        lambda x, b, i: crop(x, b, i, "nearest"),
        (IMAGES, BOXES, WHICH),
        (0,),
        id="nearest",
    ),
    Sample(
        "CropAndResize",
        lambda x, b, i: crop(x, b, i, size=(1, 1)),
        (IMAGES, BOXES, WHICH),
        (0, 1),
        id="one pixel",
    ),
    Sample("CropAndResizeGradImage", crop_gradients, (IMAGES, BOXES, WHICH)),
    Sample("CropAndResizeGradBoxes", crop_gradients, (IMAGES, BOXES, WHICH)),
    *[
        Sample(
            "ExtractImagePatches",
            lambda x, options=options: windows(x, *options),
            (IMAGES,),
            (0,),
            id=" ".join(map(str, options)),
        )
        for options in ((2, 1, 1, "SAME"), (2, 2, 1, "VALID"), (2, 1, 2, "SAME"))
    ],
    Sample(
        "ExtractImagePatchesGrad",
        lambda dy: apply(
            patches.PATCHES_GRAD,
            dy,
            input_shape=(None, 4, 3, 2),
            ksizes=(1, 2, 2, 1),
            strides=(1, 1, 1, 1),
            rates=(1, 1, 1, 1),
            padding="SAME",
        ),
        (RNG.normal(size=(2, 4, 3, 8)),),
        (0,),
    ),
    Sample("RGBToHSV", dv.image.rgb_to_hsv, (COLORS,), (0,)),
    Sample("HSVToRGB", dv.image.hsv_to_rgb, (COLORS,)),
    Sample("AdjustHue", lambda x: dv.image.adjust_hue(x, 0.3), (COLORS.astype("f"),), rtol=1e-5),
    Sample(
        "AdjustSaturation",
        lambda x: dv.image.adjust_saturation(x, 0.3),
        (COLORS.astype("f"),),
        rtol=1e-5,
    ),
    Sample(
        "NonMaxSuppressionV3",
        lambda b, s: dv.image.non_max_suppression(b, s, 2),
        (np.array([[0.0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 2, 1, 3]]), np.array([0.5, 0.9, 0.3])),
    ),
    Sample(
        "NonMaxSuppressionWithOverlaps",
        lambda b, s: dv.image.non_max_suppression_overlaps(b, s, 2),
        (RNG.uniform(size=(3, 3)), np.array([0.5, 0.9, 0.3])),
    ),
    Sample(
        "CombinedNonMaxSuppression",
        lambda b, s: dv.image.combined_non_max_suppression(b, s, 2, 4),
        (RNG.uniform(size=(3, 6, 1, 4)).astype("f4"), RNG.uniform(size=(3, 6, 2)).astype("f4")),
    ),
    Sample(
        "DrawBoundingBoxes",
        dv.image.draw_bounding_boxes,
        (IMAGES[..., :1], BOXES[None].repeat(2, 0)),
    ),
    Sample(
        "DrawBoundingBoxesV2",
        lambda x, b, c: dv.image.draw_bounding_boxes(x, b, colors=c),
        (IMAGES[..., :1], BOXES[None].repeat(2, 0), np.array([[0.5]])),
        chunked=(0, 1),
    ),
    Sample(
        "SampleDistortedBoundingBoxV2",
        lambda size, b: dv.image.sample_distorted_bounding_box(size, b, seed=3),
        (np.array([8, 9, 3], np.int32), np.array([[[0.2, 0.2, 0.8, 0.7]]], np.float32)),
        random=True,
        chunked=(),
    ),
    Sample("DecodePng", lambda file: dv.image.decode_png(file, 3), (image_file(PIXELS[0]),)),
    Sample("DecodeJpeg", dv.image.decode_jpeg, (image_file(PIXELS[0], "JPEG"),)),
    Sample("DecodeGif", dv.image.decode_gif, (image_file(PIXELS[0], "GIF"),)),
    Sample("DecodeBmp", dv.image.decode_bmp, (image_file(PIXELS[0], "BMP"),)),
    Sample("DecodeImage", dv.image.decode_image, (image_file(PIXELS[0]),)),
    Sample("ExtractJpegShape", dv.image.extract_jpeg_shape, (image_file(PIXELS[0], "JPEG"),)),
    Sample("EncodePng", dv.image.encode_png, (PIXELS,)),
    Sample("EncodeJpeg", dv.image.encode_jpeg, (PIXELS[0],), chunked=()),
]
