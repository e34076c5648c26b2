"""A graph and the values of its variables, from files, as one file of a graph without variables."""

from __future__ import annotations

from typing import Any

from daskvars.execution.session import Session
from daskvars.graph.graph import Graph
from daskvars.graph.records.graph_def import GraphDef
from daskvars.train.checkpoints.reader import NewCheckpointReader
from daskvars.v1 import gfile
from daskvars.v1.graphs.graph_files import import_meta_graph
from daskvars.v1.graphs.graph_util import VARIABLE, convert_variables_to_constants
from daskvars.v1.graphs.importer import import_graph_def
from daskvars.v1.graphs.saver import Saver
from daskvars.v1.saved_model import loader

__all__ = ["freeze_graph"]


def freeze_graph(
    input_graph: str,
    input_saver: str | None,
    input_binary: bool,
    input_checkpoint: str,
    output_node_names: str,
    restore_op_name: str | None,
    filename_tensor_name: str | None,
    output_graph: str,
    clear_devices: bool,
    initializer_nodes: str,
    variable_names_whitelist: str = "",
    variable_names_blacklist: str = "",
    input_meta_graph: str | None = None,
    input_saved_model_dir: str | None = None,
    saved_model_tags: str = "serve",
    checkpoint_version: int = 2,
) -> GraphDef:
    """Write what computes some outputs of a graph, its variables as constants; return it.

    Lists of names are texts, with commas between.

    Args:
      input_graph: path of the graph, as `write_graph` writes it, unless one of the next has it.
      input_checkpoint: path of the checkpoint.
      output_node_names: names of the operations that compute the outputs.
      output_graph: path to write to, "" to write nothing.
      clear_devices: forget devices.
      initializer_nodes: operations to run when values are there, such as those of tables; or "".
      variable_names_whitelist, variable_names_blacklist: see `convert_variables_to_constants`.
      input_meta_graph: path of a meta graph, as beside each checkpoint.
      input_saved_model_dir: directory of a saved model, which has graph and values.
      saved_model_tags: tags of the graph in it.
      input_saver, input_binary, restore_op_name, filename_tensor_name, checkpoint_version:
        accepted, without effect: values are found by their names, and a file says what it is.

    Raises:
      OSError, ValueError: a file is missing, or is of something else.
      AssertionError: an output is not in the graph.

    Source: TensorFlow 1.15, ``tensorflow.python.tools.freeze_graph``.
    """
    with Graph().as_default() as graph, Session() as session:
        if input_saved_model_dir:
            loader.load(
                session,
                saved_model_tags.split(","),
                input_saved_model_dir,
                clear_devices=clear_devices,
            )
        elif input_meta_graph:
            saver: Any = import_meta_graph(input_meta_graph, clear_devices=clear_devices)
            saver.restore(session, input_checkpoint)
        else:
            with gfile.GFile(input_graph, "rb") as file:
                graph_def = GraphDef.FromString(file.read())
            import_graph_def(graph_def, name="")
            saved = NewCheckpointReader(input_checkpoint).get_variable_to_shape_map()
            variables = [node.name for node in graph_def.node if node.op == VARIABLE]
            Saver(
                {name: graph.get_tensor_by_name(f"{name}:0") for name in variables if name in saved}
            ).restore(session, input_checkpoint)
        if initializer_nodes:
            session.run(initializer_nodes.split(","))
        frozen = convert_variables_to_constants(
            session,
            graph.as_graph_def(),
            output_node_names.split(","),
            variable_names_whitelist.split(",") if variable_names_whitelist else None,
            variable_names_blacklist.split(",") if variable_names_blacklist else None,
        )
    if clear_devices:
        for node in frozen.node:
            node.device = ""
    if output_graph:
        with gfile.GFile(output_graph, "wb") as file:
            file.write(frozen.SerializeToString())
    return frozen
