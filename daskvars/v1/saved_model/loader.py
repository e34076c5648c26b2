"""Loading a saved model: its graph, its values, and what is to be run then."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from daskvars.execution.session import Session
from daskvars.graph.records.json_record import parsed
from daskvars.state.stores.files import read_file
from daskvars.v1.graphs.graph_files import import_meta_graph
from daskvars.v1.graphs.meta_graph import MetaGraphDef
from daskvars.v1.saved_model import constants

__all__ = ["contains_saved_model", "load", "maybe_saved_model_directory"]


def maybe_saved_model_directory(export_dir: str | bytes) -> bool:
    """Return whether there is a saved model in a directory: whole, as far as one file tells.

    Args:
      export_dir: path of the directory.

    Source: TensorFlow 1.15, ``tf.saved_model.maybe_saved_model_directory``.

    >>> import tempfile
    >>> tf.saved_model.maybe_saved_model_directory(tempfile.mkdtemp())
    False
    """
    return os.path.isfile(os.path.join(os.fsdecode(export_dir), constants.SAVED_MODEL_FILENAME_PB))


contains_saved_model = maybe_saved_model_directory


def load(
    sess: Session,
    tags: Sequence[str],
    export_dir: str | bytes,
    import_scope: str | None = None,
    **saver_kwargs: Any,
) -> MetaGraphDef:
    """Add the graph of a saved model to a session's graph, and set its variables.

    Then the model's own operation is run, if it has one, such as that of its tables.

    Args:
      sess: the session.
      tags: the tags of the graph: these, and no others.
      export_dir: the directory of the model.
      import_scope: name scope to put the graph under.
      **saver_kwargs: see `import_meta_graph`: ``clear_devices``, ``input_map``.

    Returns:
      The meta graph, with signatures by their keys in ``signature_def``.

    Raises:
      OSError: there is no model, or it is damaged.
      RuntimeError: it has no graph of these tags.

    >>> import tempfile
    >>> place = tempfile.TemporaryDirectory()
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     y = tf.multiply(tf.get_variable("w", initializer=3.0), 2.0, name="y")
    ...     sess.run(tf.global_variables_initializer())
    ...     tf.saved_model.simple_save(sess, place.name + "/model", {"y": y}, {"y": y})
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     _ = tf.saved_model.loader.load(sess, ["serve"], place.name + "/model")
    ...     print(sess.run("y:0"))
    6.0
    >>> place.cleanup()
    """
    export_dir = os.fsdecode(export_dir)
    found = _tagged(read_saved_model(export_dir), tags)
    folder = os.path.join(export_dir, constants.VARIABLES_DIRECTORY)
    with sess.graph.as_default():
        saver = import_meta_graph(found, import_scope=import_scope, **saver_kwargs)
        if saver is not None:
            saver.restore(sess, os.path.join(folder, constants.VARIABLES_FILENAME))
        _run_main_op(sess, found, export_dir, import_scope)
    return found


def _run_main_op(
    sess: Session, found: MetaGraphDef, export_dir: str, import_scope: str | None
) -> None:
    """Run the model's operation, the paths of its files fed."""
    prefix = f"{import_scope}/" if import_scope else ""
    keys = constants.MAIN_OP_KEY, constants.LEGACY_INIT_OP_KEY
    names = [item.get("node") for key in keys for item in found.collection_def.get(key, [])]
    folder = os.path.join(export_dir, constants.ASSETS_DIRECTORY)
    files = {
        sess.graph.get_tensor_by_name(prefix + asset.tensor_info.name): os.path.join(
            folder, asset.filename
        )
        for asset in found.asset_file_def
    }
    for name in names:
        sess.run(sess.graph.get_operation_by_name(f"{prefix}{name}"), files)


def read_saved_model(export_dir: str | bytes) -> list[MetaGraphDef]:
    """Return the meta graphs of a saved model.

    Raises:
      OSError: there is no model, or it is damaged.
    """
    export_dir = os.fsdecode(export_dir)
    path = os.path.join(export_dir, constants.SAVED_MODEL_FILENAME_PB)
    content = read_file(path) if os.path.isdir(export_dir) else None
    if content is None:
        raise OSError(f"SavedModel file does not exist at: {path}")
    try:
        data = parsed(content, "a saved model")
        version = data.get("saved_model_schema_version") if isinstance(data, dict) else None
        graphs = data.get("meta_graphs") if isinstance(data, dict) else None
        if version != constants.SAVED_MODEL_SCHEMA_VERSION or not isinstance(graphs, list):
            raise ValueError(f"no saved model of version {constants.SAVED_MODEL_SCHEMA_VERSION}")
        return [MetaGraphDef.from_json(graph) for graph in graphs]
    except ValueError as error:
        raise OSError(f"Cannot parse file {path}: {error}") from None


def _tagged(meta_graphs: list[MetaGraphDef], tags: Sequence[str]) -> MetaGraphDef:
    for found in meta_graphs:
        if set(found.meta_info_def.tags) == set(tags):
            return found
    there = ", ".join(str(sorted(found.meta_info_def.tags)) for found in meta_graphs)
    raise RuntimeError(
        f"MetaGraphDef associated with tags {str(tags).strip('[]')} could not be found in "
        f"SavedModel. Its graphs have the tags {there or 'of none: there are no graphs'}."
    )
