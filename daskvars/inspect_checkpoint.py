"""Looking into checkpoints, session stores and any Zarr group: listing, verifying, comparing.

`print_tensors_in_checkpoint_file` is TensorFlow's function of that name; the command line
``daskvars inspect | verify | diff`` prints what the other functions return.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy

from daskvars.errors import OpError
from daskvars.state import load_variable, open_zarr_store
from daskvars.state.checkpoint import Source, open_source
from daskvars.state.manifest import VariableRecord
from daskvars.train.checkpoint_reader import NewCheckpointReader, checkpoint_path


def print_tensors_in_checkpoint_file(
    file_name: str,
    tensor_name: str | None,
    all_tensors: bool,
    all_tensor_names: bool = False,
    count_exclude_pattern: str = "",
) -> None:
    """Print names and values of what is in a checkpoint.

    Args:
      file_name: path of the checkpoint, or a directory whose newest one is meant.
      tensor_name: print the value of this one only.
      all_tensors: print all names and values.
      all_tensor_names: print all names.
      count_exclude_pattern: regular expression of the names that are not counted in the number of
        parameters printed last.

    Raises:
      NotFoundError: there is no checkpoint, or no tensor of that name in it.
    """
    path = checkpoint_path(file_name)
    reader = NewCheckpointReader(path)
    if all_tensors or all_tensor_names:
        for name in sorted(reader.get_variable_to_shape_map()):
            print("tensor_name: ", name)
            if all_tensors:
                print(reader.get_tensor(name))
    elif tensor_name:
        print("tensor_name: ", tensor_name)
        print(reader.get_tensor(tensor_name))
    else:
        print(reader.debug_string().decode())
    shapes = reader.get_variable_to_shape_map()
    counted = [
        int(numpy.prod(shape)) for name, shape in shapes.items()
        if not count_exclude_pattern or not re.match(count_exclude_pattern, name)
    ]  # fmt: skip
    excluded = f" (excluding {count_exclude_pattern})" if count_exclude_pattern else ""
    print(f"# Total number of params: {sum(counted)}{excluded}")


def source_of(path: str) -> Source:
    """Return what is at a path: of a directory with a record, its newest checkpoint.

    Raises:
      OpError: nothing is there that can be read.
    """
    return open_source(*open_zarr_store(checkpoint_path(path), "r"))


def table(path: str) -> list[str]:
    """Return a line for each variable at a path: name, dtype, shape, bytes; the sum last."""
    records = source_of(path).records
    rows = [
        (key, record.dtype, str(list(record.shape)), f"{record.nbytes:,}")
        for key, record in sorted(records.items())
    ]
    total = sum(record.nbytes for record in records.values())
    rows.append((f"{len(records)} variables", "", "", f"{total:,}"))
    name, dtype, shape, size = (max(map(len, column)) for column in zip(*rows, strict=True))
    return [f"{a:{name}}  {b:{dtype}}  {c:{shape}}  {d:>{size}}" for a, b, c, d in rows]


def damages(path: str) -> Iterator[str]:
    """Read every chunk at a path; yield what is wrong with each that is missing or damaged."""
    source = source_of(path)
    for _, record in sorted(source.records.items()):
        for index in record.grid:
            try:
                source.load(record, index)
            except OpError as error:
                yield str(error)


def differences(first: str, second: str) -> Iterator[str]:
    """Yield how the variables at two paths differ: names, dtypes, shapes, values."""
    one, other = (source_of(path).records for path in (first, second))
    for key in sorted(one.keys() | other.keys()):
        if key not in other:
            yield f"- {key}  {_kind(one[key])}"
        elif key not in one:
            yield f"+ {key}  {_kind(other[key])}"
        elif _kind(one[key]) != _kind(other[key]):
            yield f"! {key}  {_kind(one[key])} -> {_kind(other[key])}"
        elif not (one[key].digests and one[key].chunks == other[key].chunks
                  and one[key].digests == other[key].digests):  # fmt: skip
            values = [load_variable(checkpoint_path(path), key) for path in (first, second)]
            said = _changed(*values)
            if said:
                yield f"! {key}  {said}"


def _kind(record: VariableRecord) -> str:
    return f"{record.dtype} {list(record.shape)}"


def _changed(one: Any, other: Any) -> str:
    """Say how far two arrays of one shape and dtype are apart; "" where they are the same bits."""
    if one.dtype.hasobject:
        count = int((one != other).sum())
        return f"{count} of {one.size} elements differ" if count else ""
    if one.tobytes() == other.tobytes():
        return ""
    bits = [a.reshape(-1).view(numpy.uint8).reshape(a.size, -1) for a in map(_filled, (one, other))]
    count = int((bits[0] != bits[1]).any(axis=1).sum())
    said = f"{count} of {one.size} elements differ"
    if one.dtype.kind == "b":
        return said
    with numpy.errstate(all="ignore"):
        wide = "complex128" if one.dtype.kind == "c" else "float64"
        apart = numpy.abs(one.astype(wide) - other.astype(wide))
    return f"{said}, by at most {numpy.nanmax(apart):.6g}"


def _filled(array: Any) -> Any:
    return numpy.ascontiguousarray(array)
