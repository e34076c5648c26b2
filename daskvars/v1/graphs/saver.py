"""TensorFlow 1's Saver: with the graph in a file beside each checkpoint, and itself as data."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from daskvars.execution.engine.saving.pending_saves import PendingSave
from daskvars.graph.graph import Graph
from daskvars.graph.scopes import stacks as scopes
from daskvars.graph.scopes.stacks import SessionLike
from daskvars.graph.tensor import Tensor
from daskvars.ops.state.checkpoints import SAVE
from daskvars.state.stores.files import write_file
from daskvars.surface.accepted import accepts
from daskvars.train.checkpoints import saver
from daskvars.train.checkpoints.checkpoint_state import meta_graph_filename
from daskvars.train.checkpoints.kept_checkpoints import KeptCheckpoints
from daskvars.train.checkpoints.ops import SaverOps
from daskvars.train.checkpoints.saved_tensors import SavedTensor, tensors_of_op
from daskvars.v1.graphs.meta_graph import (
    MetaGraphDef,
    export_scoped_meta_graph,
    register_described_item,
)
from daskvars.v1.graphs.saver_def import SaverDef


@accepts("restore_sequentially")
@accepts("sharded", "write_version")
class Saver(saver.Saver):
    """Saves variables under their names and restores them; beside them, the graph.

    A checkpoint is as `daskvars.train.Saver` writes it. The file ``<path>.meta`` beside it holds
    the graph, see `import_meta_graph`.

    Args:
      var_list: variables to save, a list or a dict of names to variables; by default all global
        variables that exist now, in eager code all that exist when `save` or `restore` is called.
      reshape, max_to_keep, keep_checkpoint_every_n_hours, name, defer_build, allow_empty,
      pad_step_number, save_relative_paths, filename, async_save, compressor, shards: see
        `daskvars.train.Saver`.
      saver_def: the saver whose operations are in the graph already, in place of `var_list`.
      builder: None; what is written is decided by the checkpoint format.

    Raises:
      ValueError: there is nothing to save, or two variables have one name.
      TypeError: something in `var_list` is no variable.

    >>> import os, tempfile
    >>> with tf.Graph().as_default(), tf.Session() as sess, tempfile.TemporaryDirectory() as place:
    ...     v = tf.Variable(1.0, name="v")
    ...     _ = sess.run(v.assign(2.0))
    ...     path = tf.train.Saver().save(sess, place + "/model", global_step=7)
    ...     print(path[-7:], tf.train.load_variable(path, "v"), os.path.exists(path + ".meta"))
    model-7 2.0 True
    """

    def __init__(
        self,
        var_list: Any = None,
        reshape: bool = False,
        sharded: bool = False,
        max_to_keep: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000.0,
        name: str | None = None,
        restore_sequentially: bool = False,
        saver_def: SaverDef | None = None,
        builder: Any = None,
        defer_build: bool = False,
        allow_empty: bool = False,
        write_version: int | None = SaverDef.V2,
        pad_step_number: bool = False,
        save_relative_paths: bool = False,
        filename: str | None = None,
        async_save: bool = False,
        compressor: str | None = None,
        shards: int | None = None,
    ) -> None:
        if builder is not None:
            raise ValueError(
                "builder: checkpoints are written by the engine, chunk by chunk; save what a "
                "builder would add as variables"
            )
        self.saver_def = saver_def
        self._settings = SaverDef(
            sharded=sharded,
            max_to_keep=operator.index(max_to_keep or 0),
            keep_checkpoint_every_n_hours=float(keep_checkpoint_every_n_hours),
            version=write_version or SaverDef.V2,
        )
        super().__init__(
            var_list,
            reshape,
            max_to_keep,
            keep_checkpoint_every_n_hours,
            name,
            defer_build,
            allow_empty,
            pad_step_number,
            save_relative_paths,
            filename,
            async_save,
            compressor,
            shards,
        )

    def _add_ops(self, recorder: Any) -> None:
        if self.saver_def is not None:
            self._take_over(self.saver_def)
            return
        super()._add_ops(recorder)
        if self._ops is not None:
            self.saver_def = self._settings.of_ops(self._ops)
        elif self._graph is None:
            self.saver_def = self._settings

    def _take_over(self, saver_def: Any) -> None:
        """Become the saver whose operations are in the graph."""
        if not isinstance(saver_def, SaverDef):
            raise ValueError(f"saver_def must be a SaverDef: {saver_def!r}")
        for field in ("save_tensor_name", "restore_op_name"):
            if not getattr(saver_def, field):
                raise ValueError(f"saver_def must specify the {field}: {saver_def}")
        self.saver_def = saver_def.within(self._name or "")
        self._ops = self.saver_def.ops
        self._tensors = tensors_of(self._graph, self._ops)
        self._kept = KeptCheckpoints(saver_def.max_to_keep, saver_def.keep_checkpoint_every_n_hours)

    def as_saver_def(self) -> SaverDef | None:
        """Return the saver as data; None for one that is empty."""
        return self.saver_def

    def to_proto(self, export_scope: str | None = None) -> SaverDef | None:
        """Return the saver as data, without `export_scope` before the names of its operations.

        None for a saver outside that scope.
        """
        if self.saver_def is None or not export_scope:
            return self.saver_def
        return self.saver_def.outside(export_scope)

    @staticmethod
    def from_proto(saver_def: SaverDef, import_scope: str | None = None) -> Saver:
        """Return the saver whose operations are in the graph, under `import_scope`."""
        return Saver(saver_def=saver_def, name=import_scope)

    @accepts("as_text", "strip_default_attrs", "save_debug_info")
    def export_meta_graph(
        self,
        filename: str | None = None,
        collection_list: Sequence[str] | None = None,
        as_text: bool = False,
        export_scope: str | None = None,
        clear_devices: bool = False,
        clear_extraneous_savers: bool = False,
        strip_default_attrs: bool = False,
        save_debug_info: bool = False,
    ) -> MetaGraphDef:
        """Return the graph with its collections and this saver as data, and write it to a file.

        See `export_meta_graph` of this package for the arguments.
        """
        found, _ = export_scoped_meta_graph(
            filename=filename,
            saver_def=self.saver_def,
            collection_list=collection_list,
            graph=scopes.current_builder() or self._graph,
            export_scope=export_scope,
            clear_devices=clear_devices,
            clear_extraneous_savers=clear_extraneous_savers,
        )
        return found

    @accepts("strip_default_attrs", "save_debug_info")
    def save(
        self,
        sess: Any,
        save_path: str,
        global_step: Any = None,
        latest_filename: str | None = None,
        meta_graph_suffix: str = "meta",
        write_meta_graph: bool = True,
        write_state: bool = True,
        strip_default_attrs: bool = False,
        save_debug_info: bool = False,
    ) -> str | None:
        """Save the present values as a checkpoint, and the graph beside it.

        Args:
          sess, save_path, global_step, latest_filename, write_state: see `daskvars.train.Saver`,
            which also says what is raised.
          meta_graph_suffix: ending of the file that the graph is written to.
          write_meta_graph: write the graph.

        Returns:
          The path of the checkpoint; None for a saver without variables.
        """
        write = self._graph_writer(sess, meta_graph_suffix, write_meta_graph)
        at = (sess, save_path, global_step, latest_filename, write_state)
        found = self._save(*at, self._is_async, write, meta_graph_suffix)
        return found.path if isinstance(found, PendingSave) else found

    def save_async(
        self,
        sess: Any,
        save_path: str,
        global_step: Any = None,
        latest_filename: str | None = None,
        meta_graph_suffix: str = "meta",
        write_meta_graph: bool = True,
        write_state: bool = True,
    ) -> PendingSave | None:
        """Begin to save as `save` does, and return while it is written.

        See `save_async` of `daskvars.train.Saver`.
        """
        write = self._graph_writer(sess, meta_graph_suffix, write_meta_graph)
        at = (sess, save_path, global_step, latest_filename, write_state)
        return self._save(*at, True, write, meta_graph_suffix)

    def _graph_writer(
        self, sess: SessionLike, suffix: str, wanted: bool
    ) -> Callable[[], Callable[[str], None]] | None:
        def graph() -> Callable[[str], None]:
            with sess.graph.as_default():
                found = self.export_meta_graph()
            return lambda path: write_file(meta_graph_filename(path, suffix), found.pieces())

        return graph if wanted else None


def tensors_of(graph: Graph, ops: SaverOps) -> list[SavedTensor]:
    """Return what a saver's operations in a graph save.

    Raises:
      KeyError: the operations are not in the graph.
      ValueError: they are not a saver's.
    """
    graph.as_graph_element(ops.restore)
    saved = graph.as_graph_element(ops.save)
    waits = saved.op.control_inputs if isinstance(saved, Tensor) else ()
    found = [waited for waited in waits if waited.opdef is SAVE]
    if len(found) != 1:
        raise ValueError(f"saver_def: {ops.save!r} is not what a saver made")
    return tensors_of_op(found[0])


register_described_item("saver", Saver, SaverDef)
