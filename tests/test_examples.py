"""The examples, run as a user runs them: in processes of their own."""

import ast
import getpass
import importlib
import importlib.util
import json
import os
import re
import shutil
import socket
import subprocess
import sys
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest
import zarr

import daskvars as dv
from daskvars.__main__ import main
from tests import clusters, fresh
from tests.waiting import wait_until

# It is imported by the programs: to import it here takes longer than to look for it.
HAS_SKLEARN = importlib.util.find_spec("sklearn") is not None
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not HAS_SKLEARN, reason="the digits are scikit-learn's"),
]

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


@pytest.fixture(autouse=True, scope="module")
def programs_fork_their_workers():
    """A program imports its file once for all of its workers; those of the README, for each."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DASK_DISTRIBUTED__WORKER__MULTIPROCESSING_METHOD", "forkserver")
        yield


def python(*arguments):
    """Run Python in a process of its own, as ``python`` does; return what came of it."""
    return fresh.python(*arguments, here=EXAMPLES, after=(*fresh.PACKAGE, "sklearn.datasets"))


def run(*arguments):
    """Run Python in a process of its own and return what it prints."""
    done = python(*arguments)
    assert done.status == 0, done.printed + done.said
    return done.printed


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
    done = python("predict_digits.py", tmp_path / "nothing.zarr")
    assert done.status != 0
    assert "nothing.zarr" in done.said


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
    values = run("-m", "daskvars", "inspect", store, "--value", "classifier/output/biases")
    numbers = [float(n) for n in values.strip("[]\n ").split()]
    saved = zarr.open_group(store, mode="r")["classifier/output/biases"][:]
    np.testing.assert_allclose(numbers, saved, rtol=1e-4)  # five digits are printed


def test_inspect_says_what_is_missing(trained, capsys):
    store, _, _ = trained
    assert main(["inspect", str(store), "--value", "features/conv1/weight"]) == 2
    assert "did you mean 'features/conv1/weights'" in capsys.readouterr().err
    assert main(["inspect", str(store / "nothing")]) == 2
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


def test_a_table_over_workers_is_trained_saved_and_restored():
    printed = run("train_embedding.py", "--rows", 3000, "--batch", 256, "--steps", 4)
    assert re.search(r"loss 0\.69\d\d \.\.\. 0\.69", printed)
    moved = re.search(r"a step: \d+ ms, ([\d.]+) (B|kiB) moved", printed)
    nbytes = float(moved[1]) * (1024 if moved[2] == "kiB" else 1)
    assert 0 < nbytes < 2 * 256 * (16 * 4 + 100)
    assert "its share of the variables 187.50 kiB" in printed and "restored in" in printed


def test_training_goes_on_in_a_second_process(tmp_path):
    for _ in range(2):
        found = run("resume.py", "--steps", 10, "--store", tmp_path / "two.zarr")
    assert "restored step 10\nstep 20, " in found
    run("resume.py", "--steps", 20, "--store", tmp_path / "one.zarr")
    one, two = contents(tmp_path / "one.zarr"), contents(tmp_path / "two.zarr")
    assert len(one) == 9  # the step, two weights with two slots each, Adam's two powers
    assert one == two


def test_a_generator_learns_both_bells(monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES)
    gan = importlib.import_module("gan")
    samples = gan.main(["--steps", "800"])
    assert {variable.name.partition("/")[0] for variable in dv.trainable_variables()} >= {
        "generator",
        "discriminator",
    }
    assert np.mean(samples < -1) > 0.25 and np.mean(samples > 1) > 0.25


def test_frozen_layers_come_from_another_store():
    printed = run("transfer.py", "--epochs", 4)
    trained = re.findall(r"^trained: (.*)$", printed, re.M)
    assert trained[1].split() == ["new_head/output/kernel", "new_head/output/bias"]
    accuracy = float(re.search(r"held-out accuracy ([\d.]+)", printed)[1])
    assert accuracy > 0.6  # by chance 0.2


def test_a_transformer_reads_what_ships_with_python():
    printed = run("text_transformer.py", "--steps", 20, "--batch", 8)
    losses = [float(loss) for loss in re.findall(r"loss ([\d.]+)", printed)]
    assert losses[0] < 4.8 and losses[-1] < 3.6  # log(100) = 4.6
    assert "goes on:" in printed


@pytest.mark.cluster
def test_clients_share_what_they_find(tmp_path):
    store = tmp_path / "findings.zarr"
    printed = run("tune.py", "--trials", 5, "--steps", 5, "--store", store)
    trials = re.findall(r"^trial (\d+): rate ([\d.]+), accuracy ([\d.]+)$", printed, re.M)
    assert sorted(int(number) for number, _, _ in trials) == [1, 2, 3, 4, 5]
    best = max(trials, key=lambda found: float(found[2]))
    assert f"best: rate {best[1]}, accuracy {best[2]}" in printed
    assert "best  " in run("-m", "daskvars", "inspect", store)


@pytest.mark.cluster
def test_a_dask_array_is_factorized_where_it_is():
    arguments = ["--rows", 800, "--columns", 60, "--rank", 3, "--steps", 20]
    here = run("factorize.py", *arguments, "--workers", 0)
    there = run("factorize.py", *arguments, "--workers", 2)
    errors = [float(error) for error in re.findall(r"error ([\d.]+)", here)]
    assert errors == sorted(errors, reverse=True) and errors[-1] < 0.2
    assert re.findall(r"step.*", here) == re.findall(r"step.*", there)
    moved = int(re.search(r"of ([\d,]+) bytes", there)[1].replace(",", ""))
    assert moved < 800 * 60 * 4 / 10  # the matrix stays where it is


@pytest.mark.cluster
def test_workers_read_clicks_and_learn_from_them_and_go_on_from_a_checkpoint(tmp_path):
    arguments = ["--examples", 4096, "--rows", 2000, "--features", 12, "--batch", 256]

    def told(*more):
        return re.findall(r"epoch (\d).*foretold ([\d.]+)", run("recommend.py", *arguments, *more))

    here = told("--workers", 0, "--epochs", 2)
    assert [epoch for epoch, _ in here] == ["1", "2"] and float(here[-1][1]) > 0.9
    first, again = (told("--store", tmp_path, "--epochs", 1) for _ in range(2))
    there = [*first, *again]
    assert [epoch for epoch, _ in there] == ["1", "2"]
    for (_, one), (_, other) in zip(here, there, strict=True):
        assert abs(float(one) - float(other)) < 0.05


SSHD = shutil.which("sshd", path="/usr/sbin:/usr/bin:/usr/local/sbin")
SSHD_CONFIG = """
ListenAddress 127.0.0.1
Port {port}
HostKey {folder}/host
AuthorizedKeysFile {folder}/client.pub
PidFile {folder}/pid
StrictModes no
PasswordAuthentication no
SetEnv PYTHONPATH={root}
"""


@contextmanager
def ssh_server(folder):
    """Give the port of an SSH server here, which who has a key of this folder may use."""
    import asyncssh  # which takes long

    for name in ("host", "client"):
        key = asyncssh.generate_private_key("ssh-ed25519")
        key.write_private_key(folder / name)
        key.write_public_key(folder / f"{name}.pub")
        (folder / name).chmod(0o600)
    if os.geteuid() == 0:
        os.makedirs("/run/sshd", exist_ok=True)  # where it locks itself in
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    config = folder / "sshd_config"
    config.write_text(SSHD_CONFIG.format(port=port, folder=folder, root=ROOT))
    process = subprocess.Popen([SSHD, "-D", "-f", config], stderr=subprocess.DEVNULL)

    def answers():
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return True

    try:
        wait_until(answers, "the SSH server answers")
        yield port
    finally:
        process.terminate()
        process.wait(30)


@pytest.mark.cluster
@pytest.mark.skipif(SSHD is None, reason="there is no SSH server")
def test_one_program_on_a_cluster_over_ssh(tmp_path):
    with ssh_server(tmp_path) as port:
        settings = {
            "kind": "SSHCluster",
            "hosts": ["127.0.0.1"] * 3,
            "connect_options": {
                "port": port,
                "username": getpass.getuser(),
                "client_keys": [str(tmp_path / "client")],
                "known_hosts": None,
            },
            "worker_options": {"nthreads": 1, "host": "127.0.0.1"},
            "scheduler_options": {
                "host": "127.0.0.1",
                "port": 0,
                "dashboard_address": "127.0.0.1:0",
            },
            "remote_python": sys.executable,
        }
        (tmp_path / "cluster.json").write_text(json.dumps(settings))
        here = run("ssh_cluster.py", "--steps", 20)
        there = run("ssh_cluster.py", tmp_path / "cluster.json", "--steps", 20)
    assert re.match(r"[12] workers, dashboard http://127.0.0.1:", there)  # one may be on its way
    assert there.splitlines()[1:] == here.splitlines()


CLUSTERS = {
    "in processes": {"kind": "LocalCluster", "n_workers": 2, "host": "127.0.0.1"},
    "one that is there": {"kind": "Client"},
}


@pytest.mark.cluster
@pytest.mark.parametrize("settings", CLUSTERS.values(), ids=CLUSTERS)
def test_which_cluster_is_configuration(settings, tmp_path):
    with ExitStack() as stack:
        if settings["kind"] == "Client":
            cluster = stack.enter_context(clusters.local(1))
            settings = {**settings, "address": cluster.scheduler_address}
        else:
            settings = {**settings, "dashboard_address": "127.0.0.1:0"}
        (tmp_path / "cluster.json").write_text(json.dumps(settings))
        here = run("ssh_cluster.py", "--steps", 20)
        there = run("ssh_cluster.py", tmp_path / "cluster.json", "--steps", 20)
    assert "workers, dashboard" in there
    assert re.findall("loss.*", there) == re.findall("loss.*", here)


def test_an_unknown_kind_of_cluster_is_named(tmp_path):
    (tmp_path / "cluster.json").write_text('{"kind": "Cloud"}')
    done = python("ssh_cluster.py", tmp_path / "cluster.json")
    assert done.status != 0 and "found 'Cloud'" in done.said


@pytest.mark.cluster
def test_the_notebook_runs_to_its_end(tmp_path):
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    notebook = nbformat.read(EXAMPLES / "first_steps.ipynb", as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "clear the outputs"
    resources = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=100, resources=resources).execute()
    shown = [out for cell in notebook.cells for out in cell.get("outputs", [])]
    texts = [out.get("text") or out["data"]["text/plain"] for out in shown if "name" not in out]
    assert "/status" in texts[-2]
    runs, tasks, loss = ast.literal_eval(texts[-1])
    assert runs >= 100 and tasks >= runs and 0 < loss < 0.5
