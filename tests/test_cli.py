"""The command line: what it prints, and the exit status."""

import json
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
from daskvars.__main__ import main
from daskvars.errors import FailedPreconditionError, StoreError
from daskvars.state import ZarrStore
from tests import clusters, fresh
from tests.state.external.tensorflow.samples import GOLDEN

pytestmark = pytest.mark.usefixtures("graph")


def save(path, **values):
    """Write a checkpoint of some variables; return its path."""
    with tf.Graph().as_default(), tf.Session() as sess:
        for name, value in values.items():
            tf.Variable(value, name=name)
        sess.run(tf.global_variables_initializer())
        return tf.train.Saver().save(sess, str(path))


def two_versions(path):
    """Write a session's store of two versions; return its path."""
    with tf.Graph().as_default(), tf.Session(store=str(path)) as session:
        v = tf.get_variable("v", initializer=1.0)
        for value in (2.0, 3.0):
            session.run(v.assign(value))
            session.seal()
    return path


def flip(place):
    """Change a bit of a file."""
    data = bytearray(place.read_bytes())
    data[3] ^= 1
    place.write_bytes(data)


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
    assert run(capsys, "inspect", path, "--value", "b")[:2] == (0, ["[ True]"])
    assert run(capsys, "inspect", tmp_path)[:2] == (0, lines), "the directory of a saver"


def test_inspect_lists_the_head_of_a_session_s_store(tmp_path, capsys):
    store = two_versions(tmp_path / "run.zarr")
    status, lines, _ = run(capsys, "inspect", store)
    assert (status, len(lines), lines[-1].split()[:2]) == (0, 2, ["1", "variable"])
    assert run(capsys, "inspect", store, "--value", "v")[:2] == (0, ["3.0"])
    assert run(capsys, "verify", store)[0] == 0


def test_inspect_lists_any_zarr_group(tmp_path, capsys):
    zarr.open_group(tmp_path / "g").create_array("a/x", shape=(4,), dtype="int16")
    assert [line.split() for line in run(capsys, "inspect", tmp_path / "g")[1]] == [
        ["a/", "(1)", "8"],
        ["a/x", "int16", "[4]", "8"],
        ["1", "variable", "8"],
    ]


def test_inspect_draws_scopes_as_a_tree(tmp_path, capsys):
    values = {"net/conv/w": np.zeros((2, 3)), "net/conv/w/Adam": [1.0, 2.0], "net/b": 1.0, "s": 7}
    path = save(tmp_path / "m.zip", **values)
    status, lines, _ = run(capsys, "inspect", path)
    assert status == 0
    assert [" ".join(line.split()) for line in lines] == [
        "net/ (3) 60",
        "net/b float32 [] 4",
        "net/conv/ (2) 56",
        "net/conv/w float64 [2, 3] 48",
        "net/conv/w/Adam float32 [2] 8",
        "s int32 [] 4",
        "4 variables 64",
    ]
    indents = [len(line) - len(line.lstrip()) for line in lines]
    assert indents == [0, 2, 2, 4, 6, 0, 0]
    assert len({len(line) for line in lines}) == 1, "bytes stand under one another"


def test_inspect_gives_statistics(tmp_path, capsys):
    path = save(
        tmp_path / "m",
        w=np.array([1.0, 2.0, 6.0, np.nan, np.inf]),
        b=[True, False],
        empty=np.zeros((0, 2)),
        text=[b"a"],
        z=np.zeros(2, np.complex64),
    )
    status, lines, _ = run(capsys, "inspect", path, "--stats")
    assert status == 0
    assert " ".join(lines[0].split()) == "dtype shape bytes min max mean std not finite"
    rows = {line.split()[0]: line.split()[-5:] for line in lines[1:-1]}
    assert rows == {
        "b": ["0", "1", "0.5", "0.5", "0"],
        "w": ["1", "6", "3", "2.16025", "2"],
        **dict.fromkeys(["empty", "text", "z"], ["-"] * 5),
    }


def test_inspect_prints_json(tmp_path, capsys):
    path = save(tmp_path / "m", w=np.array([[1.0, np.nan, -np.inf]]), text=[b"a", b"\xff"])
    status, lines, _ = run(capsys, "inspect", path, "--json", "--stats")
    found = json.loads("\n".join(lines))
    assert status == 0
    assert found == {
        "path": path,
        "global_step": None,
        "bytes": 40,
        "variables": {
            "text": {"dtype": "string", "shape": [2], "chunks": [[2]], "bytes": 16, "stats": None},
            "w": {
                "dtype": "float64",
                "shape": [1, 3],
                "chunks": [[1], [3]],
                "bytes": 24,
                "stats": {"min": 1.0, "max": 1.0, "mean": 1.0, "std": 0.0, "not_finite": 2},
            },
        },
    }
    value = run(capsys, "inspect", path, "--json", "--value", "w")[1]
    assert json.loads("".join(value)) == [[1.0, "NaN", "-Infinity"]]
    text = run(capsys, "inspect", path, "--json", "--value", "text")[1]
    assert json.loads("".join(text)) == ["a", "\\xff"]


def test_export_and_import(tmp_path, capsys):
    path = save(tmp_path / "m", **{"a/w": np.arange(3.0)})
    file = tmp_path / "m.npz"
    assert run(capsys, "export", path, file)[:2] == (
        0,
        [f"{file}: 1 variable; their chunks and the step are not in it"],
    )
    again = tmp_path / "again.zip"
    assert run(capsys, "import", file, again, "--step", "7")[:2] == (0, [f"{again}: 1 variable"])
    assert run(capsys, "diff", path, again)[0] == 0
    assert json.loads("\n".join(run(capsys, "inspect", again, "--json")[1]))["global_step"] == 7
    status, lines, err = run(capsys, "export", path, tmp_path / "m.h5")
    assert (status, lines) == (2, [])
    assert "in none of .safetensors, .npz, .ckpt" in err


def test_tensorflow_checkpoints_are_read_and_written(tmp_path, capsys):
    prefix = GOLDEN / "partitioned"
    status, lines, _ = run(capsys, "inspect", prefix)
    assert (status, lines[-1].split()) == (0, ["3", "variables", "4,832"])
    assert run(capsys, "inspect", f"{prefix}.index")[1] == lines
    assert run(capsys, "verify", prefix)[:2] == (0, [f"{prefix}: every chunk is there and intact"])
    ours, back = tmp_path / "ours", tmp_path / "back-7"
    assert run(capsys, "import", prefix, ours)[:2] == (0, [f"{ours}: 3 variables"])
    assert run(capsys, "diff", prefix, ours)[0] == 0
    assert run(capsys, "export", ours, back, "--format", "tensorflow")[0] == 0
    assert sorted(os.listdir(tmp_path)) == ["back-7.data-00000-of-00001", "back-7.index", "ours"]
    assert run(capsys, "diff", prefix, back)[0] == 0
    status, _, err = run(capsys, "export", ours, back)
    assert status == 0 and not err, "it is one already, so its name tells"


def test_history_lists_the_versions_of_a_store(tmp_path, capsys):
    place = str(tmp_path / "s.zarr")
    v = tf.get_variable("v", [3], initializer=tf.zeros_initializer())
    with tf.Session(store=place) as session:
        for number in 1.0, 2.0:
            session.run(v.assign([number] * 3))
            session.seal()
    one, two = ZarrStore(place).snapshots()
    status, lines, _ = run(capsys, "history", place)
    assert status == 0
    assert lines[0].split() == ["version", "step", "variables", "bytes", "committed", "by"]
    rows = [line.split()[:3] for line in lines[1:]]
    assert rows == [[str(one), "1", "12"], [str(two), "head", "1"]]
    assert all(f"process {os.getpid()}" in line for line in lines[1:])
    (tmp_path / "s.zarr" / f"v{two}" / "zarr.json").write_text("{")
    status, lines, _ = run(capsys, "history", place)
    assert status == 1
    assert lines[2].split()[:3] == [str(two), "head", "damaged:"]
    os.remove(tmp_path / "s.zarr" / f"v{two}" / "zarr.json")
    status, lines, _ = run(capsys, "history", place)
    assert status == 1
    assert "damaged: its manifest is missing" in lines[2]
    assert run(capsys, "restore-to", place, one)[0] == 0
    status, lines, _ = run(capsys, "history", place)
    assert (status, len(lines)) == (0, 2)
    assert lines[1].split()[:2] == [str(one), "head"]


def test_history_is_of_stores_only(tmp_path, capsys):
    status, _, err = run(capsys, "history", save(tmp_path / "m", v=1.0))
    assert status == 2
    assert "no store of daskvars" in err
    (tmp_path / "empty").mkdir()
    assert run(capsys, "history", tmp_path / "empty")[0] == 2


def shell(*arguments):
    """Run a command as a process; return its exit status, stdout and stderr."""
    return fresh.python("-m", "daskvars", *arguments, after=fresh.PACKAGE)


@pytest.mark.slow
def test_every_command_as_a_process(tmp_path):
    """What a shell sees: output, where errors go, and exit statuses."""
    path = save(tmp_path / "m.zip", w=np.arange(4.0), b=1.0)
    other = save(tmp_path / "n", w=np.arange(4.0))
    damaged = save(tmp_path / "damaged", w=np.arange(4.0))
    (chunk,) = (tmp_path / "damaged" / "w").glob("c*")
    chunk.write_bytes(chunk.read_bytes()[:-1])
    store = two_versions(tmp_path / "run.zarr")
    for status, printed, arguments in [
        (0, "2 variables", ["inspect", path]),
        (0, "1.5", ["inspect", path, "--stats"]),
        (0, "[0. 1. 2. 3.]", ["inspect", path, "--value", "w"]),
        (0, '"global_step": null', ["inspect", path, "--json"]),
        (0, "every chunk is there and intact", ["verify", path]),
        (1, "- b  float32 []", ["diff", path, other]),
        (0, "hold the same variables", ["diff", path, path]),
        (0, "2 variables", ["export", path, tmp_path / "m.npz"]),
        (0, "2 variables", ["import", tmp_path / "m.npz", tmp_path / "again.zip"]),
        (1, "Chunk (0,)", ["verify", damaged]),
        (0, "", ["history", store]),
        (0, "is the head", ["restore-to", store, "1"]),
    ]:
        found = shell(*arguments)
        assert found[0] == status, found
        assert printed in found[1]
        assert found[2] == ""
    for error, arguments in [
        ("no file", ["inspect", tmp_path / "none.zip"]),
        ("no directory", ["history", tmp_path / "none"]),
        ("no directory", ["diff", path, tmp_path / "none"]),
        ("no file", ["import", tmp_path / "none.npz", tmp_path / "x"]),
        ("in none of", ["export", path, tmp_path / "m.h5"]),
        ("no version 1", ["restore-to", tmp_path / "none", "1"]),
        ("not allowed with", ["inspect", path, "--stats", "--value", "w"]),
        ("does not answer", ["dashboard", "http://127.0.0.1:1/status"]),
    ]:
        found = shell(*arguments)
        assert (found[0], found[1]) == (2, ""), found
        assert error in found[2]
        assert "Traceback" not in found[2]


def test_verify_names_every_damaged_chunk(tmp_path, capsys):
    path = save(tmp_path / "m", v=np.arange(5), w=np.arange(3))
    assert run(capsys, "verify", path)[0] == 0
    for name in ("v", "w"):
        (chunk,) = (p for p in (tmp_path / "m" / name).rglob("*") if p.name.startswith("c"))
        flip(chunk)
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
        (["inspect", "m", "--value", "weight"], "did you mean 'weights'?"),
        (["verify", "nosuch"], "no directory"),
        (["diff", "m", "nosuch"], "no directory"),
        (["inspect", "file"], "file"),
        (["import", "m.npz", ""], "a path is empty"),
        (["dashboard", "http://127.0.0.1:1/status"], "does not answer"),
        (["dashboard", "nowhere://x"], "is no address: it has no port"),
        (["dashboard", "scheduler"], "is no address: it has no port"),
        (["dashboard", ":8786"], "is no address: it has no host"),
        (["dashboard", "127.0.0.1:99999"], "is no address: Port out of range"),
    ],
)
def test_trouble_is_told_on_stderr(tmp_path, capsys, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    save("m", weights=1.0)
    os.remove("checkpoint")
    (tmp_path / "file").write_text("")
    np.savez("m.npz", w=1.0)
    status, lines, err = run(capsys, *arguments)
    assert (status, lines) == (2, [])
    assert err.startswith("daskvars: ")
    assert message in err


def test_whoever_reads_may_have_enough(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save("m", weights=1.0)
    reads, writes = os.pipe()
    os.close(reads)
    with open(writes, "w") as broken:
        monkeypatch.setattr(sys, "stdout", broken)
        assert main(["inspect", "m"]) == 2


@pytest.mark.slow
def test_it_runs_as_a_module_and_asks_for_a_command():
    done = subprocess.run([sys.executable, "-m", "daskvars"], capture_output=True, timeout=100)
    assert done.returncode == 2
    assert b"inspect,verify,diff,export,import,history,restore-to" in done.stderr


def sealed_twice(session, v, place):
    """Seal two values of a variable and return the versions."""
    for number in 1.0, 2.0:
        session.run(v.assign(number))
        session.seal()
    return ZarrStore(place).snapshots()


def test_restore_to_goes_back_to_a_version_on_purpose(tmp_path, capsys):
    place = str(tmp_path / "s.zarr")
    v = tf.get_variable("v", [], initializer=tf.zeros_initializer())
    with tf.Session(store=place) as session:
        one, two = sealed_twice(session, v, place)
    (tmp_path / "s.zarr" / f"v{two}" / "zarr.json").write_text("")
    for call in lambda: tf.Session(store=place), lambda: tf.train.load_variable(place, "v"):
        with pytest.raises(StoreError, match=rf"version {two} is the head.*restore-to .* {one}` "):
            call()
    assert main(["restore-to", place, "77"]) == 2
    assert re.search(r"no version 77; it has \d+(, \d+)*$", capsys.readouterr().err.strip())
    assert main(["restore-to", place, str(one)]) == 0
    assert f"version {one} is the head" in capsys.readouterr().out
    with tf.Session(store=place) as session:
        assert session.run(v) == 1.0


def test_a_session_goes_back_to_a_version_on_purpose(tmp_path):
    v = tf.get_variable("v", [], initializer=tf.zeros_initializer())
    with tf.Session(store=tmp_path) as session:
        one, two = sealed_twice(session, v, tmp_path)
        (tmp_path / f"v{two}" / "zarr.json").write_text("")
        session.run(v.assign(3.0))
        with pytest.raises(StoreError, match=rf"recover\(version={one}\)"):
            session.seal()
        assert session.recover(version=one) == one
        assert session.run(v) == 1.0
    with tf.Session() as session, pytest.raises(FailedPreconditionError):
        session.recover(version=1)


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
        ["! a  chunks not there in the second: (1,)", "! a  2 of 4 elements differ, by at most 4"],
    )


def test_the_version_is_that_of_the_package(capsys):
    with pytest.raises(SystemExit) as left:
        main(["--version"])
    assert left.value.code == 0
    assert capsys.readouterr().out == f"daskvars {metadata.version('daskvars')}\n"


@pytest.mark.slow
@pytest.mark.cluster
def test_dashboard_finds_the_page_of_a_cluster(monkeypatch):
    with clusters.running(1, dashboard=True, set_as_default=True) as client:
        address = client.scheduler.address
        status, printed, error = shell("dashboard", address)
        assert (status, printed) == (2, "")
        assert "is on this cluster yet" in error
        with tf.Graph().as_default(), tf.Session() as session:
            v = tf.get_variable("layer/v", initializer=np.ones(3, "f4"))
            session.run(v.initializer)
            status, printed, _ = shell("dashboard", address)
            port = client.scheduler_info()["services"]["dashboard"]
            assert (status, printed) == (0, f"http://127.0.0.1:{port}/daskvars\n")
            monkeypatch.setenv("BROWSER", "true")
            assert shell("dashboard", "--open", printed.strip())[0] == 0
            status, printed, _ = shell("dashboard", "--json", address)
            (state,) = json.loads(printed)["states"]
            assert status == 0 and [v["name"] for v in state["variables"]] == ["layer/v"]
    with (
        clusters.running(1, processes=False, protocol="tcp://", set_as_default=True) as client,
        tf.Graph().as_default(),
        tf.Session() as session,
    ):
        session.run(tf.get_variable("v", initializer=1.0).initializer)
        status, _, error = shell("dashboard", client.scheduler.address)
        assert (status, "it needs the package bokeh" in error) == (2, True)
