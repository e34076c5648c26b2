import numpy

from daskvars.graph.interpreter import apply
from daskvars.ops.nn.windows import morphology as ops
from tests.ops.sample import Sample

rng = numpy.random.default_rng(0)
X = rng.permutation(80).astype("f8").reshape(2, 5, 4, 2)
W = rng.permutation(8).reshape(2, 2, 2) + rng.uniform(0, 0.5, (2, 2, 2))
OPTIONS = {"strides": (1, 2, 1, 1), "dilations": (1, 2, 1, 1), "padding": "SAME"}
DY, DX, DW = (rng.normal(size=size) for size in ((2, 3, 4, 2), X.shape, W.shape))

SAMPLES = [
    Sample("Dilation2D", lambda x, w: ops.dilation2d(x, w, 1, 1, "SAME"), (X, W), (0, 1)),
    Sample(
        "Dilation2D",
        lambda x, w: ops.dilation2d(x, w, [1, 2, 1, 1], [1, 1, 2, 1], "VALID"),
        (X, W),
        (0, 1),
        id="valid",
    ),
    Sample(
        "Dilation2D",
        lambda x, w: ops.dilation2d(x, w, 2, 2, "SAME"),
        (X.astype("i4"), W.astype("i4")),
        id="int",
    ),
    Sample("Dilation2D", lambda x, w: ops.erosion2d(x, w, 2, 1, "SAME"), (X, W), (0, 1), id="min"),
    Sample(
        "Dilation2DBackpropInput",
        lambda x, w, dy: apply(ops.DILATION2D_BACKPROP_INPUT, x, w, dy, **OPTIONS),
        (X, W, DY),
        (2,),
    ),
    Sample(
        "Dilation2DBackpropFilter",
        lambda x, w, dy: apply(ops.DILATION2D_BACKPROP_FILTER, x, w, dy, **OPTIONS),
        (X, W, DY),
        (2,),
    ),
    Sample(
        "Dilation2DTangent",
        lambda x, w, dx, dw: apply(ops.DILATION2D_TANGENT, x, w, dx, dw, **OPTIONS),
        (X, W, DX, DW),
        (2, 3),
    ),
]
