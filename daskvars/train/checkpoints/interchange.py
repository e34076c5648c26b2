"""Checkpoints as files of other libraries, and back: safetensors, NumPy's ``npz``, TensorFlow.

Such a file holds values by name and nothing else: chunks, step, collections and devices stay
behind. Reading one runs nothing that is in it: nothing is unpickled. What formats there are says
`daskvars.state.external.formats`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from daskvars.errors import enumerated, invalid
from daskvars.state import VariableRecord, open_zarr_store, save
from daskvars.state.checkpoint import open_checkpoint
from daskvars.state.external.formats import format_of, open_external
from daskvars.state.format.assembly import Load
from daskvars.state.format.grids import Index
from daskvars.train.checkpoints.reader import checkpoint_path


def export_checkpoint(ckpt_dir_or_file: str, file: str, format: str | None = None) -> None:
    """Write the variables of a checkpoint into a file for other libraries.

    All values are in memory at once for safetensors, one after another for npz, some rows at a
    time for TensorFlow. The file is there whole or not at all.

    Args:
      ckpt_dir_or_file: path of the checkpoint, the directory of a saver, whose newest one is
        meant, a session's store, or any Zarr group.
      file: where to; it ends in ``.safetensors`` (``pip install daskvars[safetensors]``),
        ``.npz`` or ``.ckpt``, and is replaced. The last is the prefix of a checkpoint that
        ``tf.train.Saver`` and ``tf.train.load_checkpoint`` of TensorFlow read.
      format: "safetensors", "npz" or "tensorflow", where `file` ends otherwise.

    Raises:
      InvalidArgumentError: `file` ends otherwise and there is no `format`, or variables are of a
        dtype that it cannot hold (strings, quantized numbers; bfloat16 in npz; complex128 in
        safetensors; TensorFlow holds all): all are named, and nothing is written.
      NotFoundError: there is no checkpoint.
      CorruptChunkError: a chunk of it is missing or damaged.
      ImportError: safetensors is not installed.

    >>> import tempfile, numpy
    >>> with tempfile.TemporaryDirectory() as place:
    ...     with tf.Graph().as_default(), tf.Session() as sess:
    ...         sess.run(tf.get_variable("layer/w", initializer=[1.0, 2.0]).initializer)
    ...         path = tf.train.Saver().save(sess, place + "/model")
    ...     tf.train.export_checkpoint(path, place + "/model.npz")
    ...     print(numpy.load(place + "/model.npz")["layer/w"])
    [1. 2.]
    """
    target = os.fspath(file)
    found = format_of(target, format)
    source = open_checkpoint(*open_zarr_store(checkpoint_path(ckpt_dir_or_file), "r"))
    records = dict(sorted(source.records.items()))
    other = [f"{name} ({r.dtype})" for name, r in records.items() if r.dtype not in found.dtypes]
    if other:
        raise invalid(
            f"{target!r} cannot hold {enumerated(other, 6)}; it holds "
            f"{', '.join(sorted(found.dtypes))}. Cast these variables, or leave them out of the "
            "checkpoint"
        )
    found.write(target, records, source.load)


def import_checkpoint(
    file: str, save_path: str, global_step: int | None = None, format: str | None = None
) -> str:
    """Make a checkpoint of what is in a file of another library.

    Memory holds some chunks of it at a time; of safetensors the whole file.

    Args:
      file: a ``.safetensors`` or ``.npz`` file, or the prefix of a checkpoint of TensorFlow.
      save_path: path or URL of the checkpoint, as `Saver.save` takes it; one that is there is
        replaced.
      global_step: the step that is noted in it.
      format: "safetensors", "npz" or "tensorflow", where `file` ends otherwise.

    Returns:
      The path of the checkpoint, to be restored by `Saver.restore`.

    Raises:
      NotFoundError: there is no such file.
      StoreError: it is damaged.
      InvalidArgumentError: it ends otherwise and there is no `format`, or an array has a name or
        a dtype that no variable has.
      ImportError: safetensors is not installed.

    >>> import tempfile, numpy
    >>> with tempfile.TemporaryDirectory() as place:
    ...     numpy.savez(place + "/model.npz", **{"layer/w": numpy.float32([1, 2])})
    ...     path = dv.train.import_checkpoint(place + "/model.npz", place + "/model")
    ...     print(dv.train.list_variables(path))
    [('layer/w', [2])]
    """
    records, load = open_external(os.fspath(file), format)
    values = {name: (record, ChunksOf(record, load)) for name, record in records.items()}
    save(values, save_path, global_step=global_step)
    return os.fspath(save_path)


class ChunksOf(Mapping[Index, Any]):
    """The chunks of a variable, by their indices, each loaded when it is asked for."""

    def __init__(self, record: VariableRecord, load: Load) -> None:
        self.record, self.load = record, load

    def __getitem__(self, index: Index) -> Any:
        return self.load(self.record, index)

    def __iter__(self) -> Iterator[Index]:
        return iter(self.record.grid)

    def __len__(self) -> int:
        return self.record.grid.num_chunks
