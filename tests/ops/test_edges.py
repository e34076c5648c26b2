"""Edges of ops: sizes of 0, axes and ranks out of range, and what only the run tells."""

import numpy as np
import pytest

import daskvars.v1 as tf
from daskvars.errors import InvalidArgumentError
from tests.sessions import run

pytestmark = pytest.mark.usefixtures("graph")


def fed(value, dtype, shape=None):
    """Return a placeholder of unknown shape, and what feeds it."""
    tensor = tf.placeholder(dtype, shape)
    return tensor, {tensor: value}


MATRIX = [[1.0, 2.0], [3.0, 4.0]]
WORDS = [["a", "b"], ["c", "d"]]


@pytest.mark.parametrize(
    "call, error, problem",
    [
        (lambda: tf.argmin(tf.zeros([0]), 0), InvalidArgumentError, r"is empty in shape \[0\]"),
        (lambda: tf.argmax(tf.zeros([2, 0]), 1), InvalidArgumentError, r"empty in shape \[2,0\]"),
        (lambda: tf.pad([1], [[1, 1]], constant_values=1.5), TypeError, "got 1.5 of type 'float'"),
        (lambda: tf.pad([1.0], [[1, 1]], constant_values=tf.constant(2)), TypeError, "is int32"),
        (lambda: tf.range(1.5, dtype=tf.int32), TypeError, "Expected int32"),
        (lambda: tf.cumsum(MATRIX, 2), InvalidArgumentError, r"scan axis in the range \[-2, 2\)"),
        (lambda: tf.cumprod(MATRIX, -3), InvalidArgumentError, "but got -3"),
        (lambda: tf.cumsum(MATRIX, [0]), InvalidArgumentError, "must be a scalar"),
        (lambda: tf.reduce_sum(MATRIX, [0, 2]), ValueError, "Invalid reduction dimension 2"),
        (lambda: tf.reduce_any([[True]], -3), ValueError, "Invalid reduction dimension -3"),
        (lambda: tf.reduce_max(MATRIX, 0.5), TypeError, "must be int32 or int64"),
        (lambda: tf.reduce_sum(MATRIX, [[0], [1]]), ValueError, "at most rank 1"),
        (
            lambda: tf.reverse_sequence(MATRIX, [1, 1], 2),
            ValueError,
            "seq_dim must be < input rank",
        ),
        (lambda: tf.sequence_mask([1, 2], [3, 4]), ValueError, "maxlen must be scalar"),
        (lambda: tf.batch_to_space_nd([[1.0]], [1], [[0, -1]]), ValueError, "cannot be negative"),
        (lambda: tf.tile([[1.0]], [[2, 3], [3, 4]]), ValueError, "rank 1 but is rank 2: multiples"),
        (lambda: tf.tile([1.0], 3), ValueError, "rank 1 but is rank 0: multiples"),
        (lambda: tf.tile([1.0], tf.size([1, 2])), ValueError, "rank 1 but is rank 0: multiples"),
        (
            lambda: tf.parse_single_example(
                b"", {"a": tf.FixedLenFeature([2], tf.float32, default_value=[1.0])}
            ),
            ValueError,
            r"reshape a tensor with 1 elements to shape \[2\]: the default_value of feature 'a'",
        ),
        (lambda: tf.concat([MATRIX], 0.5), TypeError, "integer"),
        (lambda: tf.concat([MATRIX, [1.0]], 1), ValueError, "must be rank 2 but is rank 1"),
        (lambda: tf.concat([[1.0], MATRIX], 0), ValueError, "must be rank 1 but is rank 2"),
        (lambda: tf.conj("a"), TypeError, "numeric"),
        (lambda: tf.norm(MATRIX, axis=[]), ValueError, "a tuple of 2 unique integers"),
        (lambda: tf.norm(MATRIX, axis=[0, 1, 0]), ValueError, "a tuple of 2 unique integers"),
        (lambda: tf.norm(MATRIX, axis=[1, 1]), ValueError, "a tuple of 2 unique integers"),
        (lambda: tf.norm(MATRIX, axis=0.5), ValueError, "a tuple of 2 unique integers"),
        (lambda: tf.norm(MATRIX, axis=2), ValueError, "Invalid reduction dimension 2"),
        (lambda: tf.norm(MATRIX, "fro"), ValueError, "supported vector norm"),
        (lambda: tf.norm(MATRIX, np.nan), ValueError, "supported vector norm"),
        (lambda: tf.norm(MATRIX, 1.1, [0, 1]), ValueError, "supported matrix norm"),
        (lambda: tf.diag(1.0), ValueError, "at least rank 1"),
        (lambda: tf.diag_part(1.0), ValueError, "even and non-zero rank"),
        (lambda: tf.diag_part([1.0]), ValueError, "even and non-zero rank"),
        (lambda: tf.diag_part([[1.0, 2.0]]), ValueError, "halves"),
        (lambda: tf.nn.top_k(MATRIX, 3), ValueError, "last dimension >= k = 3"),
        (lambda: tf.nn.top_k(fed(0, tf.float32)[0], -1), ValueError, "Need k >= 0"),
        (lambda: tf.space_to_batch(tf.ones([1, 2, 2, 1]), [[0, 0]] * 2, 0), ValueError, "positive"),
        (
            lambda: tf.space_to_batch(tf.ones([1, 2, 2, 1]), [[0, 0]] * 2, -1),
            ValueError,
            "positive",
        ),
        (lambda: tf.batch_to_space(tf.ones([4, 2, 2, 1]), [[0, 0]] * 2, 0), ValueError, "positive"),
        (lambda: tf.space_to_depth(tf.ones([1, 2, 2, 1]), 0), ValueError, "Block size"),
        (lambda: tf.split(tf.ones([4]), [1, 3], num=3), ValueError, "2 sizes are given, and num=3"),
        (lambda: tf.split(tf.ones([4]), fed(0, tf.int32, [2])[0], num=3), ValueError, "num=3"),
        (lambda: tf.reduce_join(WORDS, 2), ValueError, "Invalid reduction dimension 2"),
        (lambda: tf.reduce_join(WORDS, [0, -2]), ValueError, "Duplicate reduction dimension 0"),
        (lambda: tf.tensordot(fed(0, tf.float32)[0], MATRIX, -1), ValueError, "at least 0"),
        (lambda: tf.tile(MATRIX, fed(0, tf.int32, [3])[0]), ValueError, "Dimension must be 2 but"),
        (lambda: tf.pad(MATRIX, fed(0, tf.int32, [2, 3])[0]), ValueError, "matrix of 2 columns"),
        (
            lambda: tf.pad(MATRIX, fed(0, tf.int32, [3, 2])[0]),
            ValueError,
            "must be rank 3 but is rank 2",
        ),
        (lambda: tf.bincount([1], dtype=tf.uint8), TypeError, "not in uint8"),
        (
            lambda: tf.nn.sparse_softmax_cross_entropy_with_logits(
                labels=[[0], [1]], logits=MATRIX
            ),
            ValueError,
            "Rank mismatch",
        ),
    ],
)
def test_is_refused_when_the_graph_is_built(call, error, problem):
    with pytest.raises(error, match=problem):
        call()


@pytest.mark.parametrize(
    "call, value, dtype, problem",
    [
        (lambda x: tf.argmin(x, 1), np.ones([2, 0]), tf.float32, r"is empty in shape \[2,0\]"),
        (lambda x: tf.reverse_sequence(x, [1, 1], 0, 0), MATRIX, tf.float32, "== seq_dim"),
        (lambda x: tf.multinomial(x, 7), np.ones([5, 0]), tf.float32, "num_classes"),
        (tf.decode_base64, "YQ=", tf.string, "Invalid padding"),
        (lambda x: tf.decode_compressed(x, "GZIP"), ["a"], tf.string, "not compressed by GZIP"),
        (lambda x: tf.decode_csv(x, [["a"]]), ['a"bc'], tf.string, "Unquoted fields"),
        (lambda x: tf.decode_csv(x, [[0.5]]), ["1.0a"], tf.string, "is not a valid float: 1.0a"),
        (lambda x: tf.decode_csv(x, [[0]]), ["1_0"], tf.string, "is not a valid int32: 1_0"),
        (lambda x: tf.cumsum(x, 3), MATRIX, tf.float32, r"scan axis in the range \[-2, 2\)"),
        (lambda x: tf.reduce_sum(x, 3), MATRIX, tf.float32, "out of range"),
        (lambda x: tf.nn.top_k(MATRIX, x), 5, tf.int32, "at least k columns. Had 2, needed 5"),
        (lambda x: tf.nn.top_k(MATRIX, x), -1, tf.int32, "Need k >= 0, got -1"),
        (lambda x: tf.diag(x), 1.0, tf.float32, "at least rank 1"),
        (lambda x: tf.diag_part(x), [1.0], tf.float32, "even and non-zero rank"),
        (lambda x: tf.concat([MATRIX, MATRIX], x), 2, tf.int32, r"range \[-2, 2\), but got 2"),
        (lambda x: tf.gather(MATRIX, [0], axis=x), -3, tf.int32, r"in the range \[-2, 2\)"),
        (lambda x: tf.split(tf.ones([4]), x, num=3), [1, 3], tf.int32, "equal to num = 3"),
        (lambda x: tf.reduce_join(WORDS, x), 2, tf.int32, "Invalid reduction dimension 2"),
        (lambda x: tf.reduce_join(WORDS, x), [1, -1], tf.int32, "Duplicate reduction dimension 1"),
        (lambda x: tf.reduce_join(x, 2), WORDS, tf.string, "Invalid reduction dimension 2"),
        (
            lambda x: tf.space_to_batch_nd(tf.ones([1, 2, 2, 1]), x, [[0, 0]] * 2),
            [0, 1],
            tf.int32,
            "must be positive",
        ),
        (
            lambda x: tf.batch_to_space_nd(tf.ones([4, 2, 2, 1]), x, [[0, 0]] * 2),
            [-1, 1],
            tf.int32,
            "must be positive",
        ),
        (
            lambda x: tf.tensordot(tf.ones([2, 3]), tf.ones([3, 2]), x),
            [[0, 1], [0, 1]],
            tf.int32,
            "equal sizes",
        ),
        (
            lambda x: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=x, logits=MATRIX),
            [[0], [1]],
            tf.int32,
            "Rank mismatch",
        ),
    ],
)
def test_is_refused_in_the_run_where_that_alone_tells(call, value, dtype, problem):
    tensor, feed = fed(value, dtype)
    with pytest.raises(InvalidArgumentError, match=problem):
        run(call(tensor), feed)


@pytest.mark.parametrize(
    "call, shape",
    [
        (lambda: tf.dynamic_partition(tf.ones([3, 0]), [0, 1, 0], 2)[0], [2, 0]),
        (lambda: tf.dynamic_partition(tf.ones([0, 2]), tf.zeros([0], tf.int32), 2)[1], [0, 2]),
        (lambda: tf.dynamic_stitch([[0], [1]], [tf.ones([1, 0]), tf.ones([1, 0])]), [2, 0]),
        (lambda: tf.scatter_nd([[0], [1]], tf.ones([2, 0]), [4, 0]), [4, 0]),
        (lambda: tf.scatter_nd(tf.zeros([0, 1], tf.int32), tf.ones([0, 3]), [0, 3]), [0, 3]),
        (lambda: tf.unsorted_segment_sum(tf.ones([3, 0]), [0, 1, 0], 2), [2, 0]),
        (lambda: tf.unsorted_segment_max(tf.ones([3, 0]), [0, 1, 0], 2), [2, 0]),
        (lambda: tf.unsorted_segment_mean(tf.ones([3, 0]), [0, 1, 0], 2), [2, 0]),
        (lambda: tf.segment_mean(tf.ones([3, 0]), [0, 0, 1]), [2, 0]),
        (lambda: tf.reduce_join(tf.zeros([2, 0], tf.string), 0), [0]),
        (lambda: tf.argmin(tf.ones([2, 0]), 0), [0]),
    ],
)
def test_dimensions_of_no_size(call, shape):
    assert run(call()).shape == tuple(shape)


@pytest.mark.parametrize(
    "shape, axis, wanted",
    [
        ([0, 2], 0, [b"", b""]),
        ([2, 0], 1, [b"", b""]),
        ([0, 0], [0, 1], b""),
        ([2, 0], 0, []),
    ],
)
def test_joins_of_nothing(shape, axis, wanted):
    assert np.asarray(run(tf.reduce_join(tf.zeros(shape, tf.string), axis))).tolist() == wanted


@pytest.mark.parametrize("rank", [None, 2])
def test_axes_that_only_the_run_tells(rank):
    shape = None if rank is None else [None] * rank
    a, b = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
    x, y = tf.placeholder(tf.float64, shape), tf.placeholder(tf.float64, shape)
    axes = tf.placeholder(tf.int32, [2, 1])
    feed = {x: a, y: b, axes: [[1], [-2]]}
    for given in (axes, 1, [[-1], [0]]):
        product = tf.tensordot(x, y, given)
        np.testing.assert_allclose(run(product, feed), a @ b)
        gradients = run(tf.gradients(product, [x, y]), feed)
        np.testing.assert_allclose(gradients[0], np.ones((2, 4)) @ b.T)
        np.testing.assert_allclose(gradients[1], a.T @ np.ones((2, 4)))
    assert run(tf.gather(x, [2, 0], axis=-1), feed).tolist() == a[:, [2, 0]].tolist()


def unknown(*shape):
    return tf.placeholder(tf.float32, None if shape == (...,) else shape)


@pytest.mark.parametrize(
    "call, shape",
    [
        (lambda: tf.dynamic_stitch([[0, 2], [7]], [unknown(2, 5), unknown(1, None)]), [8, 5]),
        (
            lambda: tf.dynamic_stitch([[0], tf.placeholder(tf.int32, [1])], [unknown(1, 5)] * 2),
            [None, 5],
        ),
        (lambda: tf.pad(unknown(...), tf.placeholder(tf.int32, [3, 2])), [None] * 3),
        (lambda: tf.pad(unknown(4, 4), tf.placeholder(tf.int32)), [None] * 2),
        (lambda: tf.pad(unknown(...), [[2, 2], [2, 2]]), [None] * 2),
        (lambda: tf.tile(unknown(4, 4), tf.placeholder(tf.int32)), [None] * 2),
        (lambda: tf.tile(unknown(...), [2, 2, 2]), [None] * 3),
        (lambda: tf.tile(unknown(1, 1), [tf.placeholder(tf.int32, []), 7]), [None, 7]),
        (
            lambda: tf.space_to_batch_nd(
                unknown(None, None, None, None),
                tf.placeholder(tf.int32, [2]),
                tf.placeholder(tf.int32),
            ),
            [None] * 4,
        ),
        (
            lambda: tf.space_to_batch_nd(
                unknown(None, None, None, 2),
                tf.placeholder(tf.int32, [2]),
                tf.placeholder(tf.int32),
            ),
            [None, None, None, 2],
        ),
        (
            lambda: tf.space_to_batch_nd(
                unknown(3, None, None, 2), [2, 3], tf.placeholder(tf.int32)
            ),
            [18, None, None, 2],
        ),
        (
            lambda: tf.space_to_batch_nd(unknown(3, None, 2, 3), [2, 3], [[1, 1], [0, 1]]),
            [18, None, 1, 3],
        ),
        (
            lambda: tf.batch_to_space_nd(unknown(18, 2, None, 3), [2, 3], [[1, 1], [0, 1]]),
            [3, 2, None, 3],
        ),
    ],
)
def test_shapes_that_the_graph_tells(call, shape):
    assert call().shape.as_list() == shape


@pytest.mark.parametrize(
    "equation",
    [
        "abhe,hidj,jgba,hiab,gab",
        "bca,cdb,dbf,afc->",
        "efc,dbc,acf,fd->abe",
        "ab,cd,de,fg->bcefga",
        "ea,fb,abcd,gc,hd->efgh",
        "ab,ab,cd,cd,ef,ef->abcdef",
        "a,ac,ab,ad,ae->b",
    ],
)
@pytest.mark.parametrize("seed", range(4))
def test_long_equations(equation, seed):
    rng = np.random.default_rng(seed)
    sizes = {label: int(rng.integers(2, 5)) for label in equation if label.isalpha()}
    terms = equation.split("->")[0].split(",")
    arrays = [rng.integers(-9, 9, [sizes[label] for label in term]) for term in terms]
    found = run(tf.einsum(equation, *map(tf.constant, arrays)))
    np.testing.assert_array_equal(found, np.einsum(equation, *arrays))


def test_joins_go_along_the_axes_in_their_order():
    cube = [[["a", "b"], ["c", "d"]], [["e", "f"], ["g", "h"]]]
    assert run(tf.reduce_join(cube, [2, 0])).tolist() == [b"abef", b"cdgh"]
    assert run(tf.reduce_join(cube, [0, 2], separator="-")).tolist() == [b"a-e-b-f", b"c-g-d-h"]
    assert run(tf.reduce_join(cube)) == b"abcdefgh"


def test_strings_add():
    words = tf.constant(["a", "b"])
    found = [value.tolist() for value in run([words + words, words + "x", "x" + words])]
    assert found == [[b"aa", b"bb"], [b"ax", b"bx"], [b"xa", b"xb"]]
    assert run(tf.add(tf.constant("a"), "b")) == b"ab"


def test_texts_are_texts_wherever_zeros_or_ones_would_be_numbers():
    words, square = tf.constant(["a", "b"]), tf.constant([[["a"]]])
    written = tf.TensorArray(tf.string, 2, element_shape=[]).write(1, "a")
    found = [
        tf.diag(words),
        tf.matrix_diag(words),
        tf.dynamic_stitch([[1]], [["a"]]),
        written.stack(),
        tf.space_to_batch_nd(square, [2, 1], [[0, 1], [0, 0]]),
        tf.one_hot([0], 2, "a", "é"),
    ]
    values = [value.reshape(-1).tolist() for value in run(found)]
    assert values == [
        [b"a", b"", b"", b"b"], [b"a", b"", b"", b"b"], [b"", b"a"], [b"", b"a"], [b"a", b""],
        [b"a", "é".encode()],
    ]  # fmt: skip
    some, _ = fed(["a"], tf.string)
    for call in (
        lambda: tf.eye(2, dtype=tf.string),
        lambda: tf.range(3, dtype=tf.string),
        lambda: tf.sequence_mask([1], 2, tf.string),
        lambda: tf.confusion_matrix([0], [0], dtype=tf.string),
        lambda: tf.one_hot([0], 2, dtype=tf.string),
        lambda: tf.ones_like(some),
        lambda: tf.pad(words, [[1, 1]], constant_values=1),
    ):
        with pytest.raises(TypeError, match="Expected string"):
            call()


@pytest.mark.parametrize("size", [[], None])
def test_a_sum_of_strings_goes_on_as_a_tensor(size):
    """A ufunc gives bytes, no array, where objects have no dimension."""
    with tf.Graph().as_default(), tf.Session() as session:
        text = tf.placeholder(tf.string, size)
        both = text + "b"
        found = [
            tf.py_func(lambda x: x + b"c", [both], tf.string),
            tf.reshape(both, [1]),
            tf.where(tf.equal(both, "ab"), both, text),
            tf.string_to_hash_bucket_fast(both, 2**31 - 1),
            tf.cond(tf.equal(text, "a"), lambda: both + text, lambda: text),
        ]
        values = session.run([both, *found], {text: "a"})
    assert [v.tolist() if isinstance(v, np.ndarray) else v for v in values] == [
        b"ab", b"abc", [b"ab"], b"ab", 399016389, b"aba"
    ]  # fmt: skip


def test_bincount_of_any_integers_and_exact_weights():
    for dtype in (np.uint8, np.int8, np.int16, np.uint16, np.int32, np.int64):
        counts = run(tf.bincount(np.array([1, 2, 2], dtype)))
        assert counts.dtype == np.int32 and counts.tolist() == [0, 1, 2]
    weights = np.array([2**53, 1])
    assert run(tf.bincount([0, 0], weights)).tolist() == [2**53 + 1]


def test_one_hot_of_bytes():
    places = np.arange(256).astype(np.uint8)
    np.testing.assert_array_equal(run(tf.one_hot(tf.constant(places), 300)), np.eye(256, 300))


def test_fill_goes_with_a_width():
    assert run(tf.as_string([1.5, -1.0], precision=2, width=7, fill=" ")).tolist() == [
        b"   1.50",
        b"  -1.00",
    ]
    assert run(tf.as_string([42], width=1, fill=" ")).tolist() == [b" 42"]
    with pytest.warns(UserWarning, match="no effect without a width"):
        assert run(tf.as_string([1.5], precision=2, fill="+")).tolist() == [b"1.50"]
