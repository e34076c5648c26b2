"""map_fn, foldl, foldr and scan; the numbers are those of TensorFlow's own examples."""

import numpy
import pytest

import daskvars as dv
import daskvars.v1 as tf

ROWS = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]


@pytest.fixture(params=["graph", "eager"])
def value(request):
    """Return what evaluates a tensor, in a graph and in eager code."""
    if request.param == "eager":
        yield lambda t: t.numpy()
        return
    with tf.Graph().as_default(), tf.Session() as sess:
        yield sess.run


def affine(a, x):
    return (a + x) * 2.0


@pytest.mark.parametrize(
    ("function", "without", "given"),
    [
        (dv.foldl, 208.0, 880.0),
        (dv.foldr, 450.0, 1282.0),
        (dv.scan, [1.0, 6.0, 18.0, 44.0, 98.0, 208.0], [22.0, 48.0, 102.0, 212.0, 434.0, 880.0]),
    ],
)
def test_folds(value, function, without, given):
    elems = dv.constant(ROWS)
    assert value(function(affine, elems)).tolist() == without
    assert value(function(affine, elems, initializer=10.0)).tolist() == given


def test_scan_backward_stands_at_its_rows(value):
    found = dv.scan(lambda a, x: a + x, dv.constant([1, 2, 3]), reverse=True)
    assert value(found).tolist() == [6, 5, 3]


def test_map_over_nested_rows(value):
    pairs = (dv.constant([1.0, 2.0]), {"b": dv.constant([[3.0], [4.0]])})
    assert value(dv.map_fn(lambda p: p[0] * p[1]["b"], pairs, dtype=dv.float32)).tolist() == [
        [3.0],
        [8.0],
    ]


def test_gradients_and_static_shapes():
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.constant(ROWS)
        w = tf.constant(2.0)
        mapped = tf.map_fn(lambda row: row * row * w, x)
        assert mapped.shape.as_list() == [6]
        dx, dw = sess.run(tf.gradients(mapped, [x, w]))
        assert numpy.allclose(dx, 4.0 * numpy.array(ROWS)) and dw == 91.0
        constant = tf.foldl(lambda a, row: a * row, x, back_prop=False)
        assert tf.gradients(constant, x) == [None]
        assert tf.gradients(tf.foldl(lambda a, row: a * row, x), w) == [None]


def test_lists_that_leave_a_loop_are_constants_too():
    with tf.Graph().as_default(), tf.Session() as sess:
        x, start = tf.constant([1.0, 2.0, 3.0]), tf.constant(0.5)
        sums = tf.scan(lambda a, row: a + row * row, x, start, back_prop=False)
        squares = tf.map_fn(lambda row: row * row, x, back_prop=False)
        for constant in (sums, squares):
            assert tf.gradients(constant, [x, start]) == [None, None]
        assert sess.run(tf.gradients(sums * squares * x, x)[0]).tolist() == [1.5, 22.0, 130.5]


@pytest.mark.parametrize("function", [tf.map_fn, tf.foldl, tf.foldr, tf.scan])
def test_what_is_refused(function):
    with tf.Graph().as_default():
        with pytest.raises(TypeError, match="callable"):
            function("add", tf.constant([1.0]))
        with pytest.raises(ValueError, match="1\\+ dim"):
            function(affine, tf.constant(1.0))


def test_results_are_structured_as_the_dtypes():
    with tf.Graph().as_default(), pytest.raises(ValueError, match="structure"):
        tf.map_fn(lambda x: (x, -x), tf.constant(ROWS), dtype=tf.float32)
