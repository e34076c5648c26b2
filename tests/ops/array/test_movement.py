"""Ops that move elements: static shapes, errors, values of TensorFlow's documentation, chunks."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import daskvars as dv
import daskvars.v1 as tf
from daskvars.errors import InvalidArgumentError
from daskvars.ops.array import (
    joining,
    padding,
    rearranging,
    repeating,
    reshaping,
    slicing,
    transposing,
)
from daskvars.ops.protocols.indexing import slice_helper
from tests.sessions import run

pytestmark = pytest.mark.usefixtures("graph")


def open_input(*shape):
    return tf.placeholder(tf.float32, None if shape == ("?",) else shape)


# -- static shapes -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "shape", "result"),
    [
        (lambda x: reshaping.reshape(x, [-1, 784]), (None, 28, 28), [None, 784]),
        (lambda x: reshaping.reshape(x, [-1, 784]), (5, 28, 28), [5, 784]),
        (lambda x: reshaping.reshape(x, [7, -1]), (5, 14), [7, 10]),
        (lambda x: reshaping.reshape(x, [2, -1]), ("?",), [2, None]),
        (lambda x: reshaping.reshape(x, []), (1, 1), []),
        (lambda x: reshaping.reshape(x, tf.placeholder(tf.int32, [3])), (4,), [None] * 3),
        (lambda x: reshaping.expand_dims(x, -1), (None, 3), [None, 3, 1]),
        (lambda x: reshaping.expand_dims(x, tf.placeholder(tf.int32, [])), (2,), [None, None]),
        (lambda x: reshaping.squeeze(x), (1, 3, 1), [3]),
        (lambda x: reshaping.squeeze(x, 1), (None, None), [None]),
        (lambda x: transposing.transpose(x), (1, None, 3), [3, None, 1]),
        (lambda x: transposing.transpose(x, [1, 0]), ("?",), [None, None]),
        (lambda x: transposing.matrix_transpose(x), (None, 2, 3), [None, 3, 2]),
        (lambda x: repeating.tile(x, [2, 1]), (None, 3), [None, 3]),
        (lambda x: repeating.broadcast_to(x, [4, 3]), (1, 3), [4, 3]),
        (lambda x: joining.concat([x, x], 1), (None, 3), [None, 6]),
        (lambda x: joining.concat([x, tf.zeros([2, 2])], 1), (None, None), [2, None]),
        (lambda x: joining.stack([x, x], axis=-1), (None, 3), [None, 3, 2]),
        (lambda x: joining.stack(x), (None, 3), [None, 3]),
        (lambda x: joining.split(x, 3, axis=1)[2], (None, 6), [None, 2]),
        (lambda x: joining.split(x, [1, -1], axis=1)[1], (None, 6), [None, 5]),
        (lambda x: joining.unstack(x, axis=1)[0], (None, 6), [None]),
        (lambda x: slicing.slice(x, [0, 1], [-1, 2]), (None, 6), [None, 2]),
        (lambda x: slicing.slice(x, [1, 1], [-1, -1]), (4, 6), [3, 5]),
        (lambda x: x[..., 1:-1], (None, 6), [None, 4]),
        (lambda x: x[:, tf.newaxis, 0], (None, 6), [None, 1]),
        (lambda x: x[tf.placeholder(tf.int32, []) :, 0], (5, 6), [None]),
        (lambda x: x[::-1], (None, 6), [None, 6]),
        (lambda x: padding.pad(x, [[0, 0], [1, 2]]), (None, 6), [None, 9]),
        (lambda x: padding.pad(x, tf.placeholder(tf.int32, [2, 2])), (3, 6), [None, None]),
        (lambda x: padding.pad(x, [[1, 2], tf.placeholder(tf.int32)]), (4, 4), [7, None]),
        (lambda x: reshaping.reshape(x, [tf.placeholder(tf.int32), 37]), (None,), [None, 37]),
        (lambda x: repeating.tile(x, [tf.placeholder(tf.int32), 7]), (1, 1), [None, 7]),
        (
            lambda x: rearranging.space_to_batch(
                tf.placeholder(tf.float32), tf.placeholder(tf.int32), 4
            ),
            (1,),
            [None] * 4,
        ),
        (lambda x: rearranging.space_to_depth(x, 2), (None, 4, None, 3), [None, 2, None, 12]),
        (lambda x: rearranging.depth_to_space(x, 2), (None, 4, 4, 8), [None, 8, 8, 2]),
        (lambda x: rearranging.space_to_batch(x, [[0, 0], [0, 0]], 2), (1, 4, 4, 1), [4, 2, 2, 1]),
        (lambda x: rearranging.batch_to_space(x, [[1, 0], [0, 0]], 2), (4, 2, 2, 1), [1, 3, 4, 1]),
        (lambda x: reshaping.ensure_shape(x, [None, 3]), ("?",), [None, 3]),
    ],
)
def test_static_shape(call, shape, result):
    assert call(open_input(*shape)).shape.as_list() == result


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: reshaping.reshape(x, [5]), "Cannot reshape a tensor with 6 elements"),
        (lambda x: reshaping.reshape(x, [-1, 4]), "evenly divisible by 4 but is 6"),
        (lambda x: reshaping.reshape(x, [-1, -1]), "Only one input size may be -1"),
        (lambda x: reshaping.reshape(x, [0, -1]), "cannot infer the missing input size"),
        (lambda x: reshaping.expand_dims(x, 4), "out of range"),
        (lambda x: reshaping.expand_dims(x), "Must specify an axis"),
        (lambda x: reshaping.expand_dims(x, 0, dim=0), "Cannot specify both 'axis' and 'dim'"),
        (lambda x: reshaping.squeeze(x, [0]), "expected a dimension of 1, got 2"),
        (lambda x: transposing.transpose(x, [0]), "Dimension must be 1 but is 2"),
        (lambda x: transposing.transpose(x, [1, 1]), "not a permutation"),
        (lambda x: transposing.matrix_transpose(x[0]), "rank >= 2"),
        (lambda x: repeating.broadcast_to(x, [4, 3]), "Incompatible shapes"),
        (lambda x: repeating.tile(x, [2]), "Dimension must be 2 but is 1"),
        (lambda x: repeating.meshgrid(x, indexing="yx"), "indexing parameter"),
        (lambda x: joining.concat([x, x[0]], 0), "Shape must be rank 2 but is rank 1"),
        (lambda x: joining.concat([x, x], 2), "Concat axis 2 is out of range"),
        (lambda x: joining.concat([x[0, 0], x[0, 0]], 0), "Can't concatenate scalars"),
        (lambda x: joining.concat([x, x], tf.placeholder(tf.int32, [1])), "takes a scalar axis"),
        (lambda x: joining.stack([x, x[0]]), "Shapes must be equal rank, but are 2 and 1"),
        (lambda x: joining.split(x, 4, axis=1), "evenly divisible by 4 but is 3"),
        (lambda x: joining.split(x, [1, 1], axis=1), "Determined shape"),
        (lambda x: joining.split(x, tf.placeholder(tf.int32, [None])), "Cannot infer num"),
        (lambda x: joining.unstack(x, num=3), "Dimension must be 3 but is 2"),
        (lambda x: joining.unstack(open_input(None)), "Cannot infer num from shape"),
        (lambda x: slicing.slice(x, [0, 0], [3, 1]), r"Expected size\[0\]"),
        (lambda x: slicing.slice(x, [0, 4], [1, -1]), r"Expected begin\[1\] in \[0, 3\]"),
        (lambda x: slicing.slice(x, [0], [1]), "a number for each dimension"),
        (lambda x: x[2], "slice index 2 of dimension 0 out of bounds"),
        (lambda x: x[0, 0, 0], "Index out of range using input dim 2"),
        (lambda x: x[::0], "must be non-zero"),
        (lambda x: x[..., 0, ...], "Multiple ellipses"),
        (lambda x: padding.pad(x, [[1, 1]]), "Shape must be rank 1 but is rank 2"),
        (lambda x: padding.pad(x, [[2, 0], [0, 0]], "REFLECT"), "less than the dimension size"),
        (lambda x: padding.pad(x, [[0, 0], [0, 0]], "EDGE"), "Unknown padding mode: EDGE"),
        (lambda x: padding.pad(x, [[-1, 0], [0, 0]]), "non-negative"),
        (lambda x: rearranging.reverse(x, [0, -2]), "specified more than once"),
        (lambda x: rearranging.reverse_sequence(x, [1]), "needs seq_axis"),
        (lambda x: rearranging.reverse_sequence(x, [1], 1), "must have 2 elements"),
        (lambda x: rearranging.space_to_depth(x, 1), "Block size should be > 1"),
        (lambda x: rearranging.space_to_depth(x, 2), "rank 4 but is rank 2"),
        (lambda x: reshaping.ensure_shape(x, [2, 4]), "not compatible"),
    ],
)
def test_shapes_that_do_not_fit(call, words):
    with pytest.raises(ValueError, match=words):
        call(tf.zeros([2, 3]))


def test_sizes_with_a_fraction_are_refused_where_they_are_given(graph):
    """As what ``6 / 2`` gives in Python 3, in programs that were written for Python 2."""
    x = tf.placeholder(tf.float32, [None, 6])
    for call in (
        lambda: reshaping.reshape(x, [-1, 6 / 2]),
        lambda: repeating.tile(x, [1, 4 / 2]),
        lambda: slicing.slice(x, [0, 0], [-1, 6 / 2]),
        lambda: padding.pad(x, [[0, 0], [1, 2 / 2]]),
        lambda: tf.nn.top_k(x, 4 / 2),
    ):
        with pytest.raises(TypeError, match=r"int32 or int64, but are \[\?,\d+\.0\] .* // in"):
            call()
    assert tf.sequence_mask([1, 2], 6 / 2).shape == [2, 3]  # that takes it, as TensorFlow's does


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda x, i: reshaping.reshape(x, [i]),
            "Input to reshape is a tensor with 6 values, but the requested shape has 5",
        ),
        (lambda x, i: reshaping.reshape(x, [-1, i - 1]), "requires a multiple of 4"),
        (lambda x, i: x[i], "slice index 5 of dimension 0 out of bounds"),
        (lambda x, i: slicing.slice(x, [i, 0], [1, 1]), r"begin\[0\] in \[0, 2\], but got 5"),
        (lambda x, i: repeating.tile(x, tf.boolean_mask([i, i], [True, False])), "multiples"),
        (
            lambda x, i: reshaping.ensure_shape(tf.boolean_mask(x, [True, False]), [2, 3]),
            r"Shape of tensor \[1, 3\] is not compatible with expected shape \[2,3\]",
        ),
        (lambda x, i: transposing.invert_permutation(tf.stack([i, 0])), "not a permutation"),
        (lambda x, i: rearranging.reverse_sequence(x, tf.stack([i, 0]), 1), "seq_lens"),
        (lambda x, i: padding.pad(x, tf.stack([[i, 0], [0, 0]]), "REFLECT"), "less than"),
    ],
)
def test_errors_of_a_run_are_invalid_arguments(call, words):
    x, i = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.int32, [])
    with pytest.raises(InvalidArgumentError, match=words):
        run(call(x, i), {x: np.zeros((2, 3)), i: 5})


def test_default_names():
    x = tf.zeros([2, 2], name="x")
    made = [
        reshaping.identity(x),
        reshaping.reshape(x, [4]),
        transposing.transpose(x),
        joining.concat([x, x], 0),
        joining.stack([x, x]),
        joining.split(x, 2)[0],
        joining.unstack(x)[0],
        slicing.slice(x, [0, 0], [1, 1]),
        x[0],
        padding.pad(x, [[0, 0]] * 2),
        repeating.tile(x, [1, 1]),
        reshaping.expand_dims(x, 0),
        reshaping.squeeze(x),
    ]
    assert [t.op.name for t in made] == [
        "Identity",
        "Reshape",
        "transpose",
        "concat",
        "stack",
        "split",
        "unstack",
        "Slice",
        "strided_slice",
        "Pad",
        "Tile",
        "ExpandDims",
        "Squeeze",
    ]
    assert joining.concat([x], 0, name="one").op.type == "Identity"


# -- values ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "values"),
    [
        (
            lambda: tf.pad([[1, 2, 3], [4, 5, 6]], [[1, 1], [2, 2]], "REFLECT"),
            [
                [6, 5, 4, 5, 6, 5, 4],
                [3, 2, 1, 2, 3, 2, 1],
                [6, 5, 4, 5, 6, 5, 4],
                [3, 2, 1, 2, 3, 2, 1],
            ],
        ),
        (
            lambda: tf.pad([[1, 2, 3], [4, 5, 6]], [[1, 1], [2, 2]], "SYMMETRIC"),
            [
                [2, 1, 1, 2, 3, 3, 2],
                [2, 1, 1, 2, 3, 3, 2],
                [5, 4, 4, 5, 6, 6, 5],
                [5, 4, 4, 5, 6, 6, 5],
            ],
        ),
        (
            lambda: tf.roll([[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]], [1, -2], [0, 1]),
            [[7, 8, 9, 5, 6], [2, 3, 4, 0, 1]],
        ),
        (
            lambda: tf.roll([[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]], [2, -3], [1, 1]),
            [[1, 2, 3, 4, 0], [6, 7, 8, 9, 5]],
        ),
        (lambda: tf.space_to_depth([[[[1], [2]], [[3], [4]]]], 2), [[[[1, 2, 3, 4]]]]),
        (lambda: tf.depth_to_space([[[[1, 2, 3, 4]]]], 2), [[[[1], [2]], [[3], [4]]]]),
        (
            lambda: tf.space_to_batch_nd([[[[1], [2]], [[3], [4]]]], [2, 2], [[0, 0], [0, 0]]),
            [[[[1]]], [[[2]]], [[[3]]], [[[4]]]],
        ),
        (
            lambda: tf.batch_to_space_nd(
                [[[[1]]], [[[2]]], [[[3]]], [[[4]]]], [2, 2], [[0, 0], [0, 0]]
            ),
            [[[[1], [2]], [[3], [4]]]],
        ),
        (lambda: tf.invert_permutation([3, 4, 0, 2, 1]), [2, 4, 3, 0, 1]),
        (lambda: tf.reverse([[1, 2], [3, 4]], [0, 1]), [[4, 3], [2, 1]]),
        (lambda: tf.strided_slice([[1, 2, 3], [4, 5, 6]], [1, -1], [2, -3], [1, -1]), [[6, 5]]),
        (lambda: tf.transpose(tf.constant([[1 + 1j]]), conjugate=True), [[1 - 1j]]),
    ],
)
def test_documented_values(call, values):
    assert run(call()).tolist() == values


@pytest.mark.parametrize("indexing", ["xy", "ij"])
def test_meshgrid_is_numpys(indexing):
    coordinates = [np.arange(n) for n in (2, 3, 4)]
    found = run(repeating.meshgrid(*coordinates, indexing=indexing))
    for a, b in zip(found, np.meshgrid(*coordinates, indexing=indexing), strict=True):
        np.testing.assert_array_equal(a, b)


# -- indexing ----------------------------------------------------------------------------------

bound = st.one_of(st.none(), st.integers(-4, 4))
step = st.sampled_from([None, 1, 2, -1, -2])
item = st.one_of(
    st.integers(-2, 1), st.builds(slice, bound, bound, step), st.none(), st.just(slice(None))
)


@settings(max_examples=60)
@given(key=st.lists(item, max_size=4), ellipsis=st.one_of(st.none(), st.integers(0, 3)))
def test_indexing_is_numpys(key, ellipsis):
    if ellipsis is not None:
        key = [*key[:ellipsis], Ellipsis, *key[ellipsis:]]
    if sum(i is not None and i is not Ellipsis for i in key) > 3:
        return
    x = np.arange(24).reshape(2, 3, 4)
    wanted = x[tuple(key)]
    with tf.Graph().as_default():
        part = slice_helper(tf.constant(x), tuple(key))
        assert part.shape.as_list() == list(wanted.shape)
        np.testing.assert_array_equal(run(part), wanted)


def test_tensors_as_indices_and_bounds():
    x = np.arange(12).reshape(4, 3)
    i, j = tf.placeholder(tf.int32, []), tf.placeholder(tf.int64, [])
    t = tf.constant(x)
    feed = {i: 1, j: 2}
    assert run(t[i, j], feed) == x[1, 2]
    assert run(t[i:, :j], feed).tolist() == x[1:, :2].tolist()
    assert run(t[-1, i], feed) == x[-1, 1]
    assert run(t[:: tf.constant(2)], feed).tolist() == x[::2].tolist()


def test_a_mask_as_key():
    t = tf.constant([[1, 2], [3, 4]])
    assert run(t[t > 2]).tolist() == [3, 4]
    assert run(t[np.array([False, True])]).tolist() == [[3, 4]]


@pytest.mark.parametrize("key", [1.5, "a", True, [[0.5, 1]], np.array([0.0, 1.0])])
def test_other_keys_are_refused(key):
    with pytest.raises(TypeError, match="Only integers, slices"):
        tf.zeros([2, 2])[key]


# -- chunks ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        lambda x: reshaping.reshape(x, [-1, 6]),
        lambda x: reshaping.expand_dims(x, 1),
        lambda x: reshaping.squeeze(x[:, :1], 1),
        lambda x: transposing.transpose(x, [0, 2, 1]),
        lambda x: transposing.matrix_transpose(x),
        lambda x: repeating.tile(x, [1, 2, 2]),
        lambda x: repeating.broadcast_to(x, [8, 2, 3]),
        lambda x: joining.concat([x, x], 2),
        lambda x: joining.stack([x, x], 1),
        lambda x: joining.split(x, 3, 2)[1],
        lambda x: joining.unstack(x, axis=1)[0],
        lambda x: slicing.slice(x, [0, 1, 0], [8, 1, -1]),
        lambda x: x[:, 0, ::-1],
        lambda x: x[..., tf.newaxis, 1],
        lambda x: padding.pad(x, [[0, 0], [1, 1], [0, 2]]),
        lambda x: padding.pad(x, [[0, 0], [1, 1], [0, 2]], "REFLECT"),
        lambda x: rearranging.reverse(x, [2]),
        lambda x: rearranging.roll(x, 1, 1),
        lambda x: rearranging.reverse_sequence(x, [1] * 8, 2),
        lambda x: rearranging.space_to_depth(
            tf.reshape(x, [-1, 2, 1, 3])[:, :, :1] + tf.zeros([8, 2, 2, 3]), 2
        ),
    ],
)
def test_a_batch_in_chunks_stays_so(call):
    result = call(tf.placeholder(tf.float32, [8, 2, 3]))
    while result.op.type != "Placeholder":
        op = result.op
        shapes = [[t.spec.shape for t in side] for side in (op.inputs, op.outputs)]
        access = op.opdef.pattern.access(*shapes, op.attrs)
        assert access.inputs[0][0] is not None, op
        assert all(dims[0] == access.inputs[0][0] for dims in access.outputs), op
        result = op.inputs[0]


# -- gradients ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        lambda x: reshaping.reshape(x, [tf.shape(x)[0], -1]),
        lambda x: joining.concat([x, x], 0),
        lambda x: slicing.slice(x, [0, 1], [-1, -1]),
        lambda x: x[1:, ::2],
        lambda x: padding.pad(x, [[1, 0], [0, 1]], "SYMMETRIC"),
        lambda x: repeating.tile(x, [2, 2]),
        lambda x: rearranging.roll(x, 1, 0),
    ],
)
def test_second_derivatives(call):
    x = tf.placeholder(tf.float64, [None, 3])
    (first,) = tf.gradients(call(x) ** 3.0, x)
    (second,) = tf.gradients(first, x)
    value = np.arange(1.0, 7.0).reshape(2, 3)
    dx, ddx = run([first, second], {x: value})
    uses = dx / (3 * value**2)  # how often each element is in the result
    np.testing.assert_allclose(ddx, uses * 6 * value)


def test_complex_gradients_of_a_transpose_are_conjugate():
    x = tf.placeholder(tf.complex64, [1, 2])
    y = transposing.transpose(x, conjugate=True)
    (dx,) = tf.gradients(y, x, tf.constant([[1j], [2.0]], tf.complex64))
    assert run(dx, {x: np.zeros((1, 2))}).tolist() == [[-1j, 2]]


def test_gradients_stop():
    x = tf.placeholder(tf.float32, [])
    assert tf.gradients(reshaping.stop_gradient(x) * 2.0, x) == [None]


def test_eager_values():
    with dv.Graph().as_default():
        pass  # a graph that was left has no say
    parts = dv.split(dv.constant([[1, 2, 3], [4, 5, 6]]), [1, 2], axis=1)
    assert [run(p).tolist() if p.graph else p.numpy().tolist() for p in parts] == [
        [[1], [4]],
        [[2, 3], [5, 6]],
    ]


@pytest.mark.parametrize(
    ("call", "fed", "words"),
    [
        (lambda p: tf.reverse([[1, 2]], p), [-30], "axis -30 is out of valid range"),
        (lambda p: tf.reverse([[1, 2]], p), [0, -2], "axis 0 specified more than once"),
        (lambda p: tf.manip.roll([[1, 2]], 1, p), [[0, 1]], "axis must be a scalar or a 1-D"),
        (lambda p: tf.manip.roll([[1, 2]], p, 1), [[0, 1]], "shift must be a scalar or a 1-D"),
        (lambda p: tf.manip.roll([[1, 2]], p, [0, 1]), [1], "shift and axis must have the same"),
        (lambda p: tf.manip.roll(p, 1, 0), 7, "input must be 1-D or higher"),
        (lambda p: tf.gather_nd([1, 2], p), [[0], [7]], r"flat indices\[1, :\] = \[7\] does not"),
        (lambda p: tf.scatter_nd(p, [1], [2]), [[-1]], r"\[0,0\] = \[-1\] does not index into \[2"),
        (
            lambda p: tf.scatter_nd(p, tf.placeholder_with_default([1], None), [0]),
            [[0]],
            "Indices and updates specified for empty",
        ),
        (lambda p: tf.gather_nd([[0, 1, 2]], p), [[1]], r"param \(shape: \[1,3\]\)"),
        (
            lambda p: tf.gather(p, 0, axis=-2),
            [1],
            r"Expected axis in the range \[-1, 1\), but got -2",
        ),
        (lambda p: tf.split(np.zeros([2, 2]), [1, 1], axis=p), [], "have exactly one element"),
        (lambda p: tf.split(np.zeros([2, 2]), 2, axis=p), [0, 1], r"element .* of shape \[2\]"),
        (lambda p: tf.concat([[1], [2]], p), [0], "have exactly one element"),
        (
            lambda p: tf.matrix_set_diag([[0]], p),
            0,
            r"input shape: \[1,1\] and diagonal shape: \[\]",
        ),
        (lambda p: tf.tensordot([[1, 2]], [[1]], p), [[1], [0]], "Matrix size-incompatible"),
    ],
)
def test_what_a_run_finds_wrong_is_said_as_tensorflow_says_it(call, fed, words):
    place = tf.placeholder(tf.int32)
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match=words):
        session.run(call(place), {place: fed})


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: tf.reverse([[1, 2]], [0, -2]), "axis 0 specified more than once"),
        (lambda: tf.manip.roll([[1, 2]], [1], [0, 1]), "both shapes must be equal"),
        (lambda: tf.manip.roll([[1, 2]], [[1]], 0), "at most rank 1 but is rank 2"),
        (lambda: tf.stack([tf.constant(1), 2], 3), r"axis = 3 not in \[-1, 1\)"),
        (lambda: tf.unstack([1], axis=-3), r"axis = -3 not in \[-1, 1\)"),
        (lambda: tf.transpose([[[1]]], [0, 1, 1]), "2 is missing"),
        (lambda: tf.matrix_diag(1), "input must be at least 1-dim"),
        (lambda: tf.matrix_set_diag([[1]], 1), "must be at least rank 1"),
        (lambda: tf.gather([0, 1], 0, axis=1), "Shape must be at least rank 2 but is rank 1"),
        (
            lambda: tf.scatter_nd(np.zeros([2, 2, 1], "i4"), np.zeros([2, 2]), [0]),
            r"Indices and updates specified for empty output shape \[0\]",
        ),
        (
            lambda: tf.sparse_to_dense([1], [5], [1], [0]),
            r"default_value should be a scalar.*\[1\]",
        ),
        (
            lambda: tf.sparse_to_dense([1, 3], [5], [1, 2, 3]),
            r"sparse_values has incorrect shape \[3\], should be \[\] or \[2\]",
        ),
        (
            lambda: tf.sparse_to_dense([1, 3], [5], [[5], [3]]),
            r"sparse_values has incorrect shape \[2,1\], should be \[\] or \[2\]",
        ),
        (lambda: tf.gather([0, 1], 0, axis=-2), "Shape must be at least rank 2 but is rank 1"),
        (lambda: tf.split([0, 1, 2, 3], 3), "ways to split should evenly divide the split dim"),
        (lambda: tf.map_fn(tf.identity, 1), "must be 1\\+ dimensional Tensors, not a scalar"),
        (lambda: tf.map_fn(tf.identity, [1, 2]), "1\\+ dimensional Tensors, not scalars"),
        (lambda: tf.reverse_sequence([[1]], [1], 2), "seq_dim must be < input rank"),
        (lambda: tf.confusion_matrix([[1, 2]], [1, 2], 3), r"not squeeze dim\[1\]"),
        (
            lambda: tf.scatter_nd(tf.zeros([3, 2, 2], tf.int32), tf.zeros([2, 2, 2]), [2, 2, 2]),
            "The outer 2 dimensions of indices.shape=",
        ),
    ],
)
def test_what_shapes_tell_is_said_as_tensorflow_says_it(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_images_that_are_woven_are_known_to_have_four_dimensions():
    with tf.Graph().as_default():
        woven = tf.batch_to_space(tf.placeholder("float32"), tf.placeholder("int32"), 4)
        assert woven.shape.as_list() == [None] * 4


@pytest.mark.parametrize(
    ("shape", "wanted", "found"),
    [
        ([0, 6], [0, -1, 3], (0, 2, 3)),
        ([0, 6], [-1, 0], (6, 0)),
        ([2, 0, 3], [0, -1], (0, 6)),
        ([0, 6], [-1, 6], (0, 6)),
    ],
)
@pytest.mark.parametrize("is_static", [True, False])
def test_no_elements_are_reshaped_as_if_no_size_were_0(shape, wanted, found, is_static):
    x = tf.placeholder(tf.float32, shape if is_static else [None] * len(shape))
    with tf.Session() as sess:
        assert sess.run(tf.reshape(x, wanted), {x: np.zeros(shape)}).shape == found


def test_a_variable_that_is_repeated_for_an_empty_batch_has_a_gradient():
    x = tf.placeholder(tf.float32, [None, 3])
    start = tf.get_variable("start", [3], initializer=tf.ones_initializer())
    rows = tf.tile(start[None], [tf.shape(x)[0], 1])
    (slope,) = tf.gradients(tf.reduce_sum(rows * x), start)
    with tf.Session() as sess:
        sess.run(start.initializer)
        for count in (0, 2):
            assert sess.run(slope, {x: np.ones([count, 3])}).tolist() == [count] * 3


NO_INTEGERS = {
    "begin must be int32 or int64, got [1.0]": lambda x: tf.slice(x, [1.0], [1]),
    "perm must be int32 or int64, got [0.0]": lambda x: tf.transpose(x, [0.0]),
    "axis must be int32 or int64, got [0.0]": lambda x: tf.reverse(x, [0.0]),
    "shift must be int32 or int64, got 1.0": lambda x: tf.roll(x, 1.0, 0),
    "axis must be int32 or int64, got 0.0": lambda x: tf.expand_dims(x, 0.0),
    "axis must be int32 or int64, got (0.5,)": lambda x: tf.squeeze(x[:1], [0.5]),
    "axis must be an integer, got 0.0": lambda x: tf.sort(x, 0.0),
    "concat() takes an integer axis, got 0.0": lambda x: tf.concat([x, x], 0.0),
    "split() takes an integer axis, got 0.0": lambda x: tf.split(x, 3, 0.0),
    "unstack() takes an integer axis, got 0.5": lambda x: tf.unstack(x, 3, 0.5),
    "maxval must be int32 or int64, got 1.5": lambda x: tf.random_uniform([2], 0, 1.5, tf.int32),
}


def test_axes_and_places_are_whole_numbers_and_the_error_names_the_argument():
    x = tf.constant([1.0, 2.0, 3.0])
    for words, make in NO_INTEGERS.items():
        with pytest.raises(TypeError) as raised:
            make(x)
        assert words in str(raised.value)
    with pytest.raises(ValueError, match="begin and size must be vectors, got begin 1 and size 2"):
        tf.slice(x, 1, 2)
    assert run(tf.squeeze(x[None, :1], tf.constant([0, 1]))) == 1.0
