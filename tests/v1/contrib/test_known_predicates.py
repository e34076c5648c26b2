"""Branches by predicates that may be known, as those of TensorFlow 1.15."""

from __future__ import annotations

import numpy as np
import pytest

import daskvars.v1 as tf

smart_cond = tf.contrib.framework.smart_cond


@pytest.mark.parametrize("pred", [True, 1, False, 0])
def test_of_a_known_predicate_one_branch_is_built(graph, pred):
    def never():
        raise AssertionError("it was built")

    branches = (lambda: "built", never) if pred else (never, lambda: "built")
    assert smart_cond(pred, *branches) == "built"
    assert smart_cond(tf.constant(bool(pred)), *branches) == "built"


def test_a_run_decides_by_a_predicate_that_is_fed(graph):
    pred = tf.placeholder(tf.bool, [])
    x = smart_cond(pred, lambda: tf.constant(1.0), lambda: tf.constant(2.0), name="choice")
    with tf.Session() as session:
        assert np.array_equal([session.run(x, {pred: p}) for p in (True, False)], [1.0, 2.0])
    assert tf.contrib.framework.smart_constant_value(pred) is None


def test_what_is_no_predicate_or_no_function_is_refused(graph):
    with pytest.raises(TypeError, match="Python bool, or 1 or 0"):
        smart_cond("yes", lambda: 1, lambda: 2)
    with pytest.raises(TypeError, match="Python bool, or 1 or 0"):
        smart_cond(2, lambda: 1, lambda: 2)
    with pytest.raises(TypeError, match=r"`true_fn` must be callable\."):
        smart_cond(True, None, lambda: 2)
    with pytest.raises(TypeError, match=r"`false_fn` must be callable\."):
        smart_cond(True, lambda: 1)
