"""The operations that a saver puts into its graph, under the name scope ``save``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from daskvars.graph.graph import Graph
from daskvars.ops.array.placeholders import placeholder_with_default
from daskvars.ops.array.reshaping import reshape
from daskvars.ops.control.dependencies import group, with_dependencies
from daskvars.ops.state.assign import assign
from daskvars.ops.state.checkpoints import restore_v2, save_v2
from daskvars.shapes import is_known
from daskvars.train.checkpoints.saved_tensors import SavedTensor


class SaverOps(NamedTuple):
    """Names of a saver's operations.

    Attributes:
      filename: the tensor that is fed with the path.
      save: the tensor that saves and gives the path.
      restore: the operation that restores.
    """

    filename: str
    save: str
    restore: str


def build(
    graph: Graph,
    tensors: Sequence[SavedTensor],
    reshaped: bool,
    name: str | None,
    filename: str | None,
) -> SaverOps:
    """Add the operations that save and restore `tensors`; return their names.

    Args:
      graph: the graph.
      tensors: what is saved.
      reshaped: restore arrays of other shapes with as many elements.
      name: the name scope wanted, by default "save".
      filename: the path that is taken where none is fed.
    """
    names = [tensor.name for tensor in tensors]
    slices = [tensor.slice for tensor in tensors]
    with (
        graph.as_default(),
        graph.control_dependencies(None),
        graph.name_scope(name or "save"),
        graph.device("/cpu:0"),
    ):
        path = placeholder_with_default(filename or "model", [], name="filename")
        path = placeholder_with_default(path, [], name="Const")
        saved = save_v2(path, names, slices, [tensor.handle for tensor in tensors], name="SaveV2")
        saved_path = with_dependencies([saved], path)
        shapes = [
            tensor.shape if tensor.has_known_shape and (tensor.slice or not reshaped) else None
            for tensor in tensors
        ]
        dtypes = [tensor.dtype for tensor in tensors]
        values = restore_v2(path, names, slices, dtypes, shapes, name="RestoreV2")
        assigns = []
        for tensor, shape, value in zip(tensors, shapes, values, strict=True):
            known = tensor.has_known_shape
            static = tensor.handle.spec.shape
            if shape is None and is_known(static) and not tensor.slice:
                value = reshape(value, static)
            assigns.append(assign(tensor.handle, value, validate_shape=known, name="Assign"))
        restored = group(*assigns, name="restore_all")
    return SaverOps(path.name, saved_path.name, restored.name)
