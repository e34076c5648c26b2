"""Reading checkpoints without a graph."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy

from daskvars.dtypes import DType, as_dtype
from daskvars.errors import CorruptChunkError, NotFoundError, did_you_mean
from daskvars.state import open_zarr_store
from daskvars.state.checkpoint import open_checkpoint
from daskvars.state.failures import ConflictError, conflict
from daskvars.state.stores.files import read_file
from daskvars.surface.notebooks import ShownInNotebooks
from daskvars.surface.one_line import counted
from daskvars.train.checkpoints.checkpoint_state import latest_checkpoint, state_path

_ENUM_NAMES = {"float16": "half", "float32": "float", "float64": "double"}


class CheckpointReader(ShownInNotebooks, Mapping[str, Any]):
    """What a checkpoint, of TensorFlow's too, or any Zarr group, holds: a mapping, name -> value.

    A value is read when it is asked for: ``reader["layer/w"]`` is ``reader.get_tensor("layer/w")``.
    All are of the checkpoint that was there when the reader was made, or it is an error. IPython
    completes the names, scope by scope.

    Args:
      path: path or URL of the checkpoint.

    Attributes:
      records: what is known of each variable, by its name.

    Raises:
      NotFoundError: nothing is there.

    >>> import os, tempfile
    >>> w = dv.Variable([1.0, 2.0], name="layer/w")
    >>> path = dv.train.Saver([w]).save(None, os.path.join(tempfile.mkdtemp(), "model"))
    >>> reader = dv.train.load_checkpoint(path)
    >>> list(reader), reader["layer/w"]
    (['layer/w'], array([1., 2.], dtype=float32))
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._source = open_checkpoint(*open_zarr_store(path, "r"))
        self.records = self._source.records

    def __repr__(self) -> str:
        found = counted(len(self.records), "variable")
        nbytes = sum(record.nbytes for record in self.records.values())
        return f"<CheckpointReader {self.path!r}: {found}, {nbytes:,} bytes>"

    def __getitem__(self, name: str) -> Any:
        if name not in self.records:
            raise KeyError(f"{name}{did_you_mean(name, self.records)}")
        return self.get_tensor(name)

    def __contains__(self, name: object) -> bool:
        return name in self.records

    def __iter__(self) -> Iterator[str]:
        return iter(self.records)

    def __len__(self) -> int:
        return len(self.records)

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.records)

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        """Return name -> shape."""
        return {name: list(record.shape) for name, record in self.records.items()}

    def get_variable_to_dtype_map(self) -> dict[str, DType]:
        """Return name -> dtype."""
        return {name: as_dtype(record.dtype) for name, record in self.records.items()}

    def has_tensor(self, tensor_str: str) -> bool:
        """Return whether there is a tensor of a name."""
        return tensor_str in self.records

    def get_tensor(self, tensor_str: str) -> Any:
        """Return a tensor by its name, whole.

        Raises:
          NotFoundError: there is none of that name.
          CorruptChunkError: a chunk of it is missing or damaged.
          AbortedError: the checkpoint is gone, another may have taken its place.
        """
        if tensor_str not in self.records:
            hint = did_you_mean(tensor_str, self.records)
            raise NotFoundError.saying(
                f"Key {tensor_str} not found in checkpoint {self.path}{hint}"
            )
        try:
            found = self._source.whole(tensor_str)
        except CorruptChunkError:
            if self._is_there():
                raise
            raise conflict(
                f"{self.path}: the checkpoint of this reader is gone, and {tensor_str!r} with it:"
                " another was saved there, or it was deleted. Make a new reader, and take all"
                " values from that"
            ) from None
        return found[()] if found.ndim == 0 else found

    def _is_there(self) -> bool:
        source = self._source
        try:
            return open_checkpoint(source.storage, source.path).token == source.token
        except NotFoundError:
            return False

    def debug_string(self) -> bytes:
        """Return a line per tensor: name, dtype, shape."""
        lines = [
            f"{name} (DT_{_ENUM_NAMES.get(record.dtype, record.dtype).upper()}) "
            f"[{','.join(map(str, record.shape))}]"
            for name, record in sorted(self.records.items())
        ]
        return "\n".join(lines).encode()


def NewCheckpointReader(filepattern: str) -> CheckpointReader:
    """Return a reader of the checkpoint at a path.

    Args:
      filepattern: path of a checkpoint, a ``.zip`` of one, or the prefix of one of TensorFlow's.

    Raises:
      NotFoundError: nothing is there.

    >>> import tempfile
    >>> place = tempfile.TemporaryDirectory()
    >>> path = dv.train.Saver({"net/w": dv.Variable([1.0, 2.0])}).save(None, place.name + "/m")
    >>> reader = dv.train.NewCheckpointReader(path)
    >>> reader.get_variable_to_shape_map(), reader.get_tensor("net/w").tolist()
    ({'net/w': [2]}, [1.0, 2.0])
    >>> place.cleanup()
    """
    path = os.fspath(filepattern)
    try:
        return CheckpointReader(path)
    except NotFoundError as error:
        raise NotFoundError.saying(
            "Unsuccessful TensorSliceReader constructor: Failed to find any matching "
            f"files for {path}: {error}"
        ) from None


def checkpoint_path(ckpt_dir_or_file: str) -> str:
    """Return the path of a checkpoint, given that path or the directory of a record.

    Raises:
      ValueError: the record names no checkpoint.
    """
    path = os.fspath(ckpt_dir_or_file)
    if read_file(state_path(path)) is None:
        return path
    found = latest_checkpoint(path)
    if found is None:
        raise ValueError(
            f"Couldn't find 'checkpoint' file or checkpoints in given directory {path}"
        )
    return found


def load_checkpoint(ckpt_dir_or_file: str) -> CheckpointReader:
    """Return a reader of a checkpoint.

    Args:
      ckpt_dir_or_file: path of the checkpoint, or a directory whose newest one is meant.

    Raises:
      NotFoundError: nothing is there.
      ValueError: the directory's record names no checkpoint.

    >>> import tempfile
    >>> place = tempfile.TemporaryDirectory()
    >>> _ = dv.train.Saver({"w": dv.Variable([1.0, 2.0])}).save(None, place.name + "/m")
    >>> load_checkpoint(place.name).get_tensor("w").tolist()
    [1.0, 2.0]
    >>> place.cleanup()
    """
    return NewCheckpointReader(checkpoint_path(ckpt_dir_or_file))


def load_variable(ckpt_dir_or_file: str, name: str) -> numpy.ndarray:
    """Return a tensor of a checkpoint, whole. See `load_checkpoint`.

    Args:
      ckpt_dir_or_file: see `load_checkpoint`.
      name: name of the tensor.

    Raises:
      NotFoundError: there is none of that name (``:0`` at its end does not count).

    >>> import tempfile
    >>> place = tempfile.TemporaryDirectory()
    >>> _ = dv.train.Saver({"w": dv.Variable([1.0, 2.0])}).save(None, place.name + "/m")
    >>> load_variable(place.name, "w").tolist()
    [1.0, 2.0]
    >>> place.cleanup()
    """
    name = name.removesuffix(":0")
    try:
        return load_checkpoint(ckpt_dir_or_file).get_tensor(name)
    except ConflictError:  # another has taken its place since
        return load_checkpoint(ckpt_dir_or_file).get_tensor(name)


def list_variables(ckpt_dir_or_file: str) -> list[tuple[str, list[int]]]:
    """Return the (name, shape) of every tensor in a checkpoint, sorted. See `load_checkpoint`.

    >>> import tempfile
    >>> place = tempfile.TemporaryDirectory()
    >>> saver = dv.train.Saver({"w": dv.Variable([1.0, 2.0]), "b": dv.Variable(0.0)})
    >>> list_variables(saver.save(None, place.name + "/m"))
    [('b', []), ('w', [2])]
    >>> place.cleanup()
    """
    return sorted(load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items())
