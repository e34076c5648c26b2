"""Reductions, scans, moments, counts and clipping: what the samples do not show."""

import numpy as np
import pytest

import daskvars.v1 as tf
from daskvars.errors import InvalidArgumentError
from tests.sessions import run

pytestmark = pytest.mark.usefixtures("graph")


# -- shapes and arguments ----------------------------------------------------------------------


def test_static_shapes():
    x = tf.placeholder(tf.float32, [None, 3, 4])
    assert tf.reduce_sum(x).shape.as_list() == []
    assert tf.reduce_sum(x, [0, -1]).shape.as_list() == [3]
    assert tf.reduce_sum(x, 1, keepdims=True).shape.as_list() == [None, 1, 4]
    assert tf.reduce_sum(x, tf.constant([1, 2])).shape.as_list() == [None]
    y = tf.placeholder(tf.float32)
    assert tf.reduce_max(y).shape.as_list() == []
    assert tf.reduce_max(y, 0).shape.ndims is None
    assert tf.argmax(x, 1).shape.as_list() == [None, 4]


def test_deprecated_names():
    x = tf.ones([2, 3])
    assert tf.reduce_sum(x, reduction_indices=[1], keep_dims=True).shape.as_list() == [2, 1]
    with pytest.raises(ValueError, match="Cannot specify both 'axis' and 'reduction_indices'"):
        tf.reduce_sum(x, 0, reduction_indices=1)
    with pytest.raises(ValueError, match="both 'keepdims' and 'keep_dims'"):
        tf.reduce_mean(x, keepdims=True, keep_dims=True)
    with pytest.raises(ValueError, match="both 'axis' and 'dimension'"):
        tf.argmax(x, 0, dimension=0)


def test_axes_out_of_range():
    x = tf.ones([2, 3])
    for function in (tf.reduce_sum, tf.argmax):
        with pytest.raises(ValueError, match="out of range"):
            function(x, 2)
    with pytest.raises(InvalidArgumentError, match="scan axis in the range"):
        tf.cumsum(x, 2)
    with pytest.raises(TypeError):
        tf.reduce_any(x)


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "max", "min", "logsumexp", "all", "any"])
def test_an_axis_named_twice_is_folded_once(name):
    function, kind = getattr(tf, f"reduce_{name}"), bool if name in ("all", "any") else np.float32
    value = np.array([[1, 2, 3], [4, 0, 6]], kind)
    x, axes = tf.placeholder(kind, [None, 3]), tf.placeholder(tf.int32)
    unranked = tf.placeholder(kind)
    wanted = run(function(value, 1))
    assert function(x, [1, -1]).shape.as_list() == [None]
    results = [function(x, [1, -1]), function(unranked, [1, -1]), function(x, axes)]
    for result in results:
        feed = {x: value, unranked: value, axes: [-1, 1]}
        assert run(result, feed).tolist() == wanted.tolist(), result
    assert run(function(x, [0, 1, -2]), {x: value}).shape == ()
    with pytest.raises(InvalidArgumentError, match=r"Invalid reduction dimension \(2 for"):
        run(function(x, axes), {x: value, axes: [1, 1, 2]})


def test_the_gradient_of_a_mean_over_an_axis_named_twice():
    x = tf.placeholder(tf.float32)
    (dx,) = tf.gradients(tf.reduce_mean(x, [0, -2]), x)
    assert run(dx, {x: np.ones((2, 3))}).tolist() == [[0.5] * 3] * 2


def test_axes_that_depend_on_an_unknown_rank():
    x = tf.placeholder(tf.float32)
    total = tf.reduce_sum(x, tf.range(1, tf.rank(x)))
    (dx,) = tf.gradients(total * tf.constant([1.0, 2.0]), x)
    feed = {x: np.ones((2, 3, 4))}
    assert run(total, feed).tolist() == [12.0, 12.0]
    assert run(dx, feed)[:, 2, 3].tolist() == [1.0, 2.0]


def test_names():
    x = tf.ones([2, 3])
    names = {
        "Sum": tf.reduce_sum(x),
        "Mean": tf.reduce_mean(x),
        "Max": tf.reduce_max(x),
        "Prod": tf.reduce_prod(x),
        "ReduceLogSumExp": tf.reduce_logsumexp(x),
        "ArgMax": tf.argmax(x),
        "Cumsum": tf.cumsum(x),
        "loss": tf.reduce_mean(x, name="loss"),
    }
    for name, tensor in names.items():
        assert tensor.op.name == name


# -- values ------------------------------------------------------------------------------------


def test_dtypes_are_kept():
    x = tf.constant([100, 100], tf.int8)
    assert run(tf.reduce_sum(x)).dtype == np.int8
    assert run(tf.reduce_mean(tf.constant([1, 2]))) == 1
    assert run(tf.reduce_mean(tf.constant([-1, -2]))) == -1
    for dtype in (tf.int8, tf.uint8, tf.int32, tf.uint32, tf.int64):
        top = dtype.max if dtype.size < 8 else 2**40
        mean = tf.reduce_mean(tf.constant([top, top, top - 3], dtype), name=dtype.name)
        assert (run(mean), mean.dtype, mean.op.name) == (top - 1, dtype, dtype.name)
    half = tf.fill([4096], tf.constant(1.0, tf.float16))
    assert run(tf.reduce_sum(half)) == 4096
    assert run(tf.reduce_mean(half)) == 1


@pytest.mark.parametrize("shape, axis", [((3, 40000), 1), ((40000, 3), 0), ((50, 40, 30), (0, 1))])
def test_large_sums_are_those_of_numpy(shape, axis):
    values = np.random.default_rng(0).normal(size=shape).astype("f4")
    x = tf.placeholder(tf.float32, shape)
    wanted = values.sum(axis, dtype="f8")
    np.testing.assert_allclose(run(tf.reduce_sum(x, axis), {x: values}), wanted, atol=1e-2)
    kept = run(tf.reduce_mean(x, axis, keepdims=True), {x: values})
    assert kept.shape == values.sum(axis, keepdims=True).shape


def test_folds_of_nothing():
    x = tf.constant(np.zeros((0, 2), "f4"))
    assert run(tf.reduce_sum(x, 0)).tolist() == [0, 0]
    assert run(tf.reduce_prod(x, 0)).tolist() == [1, 1]
    assert run(tf.reduce_max(x, 0)).tolist() == [-np.inf, -np.inf]
    assert run(tf.reduce_min(tf.constant(np.zeros(0, "i4")))) == np.iinfo(np.int32).max
    assert run(tf.reduce_logsumexp(x)) == -np.inf


def test_logsumexp_does_not_overflow():
    assert run(tf.reduce_logsumexp([1000.0, 1000.0])) == pytest.approx(1000 + np.log(2))
    assert run(tf.reduce_logsumexp([-np.inf, -np.inf])) == -np.inf
    assert run(tf.reduce_logsumexp([np.inf, 0.0])) == np.inf


def test_first_of_equal_positions():
    x = tf.constant([[1.0, 3.0, 3.0]])
    assert run(tf.argmax(x, 1)).tolist() == [1]
    assert tf.argmax(x, 1).dtype == tf.int64
    assert tf.argmin(x, 1, output_type=tf.int32).dtype == tf.int32


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_nan_is_at_no_extreme(graph, dtype):
    nan, inf = float("nan"), float("inf")
    x = tf.constant([[1, nan, 3], [nan, nan, 1], [nan, nan, nan], [nan, -inf, inf]], dtype)
    assert run(tf.argmax(x, 1)).tolist() == [2, 2, 0, 2]  # as TensorFlow 2.21 has it
    assert run(tf.argmin(x, 1)).tolist() == [0, 2, 0, 1]


def test_scans():
    x = tf.constant([1, 2, 3])
    assert run(tf.cumsum(x)).tolist() == [1, 3, 6]
    assert run(tf.cumsum(x, exclusive=True)).tolist() == [0, 1, 3]
    assert run(tf.cumsum(x, reverse=True)).tolist() == [6, 5, 3]
    assert run(tf.cumprod(x, exclusive=True, reverse=True)).tolist() == [6, 3, 1]
    with pytest.raises(ValueError, match="known when the graph is built"):
        tf.cumsum(x, axis=tf.placeholder(tf.int32, []))


# -- gradients ---------------------------------------------------------------------------------


def test_gradient_of_an_extreme_is_shared_among_equals():
    x = tf.constant([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]])
    (dx,) = tf.gradients(tf.reduce_max(x, 1), x)
    np.testing.assert_allclose(run(dx), [[0, 0.5, 0.5], [1 / 3] * 3])


def test_gradient_of_a_product_with_zeros():
    x = tf.constant([2.0, 0.0, 3.0])
    (dx,) = tf.gradients(tf.reduce_prod(x), x)
    assert run(dx).tolist() == [0.0, 6.0, 0.0]
    y = tf.placeholder(tf.float32)
    (dy,) = tf.gradients(tf.reduce_prod(y), y)
    assert run(dy, {y: [[2.0, 0.0], [3.0, 1.0]]}).tolist() == [[0.0, 6.0], [0.0, 0.0]]


def test_gradient_of_a_mean_over_an_open_batch():
    x = tf.placeholder(tf.float32, [None, 2])
    (dx,) = tf.gradients(tf.reduce_mean(x), x)
    assert run(dx, {x: np.zeros((5, 2))}).tolist() == [[np.float32(0.1)] * 2] * 5


def test_gradient_of_moments_skips_the_mean():
    x = tf.placeholder(tf.float64, [4, 3])
    mean, variance = tf.nn.moments(x, [0])
    (dx,) = tf.gradients(variance, x)
    values = np.random.default_rng(1).normal(size=(4, 3))
    wanted = 2 * (values - values.mean(0)) / 4
    np.testing.assert_allclose(run(dx, {x: values}), wanted, rtol=1e-12)
    np.testing.assert_allclose(run(mean, {x: values}), values.mean(0))


# -- norms and counts --------------------------------------------------------------------------


@pytest.mark.parametrize("ord", [1, 2, 3, "euclidean", np.inf])
def test_vector_norms(ord):
    x = np.array([[3.0, -4.0], [1.0, 2.0]])
    wanted = np.linalg.norm(x, 2 if ord == "euclidean" else ord, axis=1)
    np.testing.assert_allclose(run(tf.norm(tf.constant(x), ord, axis=1)), wanted)


@pytest.mark.parametrize("ord", [1, 2, "fro", np.inf])
def test_matrix_norms(ord):
    x = np.random.default_rng(2).normal(size=(2, 3, 4))
    wanted = np.linalg.norm(x, ord, axis=(1, 2))
    np.testing.assert_allclose(run(tf.norm(tf.constant(x), ord, axis=[1, 2])), wanted)
    with pytest.raises(ValueError, match="matrix norm"):
        tf.norm(tf.constant(x), 3, axis=[1, 2])
    with pytest.raises(ValueError, match="positive number"):
        tf.norm(tf.constant(x), -1)


def test_counts():
    assert run(tf.count_nonzero(tf.constant(["", "a", "b"]))) == 2
    assert run(tf.bincount(tf.constant([1, 1, 5]), maxlength=3)).tolist() == [0, 2, 0]
    assert run(tf.bincount(tf.constant([0]), minlength=2)).tolist() == [1, 0]
    with pytest.raises(InvalidArgumentError, match="non-negative"):
        run(tf.bincount(tf.constant([-1, 2])))


def test_confusion_matrix():
    matrix = tf.confusion_matrix([1, 2, 4], [2, 2, 4])
    assert run(matrix).tolist() == [
        [0, 0, 0, 0, 0],
        [0, 0, 1, 0, 0],
        [0, 0, 1, 0, 0],
        [0, 0, 0, 0, 0],
        [0, 0, 0, 0, 1],
    ]
    assert run(tf.confusion_matrix([0, 1], [0, 1], weights=[2, 3])).tolist() == [[2, 0], [0, 3]]
    with pytest.raises(InvalidArgumentError, match="`labels` out of bound"):
        run(tf.confusion_matrix([3], [0], num_classes=2))
    with pytest.raises(ValueError, match="must be equal"):
        tf.confusion_matrix([1, 2], [1])


# -- clipping ----------------------------------------------------------------------------------


def test_clip_by_value_refuses_wider_bounds():
    with pytest.raises(ValueError, match="broadcast"):
        tf.clip_by_value(tf.zeros([3]), tf.zeros([2, 3]), 1.0)


def test_clip_by_norm_refuses_a_norm_that_broadcasts():
    with pytest.raises(ValueError, match="clip_norm broadcasts a tensor of shape"):
        tf.clip_by_norm(tf.ones([2, 3, 1]), tf.constant([1.0, 2.0]))


def test_clip_by_norm_has_a_gradient_at_zero():
    x = tf.constant([0.0, 0.0])
    clipped = tf.clip_by_norm(x, 1.0)
    assert run(clipped).tolist() == [0.0, 0.0]
    assert run(tf.gradients(clipped, x)[0]).tolist() == [1.0, 1.0]
    rows = tf.clip_by_norm(tf.constant([[3.0, 4.0], [0.3, 0.4]]), 1.0, axes=[1])
    np.testing.assert_allclose(run(rows), [[0.6, 0.8], [0.3, 0.4]], rtol=1e-6)


def test_clip_by_global_norm():
    x, y = tf.constant([3.0]), tf.constant([[4.0]])
    rows = tf.IndexedSlices(tf.constant([[0.0]]), tf.constant([2]))
    clipped, norm = tf.clip_by_global_norm([x, None, rows, y, x], 6.0, use_norm=tf.constant(5.0))
    assert run(norm) == 5.0
    assert clipped[1] is None and clipped[2].indices is rows.indices
    assert clipped[4] is clipped[0]
    assert run(clipped[3]).tolist() == [[4.0]]
    assert run(tf.global_norm([x, None, rows, y])) == 5.0
    bad, _ = tf.clip_by_global_norm([tf.constant([np.inf])], 1.0)
    assert np.isnan(run(bad[0])).all()
    with pytest.raises(TypeError, match="sequence"):
        tf.clip_by_global_norm(x, 1.0)
    with pytest.raises(TypeError, match="sequence"):
        tf.global_norm(x)


@pytest.mark.parametrize("function", [tf.argmax, tf.argmin, tf.arg_max, tf.arg_min])
def test_positions_are_of_the_dtypes_of_tensorflow(function):
    for dtype in (tf.int16, tf.uint16, tf.int32, tf.int64):
        assert run(function([3, 1, 1], 0, output_type=dtype)).dtype == dtype.as_numpy_dtype
    message = r"'output_type' .* DataType float32 .* allowed values: int16, uint16, int32, int64"
    with pytest.raises(TypeError, match=message):
        function([3, 1, 1], 0, output_type=tf.float32)


def test_an_empty_list_has_the_dtype_that_a_reduction_takes():
    assert run(tf.reduce_all([])) and not run(tf.reduce_any([], [0]))


def test_weighted_moments_of_halves_are_computed_in_floats():
    x = np.float16([2000, 2001, 2002, 2003])
    mean, variance = run(tf.nn.weighted_moments(tf.constant(x), [0], [1.0] * 4))
    assert (mean.dtype, mean, variance) == (np.float16, np.float16(2001.5), np.float16(1.25))


def test_weighted_moments_are_differentiated_twice():
    x = tf.constant([1.0, 3.0])
    _, variance = tf.nn.weighted_moments(x, [0], [1.0, 2.0])
    slope = tf.gradients(variance, x)[0]
    np.testing.assert_allclose(run(tf.gradients(slope[0], x)[0]), [4 / 9, -4 / 9], rtol=1e-5)


def test_bins_are_int32():
    with pytest.warns(UserWarning, match="bins are int32"):
        bins = tf.histogram_fixed_width_bins([1.0, 3.0], [0.0, 4.0], 2, dtype=tf.int64)
    assert (bins.dtype, run(bins).tolist()) == (tf.int32, [0, 1])


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_values_far_outside_of_bins_are_in_the_outer_ones(dtype):
    far = [2**40, -(2**40)] if dtype == "int64" else [1e30, -1e30, np.inf, -np.inf]
    bins = tf.histogram_fixed_width_bins(np.array(far, dtype), np.array([0, 4], dtype), 4)
    assert run(bins).tolist() == [3, 0] * (len(far) // 2)


@pytest.mark.parametrize("bounds", [[4.0, 4.0], [4.0, 0.0], [np.nan, 1.0]])
def test_a_range_of_bins_that_does_not_rise_is_refused(bounds):
    with pytest.raises(InvalidArgumentError, match="value_range must rise"):
        run(tf.histogram_fixed_width([1.0], bounds, 4))
