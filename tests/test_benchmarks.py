"""The benchmarks run, print their limits and ratios, and compare programs that do the same work.

Nothing here looks at a time: the machine that runs the tests is busy with other things.
"""

from __future__ import annotations

import functools
import importlib
import re
from pathlib import Path

import dask.array
import numpy as np
import pytest

from daskvars import backend

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
SCRIPTS = (
    "adam_big",
    "char_lm",
    "checkpoint",
    "convnet",
    "counter",
    "data_parallel",
    "embedding",
    "graph_scale",
    "import_time",
    "input_pipeline",
    "mlp_small",
    "mlp_wide",
    "ordinary",
    "recommender",
    "scaling",
    "sharded",
    "tracing",
    "var_scale",
)
# What `sides` of a benchmark takes for a small version of the same program.
TRAINING = {
    "adam_big": lambda m: (m.QUICK_SIZE,),
    "char_lm": lambda m: (m.QUICK,),
    "convnet": lambda m: (m.QUICK,),
    "embedding": lambda m: m.QUICK_SIZES,
    "mlp_small": lambda m: (m.QUICK_UNITS,),
    "mlp_wide": lambda m: (m.QUICK_UNITS, m.QUICK_BATCH),
    "ordinary": lambda m: (m.QUICK,),
}
FIGURE = re.compile(r"^(\w+): .+, ratio [\d.]+ \(limit [\d.]+\) (ok|OVER)$", re.MULTILINE)


@pytest.fixture
def load(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module


@pytest.mark.slow
@pytest.mark.parametrize("name", SCRIPTS)
def test_a_benchmark_prints_its_limit_and_ratio(load, capsys, name):
    status = load(name).main(["--quick"])
    printed = capsys.readouterr().out
    figures = FIGURE.findall(printed)
    assert figures
    assert {script for script, _ in figures} == {name}
    assert status == any(verdict == "OVER" for _, verdict in figures)


@pytest.mark.slow
@pytest.mark.parametrize("name", TRAINING)
def test_the_program_and_the_hand_written_one_have_the_same_losses(load, name):
    module = load(name)
    sides = module.sides(*TRAINING[name](module))
    losses = {side: [step() for _ in range(6)] for side, step in sides.items()}
    assert len(set(losses["NumPy"])) > 1
    np.testing.assert_allclose(losses["daskvars"], losses["NumPy"], rtol=2e-5)


@pytest.mark.slow
@pytest.mark.usefixtures("eager")
def test_the_recommender_in_dask_array_has_the_losses_of_the_program(load, tmp_path):
    module, batch = load("recommender"), 64
    sizes = module.recommend.table_sizes(3_000)
    module.recommend.write_clicks(tmp_path / "clicks", 256, sizes)
    model = module.recommend.WideAndDeep(sizes, module.DIM, 1, module.UNITS)
    bags = zip(model.deep, model.wide, strict=True)
    tables = [np.hstack([each.embeddings.numpy() for each in pair]) for pair in bags]
    dense = [v.numpy() for layer in (*model.hidden, model.output) for v in layer.variables]
    hand = module.Handwritten(dask.array.from_array(np.concatenate(tables)), dense, 2)
    first_rows = np.cumsum([0, *map(len, tables[:-1])])
    losses = {"program": [], "by hand": []}
    for found, _ in zip(module.batches(str(tmp_path / "clicks"), batch), range(6), strict=False):
        losses["program"].append(float(model.step(found["values"], found["clicked"])[0]))
        losses["by hand"].append(hand.step(found["values"], found["clicked"], first_rows))
    assert losses["program"][-1] < losses["program"][0]
    np.testing.assert_allclose(losses["program"], losses["by hand"], rtol=1e-4)


@pytest.mark.slow
def test_two_processes_by_hand_have_the_losses_of_one(load):
    parallel, wide = load("data_parallel"), load("mlp_wide")
    one = wide.sides(wide.QUICK_UNITS, parallel.QUICK_BATCH)["NumPy"]
    with parallel.two_processes(wide.QUICK_UNITS, parallel.QUICK_BATCH) as two:
        np.testing.assert_allclose([two() for _ in range(4)], [one() for _ in range(4)], rtol=1e-5)


@pytest.mark.gpu
@pytest.mark.skipif(not backend.GPU_AVAILABLE, reason="needs a GPU and CuPy")
def test_the_programs_on_a_gpu_have_the_same_losses(load, capsys):
    gpu = load("gpu")
    steps = gpu.sides(gpu.QUICK_UNITS, gpu.QUICK_BATCH)
    losses = [[step() for _ in range(6)] for step in steps.values()]
    np.testing.assert_allclose(*losses, rtol=1e-4)
    gpu.main(["--quick"])
    assert FIGURE.findall(capsys.readouterr().out)


def test_the_counters_count(load):
    sides = load("counter").sides()
    for name, step in sides.items():
        counts = [float(step()) for _ in range(3)]
        assert counts == [1.0, 2.0, 3.0], name


def test_every_benchmark_has_a_line_in_the_readme():
    readme = (BENCHMARKS / "README.md").read_text()
    for script in BENCHMARKS.glob("*.py"):
        assert readme.count(f"`{script.name}`") == 1, script.name
    assert {script.stem for script in BENCHMARKS.glob("*.py")} >= set(SCRIPTS)


def test_a_figure_over_its_limit_is_reported(load, capsys):
    measure = load("measure")
    report = measure.Report("some")
    report.against_baseline({"daskvars": 2.0, "a": 4.0, "b": 1.5}, 1.2)
    assert report.status == 1
    assert capsys.readouterr().out == (
        "some: a 4 s/step\nsome: daskvars 2 s/step, b 1.5 s/step, ratio 1.33 (limit 1.20) OVER\n"
    )
    report = measure.Report("other")
    report.against_limit("run", 10e-6, 40e-6)
    report.linear("run per op", {10: 2e-6, 100: 1e-6, 1000: 1.1e-6}, 1.5)
    assert report.status == 0
    assert capsys.readouterr().out == (
        "other: run 10 us, limit 40 us, ratio 0.25 (limit 1.00) ok\n"
        "other: run per op at 10 2 us, at 1,000 1.1 us, ratio 0.55 (limit 1.50) ok\n"
    )


def test_a_case_without_a_figure_is_over_its_limit(load, capsys):
    report = load("measure").Report("some")
    report.against_count("tasks", 6, 6)
    assert report.status == 0
    report.fail("no step within 120 s")
    assert report.status == 1
    assert capsys.readouterr().out == (
        "some: tasks 6, limit 6, ratio 1.00 (limit 1.00) ok\nsome: no step within 120 s OVER\n"
    )


@pytest.mark.slow
def test_a_step_apart_gives_what_it_gives_and_raises_what_it_raises(load):
    with load("measure").Apart(functools.partial, divmod, 7) as step:
        assert step(2) == (3, 1)
        with pytest.raises(ZeroDivisionError):
            step(0)
        step.start(4)
        assert step.result(60.0) == (1, 3)
        with pytest.raises(TimeoutError, match=r"0\.01 s"):
            step.result(0.01)


@pytest.mark.cluster
@pytest.mark.slow
def test_tasks_and_bytes_are_counted_as_dask_sees_them(load, tmp_path):
    clusters = load("clusters")
    with clusters.Cluster(str(tmp_path), 2, is_default=False) as cluster:
        cluster.count()
        here, there = cluster.client.scheduler_info()["workers"]

        def step():
            submit = cluster.client.submit
            array = submit(np.zeros, 500_000, workers=[here], pure=False)
            return submit(np.sum, array, workers=[there], pure=False).result()

        found = clusters.load(cluster, step, 3)
    assert found.tasks == 2
    assert 4_000_000 < found.moved < 4_100_000


@pytest.mark.slow
def test_sides_take_turns(load):
    measure = load("measure")
    turns: list[str] = []
    sides = {name: measure.Side(lambda name=name: turns.append(name)) for name in "ab"}
    times = measure.interleaved(sides, rounds=2, steps=1)
    assert turns == ["a", "a", "b", "b", "a", "a", "b", "b"]
    assert set(times) == {"a", "b"}
    assert all(value >= 0 for value in times.values())
