"""What is in the checkpoints under ``golden``: one place for who makes and who reads them."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np

GOLDEN = Path(__file__).parent / "golden"
DTYPES = (
    *("float32", "float64", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8"),
    *("uint16", "uint32", "uint64", "bool", "complex64", "complex128", "string"),
)
SHAPES = (), (0, 3), (5,), (3, 4)
PARTITIONED = {"rows": ((200, 3), (7, 1)), "columns": ((2, 300), (1, 4)), "whole": ((4, 2), (1, 1))}
"""Name -> shape, and into how many parts each axis is cut."""


def array(dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    """Give some values."""
    count = int(np.prod(shape))
    if dtype == "string":
        texts = [b"", b"a", b"\0\xff", b"long" * 100, *(b"%d" % n for n in range(count))]
        found = np.empty(count, object)
        found[:] = texts[:count]
        return found.reshape(shape)
    numbers = (np.arange(count) * 37 % 100).reshape(shape)
    if dtype == "bool":
        return numbers % 2 == 0
    if dtype.startswith("complex"):
        return (numbers - 1j * numbers / 2).astype(dtype)
    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype
    return (numbers / 4 if "float" in dtype else numbers).astype(kind)


def by_dtype() -> dict[str, np.ndarray]:
    """Give the tensors of ``dtypes``."""
    return {
        f"scope/{dtype}/{number}": array(dtype, shape)
        for dtype in DTYPES
        for number, shape in enumerate(SHAPES)
    }
