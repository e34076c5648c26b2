import numpy

from daskvars.ops.nn.convolution import functions as ops
from tests.ops.sample import Sample

rng = numpy.random.default_rng(0)
X, W, DY = (rng.normal(size=s) for s in ((2, 3, 4, 3, 2), (2, 3, 2, 2, 2), (2, 2, 2, 2, 2)))
FIRST = numpy.ascontiguousarray(X.transpose(0, 4, 1, 2, 3))
SIZES = numpy.array([2, 3, 4, 3, 2], numpy.int32)


def conv(**options):
    return lambda x, w: ops.conv3d(x, w, **{"strides": 1, "padding": "VALID", **options})


SAMPLES = [
    Sample("Conv3D", conv(), (X, W), (0, 1), rtol=1e-5),
    Sample("Conv3D", conv(strides=2, padding="SAME"), (X, W), (0, 1), id="strided"),
    Sample("Conv3D", conv(dilations=[1, 2, 1, 1, 1], padding="SAME"), (X, W), (0, 1), id="dilated"),
    Sample("Conv3D", conv(data_format="NCDHW"), (FIRST, W), (0, 1), id="NCDHW"),
    Sample("Conv3D", conv(), (X, W), chunked=(0,), id="batch"),
    Sample(
        "Conv3DBackpropInputV2",
        lambda dy, w: ops.conv3d_transpose(dy, w, [2, 3, 4, 3, 2], 1, "VALID"),
        (DY, W),
        (0, 1),
    ),
    Sample(
        "Conv3DBackpropInputV2",
        lambda dy, w, sizes: ops.conv3d_transpose(dy, w, sizes, 1, "VALID"),
        (DY, W, SIZES),
        (0, 1),
        id="dynamic",
    ),
    Sample(
        "Conv3DBackpropFilterV2",
        lambda x, dy: ops.conv3d_backprop_filter(x, [2, 3, 2, 2, 2], dy, 1, "VALID"),
        (X, DY),
        (0, 1),
    ),
]
