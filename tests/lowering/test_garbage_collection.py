"""Garbage is not collected while a plan is made, and is again afterwards."""

import functools
import gc

import pytest

import daskvars.v1 as tf
from daskvars import lowering
from daskvars.surface.loading import paused_collector


def test_it_is_paused_while_a_plan_is_made(graph, monkeypatch):
    seen, prune = [], lowering.prune

    @functools.wraps(prune)
    def looked_at(*arguments):
        seen.append(gc.isenabled())
        return prune(*arguments)

    monkeypatch.setattr(lowering, "prune", looked_at)
    with tf.Session() as session:
        session.run(tf.constant(1.0) + 1.0)
    assert seen == [False]
    assert gc.isenabled()


def test_it_goes_on_after_an_error_and_stays_off_where_it_was():
    with pytest.raises(ValueError), paused_collector():
        raise ValueError
    assert gc.isenabled()
    gc.disable()
    try:
        with paused_collector():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
