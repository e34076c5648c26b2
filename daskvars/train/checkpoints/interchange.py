"""Checkpoints as files of other libraries, and back: safetensors and NumPy's ``npz``.

Such a file holds values by name and nothing else: chunks, step, collections and devices stay
behind. Reading one runs nothing that is in it: nothing is unpickled.
"""

from __future__ import annotations

import math
import os
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np

from daskvars.dtypes import as_dtype
from daskvars.errors import OpError, enumerated
from daskvars.shapes import whole
from daskvars.state import VariableRecord, check_key, save
from daskvars.state.failures import invalid, not_found, store_failure
from daskvars.train.checkpoints.reader import load_checkpoint

try:
    import safetensors
    import safetensors.numpy
except ImportError:  # it is an extra
    safetensors = None  # type: ignore[assignment]

NPZ = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
)
SAFETENSORS = {
    "BOOL": np.dtype("bool"),
    **{f"{kind}{bits}": np.dtype(f"{kind.lower()}{bits // 8}")
       for kind in "IU" for bits in (8, 16, 32, 64)},
    **{f"F{bits}": np.dtype(f"f{bits // 8}") for bits in (16, 32, 64)},
    "C64": np.dtype("complex64"),
    "BF16": np.dtype(ml_dtypes.bfloat16),
}  # fmt: skip
"""Its names of the dtypes that both have."""

MAX_DEFLATION = 1100
"""Bytes that one compressed byte stands for at most: deflate reaches 1032."""


def export_checkpoint(ckpt_dir_or_file: str, file: str) -> None:
    """Write the variables of a checkpoint into a file for other libraries.

    All values are in memory at once for safetensors, one after another for npz. The file is there
    whole or not at all.

    Args:
      ckpt_dir_or_file: path of the checkpoint, the directory of a saver, whose newest one is
        meant, a session's store, or any Zarr group.
      file: where to; it ends in ``.safetensors`` (``pip install daskvars[safetensors]``) or
        ``.npz``, and is replaced.

    Raises:
      InvalidArgumentError: `file` ends otherwise, or variables are of a dtype that it cannot hold
        (strings, quantized numbers; bfloat16 in npz; complex128 in safetensors): all are named,
        and nothing is written.
      NotFoundError: there is no checkpoint.
      CorruptChunkError: a chunk of it is missing or damaged.
      ImportError: safetensors is not installed.

    >>> import tempfile, numpy, daskvars.v1 as tf
    >>> with tempfile.TemporaryDirectory() as place:
    ...     with tf.Graph().as_default(), tf.Session() as sess:
    ...         sess.run(tf.get_variable("layer/w", initializer=[1.0, 2.0]).initializer)
    ...         path = tf.train.Saver().save(sess, place + "/model")
    ...     tf.train.export_checkpoint(path, place + "/model.npz")
    ...     print(numpy.load(place + "/model.npz")["layer/w"])
    [1. 2.]
    """
    target = os.fspath(file)
    write, dtypes = writer_of(target)
    reader = load_checkpoint(ckpt_dir_or_file)
    found = reader.get_variable_to_dtype_map()
    other = [f"{name} ({dtype.name})" for name, dtype in sorted(found.items())
             if dtype.name not in dtypes]  # fmt: skip
    if other:
        raise invalid(
            f"{target!r} cannot hold {enumerated(other, 6)}; it holds {', '.join(sorted(dtypes))}."
            " Cast these variables, or leave them out of the checkpoint"
        )
    with put_in_place(target) as beside:
        write(beside, {name: partial(reader.get_tensor, name) for name in sorted(found)})


def import_checkpoint(file: str, save_path: str, global_step: int | None = None) -> str:
    """Make a checkpoint of what is in a file of another library.

    Args:
      file: a ``.safetensors`` or ``.npz`` file.
      save_path: path or URL of the checkpoint, as `Saver.save` takes it; one that is there is
        replaced.
      global_step: the step that is noted in it.

    Returns:
      The path of the checkpoint, to be restored by `Saver.restore`.

    Raises:
      NotFoundError: there is no such file.
      StoreError: it is damaged.
      InvalidArgumentError: it ends otherwise, or an array has a name or a dtype that no variable
        has.
      ImportError: safetensors is not installed.

    >>> import tempfile, numpy, daskvars as dv
    >>> with tempfile.TemporaryDirectory() as place:
    ...     numpy.savez(place + "/model.npz", **{"layer/w": numpy.float32([1, 2])})
    ...     path = dv.train.import_checkpoint(place + "/model.npz", place + "/model")
    ...     print(dv.train.list_variables(path))
    [('layer/w', [2])]
    """
    source = os.fspath(file)
    read = reader_of(source)
    if not os.path.isfile(source):
        raise not_found(f"no file {source!r}; check the path")
    try:
        arrays = dict(read(source))
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise store_failure(f"{source!r} cannot be read: {error}") from None
    values = {}
    for name, array in arrays.items():
        try:
            check_key(name)
            dtype = as_dtype(array.dtype).name
        except (OpError, TypeError) as error:
            raise invalid(f"{source!r}, array {name!r} of {array.dtype}: {error}") from None
        record = VariableRecord(name, dtype, array.shape, whole(array.shape))
        values[name] = (record, {(0,) * array.ndim: array})
    save(values, save_path, global_step=global_step)
    return os.fspath(save_path)


Arrays = Mapping[str, Callable[[], Any]]


def writer_of(file: str) -> tuple[Callable[[str, Arrays], None], set[str]]:
    """Give what writes a file, by its ending, and the dtypes that it can hold."""
    if file.endswith(".npz"):
        return write_npz, set(NPZ)
    check_suffix(file)
    return write_safetensors, {as_dtype(dtype).name for dtype in SAFETENSORS.values()}


def reader_of(file: str) -> Callable[[str], Iterator[tuple[str, np.ndarray]]]:
    """Give what reads a file, by its ending."""
    if file.endswith(".npz"):
        return read_npz
    check_suffix(file)
    return read_safetensors


def check_suffix(file: str) -> None:
    """Refuse a file that is neither, and safetensors where they are not installed."""
    if not file.endswith(".safetensors"):
        raise invalid(f"{file!r} ends neither in .safetensors nor in .npz, which say what it is")
    if safetensors is None:
        raise ImportError("safetensors is not installed: pip install daskvars[safetensors]")


@contextmanager
def put_in_place(target: str) -> Iterator[str]:
    """Give a path beside a file; what is written there takes the file's place, if all goes well."""
    beside = f"{target}.{os.urandom(16).hex()}.partial"
    try:
        try:
            yield beside
            os.replace(beside, target)
        except OSError as error:
            raise store_failure(f"cannot write {target!r}: {error.strerror or error}") from error
    finally:
        if os.path.exists(beside):
            os.unlink(beside)


def write_npz(path: str, arrays: Arrays) -> None:
    """Write what ``numpy.savez`` would, one array after another."""
    with zipfile.ZipFile(path, "w") as file:
        for name, value in arrays.items():
            with file.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, np.asarray(value()), allow_pickle=False)


def read_npz(path: str) -> Iterator[tuple[str, np.ndarray]]:
    """Yield what is in an npz file, having compared what arrays claim with what is there."""
    with zipfile.ZipFile(path) as file:
        for entry in file.infolist():
            if not entry.filename.endswith(".npy"):
                raise ValueError(f"{entry.filename!r} is no array")
            with file.open(entry) as content:
                version = np.lib.format.read_magic(content)
                read = np.lib.format.read_array_header_1_0 if version == (1, 0) else (
                    np.lib.format.read_array_header_2_0)  # fmt: skip
                shape, in_columns, dtype = read(content)
                claimed = math.prod(shape) * dtype.itemsize
                if dtype.hasobject or claimed > entry.compress_size * MAX_DEFLATION:
                    raise ValueError(
                        f"{entry.filename!r} claims {shape} of {dtype} in {entry.compress_size}"
                        " bytes"
                    )
                data = content.read(claimed)
                if len(data) != claimed or content.read(1):
                    raise ValueError(f"{entry.filename!r} has not the {claimed} bytes it claims")
            array = np.frombuffer(data, dtype).reshape(shape, order="F" if in_columns else "C")
            yield entry.filename.removesuffix(".npy"), np.array(array, dtype.newbyteorder("="))


def write_safetensors(path: str, arrays: Arrays) -> None:
    """Write a safetensors file."""
    values = {name: np.array(value(), order="C") for name, value in arrays.items()}
    safetensors.numpy.save_file(values, path, {"format": "np"})


def read_safetensors(path: str) -> Iterator[tuple[str, np.ndarray]]:
    """Yield what is in a safetensors file."""
    with open(path, "rb") as file:
        data = file.read()
    try:
        tensors = safetensors.deserialize(data)
    except safetensors.SafetensorError as error:
        raise ValueError(str(error)) from None
    for name, tensor in tensors:
        if tensor["dtype"] not in SAFETENSORS:
            raise ValueError(f"{name!r} is of {tensor['dtype']}, which no variable is")
        dtype = SAFETENSORS[tensor["dtype"]]
        array = np.frombuffer(tensor["data"], dtype.newbyteorder("<")).reshape(tensor["shape"])
        yield name, array.astype(dtype)
