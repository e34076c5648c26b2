import numpy

from daskvars.ops.nn.convolution import composed as ops
from tests.ops.sample import Sample

rng = numpy.random.default_rng(0)
X, W, DEPTHWISE, POINTWISE = (
    rng.normal(size=s) for s in ((2, 4, 3, 2), (2, 2, 2, 3), (2, 2, 2, 2), (1, 1, 4, 3))
)
SEQUENCE, TAPS = rng.normal(size=(2, 5, 2)), rng.normal(size=(2, 2, 3))

SAMPLES = [
    Sample(
        "DepthwiseConv2dNative",
        lambda x, w: ops.depthwise_conv2d(x, w, 1, "SAME", rate=[2, 1]),
        (X, DEPTHWISE),
        (0, 1),
        id="rate",
    ),
    Sample(
        "Conv2D",
        lambda x, d, p: ops.separable_conv2d(x, d, p, [1, 2, 2, 1], "SAME"),
        (X, DEPTHWISE, POINTWISE),
        (0, 1, 2),
        id="separable",
    ),
    Sample("Conv2D", lambda x, w: ops.atrous_conv2d(x, w, 2, "SAME"), (X, W), (0, 1), id="atrous"),
    Sample("Conv2D", lambda x, w: ops.conv1d(x, w, 2, "SAME"), (SEQUENCE, TAPS), (0, 1), id="1-D"),
    Sample(
        "Conv2D",
        lambda x, w: ops.conv1d(x, w, 1, "VALID", data_format="NCW"),
        (SEQUENCE.transpose(0, 2, 1).copy(), TAPS),
        (0, 1),
        id="NCW",
    ),
    Sample(
        "Conv2D",
        lambda x, w: ops.convolution(x, w, "VALID", dilation_rate=[2]),
        (SEQUENCE, TAPS),
        (0, 1),
        id="convolution",
    ),
]
