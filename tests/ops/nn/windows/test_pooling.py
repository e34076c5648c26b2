import itertools

import numpy
import pytest
from numpy.testing import assert_allclose

import daskvars as dv
import daskvars.v1 as tf
from daskvars.ops.nn.windows import pooling as ops
from daskvars.ops.nn.windows.pooling_by_rank import pool
from tests.ops.nn.convolution.test_convolution import padded

rng = numpy.random.default_rng(0)


def naive(x, size, stride, padding, fold):
    """Pooling by its definition; padding is NaN, which `fold` passes over."""
    inside, (rows, columns) = padded(x, size, stride, 1, padding)
    blank, _ = padded(numpy.ones_like(x), size, stride, 1, padding)
    images = numpy.where(blank == 1, inside, numpy.nan)
    y = numpy.zeros((len(x), rows, columns, x.shape[3]))
    for i, j in itertools.product(range(rows), range(columns)):
        top, left = i * stride, j * stride
        y[:, i, j] = fold(images[:, top : top + size[0], left : left + size[1]], axis=(1, 2))
    return y


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize(("size", "stride"), [((2, 2), 2), ((3, 3), 2), ((3, 2), 1), ((2, 2), 3)])
@pytest.mark.parametrize(
    ("function", "fold"), [(ops.max_pool, numpy.nanmax), (ops.avg_pool, numpy.nanmean)]
)
def test_definition(function, fold, size, stride, padding):
    x = rng.normal(size=(2, 7, 6, 3))
    wanted = naive(x, size, stride, padding, fold)
    found = function(x, [1, *size, 1], [1, stride, stride, 1], padding)
    assert_allclose(found.numpy(), wanted, rtol=1e-12)
    first = function(x.transpose(0, 3, 1, 2), size, stride, padding, data_format="NCHW")
    assert_allclose(first.numpy(), wanted.transpose(0, 3, 1, 2), rtol=1e-12)


@pytest.mark.parametrize("shape", [(2, 3, 4, 6), (None, None, None, None), (None, 3, None, 6)])
def test_a_window_of_channels_gives_the_maximum_of_each_group_of_them(shape):
    value = rng.normal(size=(2, 3, 4, 6))
    groups = value.reshape(2, 3, 4, 2, 3)
    largest = groups.max(axis=-1, keepdims=True)
    with dv.Graph().as_default(), dv.Session() as session:
        x = tf.placeholder(dv.float64, shape)
        y = ops.max_pool(x, [1, 1, 1, 3], [1, 1, 1, 3], "SAME", name="out")
        assert y.op.name == "out"
        assert y.shape.as_list() == [*shape[:3], None if shape[3] is None else 2]
        found, slope = session.run([y, dv.gradients(y, [x])[0]], {x: value})
    assert_allclose(found, largest[..., 0])
    assert_allclose(slope, (groups == largest).reshape(value.shape))


def test_equal_maxima_give_the_gradient_to_the_first():
    with dv.Graph().as_default(), dv.Session() as session:
        x = tf.constant(numpy.ones((1, 2, 2, 1), "f4"))
        (dx,) = dv.gradients(ops.max_pool(x, 2, 2, "VALID"), [x])
        assert session.run(dx).ravel().tolist() == [1, 0, 0, 0]


def test_second_derivative_of_max_pool():
    with dv.Graph().as_default(), dv.Session() as session:
        x = tf.constant(rng.normal(size=(1, 4, 4, 1)))
        y = ops.max_pool(x, 2, 2, "VALID")
        (dx,) = dv.gradients(y * y, [x])
        (ddx,) = dv.gradients(dx, [x])
        value, slope, bend = session.run([x, dx, ddx])
    assert_allclose(slope[slope != 0], 2 * value[slope != 0])
    assert sorted(bend.ravel().tolist()) == [0] * 12 + [2] * 4


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("dtype", [dv.int32, dv.int64])
def test_argmax(padding, dtype):
    x = rng.normal(size=(2, 5, 4, 3))
    y, places = ops.max_pool_with_argmax(x, [1, 3, 2, 1], [1, 2, 1, 1], padding, "NHWC", dtype)
    assert places.dtype == dtype
    pooled = ops.max_pool(x, [1, 3, 2, 1], [1, 2, 1, 1], padding).numpy()
    assert y.numpy().tolist() == pooled.tolist()
    flat = x.reshape(2, -1)
    for image in range(2):
        assert_allclose(flat[image][places.numpy()[image]], pooled[image])
    _, places = ops.max_pool_with_argmax(
        x, [1, 3, 2, 1], [1, 2, 1, 1], padding, output_dtype=dtype, include_batch_in_index=True
    )
    assert places.dtype == dtype
    assert_allclose(x.reshape(-1)[places.numpy()], pooled)


def test_pool_chooses_by_type_and_rank():
    x = rng.normal(size=(2, 6, 5, 3))
    for kind, function in (("MAX", ops.max_pool), ("AVG", ops.avg_pool)):
        found = pool(x, [2, 3], kind, "SAME", strides=[2, 1]).numpy()
        assert_allclose(found, function(x, [2, 3], [2, 1], "SAME").numpy())
    row = pool(x[:, 0], [2], "AVG", "VALID", strides=[2]).numpy()
    assert_allclose(row, (x[:, 0, 0:4:2] + x[:, 0, 1:5:2]) / 2)


@pytest.mark.parametrize("kind", ["MAX", "AVG"])
def test_windows_whose_elements_are_apart(kind):
    x = rng.normal(size=(2, 7, 6, 3))
    found = pool(x, [3, 2], kind, "VALID", dilation_rate=[2, 3]).numpy()
    seen = [x[:, i : i + 3, j : j + 3] for i in (0, 2, 4) for j in (0, 3)]
    fold = numpy.max if kind == "MAX" else numpy.mean
    assert_allclose(found, fold(seen, axis=0))
    first = pool(x.transpose(0, 3, 1, 2), [3, 2], kind, "VALID", [2, 3], data_format="NCHW")
    assert_allclose(first.numpy(), found.transpose(0, 3, 1, 2))


def test_names_and_shapes():
    with dv.Graph().as_default():
        x = tf.placeholder(dv.float32, [None, 28, 28, 32])
        y = ops.max_pool(x, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")
        assert y.op.name == "MaxPool"
        assert y.shape.as_list() == [None, 14, 14, 32]
        assert ops.avg_pool(x, 3, 2, "VALID").shape.as_list() == [None, 13, 13, 32]
        assert ops.avg_pool(x, 3, 2, "VALID", name="mean").op.name == "mean"
        (dx,) = dv.gradients(ops.avg_pool(x, 2, 2, "SAME"), [x])
        assert dx.shape.as_list() == [None, 28, 28, 32]
        assert pool(x, [2, 2], "MAX", "SAME").op.name == "max_pool"


def test_errors():
    with dv.Graph().as_default():
        x = tf.placeholder(dv.float32, [None, 28, 28, 3])
        with pytest.raises(ValueError, match="rank 4"):
            ops.max_pool(tf.zeros([3, 3]), 2, 2, "SAME")
        for call, words in (
            (
                lambda: ops.max_pool(x, [1, 2, 2, 3], 2, "SAME"),
                "exactly one of pooling across depth",
            ),
            (lambda: ops.max_pool(x, [1, 1, 1, 3], 1, "SAME"), "window to equal the depth stride"),
            (
                lambda: ops.max_pool(x, [1, 1, 1, 2], [1, 1, 1, 2], "SAME"),
                "depth window to evenly divide the input depth, 3",
            ),
            (lambda: ops.avg_pool(x, [1, 1, 1, 3], 1, "SAME"), "Non-spatial pooling"),
            (lambda: ops.avg_pool(x, 1, [2, 1, 1, 1], "SAME"), "not yet supported on the batch"),
            (
                lambda: ops.max_pool_with_argmax(x, 1, [2, 1, 1, 1], "SAME"),
                r"batch dimension: found ksize=\[1, 1, 1, 1\], strides=\[2, 1, 1, 1\]",
            ),
        ):
            with pytest.raises(dv.errors.UnimplementedError, match=words):
                call()
        with pytest.raises(ValueError, match="padding"):
            ops.avg_pool(x, 2, 2, "FULL")
        with pytest.raises(ValueError, match="Negative dimension"):
            ops.avg_pool(tf.zeros([1, 2, 2, 1]), 3, 1, "VALID")
        with pytest.raises(ValueError, match="pooling_type"):
            pool(x, [2, 2], "MEDIAN", "SAME")
        with pytest.raises(ValueError, match="needs strides of 1"):
            pool(x, [2, 2], "MAX", "SAME", dilation_rate=[2, 2])
        with pytest.raises(ValueError, match="needs known sizes"):
            pool(tf.placeholder(dv.float32, [1, None, 3]), [2], "MAX", "VALID", dilation_rate=[2])
        with pytest.raises(ValueError, match="'NHWC', got 'NCHW'"):
            ops.max_pool_with_argmax(x, 1, 1, "SAME", "NCHW")
        with pytest.raises(ValueError, match="Targmax"):
            ops.max_pool_with_argmax(x, 2, 2, "SAME", Targmax=dv.float32)
        with pytest.raises(TypeError):
            ops.avg_pool(tf.zeros([1, 2, 2, 1], dv.int32), 2, 2, "SAME")
