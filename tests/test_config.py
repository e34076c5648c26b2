"""The knobs: defaults, changes for good and for a while, and mistakes."""

from __future__ import annotations

import threading

import pytest

from daskvars import config


@pytest.fixture(autouse=True)
def restored():
    before = config.get()
    yield
    config.set(**{name: getattr(before, name) for name in config.KNOBS})


def test_defaults():
    knobs = config.Config()
    assert knobs.batch_parts is None and knobs.num_threads is None and knobs.scratch is None
    assert knobs.chunk_bytes == 512 * 2**20 and knobs.inline_constant_bytes == 64 * 2**10
    assert (knobs.tile_elements, knobs.tile_min_elements) == (262144, 131072)
    assert (knobs.eager_limit, knobs.plan_cache_size, knobs.retrace_warning) == (2000, 256, 8)
    assert (knobs.seal_every_s, knobs.max_in_flight) == (10.0, 16)
    assert (knobs.feed_scatter_bytes, knobs.graph_growth_warning) == (2**20, 5000)
    assert knobs.keep_freed_memory is True and knobs.batch_parts_min_flops == 1e9
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
        ({"chunk_bytes": "128MiB"}, TypeError, "chunk_bytes must be int, found '128MiB'"),
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


def test_sealing_each_run_is_a_period_of_nothing():
    with config.set(seal_every_s=0):
        assert config.get().seal_every_s == 0


def test_thread_count():
    assert config.thread_count() >= 1
    with config.set(num_threads=3):
        assert config.thread_count() == 3
