"""Python functions that runs call on workers are programs of the workers' own."""

from __future__ import annotations

import pytest

import daskvars as dv
import daskvars.v1 as tf
from tests.clusters import running

pytestmark = pytest.mark.cluster


def doubled(value):
    """Return twice a value, by eager code with a variable and a session of its own."""
    total = dv.Variable(value)
    found = total.assign_add(value).numpy()
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(tf.identity(found))


def test_what_they_run_in_the_process_of_the_program_waits_for_none_of_its_runs():
    with running(1, processes=False, protocol="tcp://") as client, client.as_current():
        v = dv.Variable([1.0, 2.0])

        @dv.function
        def step(x):
            arrays = dv.numpy_function(doubled, [v * x], dv.float32)
            return arrays + dv.py_function(lambda t: doubled(t.numpy()), [v + x], dv.float32)

        assert step(dv.constant([3.0, 4.0])).numpy().tolist() == [14.0, 28.0]
        found = dv.numpy_function(doubled, [v.assign_add([1.0, 1.0])], dv.float32)
        assert found.numpy().tolist() == [4.0, 6.0] and v.numpy().tolist() == [2.0, 3.0]
