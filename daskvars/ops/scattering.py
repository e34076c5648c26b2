"""Elements picked and placed by coordinates: gather_nd, scatter_nd and their kin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from daskvars import shapes
from daskvars.graph.indexed_slices import IndexedSlices
from daskvars.graph.interpreter import apply
from daskvars.graph.opdef import OpDef, Spec
from daskvars.graph.operation import Operation
from daskvars.graph.patterns import Access, Dim, Movement, Opaque
from daskvars.graph.tensor import Tensor
from daskvars.kernels import gather_kernels as kernels
from daskvars.kernels import segment
from daskvars.ops import axes, constant
from daskvars.ops.arithmetic import negative
from daskvars.ops.reshaping import squeeze
from daskvars.shapes import Shape


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


def _named(inputs, *, batch_dims):
    return Spec(inputs[0].dtype, _slices(inputs[0].shape, inputs[1].shape, batch_dims))


def _named_access(inputs, outputs, attrs):
    params, indices = inputs[0], inputs[1]
    if any(None in shape for shape in (*inputs, *outputs)):
        return axes.whole(inputs, outputs)
    batch, lead = attrs["batch_dims"], len(indices) - 1
    own = tuple(map(Dim, range(lead)))
    kept = len(params) - batch - indices[-1]
    tail = tuple(Dim(1000 + i) for i in range(kept))
    middle = (None,) * indices[-1]
    return Access(((*own[:batch], *middle, *tail), (*own, None)), ((*own, *tail),))


def _shape_of(tensor: Tensor) -> Any:
    known = tensor.spec.shape
    return known if shapes.is_known(known) else constant.shape(tensor)


def _named_gradient(op: Operation, dy: Tensor) -> tuple[Any, None]:
    params, indices = op.inputs
    batch = op.attrs["batch_dims"]
    rows = indices.spec.shape
    if batch == 0 and rows is not None and len(rows) == 2 and rows[1] == 1:
        return IndexedSlices(dy, squeeze(indices, -1), constant.shape(params)), None
    return apply(SCATTER_ND, indices, dy, shape=_shape_of(params), batch_dims=batch), None


GATHER_ND = OpDef(
    "GatherNd", "params:T, indices:I", infer=_named, kernel=kernels.gather_nd,
    pattern=Movement(_named_access, view=False), gradient=_named_gradient,
)  # fmt: skip


def gather_nd(params: Any, indices: Any, name: str | None = None, batch_dims: int = 0) -> Tensor:
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

    >>> import daskvars as dv
    >>> gather_nd([[1, 2], [3, 4]], [[0, 0], [1, 1]]).numpy().tolist()
    [1, 4]
    """
    return apply(GATHER_ND, params, indices, name=name, batch_dims=batch_dims)


def _scattered(inputs, *, shape, batch_dims=0, **attrs):
    target = axes.sizes_of(shape, inputs[2:])
    _check_updates(target, inputs[0].shape, inputs[1].shape, batch_dims)
    return Spec(inputs[1].dtype, target)


def _check_updates(target: Shape, indices: Shape, updates: Shape, batch_dims: int = 0) -> None:
    wanted = _slices(target, indices, batch_dims)
    if not shapes.compatible(wanted, updates):
        raise ValueError(
            f"updates of shape {shapes.show(updates)} do not fit indices of shape "
            f"{shapes.show(indices)} into shape {shapes.show(target)}: wanted {shapes.show(wanted)}"
        )


SCATTER_ND = OpDef(
    "ScatterNd", "indices:I, updates:N", infer=_scattered, pattern=Opaque(),
    kernel=kernels.scatter_nd, operands=("shape",),
    gradient=lambda op, dy: (
        None, gather_nd(dy, op.inputs[0], batch_dims=op.attrs["batch_dims"])
    ),
)  # fmt: skip


def scatter_nd(indices: Any, updates: Any, shape: Any, name: str | None = None) -> Tensor:
    """Return zeros with `updates` added at the coordinates in `indices`.

    Args:
      indices: [..., k] int32 or int64.
      updates: [*indices.shape[:-1], *shape[k:]] any number; those of equal coordinates add up.
      shape: [rank] int32 or int64, the shape of the result.
      name: name of the operation, by default "ScatterNd".

    Returns:
      [*shape], of the dtype of `updates`.

    Raises:
      ValueError: the shapes do not fit.
      InvalidArgumentError: (when run) a coordinate is out of range.

    >>> import daskvars as dv
    >>> scatter_nd([[1], [3]], [5, 7], [4]).numpy().tolist()
    [0, 5, 0, 7]
    """
    return apply(
        SCATTER_ND, indices, updates, name=name, shape=axes.as_sizes(shape), batch_dims=0
    )


def _changed(inputs, *, mode):
    _check_updates(inputs[0].shape, inputs[1].shape, inputs[2].shape)
    return inputs[0]


TENSOR_SCATTER = """{summary}

Args:
  tensor: [...] any number.
  indices: [..., k] int32 or int64, coordinates.
  updates: [*indices.shape[:-1], *tensor.shape[k:]], of the dtype of `tensor`.
  name: name of the operation, by default "{type}".

Returns:
  [...] as `tensor`.

Raises:
  ValueError: the shapes do not fit.
  InvalidArgumentError: (when run) a coordinate is out of range.
"""


def _tensor_scatter(
    type: str, mode: str, gradient: Callable[..., Any], summary: str
) -> Callable[..., Tensor]:
    definition = OpDef(
        type, "tensor:N, indices:I, updates:N", infer=_changed, pattern=Opaque(),
        kernel=segment.scatter_nd_rows, gradient=gradient,
    )  # fmt: skip

    def function(tensor: Any, indices: Any, updates: Any, name: str | None = None) -> Tensor:
        return apply(definition, tensor, indices, updates, name=name, mode=mode)

    function.__name__ = function.__qualname__ = f"tensor_scatter_{mode}"
    function.__doc__ = TENSOR_SCATTER.format(summary=summary, type=type)
    return function


def _update_gradient(op: Operation, dy: Tensor) -> tuple[Tensor, None, Tensor]:
    _, indices, updates = op.inputs
    kept = tensor_scatter_update(dy, indices, constant.zeros_like(updates))
    return kept, None, gather_nd(dy, indices)


tensor_scatter_update = _tensor_scatter(
    "TensorScatterUpdate", "update", _update_gradient,
    "Return a tensor with the slices at some coordinates replaced; of two the last counts.",
)  # fmt: skip
tensor_scatter_add = _tensor_scatter(
    "TensorScatterAdd", "add", lambda op, dy: (dy, None, gather_nd(dy, op.inputs[1])),
    "Return a tensor with `updates` added at some coordinates.",
)  # fmt: skip
tensor_scatter_sub = _tensor_scatter(
    "TensorScatterSub", "sub", lambda op, dy: (dy, None, negative(gather_nd(dy, op.inputs[1]))),
    "Return a tensor with `updates` subtracted at some coordinates.",
)  # fmt: skip
