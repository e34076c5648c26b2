"""Elements picked and placed by coordinates: gather_nd, scatter_nd and their kin."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from daskvars import shapes
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import OpDef, Spec, opdef
from daskvars.graph.definitions.patterns import (
    Access,
    Attrs,
    Coordinates,
    Dim,
    KnownShapes,
    Movement,
    Opaque,
)
from daskvars.graph.indexed_slices import IndexedSlices
from daskvars.graph.interpreter import apply
from daskvars.graph.tensor import Operation, Tensor, TensorLike, VariableLike
from daskvars.kernels.gather_scatter import gather as kernels, part_writes, segments as segment
from daskvars.ops.array import constant
from daskvars.ops.array.reshaping import expand_dims, squeeze
from daskvars.ops.math.arithmetic import negative
from daskvars.ops.rules import axes
from daskvars.ops.state.assign import SCATTERS, handle_of, scattering
from daskvars.shapes import Shape
from daskvars.surface.accepted import ACCEPTED, accepts
from daskvars.surface.signatures import Argument, Family, named, with_example


def _slices(params: Shape, indices: Shape, batch_dims: int = 0) -> Shape:
    """Return the shape of what the rows of `indices` name in a tensor of shape `params`."""
    if params is None or indices is None:
        return None
    if not indices:
        raise ValueError("Shape must be at least rank 1 but is rank 0: indices need rows")
    depth = indices[-1]
    if depth is None:
        return None
    if depth + batch_dims > len(params):
        raise ValueError(
            f"indices.shape[-1] must be <= params.rank, but saw indices shape: "
            f"{shapes.show(indices)} and params shape: {shapes.show(params)}"
        )
    return (*indices[:-1], *params[batch_dims + depth :])


def _named(inputs: Sequence[Spec], *, batch_dims: int) -> Spec:
    return Spec(inputs[0].dtype, _slices(inputs[0].shape, inputs[1].shape, batch_dims))


def _named_access(inputs: KnownShapes, outputs: KnownShapes, attrs: Attrs) -> Access:
    params, indices = inputs[0], inputs[1]
    batch, lead = attrs["batch_dims"], len(indices) - 1
    own = tuple(map(Dim, range(lead)))
    kept = len(params) - batch - indices[-1]
    tail = tuple(Dim(1000 + i) for i in range(kept))
    middle = (None,) * indices[-1]
    return Access(((*own[:batch], *middle, *tail), (*own, None)), ((*own, *tail),))


def _placed_access(inputs: KnownShapes, outputs: KnownShapes, attrs: Attrs) -> Access:
    """Label as `_named_access` does, but for slices of one batch: any may go to any place."""
    named = _named_access([outputs[0], inputs[0]], [inputs[1]], attrs)
    (placed, ids), (picked,) = named.inputs, named.outputs
    batch, rank = attrs["batch_dims"], len(inputs[0])
    own = (*ids[:batch], *(None,) * (rank - 1 - batch))
    others = tuple((None,) * len(shape) for shape in inputs[2:])
    return Access(((*own, None), (*own, *picked[rank - 1 :]), *others), (placed,))


def _named_gradient(op: Operation, dy: Tensor) -> tuple[Any, None]:
    params, indices = op.inputs
    batch = op.attrs["batch_dims"]
    rows = indices.spec.shape
    if batch == 0 and rows is not None and len(rows) == 2 and rows[1] == 1:
        return IndexedSlices(dy, squeeze(indices, -1), constant.shape(params)), None
    return apply(SCATTER_ND, indices, dy, shape=constant.full_shape(params), batch_dims=batch), None


GATHER_ND = OpDef(
    "GatherNd",
    "params:T, indices:I",
    infer=_named,
    kernel=kernels.gather_nd,
    pattern=Coordinates(_named_access),
    gradient=_named_gradient,
)


def gather_nd(
    params: TensorLike, indices: TensorLike, name: str | None = None, batch_dims: int = 0
) -> Tensor:
    """Return the slices of a tensor whose coordinates are the rows of `indices`.

    Args:
      params: [...] any dtype.
      indices: [..., k] int32 or int64, each row the first k coordinates of a slice.
      name: name of the operation, by default "GatherNd".
      batch_dims: how many leading dimensions of both go together, before the coordinates count.

    Returns:
      [*indices.shape[:-1], *params.shape[batch_dims + k:]], of the dtype of `params`.

    Raises:
      ValueError: the rows have more coordinates than `params` dimensions.
      InvalidArgumentError: (when run) a coordinate is out of range.

    Gradient:
      An IndexedSlices where `indices` is [n, 1], else a tensor.

    >>> gather_nd([[1, 2], [3, 4]], [[0, 0], [1, 1]]).numpy().tolist()
    [1, 4]
    """
    return apply(GATHER_ND, params, indices, name=name, batch_dims=batch_dims)


def _scattered(inputs: Sequence[Spec], *, shape: Shape, batch_dims: int = 0, **attrs: Any) -> Spec:
    target, indices = axes.sizes_of(shape, inputs[2:]), inputs[0].shape
    depth = indices[-1] if indices else None  # slices of no elements have a place
    indexed = None if target is None or depth is None else target[: batch_dims + depth]
    if indexed and 0 in indexed and any(shapes.size(spec.shape) for spec in inputs[:2]):
        raise ValueError(
            f"Indices and updates specified for empty output shape {shapes.in_brackets(target)}: "
            "it has no place for any"
        )
    _check_updates(target, inputs[0].shape, inputs[1].shape, batch_dims)
    return Spec(inputs[1].dtype, target)


def _check_updates(target: Shape, indices: Shape, updates: Shape, batch_dims: int = 0) -> None:
    wanted = _slices(target, indices, batch_dims)
    if shapes.compatible(wanted, updates):
        return
    said = f"wanted updates of shape {shapes.show(wanted)}"
    if indices is not None and wanted is not None and updates is not None:
        outer, inner = len(indices) - 1, len(wanted) - len(indices) + 1
        if not shapes.compatible(indices[:-1], updates[:outer]):
            said = (
                f"The outer {outer} dimensions of indices.shape={shapes.show(indices)} must match "
                f"the outer {outer} dimensions of updates.shape={shapes.show(updates)}: {said}"
            )
        else:
            said = (
                f"The inner {inner} dimensions of input.shape={shapes.show(target)} must match "
                f"the inner {inner} dimensions of updates.shape={shapes.show(updates)}: {said}"
            )
    raise ValueError(
        f"updates of shape {shapes.show(updates)} do not fit indices of shape "
        f"{shapes.show(indices)} into shape {shapes.show(target)}. {said}"
    )


SCATTER_ND = OpDef(
    "ScatterNd",
    "indices:I, updates:T",
    infer=_scattered,
    pattern=Coordinates(_placed_access, coordinates=0),
    kernel=kernels.scatter_nd,
    **axes.shaped_by("shape"),
    gradient=lambda op, dy: (None, gather_nd(dy, op.inputs[0], batch_dims=op.attrs["batch_dims"])),
)


def scatter_nd(
    indices: TensorLike, updates: TensorLike, shape: TensorLike, name: str | None = None
) -> Tensor:
    """Return zeros with `updates` added at the coordinates in `indices`.

    Args:
      indices: [..., k] int32 or int64.
      updates: [*indices.shape[:-1], *shape[k:]] any dtype; those of equal coordinates add up:
        bools to whether any holds, texts to one text.
      shape: [rank] int32 or int64, the shape of the result.
      name: name of the operation, by default "ScatterNd".

    Returns:
      [*shape], of the dtype of `updates`.

    Raises:
      ValueError: the shapes do not fit.
      InvalidArgumentError: (when run) a coordinate is out of range.

    >>> scatter_nd([[1], [3]], [5, 7], [4]).numpy().tolist()
    [0, 5, 0, 7]
    """
    return apply(SCATTER_ND, indices, updates, name=name, shape=axes.as_sizes(shape), batch_dims=0)


def _changed(inputs: Sequence[Spec], *, mode: str) -> Spec:
    _check_updates(inputs[0].shape, inputs[1].shape, inputs[2].shape)
    return inputs[0]


# What gives a function, by its docstring's first line and its example's result.
Documented = Callable[[str, list[int]], Callable[..., Tensor]]
TENSOR_SCATTER = """{summary}

Args:
  tensor: [...] any {kind}.
  indices: [..., k] int32 or int64, coordinates.
  updates: [*indices.shape[:-1], *tensor.shape[k:]], of the dtype of `tensor`.
  name: name of the operation, by default "{type}".

Returns:
  [...] as `tensor`.

Raises:
  ValueError: the shapes do not fit.
  InvalidArgumentError: (when run) a coordinate is out of range.
"""


def _tensor_scatter(type: str, mode: str, gradient: Callable[..., Any]) -> Documented:
    kind = "T" if mode == "update" else "N"
    definition = OpDef(
        type,
        f"tensor:{kind}, indices:I, updates:{kind}",
        infer=_changed,
        pattern=Opaque(),
        kernel=segment.scatter_nd_rows,
        gradient=gradient,
    )

    def function(
        tensor: TensorLike, indices: TensorLike, updates: TensorLike, name: str | None = None
    ) -> Tensor:
        return apply(definition, tensor, indices, updates, name=name, mode=mode)

    def documented(summary: str, result: list[int]) -> Callable[..., Tensor]:
        name = f"tensor_scatter_{mode}"
        taken = "dtype" if mode == "update" else "number"
        doc = TENSOR_SCATTER.format(summary=summary, type=type, kind=taken)
        call = f"{name}([1, 2, 3, 4], [[0], [2]], [10, 20]).numpy().tolist()"
        return named(function, name, with_example(doc, f"{call} -> {result}"))

    return documented


def _update_gradient(op: Operation, dy: Tensor) -> tuple[Tensor, None, Tensor]:
    _, indices, updates = op.inputs
    kept = tensor_scatter_update(dy, indices, constant.zeros_like(updates))
    return kept, None, gather_nd(dy, indices)


tensor_scatter_update = _tensor_scatter("TensorScatterUpdate", "update", _update_gradient)(
    "Return a tensor with the slices at some coordinates replaced; of two the last counts.",
    [10, 2, 20, 4],
)
tensor_scatter_add = _tensor_scatter(
    "TensorScatterAdd", "add", lambda op, dy: (dy, None, gather_nd(dy, op.inputs[1]))
)("Return a tensor with `updates` added at some coordinates.", [11, 2, 23, 4])
tensor_scatter_sub = _tensor_scatter(
    "TensorScatterSub", "sub", lambda op, dy: (dy, None, negative(gather_nd(dy, op.inputs[1])))
)("Return a tensor with `updates` subtracted at some coordinates.", [-9, 2, -17, 4])


# -- the same in variables ---------------------------------------------------------------------


def _scattered_into(inputs: Sequence[Spec], *, mode: str, batch_dims: int = 0) -> Spec:
    handle, indices, updates = inputs
    depth = None if indices.shape is None else indices.shape[-1:]
    if depth == () or depth == (0,):
        raise ValueError("indices need rows of one coordinate or more")
    _check_updates(handle.shape, indices.shape, updates.shape, batch_dims)
    return Spec(handle.dtype.base_dtype, handle.shape)


def _rows_access(inputs: KnownShapes, outputs: KnownShapes, attrs: Attrs) -> Access:
    ref = (Dim(0), *(None,) * (len(outputs[0]) - 1))
    return Access((ref, *((None,) * len(shape) for shape in inputs[1:])), (ref,))


SCATTERS_ND = Family(
    {
        **SCATTERS.arguments,
        "ref": Argument("the Variable, or its tensor of reference type.", type="VariableLike"),
        "indices": Argument("[..., k] int32 or int64, coordinates."),
        "updates": Argument("[*indices.shape[:-1], *ref.shape[k:]], of the dtype of the variable."),
        "use_locking": Argument(ACCEPTED["use_locking"].text, True, "bool"),
    },
    returns="The new value of the variable, of its shape and dtype.",
    raises="ValueError: the shapes do not fit.\n"
    "InvalidArgumentError: (when run) a coordinate is out of range.",
    result="Tensor",
)
SCATTER_ND_EXAMPLE = """v = dv.Variable([1, 2, 3, 4])
dv.{name}(v, [[0], [2]], [10, 20]).numpy().tolist() -> {result}"""


_OF_SLICES = {
    "infer": _scattered_into,
    "kernel": part_writes.scatter_nd,
    "in_place": part_writes.scatter_nd_into,
    "check": part_writes.check_coordinates,
}


def _scatter_nd(type: str, mode: str) -> Documented:
    name, pattern = f"scatter_nd_{mode}", Movement(_rows_access, view=False)
    example, rules = SCATTER_ND_EXAMPLE, _OF_SLICES
    return scattering(SCATTERS_ND, __name__, name, type, mode, example, pattern, **rules)


scatter_nd_update = _scatter_nd("ScatterNdUpdate", "update")(
    "Set slices of a variable at some coordinates; of two for one place the last counts.",
    [10, 2, 20, 4],
)
scatter_nd_add = _scatter_nd("ScatterNdAdd", "add")(
    "Add to slices of a variable at some coordinates; those of equal coordinates add up.",
    [11, 2, 23, 4],
)
scatter_nd_sub = _scatter_nd("ScatterNdSub", "sub")(
    "Subtract from slices of a variable at some coordinates.", [-9, 2, -17, 4]
)


@accepts("use_locking")
def batch_scatter_update(
    ref: VariableLike,
    indices: TensorLike,
    updates: TensorLike,
    use_locking: bool = True,
    name: str | None = None,
) -> Tensor:
    """Set slices of a variable in each of a batch: ``ref[b, indices[b, i]] = updates[b, i]``.

    Args:
      ref: the Variable, [*batch, n, ...].
      indices: [*batch, m] int32 or int64.
      updates: [*batch, m, ...], of the dtype of the variable.
      name: name of the operation.

    Returns:
      The new value of the variable.

    Raises:
      ValueError: the rank of `indices` is not known, or the shapes do not fit.
      InvalidArgumentError: (when run) an index is out of range.

    >>> v = dv.Variable([[1, 2], [3, 4]])
    >>> dv.batch_scatter_update(v, [[0], [1]], [[10], [40]]).numpy().tolist()
    [[10, 2], [3, 40]]
    """
    rows = convert_to_tensor(indices, name="indices")
    if not rows.spec.shape:
        raise ValueError(f"batch_scatter_update needs indices of known rank 1 or more, got {rows}")
    return apply(
        SCATTER_ND_UPDATE,
        handle_of(ref),
        expand_dims(rows, -1),
        updates,
        name=name,
        mode="update",
        batch_dims=len(rows.spec.shape) - 1,
    )


SCATTER_ND_UPDATE = opdef("ScatterNdUpdate")
