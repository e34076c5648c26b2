"""SavedModelBuilder: graphs, values and files to the directory of a saved model."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from daskvars.dtypes import string
from daskvars.errors import enumerated
from daskvars.graph.definitions.static_values import constant_value
from daskvars.graph.graph import Graph
from daskvars.graph.records.json_record import sealed_pieces
from daskvars.graph.scopes.default_graph import get_default_graph
from daskvars.graph.scopes.stacks import SessionLike
from daskvars.graph.tensor import Operation, Tensor
from daskvars.state.stores.files import read_file, write_file
from daskvars.surface.accepted import accepts
from daskvars.surface.one_line import ShownByArguments
from daskvars.v1.graphs.meta_graph import MetaGraphDef
from daskvars.v1.graphs.saver import Saver
from daskvars.v1.graphs.signatures import AssetFileDef, SignatureDef
from daskvars.v1.saved_model import constants
from daskvars.v1.saved_model.tensor_infos import build_tensor_info

__all__ = ["SavedModelBuilder"]


class SavedModelBuilder(ShownByArguments):
    """Writes a saved model: `add_meta_graph_and_variables`, perhaps `add_meta_graph`, then `save`.

    Args:
      export_dir: the directory; there must be nothing in it.

    Raises:
      AssertionError: there is something in it.

    >>> import os, tempfile
    >>> place = tempfile.TemporaryDirectory()
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.placeholder(tf.float32, [2], name="x")
    ...     y = tf.multiply(x, tf.get_variable("w", initializer=3.0), name="y")
    ...     sess.run(tf.global_variables_initializer())
    ...     builder = tf.saved_model.builder.SavedModelBuilder(place.name + "/model")
    ...     builder.add_meta_graph_and_variables(
    ...         sess, [tf.saved_model.tag_constants.SERVING],
    ...         {"serving_default": tf.saved_model.predict_signature_def({"x": x}, {"y": y})})
    ...     _ = builder.save()
    >>> sorted(os.listdir(place.name + "/model"))
    ['saved_model.json', 'variables']
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     meta = tf.saved_model.loader.load(sess, ["serve"], place.name + "/model")
    ...     uses = meta.signature_def["serving_default"]
    ...     print(sess.run(uses.outputs["y"].name, {uses.inputs["x"].name: [1.0, 2.0]}))
    [3. 6.]
    >>> place.cleanup()
    """

    def __init__(self, export_dir: str) -> None:
        self._export_dir = os.fsdecode(export_dir)
        if os.path.isdir(self._export_dir) and os.listdir(self._export_dir):
            raise AssertionError(
                f"Export directory {self._export_dir} already exists, and isn't empty. Please "
                "choose a different export directory, or delete all the contents of the "
                "specified directory."
            )
        self._meta_graphs: list[MetaGraphDef] = []

    @accepts("strip_default_attrs")
    def add_meta_graph_and_variables(
        self,
        sess: SessionLike,
        tags: Sequence[str],
        signature_def_map: Mapping[str, SignatureDef] | None = None,
        assets_collection: Sequence[Tensor] | None = None,
        legacy_init_op: Operation | None = None,
        clear_devices: bool = False,
        main_op: Operation | None = None,
        strip_default_attrs: bool = False,
        saver: Saver | None = None,
    ) -> None:
        """Write the values of a session's variables, and note its graph.

        Args:
          sess: the session.
          tags: names by which the graph is chosen.
          signature_def_map: signatures by their keys.
          assets_collection: scalar string constants that are paths of files, which are copied.
          legacy_init_op, main_op: an operation to be run when the model has been loaded, such as
            ``tf.tables_initializer()``; one of the two.
          clear_devices: forget devices.
          saver: what saves, by default a `Saver` of all variables.

        Raises:
          AssertionError: values were written already, or a signature says too little.
          FailedPreconditionError: variables have no value; nothing is written.
          TypeError: an operation or path is none.
          ValueError: a path is no constant, there are two operations, or two files have one name.
        """
        if self._meta_graphs:
            raise AssertionError(
                "Graph state including variables and assets has already been saved. Please invoke "
                "`add_meta_graph()` instead."
            )
        op = _one_of(main_op, legacy_init_op)
        meta_graph, used = self._exported(
            sess.graph, tags, signature_def_map, assets_collection, op, clear_devices, saver
        )
        folder = os.path.join(self._export_dir, constants.VARIABLES_DIRECTORY)
        used.save(
            sess,
            os.path.join(folder, constants.VARIABLES_FILENAME),
            write_meta_graph=False,
            write_state=False,
        )
        self._meta_graphs.append(meta_graph)

    @accepts("strip_default_attrs")
    def add_meta_graph(
        self,
        tags: Sequence[str],
        signature_def_map: Mapping[str, SignatureDef] | None = None,
        assets_collection: Sequence[Tensor] | None = None,
        legacy_init_op: Operation | None = None,
        clear_devices: bool = False,
        main_op: Operation | None = None,
        strip_default_attrs: bool = False,
        saver: Saver | None = None,
    ) -> None:
        """Note the default graph, which shares the values that were written.

        Args: see `add_meta_graph_and_variables`.

        Raises:
          AssertionError: no values were written yet.
          AssertionError, TypeError, ValueError: see there as well.
        """
        if not self._meta_graphs:
            raise AssertionError(
                "Graph state including variables and assets has not been saved yet. Please invoke "
                "`add_meta_graph_and_variables()` first."
            )
        graph, op = get_default_graph(), _one_of(main_op, legacy_init_op)
        meta_graph, _ = self._exported(
            graph, tags, signature_def_map, assets_collection, op, clear_devices, saver
        )
        self._meta_graphs.append(meta_graph)

    def _exported(
        self,
        graph: Graph,
        tags: Sequence[str],
        signatures: Mapping[str, SignatureDef] | None,
        assets: Sequence[Tensor] | None,
        init: tuple[str, Operation | None],
        clear_devices: bool,
        saver: Saver | None,
    ) -> tuple[MetaGraphDef, Saver]:
        check_signatures(signatures or {})
        key, operation = init
        if operation is not None and not isinstance(operation, Operation):
            raise TypeError(f"{key} needs to be an Operation: {operation!r}")
        for known in (constants.MAIN_OP_KEY, constants.LEGACY_INIT_OP_KEY):
            if operation is not None and graph.get_collection(known):
                raise ValueError(
                    f"Graph already contains one or more main ops under the collection {known}."
                )
        with graph.as_default():
            used = saver or Saver(allow_empty=True, sharded=True)
            files = self._copied(assets or ())
            if operation is not None:
                graph.get_collection_ref(key).append(operation)
            try:
                found = used.export_meta_graph(clear_devices=clear_devices)
            finally:
                if operation is not None:
                    graph.get_collection_ref(key).remove(operation)
        found.meta_info_def.tags = [str(tag) for tag in tags]
        found.signature_def = dict(signatures or {})
        found.asset_file_def = files
        return found, used

    def _copied(self, assets: Sequence[Tensor]) -> list[AssetFileDef]:
        """Copy files into the directory of assets."""
        folder = os.path.join(self._export_dir, constants.ASSETS_DIRECTORY)
        sources: dict[str, str] = {}
        found = []
        for tensor in assets:
            source = _path_of(tensor)
            name = os.path.basename(source)
            content = read_file(source)
            if content is None:
                raise ValueError(f"Asset {source!r} of {tensor.name}: there is no such file.")
            if sources.setdefault(name, source) != source:
                raise ValueError(f"Assets {sources[name]!r} and {source!r} have one name.")
            write_file(os.path.join(folder, name), content)
            found.append(AssetFileDef(name, build_tensor_info(tensor)))
        return found

    @accepts("as_text")
    def save(self, as_text: bool = False) -> bytes:
        """Write the file that makes the directory a saved model; return its path, as bytes."""
        path = os.path.join(self._export_dir, constants.SAVED_MODEL_FILENAME_PB)
        data = {
            "saved_model_schema_version": constants.SAVED_MODEL_SCHEMA_VERSION,
            "meta_graphs": [found.to_json() for found in self._meta_graphs],
        }
        write_file(path, sealed_pieces(data))
        return path.encode()


def check_signatures(signatures: Mapping[str, SignatureDef]) -> None:
    """Raise AssertionError where a signature has a tensor without a name, or is none."""
    for key, signature in signatures.items():
        if not isinstance(signature, SignatureDef):
            raise AssertionError(f"signature {key!r} is no SignatureDef: {signature!r}")
        infos = {**signature.inputs, **signature.outputs}
        unnamed = [name for name, info in infos.items() if not all(info.names) or not info.dtype]
        if unnamed:
            raise AssertionError(
                "All TensorInfo protos used in the SignatureDefs must have the name and dtype "
                f"fields set: {enumerated(unnamed)} of {key!r} have not"
            )


def _one_of(main_op: Any, legacy_init_op: Any) -> tuple[str, Any]:
    if main_op is not None and legacy_init_op is not None:
        raise ValueError("give main_op or legacy_init_op, not both: one is run after loading")
    if main_op is None:
        return constants.LEGACY_INIT_OP_KEY, legacy_init_op
    return constants.MAIN_OP_KEY, main_op


def _path_of(tensor: Any) -> str:
    """Return the path that an asset's constant is."""
    if not isinstance(tensor, Tensor):
        raise TypeError(f"Unknown asset filepath tensor {tensor!r}.")
    value = constant_value(tensor) if tensor.dtype.base_dtype is string else None
    if value is None or value.ndim:
        raise TypeError(f"Asset path {tensor.name} is no scalar string constant.")
    return os.fsdecode(value.item())
