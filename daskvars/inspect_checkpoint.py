"""Looking into checkpoints, session stores and any Zarr group: listing, verifying, comparing.

`print_tensors_in_checkpoint_file` is TensorFlow's function of that name; the command line
``daskvars inspect | verify | diff`` prints what the other functions return.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy

from daskvars.errors import OpError
from daskvars.state import open_zarr_store
from daskvars.state.checkpoint import OpenedCheckpoint, open_checkpoint
from daskvars.state.external.reading import unchecked
from daskvars.state.format.assembly import assemble_selection
from daskvars.state.format.documents import array_text, get_document
from daskvars.state.format.grids import Index
from daskvars.state.format.manifest import VariableRecord
from daskvars.state.stores.objects import in_parallel, join
from daskvars.train.checkpoints.reader import NewCheckpointReader, checkpoint_path


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
        int(numpy.prod(shape))
        for name, shape in shapes.items()
        if not count_exclude_pattern or not re.match(count_exclude_pattern, name)
    ]
    excluded = f" (excluding {count_exclude_pattern})" if count_exclude_pattern else ""
    print(f"# Total number of params: {sum(counted)}{excluded}")


def source_of(path: str) -> OpenedCheckpoint:
    """Return what is at a path: of a directory with a record, its newest checkpoint.

    Raises:
      OpError: nothing is there that can be read.
    """
    return open_checkpoint(*open_zarr_store(checkpoint_path(path), "r"))


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
    """Read everything at a path; yield what is wrong with each part that is missing or damaged."""
    source = source_of(path)
    for _, record in sorted(source.records.items()):
        yield from _damages_of(source, record)


def _damages_of(source: OpenedCheckpoint, record: VariableRecord) -> Iterator[str]:
    if not source.is_external:
        name = join(source.path, record.path)
        try:
            if get_document(source.storage, name) != json.loads(array_text(record)):
                yield (
                    f"variable {record.key!r}: the Zarr document of {name!r} in {source.storage} is"
                    " not there or not its own, so other tools do not find its chunks"
                )
        except OpError as error:
            yield str(error)
    for index in record.grid:
        try:
            source.load(record, index)
        except OpError as error:
            yield str(error)


def not_checked(path: str) -> Iterator[str]:
    """Yield what `damages` cannot tell of a Zarr group that somebody else wrote."""
    source = source_of(path)
    if not source.is_external:
        return
    for name, found in sorted(unchecked(source.storage, source.path).items()):
        if name not in source.records:
            yield f"{name!r} has a dtype that no variable has, and was not read"
            continue
        if found.missing:
            yield (
                f"{name!r}: {len(found.missing)} of {found.num_objects} chunks are not there, and"
                f" count as the fill value: {_listed(found.missing)}"
            )
        if not found.has_checksums:
            yield f"{name!r}: its chunks have no checksums, so altered bytes are not noticed"


def _listed(indices: Sequence[Index]) -> str:
    return ", ".join(map(str, indices[:10])) + (", ..." if len(indices) > 10 else "")


def differences(first: str, second: str) -> Iterator[str]:
    """Yield how the variables at two paths differ: names, dtypes, shapes, values, what is there.

    Everything is read: what is damaged is a difference, whatever manifests say.
    """
    sources = [source_of(path) for path in (first, second)]
    one, other = (source.records for source in sources)
    absent = [_absent(source) for source in sources]
    for key in sorted(one.keys() | other.keys()):
        if key not in other:
            yield f"- {key}  {_kind(one[key])}"
        elif key not in one:
            yield f"+ {key}  {_kind(other[key])}"
        elif _kind(one[key]) != _kind(other[key]):
            yield f"! {key}  {_kind(one[key])} -> {_kind(other[key])}"
        else:
            found = [list(_damages_of(source, source.records[key])) for source in sources]
            damage = [f"! {key}  {line}" for lines in found for line in lines]
            yield from damage or _difference(key, sources, absent)


def _absent(source: OpenedCheckpoint) -> dict[str, tuple[Index, ...]]:
    """Return which chunks of each array are not there and count as the fill value."""
    if not source.is_external:
        return {}
    return {name: found.missing for name, found in unchecked(source.storage, source.path).items()}


def _difference(
    key: str, sources: Sequence[OpenedCheckpoint], absent: Sequence[dict[str, tuple[Index, ...]]]
) -> Iterator[str]:
    """Yield how a variable, which is whole in both, differs, if it does."""
    one, other = (source.records[key] for source in sources)
    if one.chunks == other.chunks:
        if one.digests and one.digests == other.digests:
            return
        missing = [found.get(key, ()) for found in absent]
        if missing[0] != missing[1]:
            for number, indices in zip(("first", "second"), missing, strict=True):
                if indices:
                    yield f"! {key}  chunks not there in the {number}: {_listed(indices)}"
    values = [
        assemble_selection(
            source.records[key],
            tuple(slice(None) for _ in one.shape),
            source.load,
            partial(in_parallel, source.storage),
        )
        for source in sources
    ]
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
