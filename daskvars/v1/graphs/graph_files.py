"""Writing a graph with its saver to a file, and a fresh process that reads it."""

from __future__ import annotations

import os
from typing import Any

from daskvars.graph.graph import Graph
from daskvars.graph.interpreter import builder_for
from daskvars.graph.scopes.collections import GraphKeys
from daskvars.state.stores.files import write_file
from daskvars.surface.accepted import accepts
from daskvars.surface.signatures import with_arguments_in_order
from daskvars.v1.graphs.meta_graph import (
    MetaGraphDef,
    export_scoped_meta_graph,
    import_scoped_meta_graph,
    naming_file,
)
from daskvars.v1.graphs.saver import Saver


@accepts("as_text", "strip_default_attrs", "save_debug_info")
@with_arguments_in_order(
    "filename meta_info_def graph_def saver_def collection_list as_text graph export_scope "
    "clear_devices clear_extraneous_savers strip_default_attrs save_debug_info",
    export_scoped_meta_graph,
)
def export_meta_graph(**arguments: Any) -> MetaGraphDef:
    """Return a graph with its collections as data, and write it to a file.

    Args:
      filename: path of the file, if one is to be written; it is JSON.
      meta_info_def: what is said of the graph.
      graph_def: the graph as data, in place of `graph`'s.
      saver_def: the graph's saver.
      collection_list: names of the collections to take, by default all. Items that no file can
        hold are left out with a warning.
      graph: the graph, by default the one being built.
      export_scope: take only what is under this name scope, and the scope from the names.
      clear_devices: forget devices.
      clear_extraneous_savers: leave out the operations of savers other than `saver_def`.

    Returns:
      A `MetaGraphDef`.

    Raises:
      RuntimeError: there is no graph, as in eager code.
      TypeError: an operation cannot be written.

    Source: TensorFlow 1.15, ``tf.train.export_meta_graph``.

    >>> with tf.Graph().as_default():
    ...     x = tf.placeholder(tf.float32, [2], "x")
    ...     tf.add_to_collection("inputs", x)
    ...     found = tf.train.export_meta_graph()
    >>> [node.name for node in found.graph_def.node], list(found.collection_def)
    (['x'], ['inputs'])
    """
    return export_scoped_meta_graph(**arguments)[0]


def import_meta_graph(
    meta_graph_or_file: MetaGraphDef | str,
    clear_devices: bool = False,
    import_scope: str | None = None,
    **kwargs: Any,
) -> Saver | None:
    """Add an exported graph to the one being built; return the saver of its variables.

    Args:
      meta_graph_or_file: what `export_meta_graph` gave, or the path of a file, such as the
        ``<checkpoint>.meta`` beside each checkpoint.
      clear_devices: forget devices.
      import_scope: name scope to put it under.
      **kwargs: those of `import_scoped_meta_graph`: `graph`, ``input_map``,
        ``unbound_inputs_col_name``, ``restore_collections_predicate``.

    Returns:
      The saver that was exported with it, or else one of all variables; None without variables.

    Raises:
      OSError: there is no such file, or it holds no meta graph.
      ValueError: the graph cannot be added: see `import_graph_def`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     with tf.Graph().as_default(), tf.Session() as sess:
    ...         y = tf.add(tf.Variable(1.0, name="v"), 1.0, name="y")
    ...         sess.run(tf.global_variables_initializer())
    ...         path = tf.train.Saver().save(sess, place + "/model")
    ...     with tf.Graph().as_default(), tf.Session() as sess:
    ...         saver = tf.train.import_meta_graph(path + ".meta")
    ...         saver.restore(sess, path)
    ...         print(sess.run("y:0"))
    2.0
    """
    graph = kwargs.get("graph") or builder_for(())
    with naming_file(meta_graph_or_file) as found:
        variables = import_scoped_meta_graph(
            found, clear_devices=clear_devices, import_scope=import_scope, **kwargs
        )
        with graph.as_default():
            return _saver_of(found, variables, graph, import_scope)


def _saver_of(
    found: MetaGraphDef, variables: dict[str, Any], graph: Graph, import_scope: str | None
) -> Saver | None:
    if found.saver_def is not None:
        scope = import_scope or graph.get_name_scope()
        if variables:
            name, variable = next(iter(variables.items()))
            scope = variable.name.removesuffix(name)
        return Saver(saver_def=found.saver_def, name=scope)
    has_variables = graph.get_collection(GraphKeys.GLOBAL_VARIABLES, import_scope)
    return Saver() if has_variables else None


@accepts("as_text")
def write_graph(graph_or_graph_def: Any, logdir: str, name: str, as_text: bool = True) -> str:
    """Write a graph to the file `name` in `logdir`, as JSON; return its path.

    Args:
      graph_or_graph_def: the graph, or the graph as data.
      logdir: the directory, made if need be.
      name: name of the file.

    Source: TensorFlow 1.15, ``tf.train.write_graph``.

    >>> import os, tempfile
    >>> with tf.Graph().as_default() as graph:
    ...     x = tf.placeholder(tf.float32, [2], "x")
    >>> path = tf.train.write_graph(graph, tempfile.mkdtemp(), "graph.json")
    >>> with open(path, "rb") as file:
    ...     [node.name for node in tf.GraphDef.FromString(file.read()).node]
    ['x']
    """
    found = graph_or_graph_def
    found = found.as_graph_def() if isinstance(found, Graph) else found
    path = os.path.join(logdir, name)
    write_file(path, found.pieces())
    return path
