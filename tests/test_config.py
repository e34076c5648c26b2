"""The knobs: defaults, changes for good and for a while, and mistakes."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
import threading

import dask
import pytest

from daskvars import config
from daskvars.config import settings
from daskvars.config.defaults import KNOBS


@pytest.fixture(autouse=True)
def restored(monkeypatch):
    monkeypatch.setattr(settings, "_state", settings._State({}, None, config.Config()))
    with dask.config.set({"daskvars": {}}):
        yield


def test_defaults():
    knobs = config.Config()
    assert knobs.batch_parts is None and knobs.num_threads is None and knobs.scratch is None
    assert knobs.chunk_bytes == 512 * 2**20 and knobs.inline_constant_bytes == 64 * 2**10
    assert (knobs.tile_elements, knobs.tile_min_elements) == (262144, 131072)
    assert (knobs.eager_limit, knobs.plan_cache_size, knobs.retrace_warning) == (2000, 256, 8)
    assert (knobs.seal_every_s, knobs.max_in_flight) == (10.0, 16)
    assert (knobs.feed_scatter_bytes, knobs.graph_growth_warning) == (2**20, 5000)
    assert knobs.keep_freed_memory is True and knobs.batch_parts_min_flops == 5e8
    assert (knobs.recovery_attempts, knobs.recovery_first_pause_s) == (12, 0.1)
    assert knobs.recovery_longest_pause_s == 30.0


def test_plain_call_stays_and_every_thread_sees_it():
    config.set(max_in_flight=3, scratch="somewhere")
    seen = []
    thread = threading.Thread(target=lambda: seen.append(config.get().max_in_flight))
    thread.start()
    thread.join()
    assert seen == [3] and config.get().scratch == "somewhere"


def test_context_puts_back_only_what_it_set():
    with config.set(batch_parts=4) as knobs:
        assert knobs is config.get() and knobs.batch_parts == 4
        config.set(eager_limit=7)
        with config.set(batch_parts=None):
            assert config.get().batch_parts is None
        assert config.get().batch_parts == 4
    assert config.get().batch_parts is None and config.get().eager_limit == 7


def test_context_puts_back_after_an_error():
    with pytest.raises(ZeroDivisionError), config.set(batch_parts=4):
        _ = 1 / 0
    assert config.get().batch_parts is None


def test_configuration_is_immutable():
    with pytest.raises(AttributeError):
        config.get().batch_parts = 3


@pytest.mark.parametrize(
    ("overrides", "error", "match"),
    [
        ({"chunk_byte": 1}, TypeError, "'chunk_byte'.*did you mean 'chunk_bytes'"),
        ({"zzz": 1}, TypeError, "no config knob 'zzz'"),
        (
            {"chunk_bytes": "128MoB"},
            TypeError,
            "int or a text such as '64 MiB', found '128Mo",
        ),
        ({"chunk_bytes": ""}, TypeError, "chunk_bytes must be int or a text such as .* found ''"),
        ({"chunk_bytes": "-1 MiB"}, ValueError, "chunk_bytes must be positive, found -1048576"),
        (
            {"seal_every_s": "soon"},
            TypeError,
            "or int or a text such as '10 s', found 'soon'",
        ),
        ({"seal_every_s": float("nan")}, ValueError, "seal_every_s must be positive, found nan"),
        ({"chunk_bytes": None}, TypeError, "chunk_bytes must be int"),
        ({"num_threads": True}, TypeError, "num_threads must be int or None"),
        ({"keep_freed_memory": 1}, TypeError, "keep_freed_memory must be bool"),
        ({"scratch": 3}, TypeError, "scratch must be str or None"),
        ({"seal_every_s": -1}, ValueError, "seal_every_s must be positive"),
        ({"max_in_flight": 0}, ValueError, "max_in_flight must be positive"),
    ],
)
def test_mistakes_change_nothing(overrides, error, match):
    before = config.get()
    with pytest.raises(error, match=match):
        config.set(eager_limit=5, **overrides)
    assert config.get() is before


def test_a_whole_number_serves_as_a_float():
    with config.set(seal_every_s=3):
        assert config.get().seal_every_s == 3


def test_bytes_and_seconds_are_written_as_dask_writes_them():
    with config.set(chunk_bytes="128 MiB", seal_every_s="5 minutes") as found:
        assert (found.chunk_bytes, found.seal_every_s) == (128 * 2**20, 300)
    with dask.config.set({"daskvars.feed-scatter-bytes": "1kB"}):
        assert config.get().feed_scatter_bytes == 1000


def test_sealing_each_run_is_a_period_of_nothing():
    with config.set(seal_every_s=0):
        assert config.get().seal_every_s == 0


def test_thread_count():
    assert config.thread_count() >= 1
    with config.set(num_threads=3):
        assert config.thread_count() == 3


# -- Dask's configuration --------------------------------------------------------------------------


def test_dask_says_what_the_program_does_not():
    with dask.config.set({"daskvars.batch-parts": 4, "daskvars.seal_every_s": 60}):
        assert config.get().batch_parts == 4 and config.get().seal_every_s == 60
        with config.set(batch_parts=2):
            assert config.get().batch_parts == 2 and config.get().seal_every_s == 60
            with dask.config.set({"daskvars.batch-parts": 8, "daskvars.eager-limit": 9}):
                assert config.get().batch_parts == 2 and config.get().eager_limit == 9
        assert config.get().batch_parts == 4 and config.get().eager_limit == 2000
    assert config.get() == config.Config()


def test_what_the_program_sets_for_good_stays():
    config.set(batch_parts=None)
    with dask.config.set({"daskvars.batch-parts": 4}):
        assert config.get().batch_parts is None


@pytest.mark.parametrize(
    ("knobs", "error", "match"),
    [
        ({"batch-part": 1}, TypeError, "'batch_part'.*mean 'batch_parts'.*Dask's configuration"),
        ({"chunk-bytes": "1 apple"}, TypeError, "chunk_bytes must be int.*Dask's configuration"),
        ({"max-in-flight": 0}, ValueError, "max_in_flight must be positive.*Dask's configuration"),
        (3, TypeError, "must hold knobs, found 3"),
    ],
)
def test_mistakes_in_dasks_configuration_are_told(knobs, error, match):
    with dask.config.set({"daskvars": knobs}), pytest.raises(error, match=match):
        config.get()
    assert config.get() == config.Config()


@pytest.mark.slow
def test_files_and_the_environment(tmp_path):
    (tmp_path / "daskvars.yaml").write_text("daskvars:\n  batch-parts: 3\n  num-threads: 2\n")
    environment = {
        **os.environ,
        "DASK_CONFIG": str(tmp_path),
        "DASK_DASKVARS__BATCH_PARTS": "5",
        "DASK_DASKVARS__SCRATCH": "somewhere",
    }
    program = (
        "from daskvars import config as c; k = c.get(); "
        "print(k.batch_parts, k.num_threads, k.scratch, c.thread_count())"
    )
    found = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert found.stdout.split() == ["5", "2", "somewhere", "2"]


def test_every_knob_is_explained():
    text = inspect.getdoc(config.Config)
    explained = re.findall(r"^    ([a-z_]+): \S", text.split("Raises:")[0], re.MULTILINE)
    assert explained == list(KNOBS)
