"""Client, scheduler and workers are killed at once: the store opens at a version of a moment ago.

`benchmarks/total_loss.py` has the program and does more of this.
"""

import importlib
from pathlib import Path

import pytest

pytestmark = pytest.mark.cluster

BENCHMARKS = Path(__file__).parents[4] / "benchmarks"


@pytest.fixture(scope="module")
def benchmark():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        yield importlib.import_module("total_loss")


def test_the_store_opens_after_the_loss_of_everything(benchmark, tmp_path):
    found = benchmark.trial(7, benchmark.Undisturbed(), str(tmp_path))
    assert "the store opens at step" in found


def test_the_checker_notices(benchmark, tmp_path):
    undisturbed = benchmark.Undisturbed()
    place = str(tmp_path / "store.zarr")
    with benchmark.config.set(seal_every_s=1e9):
        benchmark.train(place, 3, lambda *_: None)
    assert undisturbed.step_of(place) == 3
    undisturbed.values[3]["walk"] = b""
    with pytest.raises(ValueError, match=r"differs in .*walk"):
        undisturbed.step_of(place)
