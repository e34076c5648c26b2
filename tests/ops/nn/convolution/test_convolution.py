import itertools

import numpy
import pytest
from numpy.testing import assert_allclose

import daskvars as dv
import daskvars.v1 as tf
from daskvars.ops.nn.convolution import functions as ops

rng = numpy.random.default_rng(0)


def padded(x, size, stride, rate, padding):
    """Images padded as TensorFlow divides "SAME", and the number of windows along each axis."""
    amounts, counts = [(0, 0)], []
    for axis in (1, 2):
        extent = (size[axis - 1] - 1) * rate + 1
        if padding == "SAME":
            count = -(-x.shape[axis] // stride)
            total = max((count - 1) * stride + extent - x.shape[axis], 0)
            amounts.append((total // 2, total - total // 2))
        else:
            count = (x.shape[axis] - extent) // stride + 1
            amounts.append((0, 0))
        counts.append(count)
    return numpy.pad(x, [*amounts, (0, 0)]), counts


def naive(x, w, stride, rate, padding):
    """Convolution by its definition."""
    height, width = w.shape[:2]
    x, (rows, columns) = padded(x, (height, width), stride, rate, padding)
    y = numpy.zeros((len(x), rows, columns, w.shape[3]))
    for i, j, r, c in itertools.product(range(rows), range(columns), range(height), range(width)):
        y[:, i, j] += x[:, i * stride + r * rate, j * stride + c * rate] @ w[r, c]
    return y


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize(("stride", "rate"), [(1, 1), (2, 1), (1, 2), (3, 1)])
def test_definition(stride, rate, padding):
    x, w = rng.normal(size=(2, 7, 6, 3)), rng.normal(size=(3, 2, 3, 4))
    wanted = naive(x, w, stride, rate, padding)
    found = ops.conv2d(x, w, [1, stride, stride, 1], padding, dilations=[1, rate, rate, 1])
    assert_allclose(found.numpy(), wanted, rtol=1e-10)
    first = ops.conv2d(
        x.transpose(0, 3, 1, 2), w, stride, padding, data_format="NCHW", dilations=rate
    )
    assert_allclose(first.numpy(), wanted.transpose(0, 3, 1, 2), rtol=1e-10)


def test_gradients_of_a_convolution_are_its_adjoints():
    x, w, dy = (rng.normal(size=s) for s in ((2, 5, 5, 3), (3, 3, 3, 4), (2, 3, 3, 4)))
    options = {"strides": 2, "padding": "SAME"}
    dx = ops.conv2d_backprop_input([2, 5, 5, 3], w, dy, **options).numpy()
    dw = ops.conv2d_backprop_filter(x, [3, 3, 3, 4], dy, **options).numpy()
    inner = float((ops.conv2d(x, w, **options).numpy() * dy).sum())
    assert_allclose([(dx * x).sum(), (dw * w).sum()], [inner, inner], rtol=1e-10)


def test_second_derivative():
    x, w = rng.normal(size=(1, 4, 4, 1)), rng.normal(size=(2, 2, 1, 1))
    with dv.Graph().as_default(), dv.Session() as session:
        x, w = tf.constant(x), tf.constant(w)
        y = ops.conv2d(x, w, 1, "VALID")
        (dw,) = dv.gradients(y * y, [w])
        (dx,) = dv.gradients(dw, [x])
        (again,) = dv.gradients(dx, [w])
        found = session.run([dx, again])
    assert found[0].shape == (1, 4, 4, 1)
    assert found[1].shape == (2, 2, 1, 1)
    assert numpy.abs(found[1]).max() > 0


def test_transpose_is_the_gradient():
    y, w = rng.normal(size=(2, 3, 3, 4)), rng.normal(size=(2, 2, 3, 4))
    found = ops.conv2d_transpose(y, w, [2, 6, 6, 3], strides=[1, 2, 2, 1])
    wanted = ops.conv2d_backprop_input([2, 6, 6, 3], w, y, [1, 2, 2, 1], "SAME")
    assert found.numpy().tolist() == wanted.numpy().tolist()


def test_transpose_takes_its_batch_from_a_tensor():
    with dv.Graph().as_default(), dv.Session() as session:
        y = tf.placeholder(dv.float32, [None, 3, 3, 4])
        w = tf.constant(numpy.ones((2, 2, 3, 4), "f4"))
        x = ops.conv2d_transpose(y, w, tf.stack([tf.shape(y)[0], 6, 6, 3]), [1, 2, 2, 1])
        assert x.op.name == "conv2d_transpose"
        assert x.shape.as_list() == [None, 6, 6, 3]
        assert session.run(x, {y: numpy.ones((5, 3, 3, 4))}).shape == (5, 6, 6, 3)


def test_depthwise_convolves_channels_apart():
    x, w = rng.normal(size=(2, 5, 5, 3)), rng.normal(size=(3, 3, 3, 2))
    found = ops.depthwise_conv2d_native(x, w, [1, 1, 1, 1], "SAME").numpy()
    for c in range(3):
        wanted = naive(x[..., c : c + 1], w[:, :, c : c + 1], 1, 1, "SAME")
        assert_allclose(found[..., 2 * c : 2 * c + 2], wanted, rtol=1e-10)


def test_channels_may_be_cut():
    import dask.array

    x, w = rng.normal(size=(4, 5, 5, 4)), rng.normal(size=(3, 3, 4, 6))
    with dv.Graph().as_default(), dv.Session() as session:
        a, b = tf.placeholder(dv.float64, x.shape), tf.placeholder(dv.float64, w.shape)
        y = ops.conv2d(a, b, 1, "SAME")
        outputs = [y, *dv.gradients(y, [a, b])]
        feeds = {
            a: dask.array.from_array(x, chunks=(2, 5, 5, 2)),
            b: dask.array.from_array(w, chunks=(3, 3, 2, 3)),
        }
        for cut, whole in zip(
            session.run(outputs, feeds), session.run(outputs, {a: x, b: w}), strict=True
        ):
            assert_allclose(cut, whole, rtol=1e-9, atol=1e-12)


def test_shapes_with_an_open_batch():
    with dv.Graph().as_default():
        x = tf.placeholder(dv.float32, [None, 28, 28, 1])
        w = tf.zeros([5, 5, 1, 32])
        y = ops.conv2d(x, w, strides=[1, 1, 1, 1], padding="SAME")
        assert y.op.name == "Conv2D"
        assert y.shape.as_list() == [None, 28, 28, 32]
        assert ops.conv2d(x, w, 2, "VALID").shape.as_list() == [None, 12, 12, 32]
        dx, dw = dv.gradients(y, [x, w])
        assert dx.shape.as_list() == [None, 28, 28, 1]
        assert dw.shape.as_list() == [5, 5, 1, 32]
        unknown = ops.conv2d(tf.placeholder(dv.float32), w, 1, "SAME")
        assert unknown.shape.as_list() == [None, None, None, 32]


def test_errors():
    with dv.Graph().as_default():
        x, w = tf.placeholder(dv.float32, [None, 28, 28, 3]), tf.zeros([5, 5, 4, 32])
        with pytest.raises(ValueError, match="must be equal, but are 3 and 4"):
            ops.conv2d(x, w, 1, "SAME")
        w = tf.zeros([5, 5, 3, 32])
        with pytest.raises(ValueError, match="rank 4 but is rank 3"):
            ops.conv2d(tf.zeros([28, 28, 3]), w, 1, "SAME")
        with pytest.raises(ValueError, match="padding"):
            ops.conv2d(x, w, 1, "same")
        with pytest.raises(ValueError, match="batch and depth"):
            ops.conv2d(x, w, [2, 1, 1, 1], "SAME")
        with pytest.raises(ValueError, match="length 1, 2 or 4 but was 3"):
            ops.conv2d(x, w, [1, 1, 1], "SAME")
        with pytest.raises(ValueError, match="Negative dimension"):
            ops.conv2d(tf.zeros([1, 4, 4, 3]), w, 1, "VALID")
        with pytest.raises(ValueError, match="data_format"):
            ops.conv2d(x, w, 1, "SAME", data_format="CHWN")
        with pytest.raises(ValueError, match="doesn't match computed"):
            ops.conv2d_transpose(tf.zeros([1, 3, 3, 32]), w, [1, 9, 9, 3], 2)
        with pytest.raises(ValueError, match="Cannot specify both"):
            ops.conv2d(x, w, 1, "SAME", filters=w)
        with pytest.raises(TypeError):
            ops.conv2d(x, tf.zeros([5, 5, 3, 32], dv.float64), 1, "SAME")
