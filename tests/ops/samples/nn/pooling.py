import numpy

from daskvars.graph.interpreter import apply
from daskvars.ops.nn.windows import pooling as ops
from daskvars.ops.nn.windows.pooling_by_rank import pool
from tests.ops.sample import Sample

rng = numpy.random.default_rng(0)
X = rng.permutation(48).astype("f8").reshape(2, 4, 3, 2)
FIRST = numpy.ascontiguousarray(X.transpose(0, 3, 1, 2))
VALID = {"ksize": (1, 2, 2, 1), "strides": (1, 2, 1, 1), "padding": "VALID", "data_format": "NHWC"}
Y = numpy.maximum(
    numpy.maximum(X[:, ::2, :2], X[:, 1::2, :2]), numpy.maximum(X[:, ::2, 1:], X[:, 1::2, 1:])
)
DY, DX = rng.normal(size=Y.shape), rng.normal(size=X.shape)

SAMPLES = [
    Sample("MaxPool", lambda x: ops.max_pool(x, 2, 2, "SAME"), (X,), (0,)),
    Sample("MaxPool", lambda x: ops.max_pool(x, [1, 3, 2, 1], 1, "VALID"), (X,), (0,), id="valid"),
    Sample(
        "MaxPool",
        lambda x: ops.max_pool(x, 2, 1, "SAME", data_format="NCHW"),
        (FIRST,),
        (0,),
        id="NCHW",
    ),
    Sample("MaxPool", lambda x: ops.max_pool(x, 2, 2, "SAME"), (X.astype("i4"),), id="int"),
    Sample(
        "MaxPoolGrad",
        lambda x, y, dy: apply(ops.MAX_POOL_GRAD, x, y, dy, **VALID),
        (X, Y, DY),
        (2,),
    ),
    Sample(
        "MaxPoolGradGrad",
        lambda x, y, dx: apply(ops.MAX_POOL_GRAD_GRAD, x, y, dx, **VALID),
        (X, Y, DX),
        (2,),
    ),
    Sample(
        "MaxPoolWithArgmax", lambda x: list(ops.max_pool_with_argmax(x, 2, 1, "SAME")), (X,), (0,)
    ),
    Sample("AvgPool", lambda x: ops.avg_pool(x, 2, 2, "SAME"), (X,), (0,)),
    Sample(
        "AvgPool",
        lambda x: ops.avg_pool(x, 3, 1, "SAME", data_format="NCHW"),
        (FIRST,),
        (0,),
        id="NCHW",
    ),
    Sample(
        "AvgPoolGrad",
        lambda dy: apply(ops.AVG_POOL_GRAD, dy, input_shape=(2, 4, 3, 2), **VALID),
        (DY,),
        (0,),
    ),
    Sample(
        "AvgPoolGrad",
        lambda dy, sizes: apply(ops.AVG_POOL_GRAD, dy, input_shape=sizes, **VALID),
        (DY, numpy.array([2, 4, 3, 2])),
        (0,),
        chunked=(0,),
        id="tensor sizes",
    ),
    Sample("MaxPool", lambda x: pool(x, [2], "MAX", "VALID"), (X[0],), (0,), id="1-D"),
    Sample(
        "AvgPool",
        lambda x: pool(x, [2, 2], "AVG", "SAME", strides=[2, 1]),
        (X,),
        (0,),
        id="pool",
    ),
]
