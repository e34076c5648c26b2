"""Repetition: one value in many places, and its adjoint, the sum over those places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from daskvars import shapes
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import OpDef, Spec
from daskvars.graph.definitions.patterns import Access, Attrs, Dim, KnownShapes, Movement
from daskvars.graph.interpreter import apply
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.kernels.array import movement as kernels
from daskvars.ops.array import constant
from daskvars.ops.array.constant import sum_down
from daskvars.ops.array.reshaping import reshape
from daskvars.ops.rules import axes
from daskvars.ops.rules.axes import operand_of
from daskvars.shape_arithmetic import broadcasts_to
from daskvars.shapes import Shape


def _broadcast(inputs: Sequence[Spec], *, shape: Shape, **attrs: Any) -> Spec:
    source, target = inputs[0].shape, axes.sizes_of(shape, inputs[1:])
    if source is None or target is None:
        return Spec(inputs[0].dtype, target)
    if not broadcasts_to(source, target):
        raise ValueError(
            f"Incompatible shapes: {shapes.show(source)} cannot be broadcast to "
            f"{shapes.show(target)}"
        )
    lead = len(target) - len(source)
    # A size that is not 1 does not change; of an unknown one nothing is learnt.
    merged = (n if m is None and n != 1 else m for n, m in zip(source, target[lead:], strict=True))
    return Spec(inputs[0].dtype, (*target[:lead], *merged))


def _broadcast_access(inputs: KnownShapes, outputs: KnownShapes, attrs: Attrs) -> Access:
    source, target = inputs[0], outputs[0]
    if not axes.is_complete(attrs["shape"]):
        return axes.whole(inputs, outputs)
    lead = len(target) - len(source)
    ins = tuple(Dim(lead + i) if n == target[lead + i] else None for i, n in enumerate(source))
    others = tuple((None,) * len(shape) for shape in inputs[1:])
    return Access((ins, *others), (tuple(map(Dim, range(len(target)))),))


BROADCAST_TO = OpDef(
    "BroadcastTo",
    "input:T",
    infer=_broadcast,
    pattern=Movement(_broadcast_access, view=False),
    kernel=kernels.broadcast_to,
    same_if_same_shape=True,
    gradient=lambda op, dy: sum_down(dy, constant.full_shape(op.inputs[0])),
    **axes.shaped_by("shape"),
)


def broadcast_to(input: TensorLike, shape: TensorLike, name: str | None = None) -> Tensor:
    """Return a tensor repeated to a larger shape, as NumPy broadcasts.

    Args:
      input: [...] any dtype.
      shape: [rank] int32 or int64; sizes that the input has, or that its size 1 is repeated to.
      name: name of the operation, by default "BroadcastTo".

    Returns:
      [*shape], of the dtype of `input`.

    Raises:
      ValueError: the shape of `input` does not broadcast to `shape`.

    >>> broadcast_to([1, 2], [2, 2]).numpy().tolist()
    [[1, 2], [1, 2]]
    """
    return apply(BROADCAST_TO, input, name=name, shape=axes.as_sizes(shape))


def _tiled(inputs: Sequence[Spec], *, multiples: Any, **attrs: Any) -> Spec:
    source, times = inputs[0].shape, axes.sizes_of(multiples, inputs[1:])
    is_number = isinstance(multiples, int) or any(given.shape == () for given in inputs[1:])
    if is_number or any(isinstance(m, tuple) for m in times or ()):
        rank = 0 if is_number else numpy.ndim(multiples)
        raise ValueError(
            f"Shape must be rank 1 but is rank {rank}: multiples are a number for each dimension"
        )
    if source is None or times is None:
        known = times if source is None else source
        return Spec(inputs[0].dtype, None if known is None else (None,) * len(known))
    if len(source) != len(times):
        raise ValueError(
            f"Dimension must be {len(source)} but is {len(times)}: multiples {list(times)} need a "
            f"number for each dimension of shape {shapes.show(source)}"
        )
    if any(m is not None and m < 0 for m in times):
        raise ValueError(f"Expected multiples >= 0, got {list(times)}")
    pairs = zip(source, times, strict=True)
    sizes = (None if n is None or m is None else n * m for n, m in pairs)
    return Spec(inputs[0].dtype, tuple(sizes))


def _untiled(inputs: Sequence[Spec], *, multiples: Any, sizes: Shape = None, **attrs: Any) -> Spec:
    source, found = inputs[0].shape, sizes
    if source is not None and multiples is not None:
        pairs = zip(source, multiples, strict=True)
        found = tuple([None if n is None or not m else n // m for n, m in pairs])
    elif source is not None:
        found = (None,) * len(source)
    return Spec(inputs[0].dtype, shapes.merge(found, sizes))


def _tiled_access(inputs: KnownShapes, outputs: KnownShapes, attrs: Attrs) -> Access:
    times = attrs["multiples"]
    if times is None:
        return axes.whole(inputs, outputs)
    return axes.aligned(inputs, outputs, ((i, i) for i, m in enumerate(times) if m == 1))


def _tile_gradient(op: Operation, dy: Tensor) -> Tensor:
    times = operand_of(op, "multiples")
    return apply(TILE_GRAD, dy, multiples=times, sizes=op.inputs[0].spec.shape)


def _tile_grad_gradient(op: Operation, dy: Tensor) -> Tensor:
    return apply(TILE, dy, multiples=operand_of(op, "multiples"))


def _define_tiling(type: str, signature: str, infer: Any, kernel: Any, gradient: Any) -> OpDef:
    pattern = Movement(_tiled_access, view=False)
    return OpDef(type, signature, infer, pattern, kernel, gradient, operands=("multiples",))


TILE = _define_tiling("Tile", "input:T", _tiled, kernels.tile, _tile_gradient)
TILE_GRAD = _define_tiling("TileGrad", "input:N", _untiled, kernels.tile_grad, _tile_grad_gradient)


def tile(input: TensorLike, multiples: TensorLike, name: str | None = None) -> Tensor:
    """Return a tensor repeated along its dimensions.

    Args:
      input: [...] any dtype.
      multiples: [rank] int32 or int64, how often, for each dimension.
      name: name of the operation, by default "Tile".

    Returns:
      A tensor of the same rank, of the dtype of `input`.

    Raises:
      ValueError: `multiples` has not one number for each dimension.

    >>> tile([[1, 2]], [2, 2]).numpy().tolist()
    [[1, 2, 1, 2], [1, 2, 1, 2]]
    """
    return apply(TILE, input, name=name, multiples=axes.as_operand(multiples))


def tile_grad(input: TensorLike, multiples: TensorLike, name: str | None = None) -> Tensor:
    """Return the sum of the tiles that `tile` made: its adjoint.

    Args:
      input: [...] any number, sizes that are multiples of `multiples`.
      multiples: [rank] int32 or int64.
      name: name of the operation, by default "TileGrad".
    """
    return apply(TILE_GRAD, input, name=name, multiples=axes.as_operand(multiples))


def meshgrid(*args: TensorLike, indexing: str = "xy", name: str = "meshgrid") -> list[Tensor]:
    """Return the coordinates of the points of a grid.

    Args:
      *args: [n_i] any dtype, the coordinates along each dimension.
      indexing: "xy": the first two dimensions of the results are exchanged; "ij": they are not.
      name: name scope of the operations.

    Returns:
      A list of tensors [n_0, n_1, ...] ("ij") or [n_1, n_0, ...] ("xy").

    Raises:
      ValueError: `indexing` is something else.

    >>> [m.numpy().tolist() for m in meshgrid([1, 2], [3, 4])]
    [[[1, 2], [1, 2]], [[3, 3], [4, 4]]]
    """
    if indexing not in ("xy", "ij"):
        raise ValueError("indexing parameter must be either 'xy' or 'ij'")
    with name_scope(name, "meshgrid", args):
        tensors = [convert_to_tensor(arg) for arg in args]
        order = list(range(len(tensors)))
        if indexing == "xy" and len(order) > 1:
            order[:2] = [1, 0]
        known = [shapes.size(tensors[i].spec.shape) for i in order]
        sizes = [
            constant.size(tensors[i]) if n is None else n for i, n in zip(order, known, strict=True)
        ]
        return [
            broadcast_to(reshape(t, [-1 if j == i else 1 for j in order]), sizes)
            for i, t in enumerate(tensors)
        ]
