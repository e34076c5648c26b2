"""Prints what state costs; asserts nothing about time."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from daskvars.state import Values, VariableRecord, restore, save
from tests.state.samples import variable

MIB = 1 << 20
SHARED_MEMORY = Path("/dev/shm")


@pytest.fixture
def fast_path(tmp_path) -> Path:
    """Give a directory in memory where there is one, so that the disk is not what is timed."""
    if not SHARED_MEMORY.is_dir():
        yield tmp_path
        return
    path = SHARED_MEMORY / f"daskvars-{os.getpid()}"
    path.mkdir()
    yield path
    shutil.rmtree(path)


def best_s(call: Callable[[], object], num_repeats: int = 5) -> float:
    """Give the shortest of several durations."""
    durations = []
    for _ in range(num_repeats):
        start = time.perf_counter()
        call()
        durations.append(time.perf_counter() - start)
    return min(durations)


def wanted(values: dict) -> dict:
    """Give what restores all values as they are."""
    return {key: (r.dtype, r.shape, r.chunks) for key, (r, _) in values.items()}


def test_a_thousand_small_variables(fast_path) -> None:
    keys = [f"layer{i // 10}/w{i % 10}" for i in range(1000)]
    values = {key: variable(key, np.zeros(100, np.float32)) for key in keys}
    asked = wanted(values)

    def fresh() -> None:
        shutil.rmtree(fast_path / "fresh", ignore_errors=True)
        save(values, fast_path / "fresh")

    save_ms = best_s(fresh) * 1e3
    again_ms = best_s(lambda: save(values, fast_path / "fresh")) * 1e3
    restore_ms = best_s(lambda: restore(fast_path / "fresh", asked)) * 1e3
    print(
        f"\n1,000 small variables: save {save_ms:.0f} ms, overwrite {again_ms:.0f} ms,"
        f" restore {restore_ms:.0f} ms (limits 400 and 150)"
    )


def test_a_large_variable_against_a_plain_file(fast_path) -> None:
    array = np.random.default_rng(0).random(256 * MIB // 8)
    values = {"w": variable("w", array, ((64 * MIB // 8,) * 4,))}
    asked, plain = wanted(values), fast_path / "plain"
    array.tofile(plain)

    def one_layer_down() -> None:
        restore(
            fast_path / "large",
            {"w": ("float64", array.shape, ((48 * MIB // 8,) * 5 + (16 * MIB // 8,),))},
        )

    save(values, fast_path / "large")
    figures = {
        "plain write": best_s(lambda: array.tofile(plain)),
        "save": best_s(lambda: save(values, fast_path / "large")),
        "plain read": best_s(lambda: np.fromfile(plain)),
        "restore": best_s(lambda: restore(fast_path / "large", asked)),
        "restore into another layout": best_s(one_layer_down),
    }
    print(
        "\n256 MiB:",
        ", ".join(f"{k} {array.nbytes / s / 1e9:.1f} GB/s" for k, s in figures.items()),
    )


def test_a_run_of_ten_variables() -> None:
    keys = [f"v{i}" for i in range(10)]
    records = {key: VariableRecord(key, "int64", (), ()) for key in keys}
    values = Values()
    values.commit({key: {(): np.array(0)} for key in keys}, 0, records)

    def runs() -> None:
        for _ in range(1000):
            version, blocks = values.read(keys)
            values.commit(dict(zip(keys, blocks, strict=True)), version)

    print(f"\nread and commit 10 values: {best_s(runs) * 1e3:.2f} us (limit 5)")
