"""Layers whose variables are cut, by rows or columns, train as whole ones do."""

import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf

X = np.random.default_rng(0).normal(size=(12, 8)).astype("f")


def trained(chunks, optimizer):
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 8])
        w1 = tf.get_variable(
            "w1", [8, 6], chunks=chunks, initializer=tf.random_normal_initializer(seed=1)
        )
        w2 = tf.get_variable(
            "w2",
            [6, 2],
            chunks=chunks and (chunks[1], 2),
            initializer=tf.random_normal_initializer(seed=2),
        )
        loss = tf.reduce_mean(tf.square(tf.matmul(tf.tanh(tf.matmul(x, w1)), w2) - x[:, :2]))
        step = optimizer().minimize(loss)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for shift in range(4):
                session.run(step, {x: np.roll(X, shift, axis=0)})
            layouts = {v.op.name: v.chunks for v in tf.global_variables() if v.shape == [8, 6]}
            return session.run(tf.global_variables()), layouts


@pytest.mark.parametrize("chunks", [(4, 6), (8, 3), (4, 3), (3, 4)])
@pytest.mark.parametrize(
    "optimizer", [lambda: tf.train.AdamOptimizer(0.1), lambda: tf.train.MomentumOptimizer(0.1, 0.9)]
)
def test_a_cut_dense_layer_trains_as_a_whole_one(chunks, optimizer):
    (whole, _), (cut, layouts) = trained(None, optimizer), trained(chunks, optimizer)
    for one, other in zip(whole, cut, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)
    assert len(layouts) > 1 and len(set(layouts.values())) == 1  # slots lie as their variable


def test_a_table_in_one_chunk_deals_no_ids_out():
    table = dv.layers.Embedding(5, 2, chunks=(5, 2), partition_strategy="mod")
    np.testing.assert_array_equal(table(np.arange(5)).numpy(), table.embeddings.numpy())


def test_neighbouring_ids_are_dealt_out_to_the_chunks():
    rows, parts = 1003, 4
    table = dv.layers.Embedding(rows, 2, chunks=(-(-rows // parts), 2), partition_strategy="mod")
    ids = np.arange(rows)
    found = table(ids).numpy()
    stored = table.embeddings.numpy()
    assert len(np.unique(found, axis=0)) == rows
    np.testing.assert_array_equal(np.sort(found, axis=0), np.sort(stored, axis=0))
    frequent = np.unique(np.random.default_rng(0).zipf(1.2, 2000) % rows)
    place = {tuple(row): number for number, row in enumerate(stored)}
    owners = [place[tuple(found[i])] // -(-rows // parts) for i in frequent]
    assert np.bincount(owners).max() <= 1.3 * np.bincount(owners).mean()
    with pytest.raises(ValueError, match="partition strategy"):
        dv.layers.Embedding(4, 2, partition_strategy="hash")
