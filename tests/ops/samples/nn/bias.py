import numpy

from daskvars.graph.interpreter import apply
from daskvars.ops.nn import bias as ops
from tests.ops.sample import Sample

rng = numpy.random.default_rng(0)
X = rng.normal(size=(4, 2, 3))
IMAGES = rng.normal(size=(2, 3, 2, 4))
BIAS = rng.normal(size=3)

SAMPLES = [
    Sample("BiasAdd", ops.bias_add, (X, BIAS), (0, 1)),
    Sample("BiasAdd", ops.bias_add, (X, BIAS), chunked=(0,), id="batch"),
    Sample(
        "BiasAdd",
        lambda x, b: ops.bias_add(x, b, data_format="NCHW"),
        (IMAGES, BIAS),
        (0, 1),
        id="NCHW",
    ),
    Sample("BiasAddGrad", lambda dy: apply(ops.BIAS_ADD_GRAD, dy, data_format="NHWC"), (X,), (0,)),
    Sample(
        "BiasAddGrad",
        lambda dy: apply(ops.BIAS_ADD_GRAD, dy, data_format="NCHW"),
        (IMAGES,),
        (0,),
        id="NCHW",
    ),
    Sample(
        "BiasAdd",
        ops.xw_plus_b,
        (X[:, 0], rng.normal(size=(3, 2)), BIAS[:2]),
        (0, 1, 2),
        id="xw_plus_b",
    ),
]
