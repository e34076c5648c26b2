"""Ops that write and read checkpoints within a run, as `Saver` puts them into its graph.

`Saver.save` and `restore` themselves go chunk by chunk, each where it lives; these take arrays
whole, on one worker.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from daskvars.dtypes import as_dtype
from daskvars.graph.definitions.opdef import Spec, without_gradient
from daskvars.graph.definitions.patterns import Opaque
from daskvars.graph.interpreter import apply_op
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.ops.rules.shapes import no_results
from daskvars.shapes import as_tuple
from daskvars.state import tensor_slices

SAVE = without_gradient(
    "SaveV2", "prefix:S, *tensors:A", no_results, tensor_slices.save_tensors, Opaque(pure=False)
)


def save_v2(
    prefix: TensorLike,
    tensor_names: Sequence[str],
    shape_and_slices: Sequence[str],
    tensors: Sequence[Any],
    name: str | None = None,
) -> Operation:
    """Return an operation that writes a checkpoint.

    Args:
      prefix: scalar string, the path of the checkpoint.
      tensor_names: the name of each tensor in it.
      shape_and_slices: for each "", or which part of the tensor of that name it is, such as
        ``"10 4 0,5:0,4"``.
      tensors: the tensors; a variable's handle for its value.
      name: name of the operation.
    """
    slices = tuple(shape_and_slices)
    return apply_op(
        SAVE, prefix, *tensors, name=name, tensor_names=tuple(tensor_names), shape_and_slices=slices
    )


def _restored(
    inputs: Any, *, tensor_names: Any, shape_and_slices: Any, dtypes: Any, shapes: Any
) -> tuple[Spec, ...]:
    specs = []
    for text, dtype, shape in zip(shape_and_slices, dtypes, shapes, strict=True):
        found = tensor_slices.parse_slice(text)
        part = shape if found is None else tuple(axis.stop - axis.start for axis in found[1])
        specs.append(Spec(dtype, part))
    return tuple(specs)


RESTORE = without_gradient(
    "RestoreV2", "prefix:S", _restored, tensor_slices.restore_tensors, pattern=Opaque(pure=False)
)


def restore_v2(
    prefix: TensorLike,
    tensor_names: Sequence[str],
    shape_and_slices: Sequence[str],
    dtypes: Sequence[Any],
    shapes: Sequence[Any] | None = None,
    name: str | None = None,
) -> tuple[Tensor, ...]:
    """Return tensors that are read from a checkpoint when they are run.

    Args:
      prefix: scalar string, the path of the checkpoint.
      tensor_names, shape_and_slices: see `save_v2`.
      dtypes: the dtype that each must have.
      shapes: the shape that each must have in the checkpoint; None for any.
      name: name of the operation.

    Raises:
      RestoreError: (when run) names, shapes or dtypes differ; all are listed.
    """
    wanted = [None] * len(tensor_names) if shapes is None else [as_tuple(s) for s in shapes]
    op = apply_op(
        RESTORE,
        prefix,
        name=name,
        tensor_names=tuple(tensor_names),
        shape_and_slices=tuple(shape_and_slices),
        shapes=tuple(wanted),
        dtypes=tuple([as_dtype(dtype).base_dtype for dtype in dtypes]),
    )
    return op.outputs
