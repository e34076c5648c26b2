"""Looking into checkpoints, session stores, any Zarr group and TensorFlow's checkpoints.

Listing, verifying, comparing.

`print_tensors_in_checkpoint_file` is TensorFlow's function of that name; the command line
``daskvars inspect | verify | diff | history`` prints what the other functions return.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy

from daskvars.errors import OpError
from daskvars.state import ZarrStore, open_zarr_store
from daskvars.state.checkpoint import OpenedCheckpoint, open_checkpoint
from daskvars.state.external.reading import unchecked
from daskvars.state.failures import not_found
from daskvars.state.format.documents import array_text, get_document
from daskvars.state.format.grids import Index
from daskvars.state.format.manifest import NO_NUMBER, Manifest, VariableRecord
from daskvars.state.stores.objects import join
from daskvars.surface.one_line import counted
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


def description(path: str, stats: bool = False) -> dict[str, Any]:
    """Return what is at a path, as JSON has it.

    Args:
      path: a checkpoint, the directory of a saver, a session's store or any Zarr group.
      stats: read the values, and add what `statistics` gives of each.

    Returns:
      The path, the step that was noted (None where there is none), the bytes of all values, and by
      name the dtype, shape, chunks and bytes of each variable.

    Raises:
      OpError: nothing is there that can be read; a chunk is missing or damaged.

    >>> import tempfile
    >>> from daskvars.inspect_checkpoint import description
    >>> with tempfile.TemporaryDirectory() as place:
    ...     v = dv.Variable([1.0, 2.0, 6.0], name="inspected")
    ...     path = dv.train.Saver([v]).save(None, place + "/m.zip")
    ...     found = description(path, stats=True)
    >>> found["bytes"], found["variables"]["inspected"]["stats"]["mean"]
    (12, 3.0)
    """
    source = source_of(path)
    variables: dict[str, Any] = {}
    for key, record in sorted(source.records.items()):
        variables[key] = {
            "dtype": record.dtype,
            "shape": list(record.shape),
            "chunks": [list(sizes) for sizes in record.chunks],
            "bytes": record.nbytes,
        }
        if stats:
            variables[key]["stats"] = statistics(source.whole(key))
    total = sum(record.nbytes for record in source.records.values())
    return {"path": path, "global_step": source.global_step, "bytes": total, "variables": variables}


def statistics(array: Any) -> dict[str, float] | None:
    """Return least, greatest, mean and standard deviation of the finite elements of an array.

    With them the number of those that are not finite. None where there is no such thing: of
    strings and complex numbers, and where no element is finite.
    """
    if array.dtype.hasobject or array.dtype.kind == "c":
        return None
    wide = numpy.asarray(array, numpy.float64)
    finite = wide[numpy.isfinite(wide)]
    if not finite.size:
        return None
    return {
        "min": float(finite.min()),
        "max": float(finite.max()),
        "mean": float(finite.mean()),
        "std": float(finite.std()),
        "not_finite": int(wide.size - finite.size),
    }


def as_json(value: Any) -> str:
    """Return data as JSON; what it has no number for is text: "NaN", "Infinity", "-Infinity"."""
    return json.dumps(_plain(value), indent=2, allow_nan=False, ensure_ascii=False)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, bytes):
        return value.decode(errors="backslashreplace")
    if isinstance(value, complex):
        return [_plain(value.real), _plain(value.imag)]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def table(path: str, stats: bool = False) -> list[str]:
    """Return the tree of the variables at a path: a line for each scope and variable; the sum last.

    See `description` for the arguments.
    """
    found = description(path, stats)
    variables = found["variables"]
    rows = [("", *_HEADINGS)] if stats else []
    begun: set[str] = set()
    for key, variable in variables.items():
        scopes = key.split("/")[:-1]
        for depth in range(len(scopes)):
            scope = "/".join(scopes[: depth + 1])
            if scope not in begun | variables.keys():
                begun.add(scope)
                rows.append(_scope_row(scope, depth, variables, stats))
        line = f"{'  ' * len(scopes)}{key}", variable["dtype"], str(variable["shape"])
        rows.append((*line, f"{variable['bytes']:,}", *_stats_row(variable, stats)))
    total = counted(len(variables), "variable"), "", "", f"{found['bytes']:,}"
    rows.append((*total, *[""] * (len(_STATS) if stats else 0)))
    return _aligned(rows)


_STATS = ("min", "max", "mean", "std", "not_finite")
_HEADINGS = ("dtype", "shape", "bytes", *(name.replace("_", " ") for name in _STATS))


def _scope_row(scope: str, depth: int, variables: dict[str, Any], stats: bool) -> tuple[str, ...]:
    below = [v["bytes"] for key, v in variables.items() if key.startswith(f"{scope}/")]
    row = f"{'  ' * depth}{scope}/", "", f"({len(below)})", f"{sum(below):,}"
    return (*row, *[""] * (len(_STATS) if stats else 0))


def _stats_row(variable: dict[str, Any], stats: bool) -> list[str]:
    if not stats:
        return []
    found = variable["stats"]
    return ["-" if found is None else f"{found[name]:.6g}" for name in _STATS]


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows as lines: the first three columns to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            f"{cell:{width}}" if number < 3 else f"{cell:>{width}}"
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]


class Version(NamedTuple):
    """A version of a session's store.

    Attributes:
      number: its number.
      is_head: whether it is what a session begins with.
      manifest: what it holds; None where that is damaged.
      problem: what is wrong with it, "" if nothing is known to be.
    """

    number: int
    is_head: bool
    manifest: Manifest | None
    problem: str = ""


def versions(path: str) -> list[Version]:
    """Return the versions of a session's store, oldest first; those that are damaged as well.

    Raises:
      NotFoundError: nothing is there, or no version was committed yet.
      AlreadyExistsError: something else is there.
    """
    store = ZarrStore(path, "r")
    head = store.root_numbers()[0]
    found = []
    for number in sorted({*store.version_numbers(), *([head] if head != NO_NUMBER else [])}):
        try:
            manifest, problem = store.find(number), ""
        except OpError as error:
            manifest, problem = None, error.message
        if manifest is None and number == head and not problem:
            problem = "its manifest is missing"
        if manifest is not None or problem:
            found.append(Version(number, number == head, manifest, problem))
    if not found:
        raise not_found(f"{store} is a store without a version yet, or no store")
    newest = max(found)  # a crash between manifest and root leaves the root behind
    return [version._replace(is_head=version is newest) for version in found]


def history(path: str) -> list[str]:
    """Return a line for each version of a session's store, oldest first; see `versions`."""
    rows = [("version", "", "step", "variables", "bytes", "committed by")]
    for version in versions(path):
        manifest = version.manifest
        head = "head" if version.is_head else ""
        if manifest is None:
            rows.append((str(version.number), head, "", "", "", f"damaged: {version.problem}"))
            continue
        step = "" if manifest.global_step is None else str(manifest.global_step)
        size = sum(record.nbytes for record in manifest.records.values())
        counts = f"{len(manifest.records)}", f"{size:,}"
        rows.append((str(version.number), head, step, *counts, manifest.author))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(f"{cell:>{width}}" for cell, width in zip(row[:-1], widths, strict=False))
        + f"  {row[-1]}".rstrip()
        for row in rows
    ]


def damages(path: str) -> Iterator[str]:
    """Read everything at a path; yield what is wrong with each part that is missing or damaged."""
    source = source_of(path)
    for _, record in sorted(source.records.items()):
        yield from _damages_of(source, record)


def _damages_of(source: OpenedCheckpoint, record: VariableRecord) -> Iterator[str]:
    if not source.is_external:
        name = join(source.path, record.path)
        try:
            found, wanted = get_document(source.storage, name), json.loads(array_text(record))
            if found is not None:  # checkpoints before 0.1 name no axes
                found["dimension_names"] = wanted["dimension_names"]
            if found != wanted:
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
    """Yield what `damages` cannot tell of what somebody else wrote."""
    source = source_of(path)
    for name in source.left_out:
        yield f"{name!r} has a dtype that no variable has, and was not read"
    if source.kind != "zarr":
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
    if source.kind != "zarr":
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
    said = _changed(*(source.whole(key) for source in sources))
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
    filled = map(numpy.ascontiguousarray, (one, other))
    bits = [a.reshape(-1).view(numpy.uint8).reshape(a.size, -1) for a in filled]
    count = int((bits[0] != bits[1]).any(axis=1).sum())
    said = f"{count} of {one.size} elements differ"
    if one.dtype.kind == "b":
        return said
    with numpy.errstate(all="ignore"):
        wide = "complex128" if one.dtype.kind == "c" else "float64"
        apart = numpy.abs(one.astype(wide) - other.astype(wide))
    return f"{said}, by at most {numpy.nanmax(apart):.6g}"
