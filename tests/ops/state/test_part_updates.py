"""Parts of variables set by position: slices, coordinates, batches, variables in parts."""

import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf
from tests.sessions import run


@pytest.fixture(autouse=True)
def fresh_graph():
    tf.reset_default_graph()


def numbers(chunks=None):
    return tf.Variable(np.arange(12.0).reshape(4, 3), name="v", chunks=chunks)


KEYS = [
    (np.s_[1:3], -1.0),
    (np.s_[2], [7.0, 8.0, 9.0]),
    (np.s_[:, 1], [1.0, 2.0, 3.0, 4.0]),
    (np.s_[..., ::-2], 5.0),
    (np.s_[:, None, 0], [[1.0], [2.0], [3.0], [4.0]]),
    (np.s_[-1, -1], 3.0),
    (np.s_[3:1:-1, 1:], [[1.0, 2.0], [3.0, 4.0]]),
    (np.s_[2:2], 0.0),
]


@pytest.mark.parametrize("chunks", [None, (2, 3), (4, 2), (3, 2)])
@pytest.mark.parametrize(("key", "value"), KEYS)
def test_a_slice_is_assigned_to(key, value, chunks):
    expected = np.arange(12.0).reshape(4, 3)
    expected[key] = value
    np.testing.assert_array_equal(run(numbers(chunks)[key].assign(value)), expected)


def test_a_slice_is_assigned_to_chunk_by_chunk():
    v = tf.Variable(np.zeros((400, 50)), chunks=(100, 50))
    begin = tf.placeholder_with_default(98, [])
    told = tf.RunMetadata()
    with tf.Session() as session:
        session.run(v.initializer)
        session.run(v[begin:102].assign(1.0).op, run_metadata=told)
        assert told.transfer_bytes == 0
        assert np.flatnonzero(session.run(v)[:, 0]).tolist() == [98, 99, 100, 101]


def test_what_assigning_to_a_slice_gives():
    v = numbers()
    part = v[1:3]
    whole = part.assign(0.0)
    assert (whole.op.name, whole.shape, whole.op.type) == (
        "strided_slice/_assign",
        (4, 3),
        "StridedSliceAssign",
    )
    assert part.assign(1.0).op.name == "strided_slice/_assign_1"
    assert part.assign(1.0, name="named").op.name == "named"
    assert part.graph.get_tensor_by_name("strided_slice:0") is part
    np.testing.assert_array_equal(run(part + 1.0), np.arange(12.0).reshape(4, 3)[1:3] + 1.0)
    sliced = tf.strided_slice(v, [0, 0], [1, 2], var=v)
    assert run(sliced.assign([[-1.0, -2.0]]))[0].tolist() == [-1.0, -2.0, 2.0]
    assert run(tf.assign(v[0, 0], 9.0))[0].tolist() == [9.0, 1.0, 2.0]
    assert not hasattr(tf.constant([1.0])[0:1], "assign")
    assert not hasattr(tf.strided_slice(v, [0], [1]), "assign")


@pytest.mark.parametrize("size", [4, 400])  # small ones are copied, large ones changed in place
def test_bounds_and_values_known_only_when_run(size):
    v = tf.Variable(np.zeros((size, 500)), name="v")
    begin, value = tf.placeholder(tf.int32, []), tf.placeholder(tf.float64)
    new = v[begin:4, :2].assign(value)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(new.op, {begin: 2, value: [[1.0, 2.0]] * 2})
        expected = np.zeros((size, 500))
        expected[2:4, :2] = [1.0, 2.0]
        np.testing.assert_array_equal(session.run(v), expected)
        for feeds in ({begin: 1, value: [[1.0, 2.0]] * 2}, {begin: 1, value: np.ones(3)}):
            with pytest.raises(tf.errors.InvalidArgumentError, match="broadcast to the sliced"):
                session.run(new, feeds)
        with pytest.raises(tf.errors.InvalidArgumentError, match="out of bounds"):
            session.run(v[begin].assign(0.0), {begin: size})
        np.testing.assert_array_equal(session.run(v), expected)


def test_a_value_that_does_not_fit_a_slice():
    v = numbers()
    with pytest.raises(ValueError, match=r"\(2,\) does not broadcast .* \(1, 3\)"):
        v[1:2].assign([1.0, 2.0])
    with pytest.raises(TypeError, match="int32"):
        v[1:2].assign(tf.constant(1))


def test_slices_of_eager_variables_and_in_functions():
    v = dv.Variable([1.0, 2.0, 3.0])
    part = v[1:]
    assert part.assign([7.0, 8.0]).numpy().tolist() == [1.0, 7.0, 8.0]
    assert part.numpy().tolist() == [2.0, 3.0], "a value, not a view"
    assert v[0].assign(0.5).numpy().tolist() == [0.5, 7.0, 8.0]

    @dv.function
    def change(x):
        v[1].assign(x)
        return v[1] * 2.0

    assert float(change(4.0)) == 8.0
    assert v.numpy().tolist() == [0.5, 4.0, 8.0]
    with dv.GradientTape() as tape:
        y = v[1:] * 3.0
    assert tape.gradient(y, v).numpy().tolist() == [0.0, 3.0, 3.0]


@pytest.mark.parametrize("chunks", [None, (2, 3), (4, 2)])
@pytest.mark.parametrize(
    ("kind", "apply"),
    [
        ("update", lambda v, i, u: v.__setitem__(i, u)),
        ("add", np.add.at),
        ("sub", np.subtract.at),
    ],
)
def test_coordinates(kind, apply, chunks):
    expected = np.arange(12.0).reshape(4, 3)
    apply(expected, ([3, 0, 2], [1, 0, 2]), np.array([1.0, 2.0, 3.0]))
    v = numbers(chunks)
    method = getattr(v, f"scatter_nd_{kind}")
    function = getattr(tf, f"scatter_nd_{kind}")
    indices = [[3, 1], [0, 0], [2, 2]]
    np.testing.assert_array_equal(run(method(indices, [1.0, 2.0, 3.0])), expected)
    new = function(v, indices, [1.0, 2.0, 3.0], True, "named")
    assert new.op.name == "named"
    np.testing.assert_array_equal(run(new), expected)


@pytest.mark.parametrize("size", [4, 400])
def test_rows_by_coordinates(size):
    v = tf.Variable(np.zeros((size, 500)), name="v")
    rows = tf.placeholder(tf.int32, [2, 1])
    new = tf.scatter_nd_add(v, rows, np.ones((2, 500)))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(new.op, {rows: [[1], [1]]})
        assert session.run(v).sum(axis=1).tolist() == [0.0, 1000.0] + [0.0] * (size - 2)
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"indices: \[1,0\] = \[-1\]"):
            session.run(new.op, {rows: [[0], [-1]]})
        assert session.run(v).sum() == 1000.0


def test_coordinates_that_do_not_fit():
    v = numbers()
    with pytest.raises(ValueError, match=r"shape \(2,\).*wanted updates of shape \(1,\)"):
        tf.scatter_nd_update(v, [[0, 1]], [1.0, 2.0])
    with pytest.raises(ValueError, match="one coordinate or more"):
        tf.scatter_nd_update(v, np.zeros((1, 0), int), np.zeros((1, 4, 3)))
    with pytest.raises(AttributeError, match="no variable"):
        tf.scatter_nd_update(v + 1.0, [[0, 1]], [1.0])


@pytest.mark.parametrize("chunks", [None, (2, 3)])
def test_a_batch(chunks):
    expected = np.arange(12.0).reshape(4, 3)
    np.put_along_axis(expected, np.array([[1], [0], [2], [1]]), -1.0, axis=1)
    v = numbers(chunks)
    updates = -np.ones((4, 1))
    indices = [[1], [0], [2], [1]]
    np.testing.assert_array_equal(run(tf.batch_scatter_update(v, indices, updates)), expected)
    slices = tf.IndexedSlices(tf.constant(updates), tf.constant(indices))
    np.testing.assert_array_equal(run(v.batch_scatter_update(slices)), expected)
    with pytest.raises(ValueError, match="known rank"):
        tf.batch_scatter_update(v, tf.placeholder(tf.int32), updates)


def test_reading_rows_and_coordinates():
    v = numbers()
    assert run(v.sparse_read([2, 0])).tolist() == [[6.0, 7.0, 8.0], [0.0, 1.0, 2.0]]
    assert run(v.gather_nd([[2, 1]])).tolist() == [7.0]


def test_variables_in_parts_are_assigned_to():
    v = tf.get_variable("p", [4, 2], partitioner=tf.fixed_size_partitioner(2))
    with tf.Session() as session:
        session.run(tf.assign(v, np.ones((4, 2), "float32")))
        session.run(tf.assign_add(v, np.full((4, 2), 2.0, "float32"), name="more"))
        session.run(tf.assign_sub(v, np.full((4, 2), 0.5, "float32")))
        assert session.run(tf.convert_to_tensor(v)).tolist() == [[2.5, 2.5]] * 4
