"""Checkpoints as files of safetensors and NumPy, and back, with the real libraries."""

from __future__ import annotations

import os
import re
import zipfile

import numpy as np
import pytest

import daskvars.v1 as tf
from daskvars.dtypes import as_dtype
from daskvars.errors import InvalidArgumentError, NotFoundError, StoreError
from daskvars.state import save
from daskvars.state.external import safetensors_files
from daskvars.state.external.numpy_files import MAX_DEFLATION
from daskvars.state.external.safetensors_files import DTYPES as SAFETENSORS
from daskvars.state.format.encoding import AS_NAMED
from tests.state.samples import sample, variable

SHAPES = (), (0, 3), (5,), (3, 4)
BOTH = sorted(set(AS_NAMED) & set(SAFETENSORS))


def checkpoint(path, arrays):
    """Save arrays by name, in two chunks where they have two rows."""
    values = {}
    for name, array in arrays.items():
        rows = array.shape[:1] if array.shape[:1] < (2,) else (1, array.shape[0] - 1)
        layout = (rows, *((n,) for n in array.shape[1:])) if array.ndim else ()
        values[name] = variable(name, array, layout)
    save(values, path, global_step=3)
    return str(path)


def arrays(dtypes):
    return {
        f"scope/{dtype}/{number}": np.asarray(sample(dtype, shape))
        for dtype in dtypes
        for number, shape in enumerate(SHAPES)
    }


def read(path):
    if path.endswith(".npz"):
        with np.load(path) as found:
            return dict(found)
    return pytest.importorskip("safetensors.numpy").load_file(path)


@pytest.mark.parametrize("suffix", ["npz", "safetensors"])
@pytest.mark.parametrize("source", ["m", "m.zip"])
def test_there_and_back(tmp_path, suffix, source):
    if suffix == "safetensors":
        pytest.importorskip("safetensors")
    wanted = arrays(BOTH)
    path = checkpoint(tmp_path / source, wanted)
    file = str(tmp_path / f"model.{suffix}")
    tf.train.export_checkpoint(path, file)
    for found in (
        read(file),
        values(tf.train.import_checkpoint(file, str(tmp_path / "again.zip"), 7)),
    ):
        assert found.keys() == wanted.keys()
        for name, array in wanted.items():
            assert found[name].dtype == array.dtype
            np.testing.assert_array_equal(found[name], array)
    assert not [name for name in os.listdir(tmp_path) if name.endswith(".partial")]


def values(path):
    reader = tf.train.load_checkpoint(path)
    return {
        name: np.asarray(reader.get_tensor(name)) for name in reader.get_variable_to_shape_map()
    }


def test_a_full_disk_is_a_store_error(tmp_path, monkeypatch):
    safetensors = pytest.importorskip("safetensors")

    def full(*_) -> None:
        raise safetensors.SafetensorError("I/O error: No space left on device (os error 28)")

    path = checkpoint(tmp_path / "m", arrays(["float32"]))
    monkeypatch.setattr("safetensors.numpy.save_file", full)
    with pytest.raises(StoreError, match=r"m\.safetensors.*No space left"):
        tf.train.export_checkpoint(path, str(tmp_path / "m.safetensors"))


def test_bfloat16_goes_through_safetensors(tmp_path):
    pytest.importorskip("safetensors")
    wanted = np.asarray(sample("bfloat16", (3, 2)))
    path = checkpoint(tmp_path / "m", {"w": wanted})
    file = str(tmp_path / "m.safetensors")
    tf.train.export_checkpoint(path, file)
    found = values(tf.train.import_checkpoint(file, str(tmp_path / "n")))["w"]
    assert found.dtype == as_dtype("bfloat16").np
    assert found.tobytes() == wanted.tobytes()


@pytest.mark.parametrize(
    "suffix, dtypes",
    [("npz", ["bfloat16", "string", "qint8"]), ("safetensors", ["complex128", "string", "qint8"])],
)
def test_what_cannot_be_held_is_refused_by_name(tmp_path, suffix, dtypes):
    if suffix == "safetensors":
        pytest.importorskip("safetensors")
    values = {dtype: variable(dtype, sample(dtype, (2,)), dtype=dtype) for dtype in dtypes}
    save(values | {"w": variable("w", np.zeros(2))}, tmp_path / "m")
    with pytest.raises(InvalidArgumentError, match="cannot hold") as caught:
        tf.train.export_checkpoint(str(tmp_path / "m"), str(tmp_path / f"m.{suffix}"))
    assert all(f"{dtype} ({dtype})" in str(caught.value) for dtype in dtypes)
    assert "w (float64)" not in str(caught.value)
    assert os.listdir(tmp_path) == ["m"]


def test_what_numpy_writes_is_read(tmp_path):
    wanted = {"a": np.arange(6.0).reshape(2, 3).T, "b/c": np.arange(3, dtype=">i4")}
    for write in np.savez, np.savez_compressed:
        write(tmp_path / "m.npz", **wanted)
        found = values(tf.train.import_checkpoint(str(tmp_path / "m.npz"), str(tmp_path / "m")))
        assert found["b/c"].dtype == np.dtype("i4")
        for name, array in wanted.items():
            np.testing.assert_array_equal(found[name], array)


def test_nothing_is_unpickled_and_no_claim_is_believed(tmp_path):
    file = str(tmp_path / "m.npz")

    def refused(match):
        with pytest.raises(StoreError, match=match):
            tf.train.import_checkpoint(file, str(tmp_path / "m"))
        assert not os.path.exists(tmp_path / "m")

    np.savez(file, x=np.array([object()], object))
    refused("'x.npy' claims")
    with zipfile.ZipFile(file, "w") as archive, archive.open("x.npy", "w") as entry:
        np.lib.format.write_array_header_1_0(
            entry, {"descr": "<f8", "fortran_order": False, "shape": (1 << 40,)}
        )
    refused(r"claims \(1099511627776,\) of float64")
    with zipfile.ZipFile(file, "w") as archive, archive.open("x.npy", "w") as entry:
        np.lib.format.write_array_header_1_0(
            entry, {"descr": "<f8", "fortran_order": False, "shape": (MAX_DEFLATION,)}
        )
    refused("has not the 8800 bytes")
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("readme.txt", b"")
    refused("'readme.txt' is no array")
    for content in b"", b"no archive":
        (tmp_path / "m.npz").write_bytes(content)
        refused("cannot be read")


def test_damaged_safetensors_are_refused(tmp_path):
    pytest.importorskip("safetensors")
    for content in b"", b"\xff" * 20, b"\2\0\0\0\0\0\0\0{}more":
        (tmp_path / "m.safetensors").write_bytes(content)
        with pytest.raises(StoreError, match="cannot be read"):
            tf.train.import_checkpoint(str(tmp_path / "m.safetensors"), str(tmp_path / "m"))


def test_errors_say_what_to_do(tmp_path, monkeypatch):
    path = checkpoint(tmp_path / "m", {"w": np.zeros(2)})
    with pytest.raises(InvalidArgumentError, match=r"in none of \.safetensors, \.npz, "):
        tf.train.export_checkpoint(path, str(tmp_path / "m.h5"))
    with pytest.raises(NotFoundError, match="no file"):
        tf.train.import_checkpoint(str(tmp_path / "none.npz"), str(tmp_path / "n"))
    with pytest.raises(NotFoundError):
        tf.train.export_checkpoint(str(tmp_path / "none"), str(tmp_path / "n.npz"))
    np.savez(tmp_path / "bad.npz", **{"a//b": np.zeros(1)})
    with pytest.raises(InvalidArgumentError, match="'a//b' has an empty segment"):
        tf.train.import_checkpoint(str(tmp_path / "bad.npz"), str(tmp_path / "n"))
    for dtype in ("datetime64[s]", "<U4", "|S4"):
        np.savez(tmp_path / "bad.npz", when=np.array(["2020"], dtype))
        with pytest.raises(InvalidArgumentError, match=rf"'when' of {re.escape(dtype)}: "):
            tf.train.import_checkpoint(str(tmp_path / "bad.npz"), str(tmp_path / "n"))
    with pytest.raises(StoreError, match="cannot write"):
        tf.train.export_checkpoint(path, str(tmp_path / "no" / "such" / "m.npz"))
    monkeypatch.setattr(safetensors_files, "safetensors", None)
    with pytest.raises(ImportError, match=r"pip install daskvars\[safetensors\]"):
        tf.train.export_checkpoint(path, str(tmp_path / "m.safetensors"))
