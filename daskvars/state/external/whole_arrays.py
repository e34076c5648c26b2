"""What formats share that hold whole arrays by name: a variable of one chunk for each."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from daskvars.dtypes import as_dtype
from daskvars.errors import OpError, invalid
from daskvars.shapes import whole
from daskvars.state.format.assembly import Load, assemble_selection
from daskvars.state.format.keypath import check_key
from daskvars.state.format.manifest import VariableRecord


def record_of_array(place: str, name: str, dtype: Any, shape: tuple[int, ...]) -> VariableRecord:
    """Describe an array of a file as a variable.

    Raises:
        InvalidArgumentError: no variable has such a name or dtype.
    """
    try:
        check_key(name)
        if np.dtype(dtype).kind in "SU":
            raise TypeError("strings of a variable have no common length; leave them out")
        return VariableRecord(name, as_dtype(dtype).name, shape, whole(shape))
    except (OpError, TypeError) as error:
        raise invalid(f"{place!r}, array {name!r} of {dtype}: {error}") from None


def whole_value(record: VariableRecord, load: Load) -> np.ndarray:
    """Give the value of a variable, whole, in C order."""
    everything = tuple(slice(0, size) for size in record.shape)
    return np.array(assemble_selection(record, everything, load, one_by_one), order="C")


def one_by_one(function: Callable[[Any], None], items: Iterable[Any]) -> None:
    """Read chunks one after another, as a file is written."""
    for item in items:
        function(item)
