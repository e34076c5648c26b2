"""``t[...]`` with arrays of integers: NumPy's result, or a refusal."""

import itertools

import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf

_M = np.arange(60, dtype="f4").reshape(3, 4, 5)
_ITEMS = [
    0,
    -1,
    slice(None),
    slice(1, 3),
    slice(None, None, -1),
    None,
    Ellipsis,
    [0, 2],
    [-1],
    [],
    np.array([2, 0, 1]),
    np.array([[0, 1], [2, -3]]),
    np.array([1], "u1"),
    np.array(1),
    (1, 0),
    range(2),
]
_KEYS = [
    *[(item,) for item in _ITEMS],
    *itertools.product(_ITEMS, repeat=2),
    *itertools.product(_ITEMS[::3], _ITEMS[1::3], _ITEMS[2::3]),
    *itertools.product([[0, 1], slice(1, None), 1], repeat=3),
]


def _same_as_numpys(key, tensor):
    try:
        wanted = _M[key]
    except IndexError:
        with pytest.raises((TypeError, ValueError, IndexError, NotImplementedError)):
            np.asarray(tensor[key])
        return None
    try:
        found = tensor[key]
    except NotImplementedError:
        return False
    assert found.shape.as_list() == list(wanted.shape), key
    assert np.array_equal(np.asarray(found), wanted), key
    return True


def test_every_key_is_numpys_or_refused():
    tensors = itertools.cycle([dv.constant(_M), dv.Variable(_M), dv.Variable(_M, chunks=(2, 3, 5))])
    outcomes = [_same_as_numpys(key, tensor) for key, tensor in zip(_KEYS, tensors, strict=False)]
    assert outcomes.count(True) > 4 * outcomes.count(False)


def test_a_list_alone_picks_rows():
    m = dv.constant([[1, 2], [3, 4], [5, 6]])
    assert m[[0, 2]].numpy().tolist() == [[1, 2], [5, 6]]
    assert m[[-1]].numpy().tolist() == [[5, 6]]
    assert m[[[0], [1]]].numpy().tolist() == [[[1, 2]], [[3, 4]]]
    assert m[[True, False, True]].numpy().tolist() == [[1, 2], [5, 6]]
    assert m[[0, 2], [1, 0]].numpy().tolist() == [2, 5]
    assert m[[slice(1, None), 0]].numpy().tolist() == [3, 5]  # TensorFlow's list for a tuple


def test_a_list_of_integers_is_a_tuple_in_a_graph_of_tensorflow_1():
    with tf.Graph().as_default(), tf.Session() as session:
        m = tf.constant([[1, 2], [3, 4], [5, 6]])
        v = tf.get_variable("v", initializer=m)
        session.run(v.initializer)
        wanted = {  # as tf.compat.v1 of TensorFlow 2.21 gives them
            m[[0]]: [1, 2],
            m[[1, 0]]: 3,
            m[[tf.constant(2), 1]]: 6,
            m[[]]: [[1, 2], [3, 4], [5, 6]],
            v[[0, 1]]: 2,
            tf.while_loop(lambda i, n: i < 1, lambda i, n: (i + 1, m[[2, 0]]), [0, 0])[1]: 5,
        }
        for tensor, value in wanted.items():
            assert session.run(tensor).tolist() == value
        assert session.run(m[[True, False, True]]).tolist() == [[1, 2], [5, 6]]


def test_a_list_picks_rows_in_a_function_of_eager_code():
    v = dv.Variable([[1, 2], [3, 4]])
    function = dv.function(lambda x: x[[0, 1]] + v[[1, 0]])
    assert function(dv.constant([[10, 20], [30, 40]])).numpy().tolist() == [[13, 24], [31, 42]]


def test_tensors_pick_too_in_eager_code_functions_and_graphs():
    rows, columns = np.array([-1, 0], "i8"), np.array([1, 1], "i4")
    calls = [
        lambda m, r, c: m[r],
        lambda m, r, c: m[r, c],
        lambda m, r, c: m[:, c],
        lambda m, r, c: m[0, c],
        lambda m, r, c: m[[2, 0], c],
        lambda m, r, c: m[r, 0, 1:],
    ]
    for call in calls:
        wanted = call(_M, rows, columns)
        eager = call(dv.Variable(_M), dv.constant(rows), dv.constant(columns))
        assert np.array_equal(eager, wanted)
        assert np.array_equal(dv.function(call)(_M, rows, columns), wanted)
        with tf.Graph().as_default(), tf.Session() as session:
            unknown = tf.placeholder(tf.float32, [None, None, 5])
            r, c = tf.placeholder(tf.int64, [None]), tf.placeholder(tf.int32, [None])
            found = call(unknown, r, c)
            assert np.array_equal(session.run(found, {unknown: _M, r: rows, c: columns}), wanted)


def test_gradients_of_rows_are_sparse_and_right():
    w = dv.Variable(_M[0])
    with dv.GradientTape() as tape:
        loss = dv.reduce_sum(w[[0, -1, 0]] * 2.0)
    gradient = tape.gradient(loss, w)
    assert isinstance(gradient, dv.IndexedSlices)
    assert dv.convert_to_tensor(gradient).numpy()[:, 0].tolist() == [4.0, 0.0, 0.0, 2.0]
    with dv.GradientTape() as tape:
        loss = dv.reduce_sum(w[[0, 1], [1, 1]])
    assert float(dv.reduce_sum(tape.gradient(loss, w))) == 2.0


def test_refusals_say_what():
    m = dv.constant(_M)
    with pytest.raises(ValueError, match=r"index 3 is out of bounds for dimension 0.* size 3"):
        m[[0, 3]]
    with pytest.raises(TypeError, match=r"Only integers.*0.5"):
        m[[0.5]]
    with pytest.raises(TypeError, match="mask stands alone"):
        m[[True, False, True], 0]
    with pytest.raises(NotImplementedError, match="two steps"):
        m[[0, 1], :, [0, 1]]
    with pytest.raises(IndexError, match="too many"):
        m[[0], 0, 0, 0]
    with pytest.raises(AttributeError, match="assign"):
        dv.Variable(_M)[[0, 1]].assign(_M[:2])


def test_what_a_program_converts_is_an_index(graph):
    class Count:
        dtype = tf.int32

    tf.register_tensor_conversion_function(
        Count, lambda value, dtype=None, name=None, as_ref=False: tf.constant(1, tf.int32)
    )
    x = tf.constant(_M)
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(x[Count()]), _M[1])
        np.testing.assert_array_equal(session.run(x[:, : Count()]), _M[:, :1])
