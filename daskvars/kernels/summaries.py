"""Kernels of summaries: values as JSON, ``{"value": [{"tag": ..., "simple_value": ...}]}``."""

from __future__ import annotations

import functools
import json
import math
import sys
from typing import Any

import numpy

from daskvars.device_array import host_kernel
from daskvars.errors import InvalidArgumentError


@host_kernel
def scalar(xp: Any, x: Any, *, tag: str) -> numpy.ndarray:
    """Give the summary of one number."""
    return summary([{"tag": tag, "simple_value": number(float(x))}])


@host_kernel
def histogram(xp: Any, x: Any, *, tag: str) -> numpy.ndarray:
    """Give the histogram of all elements. Raises InvalidArgumentError for NaN and infinity."""
    values = x.astype(numpy.float64).reshape(-1)
    for kind, found in (("Nan", numpy.isnan(values)), ("Infinity", numpy.isinf(values))):
        if found.any():
            raise InvalidArgumentError(None, None, f"{kind} in summary histogram for: {tag}")
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
def image(xp: Any, x: Any, *, tag: str, max_outputs: int) -> numpy.ndarray:
    """Give height, width and channels of the first images of a batch."""
    batch, height, width, channels = x.shape
    shape = {"height": height, "width": width, "colorspace": channels}
    return summary(
        [
            {"tag": f"{tag}/image/{i}" if max_outputs > 1 else f"{tag}/image", "image": shape}
            for i in range(min(batch, max_outputs))
        ]
    )


@host_kernel
def audio(xp: Any, x: Any, rate: Any, *, tag: str, max_outputs: int) -> numpy.ndarray:
    """Give sample rate, channels and frames of the first clips of a batch."""
    batch, frames, channels = x.shape if x.ndim == 3 else (*x.shape, 1)
    clip = {"sample_rate": float(rate), "num_channels": channels, "length_frames": frames}
    return summary(
        [
            {"tag": f"{tag}/audio/{i}" if max_outputs > 1 else f"{tag}/audio", "audio": clip}
            for i in range(min(batch, max_outputs))
        ]
    )


@host_kernel
def tensor(xp: Any, x: Any, *, tag: str, dtype: str, plugin: str) -> numpy.ndarray:
    """Give a tensor's shape and elements."""
    array = numpy.asarray(x)
    values = [v.decode("utf-8", "replace") if isinstance(v, bytes) else v for v in array.flat]
    values = [number(float(v)) if isinstance(v, numpy.floating) else plain(v) for v in values]
    value = {"tag": tag, "tensor": {"dtype": dtype, "shape": list(array.shape), "values": values}}
    return summary([value | ({"metadata": {"plugin_name": plugin}} if plugin else {})])


@host_kernel
def merge(xp: Any, *summaries: Any) -> numpy.ndarray:
    """Put the values of summaries into one. Raises InvalidArgumentError when two have one tag."""
    values, tags = [], set()
    for array in summaries:
        for text in numpy.asarray(array).flat:
            for value in json.loads(text)["value"]:
                if value["tag"] in tags:
                    raise InvalidArgumentError(
                        None, None, f"Duplicate tag {value['tag']} found in summary inputs"
                    )
                tags.add(value["tag"])
                values.append(value)
    return summary(values)


def summary(values: list[dict[str, Any]]) -> numpy.ndarray:
    """Return values as JSON, in an array of rank 0."""
    return numpy.array(json.dumps({"value": values}).encode(), dtype=object)


def number(value: float) -> float | str:
    """Return a number as JSON can hold it: "nan", "inf" and "-inf" are text."""
    return value if math.isfinite(value) else repr(value)


def plain(value: Any) -> Any:
    """Return a NumPy scalar as a Python one; a complex number as text."""
    value = value.item() if isinstance(value, numpy.generic) else value
    return str(value) if isinstance(value, complex) else value
