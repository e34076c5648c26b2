"""The dtypes that kernels compute in, and the ends of their ranges."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

FLOAT32 = np.dtype(np.float32)


def is_half(dtype: np.dtype[Any]) -> bool:
    """Whether ``dtype`` is a 16-bit float: float16 or bfloat16."""
    return dtype.itemsize == 2 and dtype.kind not in "iu"


def float_work(dtype: np.dtype[Any]) -> np.dtype:
    """Return the dtype to compute in: float32 for a 16-bit float, else ``dtype``.

    >>> float_work(np.dtype("float16")), float_work(np.dtype("float64"))
    (dtype('float32'), dtype('float64'))
    """
    return FLOAT32 if is_half(dtype) else dtype


def extremes(dtype: np.dtype[Any]) -> tuple:
    """Return the lowest and the highest finite value of ``dtype``."""
    limits = np.iinfo(dtype) if dtype.kind in "iu" else ml_dtypes.finfo(dtype)
    return limits.min, limits.max


def lowest(dtype: np.dtype[Any]) -> float:
    """Return the value of ``dtype`` that no other is below: minus infinity for floats."""
    return np.iinfo(dtype).min if dtype.kind in "iu" else -np.inf
