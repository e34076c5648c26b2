import numpy

from daskvars.graph.interpreter import apply
from daskvars.ops.nn.normalization import layer_norm as ops
from tests.ops.sample import Sample

rng = numpy.random.default_rng(0)
X, DY = rng.normal(size=(2, 4, 2, 3))
GAMMA, BETA = rng.normal(size=(2, 3))


def gradient(x, gamma, dy):
    """The gradient op on the moments that belong to `x`, through which `x` counts too."""
    op = ops.layer_norm(x, gamma, gamma, epsilon=0.1).op
    return list(apply(ops.LAYER_NORM_GRAD, x, *op.outputs[1:], gamma, dy))


SAMPLES = [
    Sample("LayerNorm", lambda *a: ops.layer_norm(*a, epsilon=0.1), (X, GAMMA, BETA), (0, 1, 2)),
    Sample("LayerNorm", ops.layer_norm, (X, GAMMA, BETA), chunked=(0,), id="batch"),
    Sample(
        "LayerNorm",
        lambda *a: ops.layer_norm(*a, epsilon=0.1),
        (X.astype("f2"), GAMMA.astype("f4"), BETA.astype("f4")),
        id="half",
        rtol=2e-3,
    ),
    Sample("LayerNormGrad", gradient, (X, GAMMA, DY), (0, 1, 2)),
]
