"""Devices without a cluster: obeyed, or refused when a plan is made."""

import logging

import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf
from daskvars import backend
from daskvars.errors import InvalidArgumentError
from daskvars.execution.local import devices
from tests import fake_cupy


@pytest.fixture(autouse=True)
def graph(monkeypatch):
    monkeypatch.setattr(backend, "GPU_AVAILABLE", False)
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.fixture
def pinned():
    """A variable, what reads it and what updates it, on a GPU."""
    with tf.device("/job:worker/gpu:0"), tf.name_scope("tower"):
        v = tf.Variable([1.0, 2.0], name="v")
        y = tf.exp(v, name="y")
    return v, y


@pytest.mark.parametrize("fetch", [lambda v, y: y, lambda v, y: v.initializer])
def test_an_op_on_a_gpu_that_is_not_there_is_refused(pinned, fetch):
    with tf.Session() as session, pytest.raises(InvalidArgumentError) as error:
        session.run(fetch(*pinned))
    for text in (
        "Cannot assign a device for operation 'tower/",
        "(scope 'tower",
        "/job:worker/device:GPU:0",
        "available devices are [ /job:localhost/replica:0/task:0/device:CPU:0 ]",
        "Make sure the device specification refers to a valid device",
        "allow_soft_placement=True",
        "config.soft_placement",
    ):
        assert text in str(error.value)
    assert error.value.op.name.startswith("tower/")


def test_soft_placement_says_what_it_does_once(pinned, caplog):
    v, y = pinned
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
        session.run(v.initializer)
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            session.run(y)
            session.run(y)
    (told,) = caplog.records  # of the operations of one device together
    assert "asks for /job:worker/device:GPU:0, as do 2 others" in told.getMessage()
    with dv.config.set(soft_placement=True), tf.Session() as session:
        session.run(v.initializer)


def test_what_is_not_run_is_not_refused(pinned):
    _, y = pinned
    with tf.device("/job:ps/task:3/cpu:1"):  # this process is every task
        z = y + 1.0
    with tf.Session() as session:
        assert session.run(z, {y: [1.0, 2.0]}).tolist() == [2.0, 3.0]


def test_a_gpu_that_nothing_asks_for_is_pointed_out_once(monkeypatch, caplog):
    fake_cupy.install(backend, monkeypatch.setattr)
    devices._note_idle_gpu.cache_clear()
    caplog.set_level(logging.WARNING)
    with tf.Session() as session:
        with tf.device("/cpu:0"):
            session.run(tf.exp(2.0))
        assert not caplog.records
        session.run([tf.exp(2.0), tf.exp(3.0)])
        session.run(tf.exp(4.0))
    (told,) = caplog.records
    assert "runs on the CPU" in told.getMessage() and 'tf.device("/gpu:0")' in told.getMessage()


def test_a_gpu_that_is_there_is_not_refused(pinned, monkeypatch):
    fake_cupy.install(backend, monkeypatch.setattr)
    v, y = pinned
    with tf.Session() as session:
        session.run(v.initializer)
        fake_cupy.transfers.clear()
        np.testing.assert_allclose(session.run(y), np.exp([1.0, 2.0]), rtol=1e-6)
        assert fake_cupy.transfers == [("to host", 8)]  # the variable was on the GPU
