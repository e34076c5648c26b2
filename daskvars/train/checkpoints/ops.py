"""The operations that a saver puts into its graph, under the name scope ``save``."""

from __future__ import annotations

from collections.abc import Sequence

from daskvars.graph.graph import Graph
from daskvars.ops.array.placeholders import placeholder_with_default
from daskvars.ops.array.reshaping import reshape
from daskvars.ops.control.dependencies import group, with_dependencies
from daskvars.ops.state.assign import assign
from daskvars.ops.state.checkpoints import SAVE, restore_v2, save_v2
from daskvars.train.checkpoints.saved_tensors import SavedTensor, tensors_of_op
from daskvars.train.checkpoints.saver_def import SaverDef


def build(
    graph: Graph,
    tensors: Sequence[SavedTensor],
    reshaped: bool,
    name: str | None,
    filename: str | None,
) -> SaverDef:
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
        saved_path = with_dependencies([saved], path, name="control_dependency")
        shapes = [
            tensor.shape if tensor.has_known_shape and (tensor.slice or not reshaped) else None
            for tensor in tensors
        ]
        dtypes = [tensor.dtype for tensor in tensors]
        values = restore_v2(path, names, slices, dtypes, shapes, name="RestoreV2")
        assigns = []
        for tensor, shape, value in zip(tensors, shapes, values, strict=True):
            known = tensor.has_known_shape
            if shape is None and known and not tensor.slice:
                value = reshape(value, tensor.handle.spec.shape)
            assigns.append(assign(tensor.handle, value, validate_shape=known, name="Assign"))
        restored = group(*assigns, name="restore_all")
    return SaverDef(path.name, saved_path.name, restored.name)


def tensors_of(graph: Graph, saver_def: SaverDef) -> list[SavedTensor]:
    """Return what a saver's operations in a graph save.

    Raises:
      KeyError: the operations are not in the graph.
      ValueError: they are not a saver's.
    """
    graph.as_graph_element(saver_def.restore_op_name)
    op = graph.as_graph_element(saver_def.save_tensor_name).op
    found = [waited for waited in op.control_inputs if waited.opdef is SAVE]
    if len(found) != 1:
        raise ValueError(f"saver_def: {saver_def.save_tensor_name!r} is not what a saver made")
    return tensors_of_op(found[0])
