"""Rows of a table that may be kept in several parts. Gradients are sparse, part by part."""

from __future__ import annotations

from typing import Any

from daskvars import shapes
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.ops.array.constant import constant, shape as shape_of, size as size_of
from daskvars.ops.array.joining import concat
from daskvars.ops.array.ranges import range as number_range
from daskvars.ops.array.reshaping import reshape
from daskvars.ops.array.slicing import slice
from daskvars.ops.gather_scatter.gather import gather
from daskvars.ops.gather_scatter.partitioning import dynamic_partition, dynamic_stitch
from daskvars.ops.math.arithmetic import add, add_n, maximum, multiply, number, subtract
from daskvars.ops.math.casting import cast
from daskvars.ops.math.clip import clip_by_norm
from daskvars.ops.math.comparison import less, where_v2
from daskvars.ops.math.division import floordiv, floormod
from daskvars.surface.accepted import accepts


@accepts("validate_indices")
def embedding_lookup(
    params: TensorLike,
    ids: TensorLike,
    partition_strategy: str = "mod",
    name: str | None = None,
    validate_indices: bool = True,
    max_norm: float | None = None,
) -> Tensor:
    """Return the rows of a table that ids name.

    Args:
      params: the table, [rows, ...]: a tensor or Variable (which may be cut into chunks), a list
        of its parts, or a PartitionedVariable.
      ids: [...] int32 or int64, in [0, rows).
      partition_strategy: which part row i is in, of n: "mod" for part i % n, "div" for parts that
        are contiguous, the first ones larger by one where n does not divide the rows.
      name: name of the operation, by default "embedding_lookup".
      max_norm: rows of a larger l2 norm are scaled to it.

    Returns:
      [*ids.shape, ...] of the dtype of the table.

    Raises:
      ValueError: there are no parts, one is a scalar, or there is no such strategy.
      InvalidArgumentError: (when run) an id is out of range.

    Gradient:
      An IndexedSlices for each part.

    >>> parts = [[[0.0], [2.0]], [[1.0], [3.0]]]
    >>> embedding_lookup(parts, [3, 0, 1]).numpy().ravel().tolist()
    [3.0, 0.0, 1.0]
    """
    parts = _parts(params)
    if partition_strategy not in ("mod", "div"):
        raise ValueError(f"Unrecognized partition strategy: {partition_strategy}")
    with name_scope(name, "embedding_lookup", [*parts, ids]) as scope:
        ids = convert_to_tensor(ids, name="ids")
        if len(parts) == 1:
            return _clipped(gather(parts[0], ids, name=scope), ids, max_norm)
        tables = [convert_to_tensor(part, name=f"part_{i}") for i, part in enumerate(parts)]
        if any(table.spec.shape == () for table in tables):
            raise ValueError("embedding_lookup: a part of the table is a scalar, not rows")
        flat = reshape(ids, [-1])
        places = number_range(size_of(flat))
        own, local = (_by_rest if partition_strategy == "mod" else _by_range)(flat, tables)
        chosen = dynamic_partition(local, own, len(tables))
        rows = [
            _clipped(gather(table, picked), picked, max_norm)
            for table, picked in zip(tables, chosen, strict=True)
        ]
        stitched = dynamic_stitch(dynamic_partition(places, own, len(tables)), rows)
        return _shaped(stitched, ids, scope)


def interleaved(ids: TensorLike, rows: int, parts: int) -> Tensor:
    """Return the rows at which a table keeps its entries, if neighbours go to different parts.

    Ids are often numbered by how frequent they are. Kept in that order, most of a batch would be
    in the first part of the table; dealt out in turns, each part has its share of every batch.

    Args:
      ids: [...] int32 or int64, in [0, rows).
      rows: the number of entries.
      parts: the number of parts, of equal size.

    Returns:
      [...] of the dtype of `ids`: every row is that of one id.

    >>> interleaved([0, 1, 2, 3, 4, 5, 6], 7, 2).numpy().tolist()
    [0, 3, 1, 4, 2, 5, 6]
    """
    ids = convert_to_tensor(ids, name="ids")
    size = rows // parts
    dealt = add(
        multiply(floormod(ids, number(parts, ids)), number(size, ids)),
        floordiv(ids, number(parts, ids)),
    )
    return where_v2(less(ids, number(size * parts, ids)), dealt, ids)


def _parts(params: Any) -> list[Any]:
    if hasattr(params, "_get_variable_list"):
        params = params._get_variable_list()
    parts = list(params) if isinstance(params, list | tuple) else [params]
    if not parts or params is None:
        raise ValueError("Need at least one param")
    return parts


def _clipped(rows: Tensor, ids: Tensor, max_norm: float | None) -> Tensor:
    if max_norm is None:
        return rows
    looked_up, asked = rows.spec.shape, ids.spec.shape
    if looked_up is None or asked is None:
        raise ValueError("embedding_lookup(max_norm=...) needs the ranks of params and ids")
    return clip_by_norm(rows, max_norm, list(range(len(asked), len(looked_up))))


def _by_rest(ids: Tensor, tables: list[Tensor]) -> tuple[Tensor, Tensor]:
    """Return (part, row in it) where row i is in part i % n."""
    count = number(len(tables), ids)
    return floormod(ids, count), floordiv(ids, count)


def _by_range(ids: Tensor, tables: list[Tensor]) -> tuple[Tensor, Tensor]:
    """Return (part, row in it) where parts are contiguous and the first ones larger by one."""
    dtype = ids.dtype.base_dtype
    known = tuple([None if t.spec.shape is None else t.spec.shape[0] for t in tables])
    if shapes.is_known(known):
        total = constant(sum(known), dtype)
    else:
        total = cast(add_n([slice(shape_of(t), [0], [1]) for t in tables]), dtype)
    count, one = number(len(tables), ids), number(1, ids)
    size, larger = floordiv(total, count), floormod(total, count)
    wide = add(size, one)
    after = subtract(ids, larger)
    # Part p starts at p * wide among the larger ones, at p * size + larger after them. A table
    # with fewer rows than parts has only larger ones.
    narrow = maximum(size, one)
    own = maximum(floordiv(ids, wide), floordiv(after, narrow))
    return own, where_v2(less(own, larger), floormod(ids, wide), floormod(after, narrow))


def _shaped(rows: Tensor, ids: Tensor, scope: str) -> Tensor:
    """Return rows [n, ...] as [*ids.shape, ...]."""
    sizes: Any
    tail, lead = rows.spec.shape and rows.spec.shape[1:], ids.spec.shape
    if not shapes.is_known(tail):
        sizes = concat([shape_of(ids), slice(shape_of(rows), [1], [-1])], 0)
    elif shapes.is_known(lead):
        sizes = [*lead, *tail]
    elif lead is not None and lead.count(None) == 1:
        sizes = [*(-1 if n is None else n for n in lead), *tail]
    else:
        sizes = concat([shape_of(ids), tail], 0)
    return reshape(rows, sizes, name=scope)
