"""Kernels of files of images: PNG, JPEG, GIF and BMP, by Pillow (the extra ``image``).

What Pillow does not read as TensorFlow does is read here: `png`, `bmp`.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from daskvars.backend import Array, ArrayModule
from daskvars.device_array import host_kernel
from daskvars.dtypes import DType
from daskvars.errors import invalid
from daskvars.kernels.image import bmp, png
from daskvars.kernels.optional_packages import needing

WHY = "files of images are read and written by Pillow"
MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}  # channels -> Pillow's name
SIGNATURES = {b"\x89PNG": "PNG", b"\xff\xd8\xff": "JPEG", b"GIF8": "GIF", b"BM": "BMP"}
CHANNELS = {"GIF": (3,), "JPEG": (1, 3)}
ALPHA = (2, 4)  # numbers of channels of which the last is how opaque a pixel is
GREY = np.array([0.299, 0.587, 0.114])  # shares of red, green and blue
DEPTH_16 = {"I", "I;16", "I;16B", "I;16L", "I;16N"}


def _pillow() -> Any:
    with needing("image", WHY):
        return import_module("PIL.Image")


def _data(contents: Any) -> bytes:
    return contents if isinstance(contents, bytes) else contents.item()


def _read(read: Callable[[bytes], np.ndarray], kind: str, data: bytes) -> np.ndarray:
    """Return the pixels of a file that is read here."""
    try:
        return read(data)
    except ValueError as error:
        raise invalid(f"Invalid {kind} data, size {len(data)}: {error}") from error


def _with_channels(pixels: np.ndarray, channels: int) -> np.ndarray:
    """Return pixels of 2, 3 or 4 channels with some number of channels, 0 for their own."""
    given = pixels.shape[-1]
    if channels in (0, given):
        return pixels
    colours, alpha = pixels[..., : 1 if given == 2 else 3], np.full_like(pixels[..., :1], 65535)
    if given in ALPHA:
        alpha = pixels[..., -1:]
    if channels < 3 <= given:
        colours = np.rint(colours @ GREY).astype(np.uint16)[..., None]
    elif given < 3 <= channels:
        colours = np.repeat(colours, 3, axis=-1)
    return np.concatenate([colours, alpha], axis=-1) if channels in ALPHA else colours


def _format(data: bytes) -> str | None:
    return next((name for start, name in SIGNATURES.items() if data.startswith(start)), None)


def _is_plain_bmp(data: bytes, formats: Sequence[str]) -> bool:
    """Return whether a file is to be read by `bmp`; where all are BMP files its start is free."""
    found = _format(data)
    is_bmp = found == "BMP" or (found is None and list(formats) == ["BMP"])
    return "BMP" in formats and is_bmp and bmp.is_plain(data)


def _opened(contents: Any, formats: Sequence[str]) -> Any:
    data = _data(contents)
    found = _format(data)
    if found not in formats:
        raise invalid(
            f"Expected an image file of {' or '.join(formats)}, got "
            f"{found or f'{len(data)} bytes that begin with {data[:8]!r}'}"
        )
    try:
        image = _pillow().open(io.BytesIO(data), formats=[found])
        image.load()
    except (OSError, ValueError, SyntaxError) as error:
        raise invalid(f"Invalid {found} data, size {len(data)}: {error}") from error
    return image


def decode_image(
    xp: ArrayModule,
    contents: Any,
    *,
    channels: int,
    dtype: DType,
    formats: Sequence[str],
    frames: str,
) -> np.ndarray:
    """Give the pixels of a file, [height, width, channels], or [frames, height, width, channels].

    Args:
      frames: "one", an animation is refused; "first" of an animation; "own", a GIF has the
        dimension of frames; "all", every file has it.
    """
    data = _data(contents)
    if "PNG" in formats and png.is_deep(data):
        pixels = _with_channels(_read(png.read, "PNG", data), channels)
    elif _is_plain_bmp(data, formats):
        pixels = _read(bmp.read, "BMP", data)
        _check_bmp(channels, pixels.shape[2])
    else:
        image = _opened(data, formats)
        if channels and channels not in CHANNELS.get(image.format, (channels,)):
            raise invalid(f"channels must be 0 or 3 for GIF, 0, 1 or 3 for JPEG; got {channels}")
        if image.format == "GIF":
            pixels = _frames(image, frames)
            return _in_dtype(pixels[0] if frames in ("one", "first") else pixels, dtype)
        if image.format == "BMP":
            _check_bmp(channels, len(image.getbands()))
        pixels = _pixels(image, channels)
    pixels = _in_dtype(pixels, dtype)
    return pixels[None] if frames == "all" else pixels


def _check_bmp(channels: int, found: int) -> None:
    if channels not in (0, found):
        raise invalid(
            f"channels attribute {channels} does not match bits per pixel from file {8 * found}"
        )


def _frames(image: Any, frames: str) -> np.ndarray:
    """Return the frames of a GIF, [frames, height, width, 3]."""
    if frames == "one" and image.n_frames > 1:
        raise invalid(
            f"Got {image.n_frames} frames, but animated gifs can only be decoded by "
            "tf.image.decode_gif or tf.image.decode_image"
        )
    found = []
    for number in range(1 if frames in ("one", "first") else image.n_frames):
        image.seek(number)
        found.append(np.array(image.convert("RGB")))
    return np.stack(found)


def _pixels(image: Any, channels: int) -> np.ndarray:
    """Return the pixels of an image with some number of channels, 0 for its own."""
    if image.mode in DEPTH_16:
        grey = np.array(image).astype(np.uint16)[..., None]
        if channels in (0, 1):
            return grey
        parts = [grey] * (channels - (channels % 2 == 0))
        full = [np.full_like(grey, 65535)] if channels % 2 == 0 else []
        return np.concatenate([*parts, *full], axis=-1)
    if not channels:
        transparent = "transparency" in image.info or "A" in image.getbands()
        grey_mode = image.mode in ("1", "L", "LA")
        channels = (1 if grey_mode else 3) + transparent
    pixels = np.array(image.convert(MODES[channels]))
    return pixels[..., None] if pixels.ndim == 2 else pixels


def _in_dtype(pixels: np.ndarray, dtype: DType) -> np.ndarray:
    """Return pixels in another dtype: the largest value stays the largest."""
    if pixels.dtype == dtype.np:
        return pixels
    if dtype.is_floating:
        return pixels.astype(dtype.np) / dtype.np.type(np.iinfo(pixels.dtype).max)
    if pixels.dtype == np.uint8:
        return pixels.astype(dtype.np) * 257
    return (pixels >> 8).astype(dtype.np)


def jpeg_shape(xp: ArrayModule, contents: Any, *, dtype: DType) -> np.ndarray:
    """Give [height, width, channels] of a JPEG file."""
    image = _opened(contents, ["JPEG"])
    return np.array([image.height, image.width, len(image.getbands())], dtype.np)


@host_kernel
def encode_png(xp: ArrayModule, image: Array, *, compression: int) -> np.ndarray:
    """Give a PNG file of each image [..., height, width, 1 to 4 channels], uint8 or uint16."""
    options = {} if compression < 0 else {"compress_level": compression}
    return _each_file(image, "PNG", (1, 2, 3, 4), options)


@host_kernel
def encode_jpeg(
    xp: ArrayModule,
    image: Array,
    *,
    format: str,
    quality: int,
    progressive: bool,
    optimize_size: bool,
    chroma_downsampling: bool,
) -> np.ndarray:
    """Give a JPEG file of an image [height, width, 1 or 3 channels]."""
    quality, channels = int(quality), image.shape[-1]
    if not 0 <= quality <= 100:
        raise invalid(f"quality must be in [0,100], got {quality}")
    wanted = {"grayscale": 1, "rgb": 3}.get(format, channels)
    if channels != wanted:
        raise invalid(f"encode_jpeg(format={format!r}) needs {wanted} channels, got {channels}")
    options = {
        "quality": quality,
        "progressive": progressive,
        "optimize": optimize_size,
        "subsampling": 2 if chroma_downsampling else 0,
    }
    return _each_file(image, "JPEG", (1, 3), options)


def _each_file(
    images: Any, format: str, allowed: Sequence[int], options: dict[str, Any]
) -> np.ndarray:
    *batch, height, width, channels = images.shape
    if channels not in allowed:
        raise invalid(f"image must have {', '.join(map(str, allowed))} channels, got {channels}")
    if 0 in (height, width):
        raise invalid(f"image must have pixels, got height {height} and width {width}")
    files = np.empty(tuple(batch), object)
    flat = files.reshape(-1)
    for number, pixels in enumerate(images.reshape(-1, height, width, channels)):
        flat[number] = _file(pixels, format, options)
    return flat.reshape(batch)


def _file(pixels: np.ndarray, format: str, options: dict[str, Any]) -> bytes:
    if pixels.dtype == np.uint16 and pixels.shape[2] > 1:
        return png.write(pixels, options.get("compress_level", -1))
    given = np.ascontiguousarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels)
    stream = io.BytesIO()
    _pillow().fromarray(given).save(stream, format, **options)
    return stream.getvalue()
