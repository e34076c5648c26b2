"""A first step in eager code initializes what it updates: there are no rows to read beforehand."""

import numpy as np
import pytest

import daskvars as dv
from daskvars import config

OPTIMIZERS = {
    "momentum": lambda: dv.train.MomentumOptimizer(0.5, 0.9),
    "adagrad": lambda: dv.train.AdagradOptimizer(0.5),
    "adam": lambda: dv.train.AdamOptimizer(0.5),
    "rmsprop": lambda: dv.train.RMSPropOptimizer(0.5, momentum=0.5, centered=True),
    "adadelta": lambda: dv.train.AdadeltaOptimizer(0.5),
}


def trained(name, chunks):
    dv.reset()
    start = np.random.default_rng(0).normal(size=(11, 2)).astype("f")
    table, optimizer = dv.Variable(start, name="t", chunks=chunks), OPTIMIZERS[name]()
    for ids in ([[3, 10, 3], [0, 7, 10]], [[1, 2, 3], [4, 4, 4]]):
        with dv.GradientTape() as tape:
            loss = dv.reduce_sum(dv.square(dv.nn.embedding_lookup(table, ids) - 0.3))
        optimizer.apply_gradients([(tape.gradient(loss, table), table)])
    return [variable.numpy() for variable in (table, *optimizer.variables())]


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_cut_table_is_trained_as_a_whole_one(name):
    wanted = trained(name, None)
    for chunks in [(4, 2), (11, 1)]:
        for parts in (1, 2):
            with config.set(batch_parts=parts):
                for whole, cut in zip(wanted, trained(name, chunks), strict=True):
                    np.testing.assert_allclose(whole, cut, rtol=1e-6)
