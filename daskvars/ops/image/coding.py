"""Files of images: their pixels, and files made of pixels, by Pillow (the extra ``image``)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from daskvars import dtypes, shapes
from daskvars.dtypes import DType, DTypeLike, as_dtype
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import OpDef, Spec, without_gradient
from daskvars.graph.definitions.patterns import Contraction
from daskvars.graph.interpreter import apply
from daskvars.graph.records import attribute_kinds as kinds_of
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.kernels.image import coding as kernels
from daskvars.ops.array.constant import shape as shape_of
from daskvars.ops.array.joining import concat, stack
from daskvars.ops.array.reshaping import ensure_shape
from daskvars.ops.array.slicing import slice
from daskvars.ops.control.dependencies import Assert, with_dependencies
from daskvars.ops.image.colors import convert_image_dtype
from daskvars.ops.math.comparison import equal
from daskvars.ops.math.reduce import reduce_all
from daskvars.ops.random.distributions import random_uniform
from daskvars.ops.rules import axes
from daskvars.ops.strings import substr
from daskvars.surface.accepted import accepts
from daskvars.surface.signatures import Family

_KINDS = {
    "channels": kinds_of.INT,
    "dtype": kinds_of.DTYPE,
    "formats": kinds_of.tuple_of(kinds_of.TEXT),
    "frames": kinds_of.TEXT,
}
ALL = ("PNG", "JPEG", "GIF", "BMP")


def _check_file(inputs: Sequence[Spec]) -> None:
    if not shapes.compatible(inputs[0].shape, ()):
        raise ValueError(
            f"contents must be scalar, one file, got shape {shapes.show(inputs[0].shape)}; "
            "map_fn takes one after the other"
        )


def _decoded(inputs: Sequence[Spec], *, channels: int, dtype: DType, **attrs: Any) -> Spec:
    _check_file(inputs)
    if attrs["frames"] in ("all", "own"):
        return Spec(dtype, (None, None, None, 3) if attrs["frames"] == "all" else None)
    return Spec(dtype, (None, None, channels or None))


def _decoder(type: str) -> OpDef:
    return without_gradient(type, "contents:S", _decoded, kernels.decode_image, attributes=_KINDS)


PNG, JPEG, GIF, BMP = map(_decoder, ("DecodePng", "DecodeJpeg", "DecodeGif", "DecodeBmp"))
ANY = _decoder("DecodeImage")


def _decode(
    definition: OpDef,
    contents: TensorLike,
    name: str | None,
    formats: Sequence[str],
    channels: int = 0,
    dtype: DTypeLike = dtypes.uint8,
    allowed: Sequence[int] = (0, 1, 3, 4),
    frames: str = "one",
    kinds: Sequence[DType] = (dtypes.uint8,),
) -> Tensor:
    channels, wanted = int(channels or 0), as_dtype(dtype).base_dtype
    if channels not in allowed:
        raise ValueError(f"channels must be one of {', '.join(map(str, allowed))}; got {channels}")
    if wanted not in kinds:
        raise ValueError(f"dtype must be {' or '.join(k.name for k in kinds)}, got {wanted.name}")
    return apply(
        definition,
        contents,
        name=name,
        channels=channels,
        dtype=wanted,
        formats=tuple(formats),
        frames=frames,
    )


_DECODED = Family(
    {},
    raises="ValueError: the arguments are others.\n"
    "InvalidArgumentError: (when run) it is no such file.\n"
    "ImportError: in the run: the extra ``image`` is not installed.",
)


@_DECODED.documents()
def decode_png(
    contents: TensorLike,
    channels: int = 0,
    dtype: DTypeLike = dtypes.uint8,
    name: str | None = None,
) -> Tensor:
    """Return the pixels of a PNG file.

    Args:
      contents: [] string, the file. GIF (one frame), JPEG and BMP files are read too.
      channels: 1 for grey, 3 for colours, 4 with transparency; 0 for as many as the file has.
      dtype: uint8 or uint16.
      name: name of the operation, by default "DecodePng".

    Returns:
      [height, width, channels] `dtype`.

    Source: TensorFlow 1.15, ``tf.image.decode_png``.

    >>> file = encode_png(dv.constant([[[1], [2]]], dv.uint8))
    >>> decode_png(file).numpy().ravel().tolist()
    [1, 2]
    """
    kinds = (dtypes.uint8, dtypes.uint16)
    return _decode(PNG, contents, name, ALL, channels, dtype, kinds=kinds)


@_DECODED.documents()
@accepts("dct_method", "fancy_upscaling", "try_recover_truncated", "acceptable_fraction")
def decode_jpeg(
    contents: TensorLike,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Tensor:
    """Return the pixels of a JPEG file.

    Args:
      contents: [] string, the file. PNG, GIF (one frame) and BMP files are read too.
      channels: 1 for grey, 3 for colours; 0 for as many as the file has.
      ratio: must be 1; resize the result for a smaller one.
      name: name of the operation, by default "DecodeJpeg".

    Returns:
      [height, width, channels] uint8; pixels may be another by a few than TensorFlow's, whose
      cosine transform is quicker and coarser.

    Source: TensorFlow 1.15, ``tf.image.decode_jpeg``.

    >>> decode_jpeg(encode_jpeg(dv.zeros([1, 2, 3], dv.uint8))).numpy().shape
    (1, 2, 3)
    """
    if ratio != 1:
        raise ValueError(f"ratio must be 1, got {ratio}; use resize_area on the result")
    return _decode(JPEG, contents, name, ALL, channels, allowed=(0, 1, 3))


def decode_bmp(contents: TensorLike, channels: int = 0, name: str | None = None) -> Tensor:
    """Return the pixels of a BMP file, [height, width, channels] uint8. See `decode_png`.

    Args:
      contents: [] string, the file. Where its pixels are neither packed nor looked up in a palette
        each of their bytes is a channel, and the file may begin with any two bytes.
      channels: 0 as in the file, 1 for grey, 3 for colours, 4 with opacity.
      name: name of the operation.

    Returns:
      [height, width, channels] uint8.

    Raises:
      ValueError: there is no such number of channels.
      InvalidArgumentError: (when run) it is no BMP file.
      ImportError: in the run: the extra ``image`` is not installed.

    Source: TensorFlow 1.15, ``tf.image.decode_bmp``.

    >>> import io, PIL.Image
    >>> file = io.BytesIO()
    >>> PIL.Image.new("RGB", (2, 1), (255, 0, 7)).save(file, "BMP")
    >>> decode_bmp(file.getvalue()).numpy().tolist()
    [[[255, 0, 7], [255, 0, 7]]]
    """
    return _decode(BMP, contents, name, ["BMP"], channels)


def decode_gif(contents: TensorLike, name: str | None = None) -> Tensor:
    """Return the pixels of a GIF file, [frames, height, width, 3] uint8. See `decode_png`.

    Args:
      contents: [] string, the file. PNG and JPEG files are read too: one frame.
      name: name of the operation.

    Returns:
      [frames, height, width, 3] uint8.

    Raises:
      InvalidArgumentError: (when run) it is no such file.
      ImportError: in the run: the extra ``image`` is not installed.

    Source: TensorFlow 1.15, ``tf.image.decode_gif``.

    >>> import io, PIL.Image
    >>> file = io.BytesIO()
    >>> frames = [PIL.Image.new("RGB", (2, 1), colour) for colour in ("black", "white")]
    >>> frames[0].save(file, "GIF", save_all=True, append_images=frames[1:])
    >>> decode_gif(file.getvalue()).numpy()[:, 0, 0].tolist()
    [[0, 0, 0], [255, 255, 255]]
    """
    return _decode(GIF, contents, name, ("GIF", "PNG", "JPEG"), 3, frames="all")


@_DECODED.documents()
def decode_image(
    contents: TensorLike,
    channels: int | None = None,
    dtype: DTypeLike = dtypes.uint8,
    name: str | None = None,
    expand_animations: bool = True,
) -> Tensor:
    """Return the pixels of a PNG, JPEG, GIF or BMP file.

    Args:
      contents: [] string, the file.
      channels: as for `decode_png`.
      dtype: uint8, uint16 or a floating dtype, in which pixels are from 0 to 1.
      name: name of the operation, by default "decode_image".
      expand_animations: a GIF gives all of its frames; else the first, and the rank is known.

    Returns:
      [height, width, channels], of a GIF [frames, height, width, 3], `dtype`.

    Source: TensorFlow 1.15, ``tf.image.decode_image``.

    >>> file = encode_png(dv.constant([[[255]]], dv.uint8))
    >>> decode_image(file, dtype=dv.float32).numpy().ravel().tolist()
    [1.0]
    """
    kinds = (dtypes.uint8, dtypes.uint16, dtypes.float32, dtypes.float64)
    frames = "own" if expand_animations else "first"
    return _decode(
        ANY, contents, name or "decode_image", ALL, channels or 0, dtype, frames=frames, kinds=kinds
    )


@accepts("dct_method", "fancy_upscaling", "try_recover_truncated", "acceptable_fraction")
def decode_and_crop_jpeg(
    contents: TensorLike,
    crop_window: TensorLike,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Tensor:
    """Return a rectangle of the pixels of a JPEG file. See `decode_jpeg`.

    Args:
      contents: [] string, the file.
      crop_window: [4] integer: first row, first column, height and width.
      channels: see `decode_jpeg`, also for `ratio`.
      name: name scope of the operations, by default "DecodeAndCropJpeg".

    Returns:
      [height, width, channels] uint8, of the height and width of the window.

    Raises:
      InvalidArgumentError: (when run) it is no JPEG file, or the window is not within it.

    Source: TensorFlow 1.15, ``tf.image.decode_and_crop_jpeg``.

    >>> file = dv.image.encode_jpeg(dv.fill([8, 16, 3], dv.cast(200, dv.uint8)))
    >>> decode_and_crop_jpeg(file, [2, 4, 1, 2]).numpy().tolist()
    [[[200, 200, 200], [200, 200, 200]]]
    """
    with name_scope(name, "DecodeAndCropJpeg", [contents, crop_window]):
        image = decode_jpeg(contents, channels, ratio)
        given = axes.as_operand(crop_window)
        sizes = given[2:] if isinstance(given, tuple) else (None, None)
        known = [None if n is None or axes.is_symbolic(n) or n < 1 else n for n in sizes]
        window = convert_to_tensor(crop_window, dtypes.int32)
        begin, size = window[:2], window[2:]
        fits = (begin >= 0, size > 0, begin + size <= shape_of(image)[:2])
        check = Assert(reduce_all(stack(fits)), ["Invalid JPEG data or crop window", window])
        whole = with_dependencies([check], image)
        part = slice(whole, concat([begin, [0]], 0), concat([size, [-1]], 0))
        return ensure_shape(part, (*known, channels or None))


def _measured(inputs: Sequence[Spec], *, dtype: DType) -> Spec:
    _check_file(inputs)
    return Spec(dtype, (3,))


EXTRACT_JPEG_SHAPE = without_gradient(
    "ExtractJpegShape",
    "contents:S",
    infer=_measured,
    kernel=kernels.jpeg_shape,
    attributes={"dtype": kinds_of.DTYPE},
)


def extract_jpeg_shape(
    contents: TensorLike, output_type: DTypeLike = dtypes.int32, name: str | None = None
) -> Tensor:
    """Return height, width and channels of a JPEG file, [3] int32 or int64. See `decode_jpeg`.

    Args:
      contents: [] string, the file.
      output_type: int32 or int64, of the result.
      name: name of the operation.

    Source: TensorFlow 1.15, ``tf.image.extract_jpeg_shape``.

    >>> extract_jpeg_shape(encode_jpeg(dv.zeros([1, 2, 3], dv.uint8))).numpy().tolist()
    [1, 2, 3]
    """
    return apply(EXTRACT_JPEG_SHAPE, contents, name=name, dtype=as_dtype(output_type).base_dtype)


def is_jpeg(contents: TensorLike, name: str | None = None) -> Tensor:
    r"""Return whether files begin as JPEG files do: [...] bool for [...] string.

    Args:
      contents: [...] string, the files.
      name: name scope of the operations, by default "is_jpeg".

    Source: TensorFlow 1.15, ``tf.image.is_jpeg``.

    >>> is_jpeg([b"\xff\xd8\xff\xe0", b"GIF8"]).numpy().tolist()
    [True, False]
    """
    with name_scope(name, "is_jpeg", [contents]) as scope:
        return equal(substr(contents, 0, 3), b"\xff\xd8\xff", name=scope)


# -- files of pixels ---------------------------------------------------------------------------


def _encoder(
    type: str,
    kernel: Callable[..., Any],
    rank: int | None,
    operands: tuple[str, ...] = (),
    **kinds: kinds_of.Kind,
) -> OpDef:
    def encoded(inputs: Sequence[Spec], **attrs: Any) -> Spec:
        shape = inputs[0].shape
        if shape is None:
            return Spec(dtypes.string, None)
        if len(shape) < 3 or (rank and len(shape) != rank):
            raise ValueError(f"image must be [height, width, channels], got {shapes.show(shape)}")
        return Spec(dtypes.string, shape[:-3])

    return without_gradient(
        type,
        "image:Z",
        infer=encoded,
        kernel=kernel,
        pattern=Contraction("...___->...", None),
        operands=operands,
        attributes=kinds,
    )


ENCODE_PNG = _encoder("EncodePng", kernels.encode_png, None, compression=kinds_of.INT)
ENCODE_JPEG = _encoder(
    "EncodeJpeg",
    kernels.encode_jpeg,
    3,
    operands=("quality",),
    format=kinds_of.TEXT,
    quality=kinds_of.either(kinds_of.NONE, kinds_of.INT),
    progressive=kinds_of.BOOL,
    optimize_size=kinds_of.BOOL,
    chroma_downsampling=kinds_of.BOOL,
)


def _pixels(image: TensorLike, *kinds: DType) -> Tensor:
    image = convert_to_tensor(image, name="image")
    if image.dtype.base_dtype not in kinds:
        raise TypeError(
            f"image must be {' or '.join(kind.name for kind in kinds)}, got "
            f"{image.dtype.name}; see convert_image_dtype"
        )
    return image


def encode_png(image: TensorLike, compression: int = -1, name: str | None = None) -> Tensor:
    """Return images as PNG files.

    Args:
      image: [..., height, width, channels] uint8, or of 1 channel uint16; 1 channel for grey, 3 for
        colours, one more with transparency.
      compression: from 0 to 9; -1 for the usual.
      name: name of the operation, by default "EncodePng".

    Returns:
      [...] string, the files.

    Raises:
      TypeError: the dtype is another.
      ValueError: the rank is below 3, or there is no such compression.
      ImportError: in the run: the extra ``image`` is not installed.

    Source: TensorFlow 1.15, ``tf.image.encode_png``.

    >>> encode_png(dv.zeros([1, 1, 3], dv.uint8)).numpy()[1:4]
    b'PNG'
    """
    if not -1 <= compression <= 9:
        raise ValueError(f"compression must be from -1 to 9, got {compression}")
    image = _pixels(image, dtypes.uint8, dtypes.uint16)
    return apply(ENCODE_PNG, image, name=name, compression=int(compression))


@accepts("density_unit", "x_density", "y_density", "xmp_metadata")
def encode_jpeg(
    image: TensorLike,
    format: str = "",
    quality: Any = 95,
    progressive: bool = False,
    optimize_size: bool = False,
    chroma_downsampling: bool = True,
    density_unit: str = "in",
    x_density: int = 300,
    y_density: int = 300,
    xmp_metadata: str = "",
    name: str | None = None,
) -> Tensor:
    """Return an image as a JPEG file.

    Args:
      image: [height, width, channels] uint8; 1 channel for grey, 3 for colours.
      format: "grayscale" or "rgb", how many channels there have to be; "" for as many as there are.
      quality: from 0 to 100, an int or a scalar integer tensor.
      progressive: write a file that can be shown while it is loaded.
      optimize_size: take longer for a smaller file.
      chroma_downsampling: keep colours at half the resolution.
      name: name of the operation, by default "EncodeJpeg".

    Returns:
      [] string, the file.

    Raises:
      TypeError: the dtype is not uint8.
      ValueError: the rank is not 3, or an argument is another.
      ImportError: in the run: the extra ``image`` is not installed.

    Source: TensorFlow 1.15, ``tf.image.encode_jpeg``.

    >>> bool(is_jpeg(encode_jpeg(dv.zeros([1, 1, 3], dv.uint8))))
    True
    """
    if format not in ("", "grayscale", "rgb"):
        raise ValueError(f"format must be '', 'grayscale' or 'rgb', got {format!r}")
    if not axes.is_symbolic(quality) and not 0 <= quality <= 100:
        raise ValueError(f"quality must be from 0 to 100, got {quality}")
    return apply(
        ENCODE_JPEG,
        _pixels(image, dtypes.uint8),
        name=name,
        format=format,
        quality=quality if axes.is_symbolic(quality) else int(quality),
        progressive=bool(progressive),
        optimize_size=bool(optimize_size),
        chroma_downsampling=bool(chroma_downsampling),
    )


# -- as files would make them ------------------------------------------------------------------


@accepts("dct_method")
def adjust_jpeg_quality(
    image: TensorLike, jpeg_quality: Any, dct_method: str = "", name: str | None = None
) -> Tensor:
    """Return an image as a JPEG file of some quality would have it.

    Args:
      image: [height, width, channels] real; 1 channel for grey, 3 for colours.
      jpeg_quality: from 0 to 100, an int or a scalar integer tensor.
      name: name scope of the operations, by default "adjust_jpeg_quality".

    Returns:
      The image, shaped and typed as `image`.

    Raises:
      ValueError: the rank is not 3, or there is no such quality.

    Source: TensorFlow 1.15, ``tf.image.adjust_jpeg_quality``.

    >>> image = dv.range(192.0) / 192.0
    >>> image = dv.reshape(image, [8, 8, 3])
    >>> good, bad = (adjust_jpeg_quality(image, quality) for quality in (95, 5))
    >>> bool(dv.norm(good - image) < dv.norm(bad - image))
    True
    """
    with name_scope(name, "adjust_jpeg_quality", [image]) as scope:
        image = convert_to_tensor(image, name="image")
        known = image.spec.shape
        pixels = convert_image_dtype(image, dtypes.uint8, saturate=True)
        file = encode_jpeg(pixels, quality=jpeg_quality)
        found = decode_jpeg(file, channels=known[-1] if known and known[-1] else 0)
        found = convert_image_dtype(found, image.dtype, saturate=True)
        return found if known is None else ensure_shape(found, known, name=scope)


def random_jpeg_quality(
    image: TensorLike, min_jpeg_quality: int, max_jpeg_quality: int, seed: int | None = None
) -> Tensor:
    """Return an image as a JPEG file of a quality between two would have it.

    Args:
      image: [height, width, channels] real.
      min_jpeg_quality: from 0 to 100.
      max_jpeg_quality: above that, up to 100.
      seed: int, see `set_random_seed`.

    Returns:
      The image, shaped and typed as `image`.

    Raises:
      ValueError: the bounds are not in order or not from 0 to 100, or the rank is not 3.

    See `adjust_jpeg_quality`.

    Source: TensorFlow 1.15, ``tf.image.random_jpeg_quality``.

    >>> grey = dv.fill([8, 8, 3], 0.5)
    >>> bool(dv.reduce_max(dv.abs(random_jpeg_quality(grey, 80, 95, seed=1) - grey)) < 0.02)
    True
    """
    if not 0 <= min_jpeg_quality < max_jpeg_quality <= 100:
        raise ValueError(
            f"jpeg qualities must be from 0 to 100 and in order, got {min_jpeg_quality} and "
            f"{max_jpeg_quality}"
        )
    drawn = random_uniform([], min_jpeg_quality, max_jpeg_quality, dtype=dtypes.int32, seed=seed)
    return adjust_jpeg_quality(image, drawn)
