"""Assignment to a strided slice of a variable: what ``v[1:3].assign(value)`` makes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from daskvars import shapes
from daskvars.graph.definitions.opdef import UNDEFINED_GRADIENT, Spec, without_gradient
from daskvars.graph.definitions.patterns import Access, Attrs, Dim, Effect, KnownShapes, Movement
from daskvars.graph.interpreter import apply
from daskvars.graph.tensor import Tensor, TensorLike, VariableLike
from daskvars.kernels.gather_scatter import part_writes
from daskvars.ops.array.slicing import STRIDED_SLICE
from daskvars.ops.state.assign import handle_of


def _assigned(inputs: Sequence[Spec], **bounds: Any) -> Spec:
    handle, value = inputs[0], inputs[1]
    spec = Spec(handle.dtype.base_dtype, handle.shape)
    sliced = STRIDED_SLICE.infer((spec,), **bounds)
    assert isinstance(sliced, Spec), "of one output"
    part = sliced.shape
    if part is not None and value.shape is not None:
        sizes = zip(value.shape[::-1], part[::-1], strict=False)
        fit = all(given in (1, None) or n in (given, None) for given, n in sizes)
        if len(value.shape) > len(part) or not fit:
            raise ValueError(
                f"a value of shape {shapes.show(value.shape)} does not broadcast to the sliced "
                f"part of the variable, which has shape {shapes.show(part)}"
            )
    return spec


def _access(inputs: KnownShapes, outputs: KnownShapes, attrs: Attrs) -> Access:
    """Each block of the variable takes its own part of the value."""
    ref = tuple(map(Dim, range(len(outputs[0]))))
    return Access((ref, *((None,) * len(shape) for shape in inputs[1:])), (ref,))


STRIDED_SLICE_ASSIGN = without_gradient(
    "StridedSliceAssign",
    "ref:T, value:T",
    infer=_assigned,
    kernel=part_writes.assign_slice,
    pattern=Effect(Movement(_access, view=False), reads=True, writes=True),
    gradient=UNDEFINED_GRADIENT,
    operands=("begin", "end", "strides"),
    in_place=part_writes.assign_slice_into,
    check=part_writes.check_slice,
    block=lambda attrs, block: {
        **attrs,
        "offset": block.out_offsets[0],
        "size": block.full_out_shapes[0],
    },
)


def strided_slice_assign(
    ref: VariableLike, value: TensorLike, name: str | None = None, **bounds: Any
) -> Tensor:
    """Set a strided slice of a variable.

    Args:
      value: of its dtype, of the shape of the slice or one that broadcasts to it.
      name: name of the operation, by default "StridedSliceAssign".
      **bounds: begin, end, strides and the masks of `strided_slice`.

    Returns:
      The new value of the whole variable.

    Raises:
      ValueError: the shapes do not fit.
      InvalidArgumentError: (when run) the same of what was not known before.
    """
    return apply(STRIDED_SLICE_ASSIGN, handle_of(ref), value, name=name, **bounds)
