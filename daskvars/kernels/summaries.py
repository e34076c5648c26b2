"""Kernels of summaries: values as JSON, ``{"value": [{"tag": ..., "simple_value": ...}]}``."""

from __future__ import annotations

import functools
import io
import json
import math
import struct
import sys
import wave
import zlib
from typing import Any

import numpy

from daskvars.backend import Array, ArrayModule
from daskvars.device_array import host_kernel
from daskvars.errors import invalid


@host_kernel
def scalar(xp: ArrayModule, x: Array, *, tag: str) -> numpy.ndarray:
    """Give the summary of one number."""
    return summary([{"tag": tag, "simple_value": number(float(x))}])


@host_kernel
def histogram(xp: ArrayModule, x: Array, *, tag: str) -> numpy.ndarray:
    """Give the histogram of all elements. Raises InvalidArgumentError for NaN and infinity."""
    values = x.astype(numpy.float64).reshape(-1)
    for kind, found in (("Nan", numpy.isnan(values)), ("Infinity", numpy.isinf(values))):
        if found.any():
            raise invalid(f"{kind} in summary histogram for: {tag}")
    limits = bucket_limits()
    buckets = numpy.minimum(numpy.searchsorted(limits, values, side="right"), limits.size - 1)
    counts = numpy.bincount(buckets, minlength=limits.size)
    # Of a stretch of empty buckets only the last is kept, as TensorFlow does.
    kept = numpy.append((counts[:-1] > 0) | (counts[1:] > 0), True)
    return summary(
        [
            {
                "tag": tag,
                "histo": {
                    "min": float(values.min(initial=sys.float_info.max)),
                    "max": float(values.max(initial=-sys.float_info.max)),
                    "num": float(values.size),
                    "sum": float(values.sum()),
                    "sum_squares": float(numpy.square(values).sum()),
                    "bucket_limit": limits[kept].tolist(),
                    "bucket": counts[kept].astype(float).tolist(),
                },
            }
        ]
    )


@functools.cache
def bucket_limits() -> numpy.ndarray:
    """Return TensorFlow's limits of buckets: powers of 1.1 from 1e-12 to 1e20, and their negatives.

    They are found by repeated multiplication, as there, so that they are the same to the last bit.
    """
    positive, limit = [], 1e-12
    while limit < 1e20:
        positive.append(limit)
        limit *= 1.1
    positive.append(sys.float_info.max)
    return numpy.array([*(-v for v in reversed(positive)), 0.0, *positive])


@host_kernel
def image(xp: ArrayModule, x: Array, *, tag: str, max_outputs: int) -> numpy.ndarray:
    """Give the first images of a batch as PNG files. Raises InvalidArgumentError for 2 channels."""
    height, width, channels = x.shape[1:]
    if channels not in PNG_COLORS or 0 in (height, width):
        raise invalid(
            f"image summary {tag!r}: wanted [batch, height, width, 1, 3 or 4 channels] "
            f"and at least one pixel, found {x.shape}"
        )
    values = []
    for i, found in enumerate(numpy.asarray(x[:max_outputs])):
        shape = {"height": height, "width": width, "colorspace": channels}
        content = shape | {"encoded_image_string": png(as_bytes(found)).decode("latin-1")}
        name = f"{tag}/image/{i}" if max_outputs > 1 else f"{tag}/image"
        values.append({"tag": name, "image": content})
    return summary(values)


PNG_COLORS = {1: 0, 3: 2, 4: 6}
"""Channels of an image and PNG's number for them: grey, RGB, RGBA."""


def as_bytes(pixels: numpy.ndarray) -> numpy.ndarray:
    """Return one image, [height, width, channels], as uint8 by TensorFlow's rule.

    uint8 is as it is. Of other types, the largest value becomes 255; where one is negative, zero
    becomes 128, and the value farthest from it 1 or 255. A pixel with a NaN or an infinity is red.
    """
    if pixels.dtype == numpy.uint8:
        return pixels
    # Rounded as TensorFlow rounds: in float64, a lowest value of -128 + 1 comes out below 1.
    values = pixels.astype(numpy.float64 if pixels.dtype == numpy.float64 else numpy.float32)
    finite = numpy.isfinite(values)
    known = values[finite]
    largest, offset, room = known.max(initial=0), 0, 255
    if known.min(initial=0) < 0:
        largest, offset, room = numpy.abs(known).max(), 128, 127
    scale = room / largest if largest >= 1e-6 else 0
    shown = (numpy.where(finite, values, 0.0) * scale + offset).astype(numpy.uint8)
    shown[~finite.all(axis=-1)] = (255, 0, 0, 255)[: pixels.shape[-1]]
    return shown


def png(pixels: numpy.ndarray) -> bytes:
    """Return an image of uint8, [height, width, 1, 3 or 4], as a PNG file.

    See https://www.w3.org/TR/png-3/: rows with filter 0, compressed as one.
    """
    height, width, channels = pixels.shape
    rows = numpy.zeros((height, 1 + width * channels), numpy.uint8)
    rows[:, 1:] = pixels.reshape(height, -1)
    head = struct.pack(">IIBBBBB", width, height, 8, PNG_COLORS[channels], 0, 0, 0)
    chunks = [(b"IHDR", head), (b"IDAT", zlib.compress(rows.tobytes())), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )


@host_kernel
def audio(xp: ArrayModule, x: Array, rate: Any, *, tag: str, max_outputs: int) -> numpy.ndarray:
    """Give the first clips of a batch as WAV files. Raises InvalidArgumentError for a rate of 0."""
    frames, channels = x.shape[1:] if x.ndim == 3 else (x.shape[1], 1)
    if not round(float(rate)) > 0:
        raise invalid(f"audio summary {tag!r}: sample_rate is {float(rate)} frames per second")
    values = []
    for i, clip in enumerate(numpy.asarray(x[:max_outputs])):
        content = {
            "sample_rate": float(rate),
            "num_channels": channels,
            "length_frames": frames,
            "encoded_audio_string": wav(clip, channels, round(float(rate))).decode("latin-1"),
            "content_type": "audio/wav",
        }
        name = f"{tag}/audio/{i}" if max_outputs > 1 else f"{tag}/audio"
        values.append({"tag": name, "audio": content})
    return summary(values)


def wav(samples: numpy.ndarray, channels: int, rate: int) -> bytes:
    """Return samples in [-1, 1], [frames, channels] in this order, as a WAV file of 16 bits."""
    scaled = numpy.rint(samples.astype(numpy.float64) * (1 << 15))
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setnchannels(channels)
        writer.setsampwidth(2)
        writer.setframerate(rate)
        writer.writeframes(numpy.clip(scaled, -(1 << 15), (1 << 15) - 1).astype("<i2").tobytes())
    return file.getvalue()


@host_kernel
def tensor(xp: ArrayModule, x: Array, *, tag: str, dtype: str, metadata: str) -> numpy.ndarray:
    """Give a tensor's shape and elements."""
    array = numpy.asarray(x)
    values = [v.decode("utf-8", "replace") if isinstance(v, bytes) else v for v in array.flat]
    values = [number(float(v)) if isinstance(v, numpy.floating) else plain(v) for v in values]
    value = {"tag": tag, "tensor": {"dtype": dtype, "shape": list(array.shape), "values": values}}
    described = json.loads(metadata)
    return summary([value | ({"metadata": described} if described else {})])


@host_kernel
def merge(xp: ArrayModule, *summaries: Any) -> numpy.ndarray:
    """Put the values of summaries into one. Raises InvalidArgumentError when two have one tag."""
    values, tags = [], set()
    for array in summaries:
        for text in numpy.asarray(array).flat:
            for value in json.loads(text)["value"]:
                if value["tag"] in tags:
                    raise invalid(f"Duplicate tag {value['tag']} found in summary inputs")
                tags.add(value["tag"])
                values.append(value)
    return summary(values)


def summary(values: list[dict[str, Any]]) -> numpy.ndarray:
    """Return values as JSON, in an array of rank 0."""
    text = json.dumps({"value": values}, ensure_ascii=False)  # escapes would triple an image
    return numpy.array(text.encode(), dtype=object)


def number(value: float) -> float | str:
    """Return a number as JSON can hold it: "nan", "inf" and "-inf" are text."""
    return value if math.isfinite(value) else repr(value)


def plain(value: Any) -> Any:
    """Return a NumPy scalar as a Python one; a complex number as text."""
    value = value.item() if isinstance(value, numpy.generic) else value
    return str(value) if isinstance(value, complex) else value
