import numpy

from daskvars.graph.interpreter import apply
from daskvars.ops.nn.convolution import functions as ops
from tests.ops.sample import Sample

rng = numpy.random.default_rng(0)
X, W, DY = (rng.normal(size=s) for s in ((2, 4, 3, 2), (3, 2, 2, 3), (2, 2, 2, 3)))
DEPTHWISE_W, DEPTHWISE_DY = rng.normal(size=(3, 2, 2, 2)), rng.normal(size=(2, 2, 2, 4))
PLAIN = {
    "strides": (1, 1, 1, 1),
    "padding": "VALID",
    "dilations": (1, 1, 1, 1),
    "data_format": "NHWC",
}
SIZES = numpy.array([2, 4, 3, 2], numpy.int32)


def first(a):
    """Images with channels first."""
    return numpy.ascontiguousarray(a.transpose(0, 3, 1, 2))


def conv(**options):
    return lambda x, w: ops.conv2d(x, w, **{"strides": 1, "padding": "SAME", **options})


SAMPLES = [
    Sample("Conv2D", conv(), (X, W), (0, 1), rtol=1e-5),
    Sample("Conv2D", conv(strides=[1, 2, 1, 1]), (X, W), (0, 1), id="strided"),
    Sample("Conv2D", conv(dilations=2), (X, W), (0, 1), id="dilated"),
    Sample("Conv2D", conv(padding="VALID", data_format="NCHW"), (first(X), W), (0, 1), id="NCHW"),
    Sample("Conv2D", conv(padding=[[0, 0], [1, 0], [0, 2], [0, 0]]), (X, W), (0, 1), id="explicit"),
    Sample("Conv2D", conv(), (X.astype("f4"), W.astype("f4")), id="float32", rtol=1e-4),
    Sample("Conv2D", conv(), (X, W), chunked=(0,), id="batch"),
    Sample(
        "Conv2DBackpropInput",
        lambda w, dy: ops.conv2d_backprop_input([2, 4, 3, 2], w, dy, 1, "VALID"),
        (W, DY),
        (0, 1),
    ),
    Sample(
        "Conv2DBackpropInput",
        lambda w, dy, sizes: ops.conv2d_backprop_input(sizes, w, dy, 1, "VALID"),
        (W, DY, SIZES),
        (0, 1),
        chunked=(0, 1),
        id="tensor sizes",
    ),
    Sample(
        "Conv2DBackpropInput",
        lambda dy, w: ops.conv2d_transpose(dy, w, [2, 4, 4, 2], 2),
        (DY, W),
        (0, 1),
        id="transpose",
    ),
    Sample(
        "Conv2DBackpropFilter",
        lambda x, dy: ops.conv2d_backprop_filter(x, [3, 2, 2, 3], dy, 1, "VALID"),
        (X, DY),
        (0, 1),
    ),
    Sample(
        "Conv2DBackpropFilter",
        lambda x, dy: ops.conv2d_backprop_filter(
            x, [3, 2, 2, 3], dy, 1, "VALID", data_format="NCHW"
        ),
        (first(X), first(DY)),
        (0, 1),
        id="NCHW",
    ),
    Sample(
        "DepthwiseConv2dNative",
        lambda x, w: ops.depthwise_conv2d_native(x, w, 1, "SAME"),
        (X, DEPTHWISE_W),
        (0, 1),
    ),
    Sample(
        "DepthwiseConv2dNative",
        lambda x, w: ops.depthwise_conv2d_native(x, w, 2, "VALID", data_format="NCHW"),
        (first(X), DEPTHWISE_W),
        (0, 1),
        id="NCHW",
    ),
    Sample(
        "DepthwiseConv2dNativeBackpropInput",
        lambda w, dy: apply(
            ops.DEPTHWISE.backward_images, w, dy, input_shape=(2, 4, 3, 2), **PLAIN
        ),
        (DEPTHWISE_W, DEPTHWISE_DY),
        (0, 1),
    ),
    Sample(
        "DepthwiseConv2dNativeBackpropFilter",
        lambda x, dy: apply(
            ops.DEPTHWISE.backward_filter, x, dy, filter_shape=(3, 2, 2, 2), **PLAIN
        ),
        (X, DEPTHWISE_DY),
        (0, 1),
    ),
]
