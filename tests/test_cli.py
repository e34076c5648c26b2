"""The command line: what it prints, and the exit status."""

import os
import re
import shutil
import subprocess
import sys
from importlib import metadata

import numcodecs
import numpy as np
import pytest
import zarr
import zarr.codecs

import daskvars.v1 as tf
from daskvars.cli import main
from daskvars.errors import FailedPreconditionError, StoreError
from daskvars.state import ZarrStore

pytestmark = pytest.mark.usefixtures("graph")


def save(path, **values):
    """Write a checkpoint of some variables; return its path."""
    with tf.Graph().as_default(), tf.Session() as sess:
        for name, value in values.items():
            tf.Variable(value, name=name)
        sess.run(tf.global_variables_initializer())
        return tf.train.Saver().save(sess, str(path))


def run(capsys, *arguments):
    status = main([str(a) for a in arguments])
    out, err = capsys.readouterr()
    return status, out.splitlines(), err


def test_inspect_lists_a_checkpoint(tmp_path, capsys):
    path = save(tmp_path / "m", w=np.zeros((3, 2), "f4"), b=[True])
    status, lines, _ = run(capsys, "inspect", path)
    assert (status, [line.split() for line in lines]) == (
        0,
        [["b", "bool", "[1]", "1"], ["w", "float32", "[3,", "2]", "24"], ["2", "variables", "25"]],
    )
    assert run(capsys, "inspect", path, "--values", "b")[:2] == (0, ["[ True]"])
    assert run(capsys, "inspect", tmp_path)[:2] == (0, lines), "the directory of a saver"


def test_inspect_lists_the_head_of_a_session_s_store(tmp_path, capsys):
    store = str(tmp_path / "run.zarr")
    with tf.Graph().as_default():
        v = tf.get_variable("v", initializer=1.0)
        with tf.Session(store=store) as sess:
            for value in (2.0, 3.0):
                sess.run(v.assign(value))
                sess.seal()
    status, lines, _ = run(capsys, "inspect", store)
    assert (status, len(lines), lines[-1].split()[:2]) == (0, 2, ["1", "variables"])
    assert run(capsys, "inspect", store, "--values", "v")[:2] == (0, ["3.0"])
    assert run(capsys, "verify", store)[0] == 0


def test_inspect_lists_any_zarr_group(tmp_path, capsys):
    zarr.open_group(tmp_path / "g").create_array("a/x", shape=(4,), dtype="int16")
    assert run(capsys, "inspect", tmp_path / "g")[1][0].split() == ["a/x", "int16", "[4]", "8"]


def test_verify_names_every_damaged_chunk(tmp_path, capsys):
    path = save(tmp_path / "m", v=np.arange(5), w=np.arange(3))
    assert run(capsys, "verify", path)[0] == 0
    for name in ("v", "w"):
        (chunk,) = (p for p in (tmp_path / "m" / name).rglob("*") if p.name.startswith("c"))
        data = bytearray(chunk.read_bytes())
        data[3] ^= 1
        chunk.write_bytes(data)
    status, lines, _ = run(capsys, "verify", path)
    assert (status, len(lines)) == (1, 2)
    assert "'v'" in lines[0]
    assert "'w'" in lines[1]


def test_diff_tells_names_kinds_and_values_apart(tmp_path, capsys):
    first = save(tmp_path / "a", same=1.0, only=2, kind=[1.0], value=[1.0, 2.0], text=[b"a", b"b"])
    second = save(tmp_path / "b", same=1.0, new=2, kind=[1], value=[1.0, 2.5], text=[b"a", b"c"])
    status, lines, _ = run(capsys, "diff", first, second)
    assert (status, lines) == (
        1,
        [
            "! kind  float32 [1] -> int32 [1]",
            "+ new  int32 []",
            "- only  int32 []",
            "! text  1 of 2 elements differ",
            "! value  1 of 2 elements differ, by at most 0.5",
        ],
    )
    assert run(capsys, "diff", first, first)[0] == 0


def test_diff_compares_values_not_chunks(tmp_path, capsys):
    paths = []
    for chunks in ((4, 2), (6,)):
        with tf.Graph().as_default(), tf.Session() as sess:
            v = tf.get_variable("v", initializer=np.full(6, np.nan), chunks=(chunks,))
            sess.run(v.initializer)
            paths.append(tf.train.Saver().save(sess, str(tmp_path / f"m{len(chunks)}")))
    assert run(capsys, "diff", *paths)[0] == 0


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["inspect", "nosuch"], "no directory"),
        (["inspect", "m", "--values", "weight"], "did you mean 'weights'?"),
        (["verify", "nosuch"], "no directory"),
        (["diff", "m", "nosuch"], "no directory"),
        (["inspect", "file"], "file"),
    ],
)
def test_trouble_is_told_on_stderr(tmp_path, capsys, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    save("m", weights=1.0)
    os.remove("checkpoint")
    (tmp_path / "file").write_text("")
    status, lines, err = run(capsys, *arguments)
    assert (status, lines) == (2, [])
    assert err.startswith("daskvars: ")
    assert message in err


@pytest.mark.slow
def test_it_runs_as_a_module_and_asks_for_a_command():
    done = subprocess.run([sys.executable, "-m", "daskvars"], capture_output=True, timeout=100)
    assert done.returncode == 2
    assert b"inspect,verify,diff,restore-to" in done.stderr


def test_restore_to_goes_back_to_a_version_on_purpose(tmp_path, capsys):
    place = str(tmp_path / "s.zarr")
    v = tf.get_variable("v", [], initializer=tf.zeros_initializer())
    with tf.Session(store=place) as session:
        for number in 1.0, 2.0:
            session.run(v.assign(number))
            session.seal()
    one, two = ZarrStore(place).snapshots()
    (tmp_path / "s.zarr" / f"v{two}" / "zarr.json").write_text("")
    for call in lambda: tf.Session(store=place), lambda: tf.train.load_variable(place, "v"):
        with pytest.raises(StoreError, match=rf"version {two} is the head.*restore-to .* {one}` "):
            call()
    assert main(["restore-to", place, "77"]) == 2
    assert "no version 77" in capsys.readouterr().err
    assert main(["restore-to", place, str(one)]) == 0
    assert f"version {one} is the head" in capsys.readouterr().out
    with tf.Session(store=place) as session:
        assert session.run(v) == 1.0


def test_a_session_goes_back_to_a_version_on_purpose(tmp_path):
    v = tf.get_variable("v", [], initializer=tf.zeros_initializer())
    with tf.Session(store=tmp_path) as session:
        for number in 1.0, 2.0:
            session.run(v.assign(number))
            session.seal()
        one, two = ZarrStore(tmp_path).snapshots()
        (tmp_path / f"v{two}" / "zarr.json").write_text("")
        session.run(v.assign(3.0))
        with pytest.raises(StoreError, match=rf"recover\(version={one}\)"):
            session.seal()
        assert session.recover(version=one) == one
        assert session.run(v) == 1.0
    with tf.Session() as session, pytest.raises(FailedPreconditionError):
        session.recover(version=1)


def flip(place):
    data = bytearray(place.read_bytes())
    data[3] ^= 1
    place.write_bytes(data)


@pytest.mark.parametrize(
    "damage, message",
    [
        (lambda m: flip(m / "v" / "c.0"), "v.*checksum"),
        (lambda m: (m / "v" / "c.1").unlink(), r"\(1,\) of variable 'v'.*is missing"),
        (lambda m: shutil.rmtree(m / "v"), "v.*is missing"),
        (lambda m: (m / "v" / "zarr.json").unlink(), "Zarr document of 'v'"),
        (lambda m: (m / "v" / "zarr.json").write_text("{}"), "Zarr document of 'v'"),
    ],
    ids=["flipped", "chunk gone", "array gone", "document gone", "document of another"],
)
@pytest.mark.parametrize("damaged", [0, 1])
def test_diff_and_verify_look_at_what_is_there(tmp_path, capsys, damage, message, damaged):
    paths = []
    for name in "one", "other":
        with tf.Graph().as_default(), tf.Session() as sess:
            v = tf.get_variable("v", initializer=np.arange(6.0), chunks=((3, 3),))
            sess.run(v.initializer)
            paths.append(tf.train.Saver().save(sess, str(tmp_path / name)))
    assert run(capsys, "diff", *paths)[:2] == (
        0,
        [f"{paths[0]} and {paths[1]} hold the same variables"],
    )
    damage(tmp_path / ("one", "other")[damaged])
    status, lines, _ = run(capsys, "diff", *paths)
    assert status == 1
    assert all(line.startswith("! v  ") for line in lines)
    assert re.search(message, "\n".join(lines))
    status, lines, _ = run(capsys, "verify", paths[damaged])
    assert status == 1
    assert re.search(message, "\n".join(lines))


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_verify_says_what_it_cannot_tell_of_any_zarr_group(tmp_path, capsys, zarr_format):
    group = zarr.open_group(tmp_path / "g", zarr_format=zarr_format)
    plain, safe = (
        group.create_array(name, shape=(6, 2), chunks=(2, 2), dtype="f4", compressors=compressor)
        for name, compressor in (("a/plain", None), ("safe", GZIP[zarr_format]))
    )
    plain[:], safe[:4] = 1.0, 1.0
    group.create_array("when", shape=(2,), dtype="datetime64[s]")
    status, lines, _ = run(capsys, "verify", tmp_path / "g")
    assert status == 0
    assert lines == [
        "not checked: 'a/plain': its chunks have no checksums, so altered bytes are not noticed",
        "not checked: 'safe': 1 of 3 chunks are not there, and count as the fill value: (2, 0)",
        "not checked: 'when' has a dtype that no variable has, and was not read",
        f"{tmp_path / 'g'}: what is there can be read",
    ]
    chunks = tmp_path / "g" / "safe" / ("c/0/0" if zarr_format == 3 else "0.0")
    chunks.write_bytes(chunks.read_bytes()[:-3])
    status, lines, _ = run(capsys, "verify", tmp_path / "g")
    assert status == 1
    assert "safe" in lines[-1]
    assert "what is there can be read" not in lines[-1]


GZIP = {2: numcodecs.GZip(), 3: zarr.codecs.GzipCodec()}


def test_diff_of_zarr_groups_tells_what_is_not_there(tmp_path, capsys):
    for name in "one", "other":
        group = zarr.open_group(tmp_path / name)
        array = group.create_array("a", shape=(4,), chunks=(2,), dtype="i4")
        array[:] = [1, 2, 0, 0]
    assert run(capsys, "diff", tmp_path / "one", tmp_path / "other")[0] == 0
    array[2:] = [3, 4]
    shutil.copytree(tmp_path / "other", tmp_path / "third")
    (tmp_path / "third" / "a" / "c" / "1").unlink()
    status, lines, _ = run(capsys, "diff", tmp_path / "other", tmp_path / "third")
    assert (status, lines) == (
        1,
        [
            "! a  chunks not there in the second: (1,)",
            "! a  2 of 4 elements differ, by at most 4",
        ],
    )


def test_the_version_is_that_of_the_package(capsys):
    with pytest.raises(SystemExit) as left:
        main(["--version"])
    assert left.value.code == 0
    assert capsys.readouterr().out == f"daskvars {metadata.version('daskvars')}\n"
