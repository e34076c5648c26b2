"""What examples of docstrings take for imported, as NumPy's and TensorFlow's do: for pytest."""

from typing import Any

import numpy as np

import daskvars as dv
from daskvars import v1 as tf

OF_EXAMPLES = {"dv": dv, "np": np, "tf": tf}


def pytest_itemcollected(item: Any) -> None:
    """Give an example the names."""
    if hasattr(item, "dtest"):
        item.dtest.globs.update(OF_EXAMPLES)
