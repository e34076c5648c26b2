"""Broadcasting's adjoint: gradients summed back to the shape that was broadcast."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

from daskvars import shapes
from daskvars.graph.definitions.opdef import OpDef, Spec, opdef
from daskvars.graph.definitions.patterns import Access, Attrs, Dim, KnownShapes, Movement
from daskvars.graph.interpreter import apply
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.kernels.math import reduce as kernels
from daskvars.ops.array import constant, repeating
from daskvars.ops.rules import axes
from daskvars.shape_arithmetic import broadcasts_to
from daskvars.shapes import Shape


def _summed(inputs: Sequence[Spec], *, shape: Shape, **attrs: Any) -> Spec:
    source = inputs[0].shape
    if source is not None and shape is not None and not broadcasts_to(shape, source):
        raise ValueError(
            f"a value of shape {shapes.show(source)} is not the broadcast of one of shape "
            f"{shapes.show(shape)}"
        )
    return Spec(inputs[0].dtype, shape)


def _summed_access(inputs: KnownShapes, outputs: KnownShapes, attrs: Attrs) -> Access:
    source, target = inputs[0], outputs[0]
    lead = len(source) - len(target)
    kept = tuple(
        None if n == 1 and source[lead + i] != 1 else Dim(lead + i) for i, n in enumerate(target)
    )
    others = tuple((None,) * len(shape) for shape in inputs[1:])
    return Access((tuple(map(Dim, range(len(source)))), *others), (kept,), "add")


# Where nothing has to be summed the kernel gives its input back, hence a view.
SUM_TO_SHAPE = OpDef(
    "SumToShape",
    "x:N",
    infer=_summed,
    pattern=Movement(_summed_access, view=True, linear=True),
    kernel=kernels.sum_to_shape,
    same_if_same_shape=True,
    **axes.shaped_by("shape"),
    gradient=lambda op, dy: repeating.broadcast_to(dy, constant.shape(op.inputs[0])),
)


def sum_to_shape(x: TensorLike, shape: Any, name: str | None = None) -> Tensor:
    """Sum `x` over the dimensions that broadcasting a value of `shape` to it would have made.

    Args:
      x: [...] any number.
      shape: [rank] int32 or int64, a shape that broadcasts to the shape of `x`.
      name: name of the operation.

    Returns:
      [*shape], of the dtype of `x`: the adjoint of ``broadcast_to``.

    Raises:
      ValueError: `shape` does not broadcast to the shape of `x`.

    >>> sum_to_shape(dv.ones([4, 3]), [3]).numpy().tolist()
    [4.0, 4.0, 4.0]
    """
    if isinstance(shape, list | tuple | shapes.TensorShape):
        is_known = not any(isinstance(size, Tensor) for size in shape)
        shape = shapes.as_tuple(shape) if is_known else tuple(shape)
    return apply(SUM_TO_SHAPE, x, name=name, shape=shape)


@overload
def broadcast_gradients(op: Operation, *gradients: Tensor) -> list[Tensor]: ...
@overload
def broadcast_gradients(op: Operation, *gradients: Tensor | None) -> list[Tensor | None]: ...
def broadcast_gradients(op: Operation, *gradients: Tensor | None) -> Sequence[Tensor | None]:
    """Return the gradients of an op's first inputs, each summed to the shape of its input.

    Args:
      *gradients: for each input the gradient in the broadcast shape, or None.
    """
    inputs = op.inputs[: len(gradients)]
    return [
        None if gradient is None else sum_like(gradient, x, [t for t in inputs if t is not x])
        for gradient, x in zip(gradients, inputs, strict=True)
    ]


def sum_like(gradient: Tensor, x: Tensor, others: Sequence[Tensor]) -> Tensor:
    """Return `gradient`, of the shape that `x` and `others` broadcast to, in the shape of `x`."""
    shape = x.spec.shape
    if not may_broadcast(shape, [t.spec.shape for t in others]):
        return gradient
    if not shapes.is_known(shape):
        return sum_to_shape(gradient, constant.shape(x))
    summed = sum_to_shape(gradient, shape)
    # Nothing is computed by it. Programs that look for the factors of gradients (K-FAC) find those
    # of a bias behind two operations, as TensorFlow has them: a sum and its Reshape.
    return apply(opdef("Reshape"), summed, shape=shape) if type(summed) is Tensor else summed


def may_broadcast(shape: Shape, others: Sequence[Shape]) -> bool:
    """Return whether broadcasting with `others` may give another shape than `shape`."""
    for other in others:
        if shape is None or other is None or len(other) > len(shape):
            return True
        aligned = shape[len(shape) - len(other) :]
        if any(n in (1, None) and m != 1 for n, m in zip(aligned, other, strict=True)):
            return True
    return False
