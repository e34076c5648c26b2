"""Ops that pick, place, fold and sort by index: sparse gradients, errors, documented values."""

import dask.array
import numpy as np
import pytest

import daskvars.v1 as tf
from daskvars.errors import InvalidArgumentError
from daskvars.graph.indexed_slices import IndexedSlices
from daskvars.ops.array import one_hot
from daskvars.ops.gather_scatter import (
    gather,
    partitioning,
    scatter as scattering,
    segments,
    sorting,
)
from tests.sessions import run

pytestmark = pytest.mark.usefixtures("graph")

TABLE = np.arange(15.0).reshape(5, 3)


def values(fetches, feed=None):
    found = run(fetches, feed)
    return [f.tolist() for f in found] if isinstance(found, list | tuple) else found.tolist()


# -- sparse gradients --------------------------------------------------------------------------


@pytest.mark.parametrize("ids", [3, [3, 0, 3], [[3, 0], [1, 1]], np.zeros((2, 0), np.int32)])
def test_the_gradient_of_rows_is_sparse(graph, ids):
    table = tf.placeholder(tf.float64, [5, 3])
    rows = gather.gather(table, tf.constant(ids, tf.int32))
    (slices,) = tf.gradients(rows, table, tf.fill(tf.shape(rows), np.float64(2.0)))
    assert isinstance(slices, IndexedSlices)
    found, where, shape = run([slices.values, slices.indices, slices.dense_shape], {table: TABLE})
    assert where.tolist() == np.ravel(ids).tolist()
    assert found.tolist() == [[2.0] * 3] * np.size(ids)
    assert shape.tolist() == [5, 3]
    types = {op.type for op in graph.get_operations()}
    assert not types & {"UnsortedSegmentSum", "ScatterNd", "SumToShape"}, "nothing is made dense"


def test_a_table_of_unknown_size_has_a_sparse_gradient_too():
    table = tf.placeholder(tf.float64, [None, None])
    (slices,) = tf.gradients(gather.gather(table, [[1, 4]]), table)
    found = run([slices.values, slices.dense_shape], {table: TABLE})
    assert found[0].shape == (2, 3) and found[1].tolist() == [5, 3]


def test_rows_by_coordinates_have_a_sparse_gradient():
    table = tf.placeholder(tf.float64, [5, 3])
    (slices,) = tf.gradients(scattering.gather_nd(table, [[4], [0]]), table)
    assert isinstance(slices, IndexedSlices)
    assert values(slices.indices, {table: TABLE}) == [4, 0]


def test_other_axes_have_dense_gradients():
    table = tf.placeholder(tf.float64, [5, 3])
    (dx,) = tf.gradients(gather.gather(table, [2, 2], axis=1), table)
    assert values(dx, {table: TABLE}) == [[0, 0, 2]] * 5


@pytest.mark.parametrize(
    "call",
    [
        lambda x: gather.gather(x, [1, 1, 0]),
        lambda x: gather.gather(x, [1, 0, 1], axis=1),
        lambda x: gather.boolean_mask(x, [True, False]),
        lambda x: scattering.gather_nd(x, [[0, 1], [0, 1]]),
        lambda x: segments.unsorted_segment_sum(x, [0, 0], 2),
        lambda x: segments.segment_sum(x, [0, 1]),
        lambda x: partitioning.dynamic_partition(x, [1, 0], 2)[0],
    ],
)
def test_second_derivatives(call):
    x = tf.placeholder(tf.float64, [2, 3])
    first = tf.convert_to_tensor(tf.gradients(call(x) ** 3.0, x)[0])
    second = tf.convert_to_tensor(tf.gradients(first * first, x)[0])
    value = np.arange(1.0, 7.0).reshape(2, 3)
    step = 1e-5
    for index in np.ndindex(2, 3):
        sides = []
        for sign in (1, -1):
            moved = value.copy()
            moved[index] += sign * step
            sides.append((run(first, {x: moved}) ** 2).sum())
        slope = (sides[0] - sides[1]) / (2 * step)
        np.testing.assert_allclose(run(second, {x: value})[index], slope, rtol=1e-5, atol=1e-3)


def test_deduplicate():
    rows = tf.constant([[1.0, 2.0], [4.0, 8.0], [16.0, 32.0]])
    summed, unique = gather.deduplicate(rows, [7, 3, 7])
    assert summed.shape.as_list() == [None, 2]
    assert values([summed, unique]) == [[[4, 8], [17, 34]], [3, 7]]


# -- errors ------------------------------------------------------------------------------------


@pytest.mark.parametrize("chunks", [(5, 3), (2, 3), (2, 1)])
@pytest.mark.parametrize(
    ("ids", "words"),
    [
        ([7], r"indices\[0\] = 7 is not in \[0, 5\)"),
        ([[0, 1], [2, -1]], r"indices\[1,1\] = -1 is not in \[0, 5\)"),
        (5, r"indices = 5 is not in \[0, 5\)"),
    ],
)
def test_ids_out_of_range(chunks, ids, words):
    table = tf.placeholder(tf.float64, [5, 3])
    feed = {table: dask.array.from_array(TABLE, chunks=chunks)}
    with pytest.raises(InvalidArgumentError, match=words):
        run(gather.gather(table, ids), feed)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x, i: gather.gather(x, [i], axis=1), r"indices\[0\] = 9 is not in \[0, 3\)"),
        (lambda x, i: gather.batch_gather(x, [[i]] * 5), r"is not in \[0, 3\)"),
        (lambda x, i: scattering.gather_nd(x, [[0, i]]), "does not index into param"),
        (lambda x, i: scattering.scatter_nd([[i]], [1.0], [4]), "does not index into .4."),
        (lambda x, i: scattering.tensor_scatter_add(x, [[i, 0]], [1.0]), "does not index"),
        (lambda x, i: segments.unsorted_segment_sum(x, [0, 1, 2, 3, i], 5), "out of range"),
        (lambda x, i: segments.segment_sum(x, tf.stack([i, 0, 1, 2, 3])), "not increasing"),
        (
            lambda x, i: segments.segment_sum(x, tf.stack([-i, 0, 1, 2, 3])),
            r"Segment id -9 out of range \[0, 4\)",
        ),
        (
            lambda x, i: partitioning.dynamic_partition(x, [0, 0, 0, 0, i], 2)[0],
            r"partitions\[4\] = 9 is not in \[0, 2\)",
        ),
        (lambda x, i: partitioning.dynamic_stitch([[0, -i]], [[1.0, 2.0]]), "is not in"),
    ],
)
def test_errors_of_a_run(call, words):
    x, i = tf.placeholder(tf.float32, [5, 3]), tf.placeholder(tf.int32, [])
    with pytest.raises(InvalidArgumentError, match=words):
        run(call(x, i), {x: TABLE, i: 9})


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: gather.gather(x[0, 0], [0]), "at least rank 1 but is rank 0"),
        (
            lambda x: gather.gather(x, [0], axis=3),
            r"Expected axis in the range \[-2, 2\), but got 3",
        ),
        (lambda x: gather.gather(x, [0], axis=0, batch_dims=1), "must not exceed axis"),
        (lambda x: gather.gather(x, [[0]], batch_dims=1, axis=1), "must be equal"),
        (lambda x: gather.boolean_mask(x, True), "mask cannot be scalar"),
        (lambda x: gather.boolean_mask(x, [True]), "incompatible"),
        (lambda x: gather.boolean_mask(x, tf.placeholder(tf.bool)), "Number of mask dimensions"),
        (lambda x: one_hot.one_hot([0], -1), "depth must be non-negative"),
        (lambda x: scattering.gather_nd(x, [[0, 0, 0]]), "must be <= params.rank"),
        (lambda x: scattering.scatter_nd([[0]], [1.0, 2.0], [3]), "do not fit"),
        (lambda x: scattering.tensor_scatter_update(x, [[0]], [1.0]), "do not fit"),
        (lambda x: segments.unsorted_segment_sum(x, [0], 2), "does not start with"),
        (lambda x: segments.unsorted_segment_sum(x, [0, 0], -1), "must not be negative"),
        (lambda x: segments.segment_sum(x, [[0]]), "should be a vector"),
        (lambda x: segments.segment_sum(x, [0]), "same size as dimension 0"),
        (lambda x: partitioning.unique(x), "expects a 1D vector"),
        (lambda x: partitioning.unique(x, axis=5), "axis 5 is none of an array of shape"),
        (lambda x: partitioning.unique(x, axis=[0, 1]), r"one dimension, got \[0, 1\]"),
        (lambda x: partitioning.dynamic_partition(x, [0], 2), "must start with partitions.shape"),
        (lambda x: partitioning.dynamic_partition(x, [0, 0], 0), "at least 1"),
        (lambda x: partitioning.dynamic_stitch([[0]], []), "as many indices as data"),
        (lambda x: partitioning.dynamic_stitch([[0]], [x]), "must start with indices.shape"),
        (lambda x: sorting.sort(x, direction="UP"), "direction should be one of"),
        (lambda x: sorting.argsort(x, axis=2), "out of range"),
    ],
)
def test_shapes_that_do_not_fit(call, words):
    with pytest.raises(ValueError, match=words):
        call(tf.zeros([2, 3]))


@pytest.mark.parametrize(
    "call",
    [
        lambda: one_hot.one_hot([0], 2, on_value=tf.constant(1.0), off_value=tf.constant(0)),
        lambda: one_hot.one_hot([0], 2, on_value=1.5, dtype=tf.int32),
        lambda: one_hot.one_hot([0.0], 2),
        lambda: gather.gather([1, 2], [0.0]),
        lambda: partitioning.dynamic_stitch([[0], [1]], [[1.0], [2]]),
    ],
)
def test_dtypes_that_do_not_fit(call):
    with pytest.raises(TypeError):
        call()


# -- values of TensorFlow's documentation ------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        (
            lambda: tf.one_hot([0, 2, -1, 1], 3, 5.0, 0.0, axis=-1),
            [[5, 0, 0], [0, 0, 5], [0, 0, 0], [0, 5, 0]],
        ),
        (lambda: tf.one_hot([0, 1], 2, axis=0, dtype=tf.int32), [[1, 0], [0, 1]]),
        (
            lambda: tf.one_hot([0, 1], 2, on_value=True, off_value=False),
            [[True, False], [False, True]],
        ),
        (lambda: tf.gather_nd([["a", "b"], ["c", "d"]], [[1, 0]]), [b"c"]),
        (lambda: tf.gather_nd([[[1, 2], [3, 4]]], [[0, 1]]), [[3, 4]]),
        (
            lambda: tf.scatter_nd([[4], [3], [1], [7]], [9, 10, 11, 12], [8]),
            [0, 11, 0, 10, 9, 0, 0, 12],
        ),
        (lambda: tf.scatter_nd([[1], [1]], [2.0, 3.0], [3]), [0, 5, 0]),
        (lambda: tf.scatter_nd([[1], [1], [0]], [True, True, False], [3]), [False, True, False]),
        (lambda: tf.scatter_nd([[1], [1]], ["a", "b"], [3]), [b"", b"ab", b""]),
        (
            lambda: tf.scatter_nd([[1], [0]], [["a", "b"], ["c", ""]], [2, 2]),
            [[b"c", b""], [b"a", b"b"]],
        ),
        (lambda: tf.tensor_scatter_update(tf.ones([4]), [[1], [3]], [9.0, 8.0]), [1, 9, 1, 8]),
        (lambda: tf.tensor_scatter_update(["a", "b"], [[1]], ["c"]), [b"a", b"c"]),
        (lambda: tf.scatter_nd(tf.zeros([0, 1], tf.int32), tf.zeros([0]), [0]), []),
        (lambda: tf.batch_gather([[1, 2], [3, 4]], [[1], [0]]), [[2], [3]]),
        (
            lambda: tf.segment_sum([[1, 2, 3, 4], [-1, -2, -3, -4], [5, 6, 7, 8]], [0, 0, 1]),
            [[0, 0, 0, 0], [5, 6, 7, 8]],
        ),
        (lambda: tf.segment_max([[1, 2], [4, 1], [5, 0]], [0, 0, 2]), [[4, 2], [0, 0], [5, 0]]),
        (lambda: tf.segment_prod([2, 3, 4], [0, 0, 2]), [6, 1, 4]),
        (lambda: tf.segment_mean([1.0, 2.0, 6.0], [0, 0, 2]), [1.5, 0, 6]),
        (
            lambda: tf.unsorted_segment_sum([[1, 2], [3, 4], [5, 6]], [0, -1, 0], 3),
            [[6, 8], [0, 0], [0, 0]],
        ),
        (lambda: tf.unsorted_segment_max([1, 5, 3], [0, 0, 1], 3), [5, 3, -(2**31)]),
        (lambda: tf.unsorted_segment_prod([2.0, 5.0, 3.0], [0, 0, 2], 3), [10, 1, 3]),
        (lambda: tf.unsorted_segment_mean([2.0, 4.0, 3.0], [0, 0, 2], 3), [3, 0, 3]),
        (lambda: tf.unsorted_segment_sqrt_n([1.0, 1.0, 1.0, 1.0], [0, 0, 0, 0], 2), [2, 0]),
        (lambda: tf.unique([1, 1, 2, 4, 4, 4, 7, 8, 8])[0], [1, 2, 4, 7, 8]),
        (lambda: tf.unique([1, 1, 2, 4, 4, 4, 7, 8, 8])[1], [0, 0, 1, 2, 2, 2, 3, 4, 4]),
        (lambda: tf.unique_with_counts([b"b", b"a", b"b"])[2], [2, 1]),
        (lambda: tf.unique([[1, 0], [2, 0], [1, 0]], axis=0)[0], [[1, 0], [2, 0]]),
        (lambda: tf.unique([[1, 0], [2, 0], [1, 0]], axis=[0])[1], [0, 1, 0]),
        (lambda: tf.unique([[2, 0, 2], [5, 0, 5]], axis=-1)[0], [[2, 0], [5, 0]]),
        (lambda: tf.unique_with_counts([["b", "a"], ["b", "a"]], axis=1)[2], [1, 1]),
        (lambda: tf.unique([["b", "a"], ["c", "a"], ["b", "a"]], axis=0)[1], [0, 1, 0]),
        (lambda: tf.unique(np.zeros((3, 0)), axis=0)[1], [0, 0, 0]),
        (lambda: tf.unique(np.zeros((0, 3)), axis=0)[0], []),
        (lambda: tf.unique([[[1], [1]], [[1], [2]]], axis=1)[0], [[[1], [1]], [[1], [2]]]),
        (lambda: tf.unique([3, 3], axis=[])[0], [3]),
        (
            lambda: tf.dynamic_stitch(
                [6, [4, 1], [[5, 2], [0, 3]]],
                [[61, 62], [[41, 42], [11, 12]], [[[51, 52], [21, 22]], [[1, 2], [31, 32]]]],
            ),
            [[1, 2], [11, 12], [21, 22], [31, 32], [41, 42], [51, 52], [61, 62]],
        ),
        (lambda: tf.boolean_mask([[1, 2], [3, 4], [5, 6]], [True, False, True]), [[1, 2], [5, 6]]),
        (lambda: tf.boolean_mask([[1, 2], [3, 4]], [[True, False], [False, True]]), [1, 4]),
        (lambda: tf.boolean_mask([[1, 2], [3, 4]], [True, False], axis=1), [[1], [3]]),
        (
            lambda: sorting.sort([[3, 1, 2], [1, 1, 0]], axis=0, direction="DESCENDING"),
            [[3, 1, 2], [1, 1, 0]],
        ),
        (lambda: sorting.argsort([1, 0, 1], direction="DESCENDING"), [0, 2, 1]),
    ],
)
def test_documented_values(call, wanted):
    assert values(call()) == wanted


def test_static_shapes():
    x, i = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.int32, [None, 2])
    made = [
        (gather.gather(x, i), [None, 2, 3]),
        (gather.gather(x, i, axis=1), [None, None, 2]),
        (gather.boolean_mask(x, x > 0.0), [None]),
        (one_hot.one_hot(i, 5), [None, 2, 5]),
        (one_hot.one_hot(i, tf.placeholder(tf.int32, []), axis=0), [None, None, 2]),
        (scattering.gather_nd(x, i), [None]),
        (scattering.scatter_nd(i, x[:, 0], [4, 5]), [4, 5]),
        (segments.unsorted_segment_sum(x, i[:, 0], 7), [7, 3]),
        (segments.segment_sum(x, i[:, 0]), [None, 3]),
        (segments.segment_sum(x, [0, 0, 4]), [5, 3]),
        (partitioning.dynamic_partition(x, i[:, 0], 2)[1], [None, 3]),
        (sorting.sort(x, 0), [None, 3]),
    ]
    for tensor, wanted in made:
        assert tensor.shape.as_list() == wanted, tensor


def test_names():
    x = tf.zeros([2, 2])
    made = [
        gather.gather(x, [0]),
        gather.gather(x, [0], axis=1),
        gather.boolean_mask(x, [True, False]),
        one_hot.one_hot([0], 2),
        segments.unsorted_segment_sum(x, [0, 0], 1),
        scattering.gather_nd(x, [[0]]),
    ]
    assert [t.op.name for t in made] == [
        "GatherV2",
        "GatherV2_1",
        "boolean_mask",
        "one_hot",
        "UnsortedSegmentSum",
        "GatherNd",
    ]


def test_a_gather_from_a_table_in_row_chunks_moves_only_rows():
    """Each block of rows gives what it owns; nobody needs the whole table."""
    table = tf.placeholder(tf.float64, [5, 3])
    op = gather.gather(table, [4, 0]).op
    access = op.opdef.pattern.access([(5, 3), (2,)], [(2, 3)], op.attrs)
    assert access.combine == "assemble_rows" and access.inputs[0][0] is not None
    feed = {table: dask.array.from_array(TABLE, chunks=(2, 3))}
    assert values(op.outputs[0], feed) == TABLE[[4, 0]].tolist()


@pytest.mark.parametrize("dtype", [tf.float32, tf.float64, tf.int64], ids=lambda d: d.name)
@pytest.mark.parametrize("chunks", [((2, 2),), ((1, 3),), ((4,),)], ids=str)
@pytest.mark.parametrize("what", ["variable", "result"])
def test_one_element_of_a_vector_in_chunks(dtype, chunks, what):
    with tf.Graph().as_default(), tf.Session() as session:
        if what == "variable":
            v = x = tf.get_variable(
                "v", initializer=tf.constant([1, 2, 3, 4], dtype), chunks=chunks
            )
        else:
            rows = tf.constant([[1, 0], [2, 1], [0, 3], [4, 4]], dtype)
            v = tf.get_variable("v", initializer=rows, chunks=(*chunks, (2,)))
            x = tf.reduce_max(v, 1)
        session.run(v.initializer)
        fed = tf.placeholder(tf.int32, [])
        picked = [tf.gather(x, 3), tf.nn.embedding_lookup(x, 3), tf.gather(x, fed), x[3]]
        for value in session.run(picked, {fed: 3}):
            assert value == 4 and value.dtype == dtype.np and value.shape == ()
