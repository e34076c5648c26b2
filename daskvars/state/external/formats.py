"""External formats: how others keep arrays by name in files, each with its reader and writer.

A reader describes what is there as variables, and gives a function that loads a chunk of one: so
whoever takes variables from a checkpoint takes them from any of these. A writer takes the same two.
What is in such a file besides, or in a checkpoint besides values, stays behind.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import numpy as np

from daskvars.errors import OpError, invalid
from daskvars.state.external.numpy_files import open_npz, write_npz
from daskvars.state.external.safetensors_files import (
    DTYPES as SAFETENSORS_DTYPES,
    check_installed,
    open_safetensors,
    write_safetensors,
)
from daskvars.state.external.tensorflow.reading import open_tensorflow
from daskvars.state.external.tensorflow.writing import DTYPES as TENSORFLOW_DTYPES, write_tensorflow
from daskvars.state.failures import not_found, store_failure
from daskvars.state.format.assembly import Load
from daskvars.state.format.encoding import AS_NAMED
from daskvars.state.format.grids import Index
from daskvars.state.format.manifest import VariableRecord
from daskvars.state.stores.addresses import INDEX_SUFFIX, open_zarr_store, tensorflow_prefix
from daskvars.state.stores.disk import put_in_place

Opened = tuple[Mapping[str, VariableRecord], Load]


@dataclass(frozen=True)
class ExternalFormat:
    """How others keep arrays by name.

    Attributes:
        name: what it is called, on the command line as well.
        suffixes: how the names of its files end, which says what they are.
        dtypes: what it can hold, by name.
        open: gives what is in a file; what it raises of damaged ones is in `DAMAGED`.
        write: writes a file at a path, which is replaced.
        check: raises ImportError where a package for it is missing.
    """

    name: str
    suffixes: tuple[str, ...]
    dtypes: Collection[str]
    open: Callable[[str], Opened]
    write: Callable[[str, Mapping[str, VariableRecord], Load], None]
    check: Callable[[], None] = lambda: None


DAMAGED = (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile)
"""What readers raise of what cannot be read."""


def in_one_file(
    write: Callable[[str, Mapping[str, VariableRecord], Load], None],
) -> Callable[[str, Mapping[str, VariableRecord], Load], None]:
    """Give a writer whose file is there whole or not at all."""

    def written(path: str, records: Mapping[str, VariableRecord], load: Load) -> None:
        with put_in_place(path) as beside:
            write(beside, records, load)

    return written


def opened_prefix(path: str) -> Opened:
    """Open the checkpoint of TensorFlow at a prefix."""
    found = open_tensorflow(*open_zarr_store(path, "r"))
    return found.records, found.load


FORMATS = {
    found.name: found
    for found in (
        ExternalFormat(
            "safetensors",
            (".safetensors",),
            SAFETENSORS_DTYPES,
            open_safetensors,
            in_one_file(write_safetensors),
            check_installed,
        ),
        ExternalFormat("npz", (".npz",), AS_NAMED, open_npz, in_one_file(write_npz)),
        ExternalFormat(
            "tensorflow",
            (".ckpt", INDEX_SUFFIX),
            TENSORFLOW_DTYPES,
            opened_prefix,
            lambda path, *what: write_tensorflow(path.removesuffix(INDEX_SUFFIX), *what),
        ),
    )
}


def format_of(file: str, name: str | None = None) -> ExternalFormat:
    """Give the format of a file: that of the name given, or that which its own name tells.

    Raises:
        InvalidArgumentError: there is no such format, or the file's name tells none.
        ImportError: a package for it is missing.

    >>> format_of("model.npz").name, format_of("model-7", "tensorflow").name
    ('npz', 'tensorflow')
    """
    if name is not None and name not in FORMATS:
        raise invalid(f"no format {name!r}; there are {', '.join(FORMATS)}")
    if name is not None:
        found = FORMATS[name]
    elif any(file.endswith(f.suffixes) for f in FORMATS.values()):
        found = next(f for f in FORMATS.values() if file.endswith(f.suffixes))
    elif tensorflow_prefix(file) is not None:
        found = FORMATS["tensorflow"]
    else:
        endings = ", ".join(ending for f in FORMATS.values() for ending in f.suffixes)
        raise invalid(f"{file!r} ends in none of {endings}, which say what it is; name its format")
    found.check()
    return found


def open_external(file: str, name: str | None = None) -> Opened:
    """Open a file of another library.

    Args:
        file: its path; of a checkpoint of TensorFlow the prefix or the index.
        name: its format, by default what its own name tells.

    Raises:
        NotFoundError: there is no such file.
        StoreError: it is damaged. So may be what `load` raises of it later.
        InvalidArgumentError, ImportError: as `format_of`; a name or dtype that no variable has.
    """
    found = format_of(file, name)
    is_there = os.path.isfile(file) if found.name != "tensorflow" else tensorflow_prefix(file)
    if not is_there:
        raise not_found(f"no file {file!r}; check the path")
    with as_damaged(file):
        records, load = found.open(file)
    return records, partial(loaded, file, load)


def loaded(file: str, load: Load, record: VariableRecord, index: Index) -> np.ndarray:
    """Load a chunk, with the errors of `open_external`."""
    with as_damaged(file):
        return load(record, index)


@contextmanager
def as_damaged(file: str) -> Iterator[None]:
    """Have what readers raise of a damaged file say so, and of which it is."""
    try:
        yield
    except OpError:
        raise
    except DAMAGED as error:
        raise store_failure(f"{file!r} cannot be read: {error}") from None
