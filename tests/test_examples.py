"""The examples and the README's program, run as a user runs them: in processes of their own."""

import doctest
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import zarr

from daskvars import cli

pytestmark = pytest.mark.slow

pytest.importorskip("sklearn")

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"
KEYS = [
    f"{layer}/{part}"
    for layer in ("features/conv1", "features/conv2", "classifier/hidden", "classifier/output")
    for part in ("weights", "biases")
]
SLOTS = {f"{key}%2F{slot}" for key in KEYS for slot in ("Adam", "Adam_1")}

# Trains, or else restores, and writes the scores that the network then gives for test images.
SCORE = """
import sys
import digits, numpy, train_digits
import daskvars as dv

output, program, *arguments = sys.argv[1:]
__import__(program).main(arguments)
_, (images, _) = digits.load()
numpy.savez(output, scores=dv.function(train_digits.logits)(images).numpy(),
            digits=train_digits.predict(images).numpy())
"""


def run(*arguments, seconds=110):
    """Run Python in a fresh process and return what it prints."""
    command = [sys.executable, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, cwd=EXAMPLES)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def accuracies(output):
    return [float(number) for number in re.findall(r"held-out accuracy ([\d.]+)", output)]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """The full training run: its store, what it printed, and scores for the images held out."""
    folder = tmp_path_factory.mktemp("digits")
    store, scores = folder / "digits.zarr", folder / "scores.npz"
    printed = run("-c", SCORE, scores, "train_digits", "--store", store)
    return store, printed, np.load(scores)


def test_training_reaches_97_percent_and_shows_progress(trained):
    _, printed, _ = trained
    found = accuracies(printed)
    assert len(found) == 12
    assert found[-1] >= 0.97


def test_plain_zarr_shows_every_variable_under_its_key(trained):
    store, _, _ = trained
    group = zarr.open_group(store, mode="r")
    arrays = {
        name: node for name, node in group.members(max_depth=None) if isinstance(node, zarr.Array)
    }
    assert set(arrays) == {*KEYS, *SLOTS, "beta1_power", "beta2_power"}
    assert group["features/conv1/weights"].shape == (3, 3, 1, 16)
    for key in KEYS:
        assert np.isfinite(group[key][:]).all()
        assert np.any(group[key][:])


def test_a_fresh_process_predicts_the_same_bits(trained, tmp_path):
    store, printed, expected = trained
    output = run("-c", SCORE, tmp_path / "again.npz", "predict_digits", store)
    found = np.load(tmp_path / "again.npz")
    assert found["scores"].tobytes() == expected["scores"].tobytes()
    assert found["digits"].tolist() == expected["digits"].tolist()
    assert f"accuracy {accuracies(printed)[-1]:.4f}" in output


def test_prediction_needs_the_store_to_be_there(tmp_path):
    command = [sys.executable, EXAMPLES / "predict_digits.py", tmp_path / "nothing.zarr"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode != 0
    assert "nothing.zarr" in done.stderr


def test_the_v1_program_trains_and_saves(tmp_path):
    store = tmp_path / "v1.zarr"
    printed = run("train_digits_v1.py", "--store", store)
    assert accuracies(printed)[-1] >= 0.97
    group = zarr.open_group(store, mode="r")
    step = group["global_step"][()]
    assert step == 12 * (1437 // 64)
    for key in KEYS:
        assert key in group


def test_inspect_lists_the_store(trained):
    store, _, _ = trained
    printed = run("-m", "daskvars", "inspect", store)
    assert re.search(r"features/conv1/weights +float32 +\[3, 3, 1, 16\] +576\n", printed)
    assert "26 variables" in printed
    values = run("-m", "daskvars", "inspect", store, "--values", "classifier/output/biases")
    numbers = [float(n) for n in values.strip("[]\n ").split()]
    saved = zarr.open_group(store, mode="r")["classifier/output/biases"][:]
    np.testing.assert_allclose(numbers, saved, rtol=1e-4)  # five digits are printed


def test_inspect_says_what_is_missing(trained, capsys):
    store, _, _ = trained
    assert cli.main(["inspect", str(store), "--values", "features/conv1/weight"]) == 2
    assert "did you mean 'features/conv1/weights'" in capsys.readouterr().err
    assert cli.main(["inspect", str(store / "nothing")]) == 2
    assert "nothing" in capsys.readouterr().err


def contents(store):
    """Every array of a store as bytes."""
    members = zarr.open_group(store, mode="r").members(max_depth=None)
    return {name: node[...].tobytes() for name, node in members if isinstance(node, zarr.Array)}


@pytest.fixture(scope="module")
def one_epoch(tmp_path_factory):
    """Every variable after one epoch in one process."""
    store = tmp_path_factory.mktemp("here") / "digits.zarr"
    run("train_digits.py", "--epochs", 1, "--store", store)
    return contents(store)


@pytest.mark.cluster
@pytest.mark.parametrize("workers", [1, 2])
def test_on_a_cluster_the_variables_are_the_same_bits(one_epoch, workers, tmp_path):
    store = tmp_path / "digits.zarr"
    run("train_digits.py", "--epochs", 1, "--store", store, "--cluster", workers)
    assert len(one_epoch) == 26
    assert contents(store) == one_epoch


BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

# Runs blocks in one namespace, so that lines of errors are those of the README.
RUN_BLOCKS = """
import contextlib, io, json, sys
printed, namespace = [], {"__name__": "readme"}
for line, code in json.load(open(sys.argv[1])):
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile("\\n" * line + code, "README.md", "exec"), namespace)
    printed.append(output.getvalue())
json.dump(printed, open(sys.argv[2], "w"))
"""


@pytest.mark.cluster
def test_the_readme_does_what_it_says(tmp_path):
    text = (ROOT / "README.md").read_text()
    blocks = [(text[: m.start()].count("\n") + 1, m[1], m[2]) for m in BLOCK.finditer(text)]
    assert {kind for _, kind, _ in blocks} == {"python", "text"}
    programs = [(line, code) for line, kind, code in blocks if kind == "python"]
    (tmp_path / "blocks.json").write_text(json.dumps(programs))
    command = [sys.executable, "-c", RUN_BLOCKS, "blocks.json", "printed.json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=110, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    printed = iter(json.loads((tmp_path / "printed.json").read_text()))
    for number, (line, kind, _) in enumerate(blocks):
        if kind == "python":
            after = blocks[number + 1] if number + 1 < len(blocks) else (0, "", "")
            expected = after[2] if after[1] == "text" else ""
            found = next(printed).rstrip() + "\n" * bool(expected)
            if not doctest.OutputChecker().check_output(expected, found, doctest.ELLIPSIS):
                assert found == expected, f"README.md, line {line}"


def test_a_table_over_workers_is_trained_saved_and_restored():
    printed = run("train_embedding.py", "--rows", 3000, "--batch", 256, "--steps", 4)
    assert re.search(r"loss 0\.69\d\d \.\.\. 0\.69", printed)
    moved = re.search(r"a step: \d+ ms, ([\d.]+) (B|kiB) moved", printed)
    nbytes = float(moved[1]) * (1024 if moved[2] == "kiB" else 1)
    assert 0 < nbytes < 2 * 256 * (16 * 4 + 100)
    assert "its share of the variables 187.50 kiB" in printed and "restored in" in printed
