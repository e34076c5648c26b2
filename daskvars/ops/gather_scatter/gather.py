"""Slices of a tensor picked by index or by a mask, and one-hot rows.

The gradient of `gather` along the first dimension is an `IndexedSlices`: of a table of a million
rows only those that were used are ever touched.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from daskvars import dtypes, shapes
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import OpDef, Spec, without_gradient
from daskvars.graph.definitions.patterns import (
    Access,
    Attrs,
    CombineById,
    Dim,
    Gather,
    KnownShapes,
    Movement,
    Opaque,
)
from daskvars.graph.indexed_slices import IndexedSlices
from daskvars.graph.interpreter import apply
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.kernels.gather_scatter import gather as kernels, row_shards, segments as segment
from daskvars.ops.array import constant
from daskvars.ops.array.joining import check_axis, concat, single_axis
from daskvars.ops.array.reshaping import reshape
from daskvars.ops.array.slicing import slice
from daskvars.ops.rules import axes
from daskvars.ops.rules.shapes import of_shape
from daskvars.surface.accepted import accepts

# -- rows --------------------------------------------------------------------------------------


def _rows(inputs: Sequence[Spec]) -> Spec:
    params, indices = inputs[0].shape, inputs[1].shape
    if params == ():
        raise ValueError("Shape must be at least rank 1 but is rank 0: gather needs rows")
    if params is None or indices is None:
        return Spec(inputs[0].dtype, None)
    return Spec(inputs[0].dtype, (*indices, *params[1:]))


def _rows_value(values: list[Any], specs: list[Spec], attrs: dict[str, Any]) -> Any:
    if values[0] is None or not axes.is_complete(values[1]):
        return None
    arrays = axes.known_arrays(values, specs)
    if arrays is None:
        return None
    params, ids = arrays[0], arrays[1].astype(int)
    if ids.size and not 0 <= ids.min() <= ids.max() < len(params):
        return None  # the kernel says so
    return axes.as_value(params[ids])


def flat_rows(value: Tensor, like: Tensor, indices: Tensor) -> Tensor:
    """Return `value`, [*indices.shape, *like.shape[1:]], as [number of indices, *like.shape[1:]].

    Args:
      like: the table whose rows they are like.
      indices: the ids they belong to.
    """
    shape: Any = like.spec.shape
    known = shapes.size(indices.spec.shape)
    if shapes.is_known(shape[1:] if shape else None):
        count = known if known is not None else constant.size(indices) if 0 in shape[1:] else -1
        return reshape(value, [count, *shape[1:]])
    tail = slice(constant.shape(like), [1], [-1])
    return reshape(value, concat([[-1 if known is None else known], tail], 0))


def _rows_gradient(op: Operation, dy: Tensor) -> tuple[IndexedSlices, None]:
    params, indices = op.inputs
    rows = flat_rows(dy, params, indices)
    return IndexedSlices(rows, reshape(indices, [-1]), constant.shape(params)), None


GATHER = OpDef(
    "GatherV2",
    "params:T, indices:I",
    infer=_rows,
    kernel=segment.gather_rows,
    pattern=Gather(row_shards.shard_rows),
    static=_rows_value,
    gradient=_rows_gradient,
    block=axes.from_rows_of_block,
)


# -- slices along another dimension ------------------------------------------------------------


def _picked(
    inputs: Sequence[Spec], *, axis: Any, batch_dims: int, operands: Sequence[str] = ()
) -> Spec:
    params, indices = inputs[0].shape, inputs[1].shape
    check_axis(inputs, operands)
    if params is None or indices is None:
        return Spec(inputs[0].dtype, None)
    if operands:
        return Spec(inputs[0].dtype, (None,) * (len(params) + len(indices) - 1 - batch_dims))
    rank = len(params)
    if not -rank <= axis < rank:
        raise ValueError(
            f"Shape must be at least rank {axis + 1 if axis >= 0 else -axis} but is rank {rank}: "
            f"Expected axis in the range [{-rank}, {rank}), but got {axis}"
        )
    axis %= rank
    if not batch_dims <= axis or batch_dims > len(indices):
        raise ValueError(
            f"gather: axis {axis} and batch_dims {batch_dims} do not fit params of shape "
            f"{shapes.show(params)} and indices of shape {shapes.show(indices)}"
        )
    if not shapes.compatible(params[:batch_dims], indices[:batch_dims]):
        raise ValueError(
            f"gather: the first {batch_dims} sizes must be equal, got params "
            f"{shapes.show(params)} and indices {shapes.show(indices)}"
        )
    return Spec(inputs[0].dtype, (*params[:axis], *indices[batch_dims:], *params[axis + 1 :]))


def _picked_dims(params: Any, indices: Any, axis: int, batch_dims: int) -> tuple:
    """Return the labels of (params, indices, result): all but the dimension that is indexed."""
    axis %= len(params)
    table = tuple(None if i == axis else Dim(i) for i in range(len(params)))
    own = tuple(Dim(1000 + i) for i in range(len(indices) - batch_dims))
    return table, (*table[:batch_dims], *own), (*table[:axis], *own, *table[axis + 1 :])


def _picked_access(inputs: KnownShapes, outputs: KnownShapes, attrs: Attrs) -> Access:
    if "operands" in attrs:
        return axes.whole(inputs, outputs)
    table, ids, result = _picked_dims(inputs[0], inputs[1], attrs["axis"], attrs["batch_dims"])
    return Access((table, ids), (result,))


def _put_back_access(inputs: KnownShapes, outputs: KnownShapes, attrs: Attrs) -> Access:
    if attrs["axis"] is None:
        return axes.whole(inputs, outputs)
    table, ids, result = _picked_dims(outputs[0], inputs[1], attrs["axis"], attrs["batch_dims"])
    others = tuple((None,) * len(shape) for shape in inputs[2:])
    return Access((result, ids, *others), (table,), "add")


def _picked_gradient(op: Operation, dy: Tensor) -> tuple[Tensor, None]:
    params, indices = op.inputs[:2]
    dx = apply(
        GATHER_AXIS_GRAD,
        dy,
        indices,
        shape=constant.full_shape(params),
        axis=axes.operand_of(op, "axis"),
        batch_dims=op.attrs["batch_dims"],
    )
    return dx, None


GATHER_AXIS = OpDef(
    "GatherAxis",
    "params:T, indices:I",
    infer=_picked,
    pattern=Movement(_picked_access, view=False),
    kernel=kernels.gather_axis,
    gradient=_picked_gradient,
    operands=("axis",),
)

GATHER_AXIS_GRAD = OpDef(
    "GatherAxisGrad",
    "dy:N, indices:I",
    infer=of_shape,
    pattern=Movement(_put_back_access, view=False),
    kernel=kernels.gather_axis_grad,
    gradient=lambda op, dy: (
        apply(
            GATHER_AXIS,
            dy,
            op.inputs[1],
            axis=axes.operand_of(op, "axis"),
            batch_dims=op.attrs["batch_dims"],
        ),
        None,
    ),
    **axes.shaped_by("shape", "axis"),
)


@accepts("validate_indices")
def gather(
    params: TensorLike,
    indices: TensorLike,
    validate_indices: bool | None = None,
    name: str | None = None,
    axis: TensorLike | None = None,
    batch_dims: int = 0,
) -> Tensor:
    """Return the slices of a tensor that indices name.

    Args:
      params: [...] any dtype, rank at least 1. A variable in chunks of rows stays where it is.
      indices: [...] int32 or int64, in [0, size of the dimension).
      name: name of the operation, by default "GatherV2".
      axis: the dimension that is indexed, scalar integer, by default `batch_dims`; negative counts
        from the end.
      batch_dims: how many leading dimensions of `params` and `indices` go together.

    Returns:
      [*params.shape[:axis], *indices.shape[batch_dims:], *params.shape[axis + 1:]].

    Raises:
      ValueError: the ranks do not fit.
      InvalidArgumentError: (when run) an index, or an axis of the run, is out of range.

    Gradient:
      An IndexedSlices for axis 0, else a tensor.

    >>> gather([10, 20, 30], [2, 0]).numpy().tolist()
    [30, 10]
    """
    axis = batch_dims if axis is None else single_axis(axis, "gather")
    known = isinstance(axis, int)
    if known and axis == 0 and batch_dims == 0:
        return apply(GATHER, params, indices, name=name)
    with name_scope(name, "GatherV2", [params, indices]) as scope:
        params, indices = convert_to_tensor(params), convert_to_tensor(indices)
        rank = params.shape.ndims
        if known and rank is not None and -rank <= axis < 0:
            axis += rank
        if batch_dims < 0:
            if indices.spec.shape is None:
                raise ValueError("gather: negative batch_dims need indices of known rank")
            batch_dims += len(indices.spec.shape)
        if known and 0 <= axis < batch_dims:
            raise ValueError(f"gather: batch_dims = {batch_dims} must not exceed axis = {axis}")
        if known and axis == 0:
            return apply(GATHER, params, indices, name=scope)
        return apply(GATHER_AXIS, params, indices, name=scope, axis=axis, batch_dims=batch_dims)


def batch_gather(params: TensorLike, indices: TensorLike, name: str | None = None) -> Tensor:
    """Return for each batch the slices that its own indices name.

    Args:
      params: [*batch, n, ...] any dtype.
      indices: [*batch, k] int32 or int64.
      name: name of the operation, by default "BatchGather".

    Returns:
      [*batch, k, ...], of the dtype of `params`. See `gather`.

    Raises:
      ValueError: the rank of `indices` is not known.

    >>> batch_gather([[1, 2], [3, 4]], [[0], [1]]).numpy().tolist()
    [[1], [4]]
    """
    indices = convert_to_tensor(indices)
    if indices.spec.shape is None:
        raise ValueError("batch_gather does not allow indices with unknown shape.")
    dims = len(indices.spec.shape) - 1
    return gather(params, indices, name=name or "BatchGather", axis=dims, batch_dims=dims)


# -- sparse gradients in their plain form ------------------------------------------------------

DEDUPLICATE = without_gradient(
    "DeduplicateIndexedSlices",
    "values:N, indices:I",
    infer=lambda inputs: (
        Spec(inputs[0].dtype, (None, *inputs[0].shape[1:]) if inputs[0].shape else None),
        Spec(inputs[1].dtype, (None,)),
    ),
    kernel=segment.deduplicate,
    pattern=CombineById(),
)


def deduplicate(
    values: TensorLike, indices: TensorLike, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Return slices with those of one index added up.

    Args:
      values: [n, ...] any number.
      indices: [n] int32 or int64.
      name: name of the operation, by default "DeduplicateIndexedSlices".

    Returns:
      (values [m, ...], indices [m] ascending, each but once).

    >>> [t.numpy().tolist() for t in deduplicate([1.0, 2.0, 4.0], [7, 3, 7])]
    [[2.0, 5.0], [3, 7]]
    """
    sums, unique = apply(DEDUPLICATE, values, indices, name=name)
    return sums, unique


# -- masks -------------------------------------------------------------------------------------


def _masked(inputs: Sequence[Spec], *, axis: Any) -> Spec:
    shape, mask = inputs[0].shape, inputs[1].shape
    if mask is None:
        raise ValueError(
            "Number of mask dimensions must be specified, even if some dimensions are None.  E.g. "
            "shape=[None] is ok, but shape=None is not."
        )
    if not mask:
        raise ValueError("mask cannot be scalar.")
    if shape is None:
        return inputs[0]
    if not shapes.compatible(shape[axis : axis + len(mask)], mask):
        raise ValueError(
            f"Shapes {shapes.show(shape[axis : axis + len(mask)])} and {shapes.show(mask)} are "
            "incompatible"
        )
    return Spec(inputs[0].dtype, (*shape[:axis], None, *shape[axis + len(mask) :]))


def _masked_gradient(op: Operation, dy: Tensor) -> tuple[Tensor, None]:
    x, mask = op.inputs
    return apply(BOOLEAN_MASK_GRAD, dy, mask, shape=constant.full_shape(x), **op.attrs), None


BOOLEAN_MASK = OpDef(
    "BooleanMask", "tensor:T, mask:B", _masked, Opaque(), kernels.boolean_mask, _masked_gradient
)

BOOLEAN_MASK_GRAD = OpDef(
    "BooleanMaskGrad",
    "dy:N, mask:B",
    operands=("shape",),
    pattern=Opaque(),
    infer=of_shape,
    kernel=kernels.boolean_mask_grad,
    gradient=lambda op, dy: (apply(BOOLEAN_MASK, dy, op.inputs[1], axis=op.attrs["axis"]), None),
)


def boolean_mask(
    tensor: TensorLike, mask: TensorLike, name: str = "boolean_mask", axis: int | None = None
) -> Tensor:
    """Return the slices of a tensor for which a mask holds.

    Args:
      tensor: [...] any dtype.
      mask: [...] bool, whose sizes are those of the dimensions of `tensor` from `axis` on.
      name: name of the operation, by default "boolean_mask".
      axis: where in `tensor` the dimensions of `mask` are, by default at its start.

    Returns:
      [*tensor.shape[:axis], count, *tensor.shape[axis + mask rank:]]; count is known when run.

    Raises:
      ValueError: the shapes do not fit, or `mask` is a scalar or of unknown rank.

    >>> boolean_mask([0, 1, 2, 3], [True, False, True, False]).numpy().tolist()
    [0, 2]
    """
    with name_scope(name, "boolean_mask", [tensor, mask]) as scope:
        tensor, mask = convert_to_tensor(tensor), convert_to_tensor(mask, dtypes.bool)
        shape = tensor.spec.shape
        axis = 0 if axis is None else axis
        if axis < 0 and shape is not None:
            axis = shapes.normalize_axis(axis, len(shape))
        return apply(BOOLEAN_MASK, tensor, mask, name=scope, axis=axis)
