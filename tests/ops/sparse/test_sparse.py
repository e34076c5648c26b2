"""Sparse tensors: results are TensorFlow's."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings, strategies as st

import daskvars as dv
import daskvars.v1 as tf
from daskvars import config
from daskvars.errors import InvalidArgumentError
from tests.ops.sparse import cases

EXPECTED = json.loads((Path(__file__).parent / "tensorflow.json").read_text())


def assert_alike(found, expected):
    if isinstance(expected, list):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_alike(one, other)
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, rel=1e-5, abs=1e-6)
    else:
        assert found == expected


@pytest.mark.parametrize("name", cases.CASES)
def test_results_are_those_of_tensorflow(name):
    assert_alike(cases.plain(cases.CASES.result(name, tf)), EXPECTED[name])


def test_every_case_has_a_result():
    assert cases.CASES.keys() == EXPECTED.keys()


# -- fed and fetched ---------------------------------------------------------------------------


def coordinates():
    return scipy.sparse.coo_array(([5.0, 7.0], ([1, 0], [0, 2])), shape=(2, 3), dtype=np.float32)


@pytest.mark.parametrize(
    "value",
    [
        tf.SparseTensorValue([[0, 2], [1, 0]], [7.0, 5.0], [2, 3]),
        ([[0, 2], [1, 0]], [7.0, 5.0], [2, 3]),
        coordinates(),
        coordinates().tocsr(),
    ],
    ids=["value", "triple", "coo", "csr"],
)
@pytest.mark.parametrize("shape", [None, [None, None], [2, 3]])
def test_what_is_fed_is_fetched(value, shape):
    with tf.Graph().as_default(), tf.Session() as session:
        sp = tf.sparse_placeholder(tf.float32, shape)
        found, dense = session.run([sp, tf.sparse.to_dense(sp)], {sp: value})
    assert isinstance(found, tf.SparseTensorValue)
    assert found.indices.tolist() == [[0, 2], [1, 0]] and found.indices.dtype == np.int64
    assert found.dense_shape.tolist() == [2, 3]
    np.testing.assert_array_equal(dense, [[0, 0, 7], [5, 0, 0]])


def test_names_of_placeholders_are_tensorflows():
    with tf.Graph().as_default():
        sp = tf.sparse_placeholder(tf.float32, name="x")
        names = [each.name for each in (sp.indices, sp.values, sp.dense_shape)]
    assert names == ["x/indices:0", "x/values:0", "x/shape:0"]


def test_reductions_of_a_sparse_tensor_of_unknown_rank(graph):
    sp = tf.sparse_placeholder(tf.float32)
    asked = {(): None, (3,): -1, (2, 1): [1, 1], (1, 3): 0}
    sums = [tf.sparse_reduce_sum(sp, axis, len(size) == 2) for size, axis in asked.items()]
    largest = tf.sparse.to_dense(tf.sparse_reduce_max_sparse(sp, 0))
    value = {sp: tf.SparseTensorValue([[0, 2], [1, 0], [1, 2]], [7.0, 5.0, 1.0], [2, 3])}
    with tf.Session() as session:
        found = session.run([*sums, largest], value)
        with pytest.raises(InvalidArgumentError):
            session.run(tf.sparse_reduce_sum(sp, 2), value)
    assert [each.tolist() for each in found] == [13, [7, 6], [[7], [6]], [[5, 0, 8]], [5, 0, 7]]


def test_what_is_fed_has_the_shape_that_was_promised():
    with tf.Graph().as_default(), tf.Session() as session:
        sp = tf.sparse_placeholder(tf.float32, [2, 2])
        with pytest.raises(ValueError, match=r"shape \(9, 9\).*\(2, 2\)"):
            session.run(sp, {sp: tf.SparseTensorValue([[0, 0]], [1.0], [9, 9])})
        with pytest.raises(TypeError, match="no sparse tensor"):
            session.run(sp, {sp: np.eye(2)})


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (([0, 1], [1.0, 2.0], [3]), "indices should have rank 2"),
        (([[0], [1]], [1.0], [3]), "Dimensions 2 and 1 are not compatible"),
        (([[0, 1]], [1.0], [3]), "Dimensions 2 and 1 are not compatible"),
    ],
)
def test_shapes_that_do_not_fit(arguments, problem):
    with pytest.raises(ValueError, match=problem):
        dv.SparseTensor(*arguments)


def test_nothing_is_not_joined():
    with pytest.raises(ValueError, match="at least one"):
        tf.sparse.concat(0, [])


def test_errors_of_runs_say_what_was_wrong():
    sp = dv.SparseTensor([[0, 1]], [1.0], [2, 2])
    with pytest.raises(ValueError, match=r"4 elements.*6 elements"):
        dv.sparse.reshape(sp, [2, 3]).indices.numpy()
    with pytest.raises(ValueError, match="Dimensions must be equal, but are 2 and 3"):
        dv.sparse.sparse_dense_matmul(sp, np.ones((3, 1), np.float32)).numpy()
    with pytest.raises(InvalidArgumentError, match="shapes do not match"):
        dv.sparse.add(sp, dv.SparseTensor([[0, 1]], [1.0], [2, 9])).values.numpy()
    with pytest.raises(TypeError, match="must be a SparseTensor"):
        dv.sparse.reorder([[1.0]])


# -- eager, and against dense tensors ----------------------------------------------------------


@pytest.mark.slow
@given(seed=st.integers(0, 10_000), rank=st.integers(1, 3))
@settings(max_examples=60)
def test_functions_agree_with_those_of_dense_tensors(seed, rank):
    rng = np.random.default_rng(seed)
    shape = rng.integers(1, 5, rank)
    a, b = (
        (rng.integers(-3, 4, shape) * (rng.random(shape) < 0.4)).astype(np.float32)
        for _ in range(2)
    )
    x, y = dv.sparse.from_dense(a), dv.sparse.from_dense(b)

    def dense(sp):
        return dv.sparse.to_dense(sp).numpy()

    axis = int(rng.integers(rank))
    order = rng.permutation(rank)
    start, size = rng.integers(0, shape), rng.integers(0, shape + 1)
    part = tuple(slice(i, i + n) for i, n in zip(start, size, strict=True))
    np.testing.assert_array_equal(dense(dv.sparse.add(x, y)), a + b)
    np.testing.assert_array_equal(dense(dv.sparse.maximum(x, y)), np.maximum(a, b))
    np.testing.assert_array_equal(dense(dv.sparse.minimum(x, y)), np.minimum(a, b))
    np.testing.assert_array_equal(dense(dv.sparse.transpose(x, order)), a.transpose(order))
    np.testing.assert_array_equal(dense(dv.sparse.slice(x, start, size)), a[part])
    np.testing.assert_array_equal(
        dense(dv.sparse.concat(axis, [x, y])), np.concatenate([a, b], axis)
    )
    np.testing.assert_array_equal(dense(dv.sparse.reshape(x, [-1])), a.ravel())
    np.testing.assert_allclose(dv.sparse.reduce_sum(x, axis).numpy(), a.sum(axis))
    pieces = dv.sparse.split(x, int(shape[axis]), axis)
    np.testing.assert_array_equal(np.concatenate([dense(p) for p in pieces], axis), a)


def test_gradients_reach_values():
    values = dv.Variable([1.0, 2.0, 3.0])
    with dv.GradientTape() as tape:
        sp = dv.SparseTensor([[0, 1], [1, 0], [1, 1]], values, [2, 2])
        product = dv.sparse.sparse_dense_matmul(dv.sparse.transpose(sp), [[1.0], [10.0]])
        loss = dv.reduce_sum(product * [[1.0], [100.0]])
    np.testing.assert_allclose(tape.gradient(loss, values).numpy(), [100.0, 10.0, 1000.0])


# -- tables ------------------------------------------------------------------------------------


@pytest.mark.parametrize("combiner", ["sum", "mean", "sqrtn"])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_a_table_in_chunks_learns_as_one_that_is_whole(combiner, is_weighted):
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 4, 12)
    places = np.array([(i, j) for i, n in enumerate(counts) for j in range(n)])
    ids = rng.integers(0, 20, len(places))
    weights = rng.random(len(places)).astype(np.float32) + 0.5
    start = rng.standard_normal((20, 3)).astype(np.float32)

    def trained(chunks, parts):
        with tf.Graph().as_default(), config.set(batch_parts=parts), tf.Session() as session:
            sp = tf.sparse_placeholder(tf.int64, [12, 4])
            given = tf.sparse_placeholder(tf.float32, [12, 4])
            table = tf.get_variable("t", initializer=start, chunks=chunks)
            found = tf.nn.embedding_lookup_sparse(
                table, sp, given if is_weighted else None, combiner=combiner
            )
            train = tf.train.AdagradOptimizer(0.1).minimize(tf.reduce_sum(found**2))
            session.run(tf.global_variables_initializer())
            fed = {
                sp: tf.SparseTensorValue(places, ids, [12, 4]),
                given: tf.SparseTensorValue(places, weights, [12, 4]),
            }
            for _ in range(3):
                session.run(train, fed)
            return session.run([table, found], fed)

    for one, other in zip(trained(None, 1), trained((5, 3), 3), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_the_gradient_of_a_table_is_of_rows():
    with tf.Graph().as_default():
        table = tf.get_variable("t", [10, 2])
        ids = tf.SparseTensor([[0, 0]], tf.constant([3], tf.int64), [1, 1])
        (found,) = tf.gradients(tf.nn.embedding_lookup_sparse(table, ids, None), table)
        assert isinstance(found, tf.IndexedSlices)


@pytest.mark.parametrize(
    ("rows", "chunks", "is_table"),
    [(10, None, False), (10, (10, 2), False), (10, (5, 2), True), (1 << 22, None, True)],
    ids=["a variable", "one chunk", "several chunks", "a large one"],
)
def test_a_product_with_a_table_is_of_its_rows(rows, chunks, is_table):
    with tf.Graph().as_default():
        matrix = tf.sparse_placeholder(tf.float32, [4, rows])
        weights = tf.get_variable("w", [rows, 2], chunks=chunks)
        (found,) = tf.gradients(tf.sparse_tensor_dense_matmul(matrix, weights), weights)
    assert isinstance(found, tf.IndexedSlices) is is_table


@pytest.mark.parametrize("chunks", [None, (7, 2)])
@pytest.mark.parametrize("parts", [1, 2, 3])
def test_a_network_on_a_graph_learns_the_same_in_parts(parts, chunks):
    rng = np.random.default_rng(0)
    edges = rng.integers(0, 12, (50, 2))
    features, start = rng.standard_normal((12, 14)), rng.standard_normal((14, 2))
    features[:, 5] = 0
    used = np.argwhere(features)

    def trained(parts, chunks):
        with tf.Graph().as_default(), config.set(batch_parts=parts), tf.Session() as session:
            graph, x = (tf.sparse_placeholder(tf.float64, [12, n]) for n in (12, 14))
            noise = tf.placeholder(tf.float64, [12, 2])
            w = tf.get_variable("w", initializer=start, chunks=chunks)
            v = tf.get_variable("v", initializer=start[:2])
            hidden = tf.nn.relu(tf.sparse_tensor_dense_matmul(x, w)) + noise
            hidden = tf.sparse_tensor_dense_matmul(graph, hidden)
            found = tf.sparse_tensor_dense_matmul(graph, tf.matmul(hidden, v), adjoint_a=True)
            train = tf.train.GradientDescentOptimizer(0.01).minimize(tf.reduce_mean(found**2))
            session.run(tf.global_variables_initializer())
            fed = {
                graph: tf.SparseTensorValue(edges, np.full(50, 0.3), [12, 12]),
                x: tf.SparseTensorValue(used, features[tuple(used.T)], [12, 14]),
                noise: np.ones((12, 2)),
            }
            for _ in range(3):
                session.run(train, fed)
            return session.run([w, v, found], fed)

    for one, other in zip(trained(1, None), trained(parts, chunks), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)


@pytest.mark.parametrize("strategy", ["div", "mod"])
def test_a_bag_gives_what_its_table_says(strategy):
    layer = dv.layers.EmbeddingBag(6, 2, "sum", chunks=(3, 2), partition_strategy=strategy)
    ids = dv.SparseTensor([[0, 0], [0, 1], [2, 0]], [5, 0, 3], [3, 2])
    found = layer(ids).numpy()
    single = dv.layers.Embedding(6, 2, chunks=(3, 2), partition_strategy=strategy)
    single(np.array([0]))
    single.embeddings.assign(layer.embeddings)
    rows = single(np.array([5, 0, 3])).numpy()
    np.testing.assert_allclose(found, [rows[0] + rows[1], [0, 0], rows[2]])


@pytest.mark.parametrize("combiner", ["sum", "mean", "sqrtn"])
@pytest.mark.parametrize("padding", [None, 0, 5])
def test_a_bag_of_dense_ids_gives_what_one_of_sparse_ids_does(combiner, padding):
    # Rows of one sign: a sum that cancels keeps fewer digits than the comparison asks for.
    rows = dv.random_uniform_initializer(0.05, 0.1)
    layer = dv.layers.EmbeddingBag(
        6, 2, combiner, padding, embeddings_initializer=rows, chunks=(3, 2)
    )
    ids = np.array([[5, 0, 3], [2, 2, 5], [5, 0, 0]])
    places = np.argwhere(ids != padding)
    sparse = dv.SparseTensor(places, ids[ids != padding], ids.shape)
    gradients = []
    for bags in (ids, sparse):
        with dv.GradientTape() as tape:
            found = layer(bags)
            loss = dv.reduce_sum(dv.square(found + 1.0))
        gradients.append(dv.convert_to_tensor(tape.gradient(loss, layer.embeddings)).numpy())
        gradients.append(found.numpy())
    np.testing.assert_allclose(gradients[0], gradients[2], rtol=1e-5)
    np.testing.assert_allclose(gradients[1], gradients[3], rtol=1e-5)


def test_there_are_three_combiners_and_padding_is_an_id():
    with pytest.raises(ValueError, match="mean, sqrtn, sum"):
        dv.layers.EmbeddingBag(3, 2, "max")
    with pytest.raises(ValueError, match="from 0 to 2, found 3"):
        dv.layers.EmbeddingBag(3, 2, padding_idx=3)
    with pytest.raises(ValueError, match=r"\[rows, columns\].*found shape"):
        dv.layers.EmbeddingBag(3, 2)([1, 2])


def test_edit_distances_have_the_larger_sizes():
    a = tf.SparseTensor([[0, 0, 0]], [1], [1, 3, 2])
    assert tf.edit_distance(a, tf.SparseTensor([[0, 0, 0]], [1], [2, 1, 4])).shape.as_list() == [
        2,
        3,
    ]


def test_a_shape_and_a_mask_may_be_known_only_in_the_run():
    """As programs of graph networks drop features out: the mask's shape is fed."""
    value = ([[0, 1], [2, 0]], [5.0, 7.0], [3, 2])
    with tf.Graph().as_default(), tf.Session() as session:
        sp = tf.sparse_placeholder(tf.float32, shape=tf.constant([3, 2], tf.int64))
        assert sp.get_shape().as_list() == [3, 2] and sp.indices.shape.as_list() == [None, 2]
        count = tf.placeholder(tf.int32)
        kept = tf.sparse_retain(sp, tf.random_uniform(count) < 2.0)
        found = session.run(tf.sparse.to_dense(kept), {sp: value, count: (2,)})
        assert found.tolist() == [[0.0, 5.0], [0.0, 0.0], [7.0, 0.0]]
