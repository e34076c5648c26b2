"""Files of safetensors, by its own package, which is an extra."""

from __future__ import annotations

from collections.abc import Mapping

import ml_dtypes
import numpy as np

from daskvars.dtypes import as_dtype
from daskvars.state.external.whole_arrays import record_of_array, whole_value
from daskvars.state.format.assembly import Load
from daskvars.state.format.grids import Index
from daskvars.state.format.manifest import VariableRecord

try:
    import safetensors
    import safetensors.numpy
except ImportError:  # it is an extra
    safetensors = None  # type: ignore[assignment]

NAMES = {
    "BOOL": np.dtype("bool"),
    **{f"{kind}{bits}": np.dtype(f"{kind.lower()}{bits // 8}")
       for kind in "IU" for bits in (8, 16, 32, 64)},
    **{f"F{bits}": np.dtype(f"f{bits // 8}") for bits in (16, 32, 64)},
    "C64": np.dtype("complex64"),
    "BF16": np.dtype(ml_dtypes.bfloat16),
}  # fmt: skip
"""Its names of the dtypes that both have."""

DTYPES = tuple(as_dtype(dtype).name for dtype in NAMES.values())


def check_installed() -> None:
    """Refuse where the package is not there."""
    if safetensors is None:
        raise ImportError("safetensors is not installed: pip install daskvars[safetensors]")


def write_safetensors(path: str, records: Mapping[str, VariableRecord], load: Load) -> None:
    """Write a file; all values are in memory at once. Raises OSError where the disk refuses it."""
    check_installed()
    values = {name: whole_value(record, load) for name, record in records.items()}
    try:
        safetensors.numpy.save_file(values, path, {"format": "np"})
    except safetensors.SafetensorError as error:
        raise OSError(str(error)) from None


def open_safetensors(path: str) -> tuple[dict[str, VariableRecord], Load]:
    """Describe what is in a file, which is read whole.

    Raises:
        OSError, ValueError: it is damaged, or has a dtype that no variable has.
    """
    check_installed()
    with open(path, "rb") as file:
        data = file.read()
    try:
        tensors = dict(safetensors.deserialize(data))
    except safetensors.SafetensorError as error:
        raise ValueError(str(error)) from None
    records = {}
    for name, tensor in tensors.items():
        if tensor["dtype"] not in NAMES:
            raise ValueError(f"{name!r} is of {tensor['dtype']}, which no variable is")
        records[name] = record_of_array(path, name, NAMES[tensor["dtype"]], tuple(tensor["shape"]))

    def load(record: VariableRecord, index: Index) -> np.ndarray:
        tensor = tensors[record.key]
        dtype = NAMES[tensor["dtype"]]
        array = np.frombuffer(tensor["data"], dtype.newbyteorder("<")).reshape(record.shape)
        return array.astype(dtype)

    return records, load
