"""Regularizers: values, names and the collection of losses."""

import pytest

from daskvars.execution.session import Session
from daskvars.graph.scopes.collections import GraphKeys
from daskvars.ops.array.constant import constant
from daskvars.variables.regularizers import (
    apply_regularization,
    l1_l2_regularizer,
    l1_regularizer,
    l2_regularizer,
    sum_regularizer,
)

WEIGHTS = [1.0, -3.0]


@pytest.mark.parametrize(
    ("regularizer", "loss"),
    [
        (l1_regularizer(0.5), 2.0),
        (l2_regularizer(0.5), 2.5),
        (l1_l2_regularizer(0.5, 0.5), 4.5),
        (l1_l2_regularizer(0.5, 0.0), 2.0),
        (sum_regularizer([l1_regularizer(1.0), None, l1_regularizer(0.5)]), 6.0),
    ],
)
def test_losses(graph, regularizer, loss):
    value = regularizer(constant(WEIGHTS))
    assert value.shape == []
    with Session(graph=graph) as session:
        assert session.run(value) == pytest.approx(loss)


def test_no_loss():
    assert l1_regularizer(0.0)([1.0]) is None and l2_regularizer(0.0)([1.0]) is None
    assert sum_regularizer([]) is None and sum_regularizer([None]) is None


@pytest.mark.parametrize("make", [l1_regularizer, l2_regularizer])
def test_bad_scales(make):
    with pytest.raises(ValueError, match="cannot be an integer"):
        make(1)
    with pytest.raises(ValueError, match="less than 0"):
        make(-1.0)


def test_names(graph):
    assert l2_regularizer(0.1)(constant(WEIGHTS)).op.name.startswith("l2_regularizer/")
    assert l1_regularizer(0.1, "mine")(constant(WEIGHTS)).op.name.startswith("mine/")


def test_apply_regularization(graph):
    weights = constant(WEIGHTS)
    graph.add_to_collection(GraphKeys.WEIGHTS, weights)
    total = apply_regularization(l1_regularizer(1.0))
    both = apply_regularization(l1_regularizer(1.0), [weights, weights])
    none = apply_regularization(l1_regularizer(0.0), [weights])
    assert graph.get_collection(GraphKeys.REGULARIZATION_LOSSES) == [total, both, none]
    with Session(graph=graph) as session:
        assert session.run([total, both, none]) == [4.0, 8.0, 0.0]
    with pytest.raises(ValueError, match="scalar Tensor"):
        apply_regularization(lambda w: w, [weights])
