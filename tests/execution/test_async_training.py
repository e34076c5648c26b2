"""Four client processes train one network asynchronously; `benchmarks/clients.py` trains longer."""

import importlib
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.cluster
def test_four_clients_converge_on_digits_and_lose_no_step(cluster, name, monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    clients = importlib.import_module("clients")
    accuracy, steps = clients.trained(cluster.scheduler.address, name, 4, 80)
    assert steps == 4 * 80
    assert accuracy >= 0.95
