import numpy
import pytest
from numpy.testing import assert_allclose

import daskvars as dv
import daskvars.v1 as tf
from daskvars.ops.nn import embedding as ops
from daskvars.ops.rules import axes

rng = numpy.random.default_rng(0)
TABLE = rng.normal(size=(13, 4))
# TensorFlow's documentation, 13 ids in 5 parts.
MOD = [[0, 5, 10], [1, 6, 11], [2, 7, 12], [3, 8], [4, 9]]
DIV = [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10], [11, 12]]


def test_one_table():
    ids = numpy.array([[3, 0], [12, 3]])
    assert ops.embedding_lookup(TABLE, ids).numpy().tolist() == TABLE[ids].tolist()
    assert ops.embedding_lookup([TABLE], ids).numpy().tolist() == TABLE[ids].tolist()


@pytest.mark.parametrize(("strategy", "rows"), [("mod", MOD), ("div", DIV)])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_parts(strategy, rows, dtype):
    parts = [TABLE[part] for part in rows]
    ids = numpy.array([[12, 0, 5, 5], [9, 3, 11, 1]], dtype)
    found = ops.embedding_lookup(parts, ids, strategy).numpy()
    assert found.tolist() == TABLE[ids].tolist()


def test_fewer_rows_than_parts():
    parts = [TABLE[:1], TABLE[1:2], TABLE[2:2]]
    for strategy in ("mod", "div"):
        found = ops.embedding_lookup(parts, [1, 0, 1], strategy).numpy()
        assert found.tolist() == TABLE[[1, 0, 1]].tolist()


def test_max_norm_scales_long_rows():
    found = ops.embedding_lookup(TABLE, [1, 4], max_norm=1.0).numpy()
    norms = numpy.sqrt((TABLE[[1, 4]] ** 2).sum(1, keepdims=True))
    assert_allclose(found, TABLE[[1, 4]] / numpy.maximum(norms, 1), rtol=1e-9)


def test_gradients_are_sparse():
    with dv.Graph().as_default(), dv.Session() as session:
        whole = tf.constant(TABLE)
        parts = [tf.constant(TABLE[part]) for part in MOD]
        ids = tf.placeholder(dv.int64, [None])
        for tables, params in (([whole], whole), (parts, parts)):
            grads = dv.gradients(ops.embedding_lookup(params, ids), tables)
            assert all(isinstance(grad, dv.IndexedSlices) for grad in grads)
        indices = session.run([grad.indices for grad in grads], {ids: [10, 3, 6, 10]})
    assert [part.tolist() for part in indices] == [[2, 2], [1], [], [0], []]


def test_parts_of_a_partitioned_variable():
    with dv.Graph().as_default(), dv.Session() as session:
        table = tf.get_variable(
            "table", [13, 4], dv.float64, partitioner=tf.fixed_size_partitioner(3)
        )
        rows = ops.embedding_lookup(table, [12, 0, 6], partition_strategy="div")
        session.run(tf.global_variables_initializer())
        found, whole = session.run([rows, tf.convert_to_tensor(table)])
    assert found.tolist() == whole[[12, 0, 6]].tolist()


def test_names_and_shapes():
    with dv.Graph().as_default():
        ids = tf.placeholder(dv.int32, [None, 7])
        table = tf.placeholder(dv.float32, [100, 16])
        one = ops.embedding_lookup(table, ids)
        assert one.op.name == "embedding_lookup"
        assert one.shape.as_list() == [None, 7, 16]
        many = ops.embedding_lookup([table, table], ids, name="words")
        assert many.op.name == "words"
        assert many.shape.as_list() == [None, 7, 16]
        open_ids = tf.placeholder(dv.int32, [None, None])
        assert ops.embedding_lookup([table, table], open_ids).shape.as_list() == [None, None, 16]


def test_errors():
    with pytest.raises(ValueError, match="at least one param"):
        ops.embedding_lookup([], [1])
    with pytest.raises(ValueError, match="at least one param"):
        ops.embedding_lookup(None, [1])
    with pytest.raises(ValueError, match="Unrecognized partition strategy"):
        ops.embedding_lookup([TABLE, TABLE], [1], "hash")
    with pytest.raises(dv.errors.InvalidArgumentError):
        ops.embedding_lookup(TABLE, [13]).numpy()


@pytest.mark.parametrize("value", [3.0, numpy.array(3.0, object)])
def test_static_values_of_rank_zero_are_numbers(value):
    assert axes.as_value(value) == 3.0
