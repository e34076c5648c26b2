import numpy

from daskvars.graph.interpreter import apply
from daskvars.ops.nn.normalization import moments as ops
from tests.ops.sample import Sample

rng = numpy.random.default_rng(0)
X = rng.normal(size=(4, 1, 2, 5))
ROWS = rng.normal(size=(4, 3))
MEAN, OFFSET, SCALE = rng.normal(size=(3, 3))

SAMPLES = [
    Sample(
        "LRN",
        lambda x: ops.local_response_normalization(x, 1, bias=2.0, alpha=0.5, beta=0.75),
        (X,),
        (0,),
    ),
    Sample(
        "ChannelWindowSum", lambda x: apply(ops.CHANNEL_WINDOW_SUM, x, depth_radius=2), (X,), (0,)
    ),
    Sample("Mul", lambda x: ops.l2_normalize(x, axis=1), (ROWS,), (0,), id="l2_normalize"),
    Sample(
        "Add",
        lambda x, m, o, s: ops.batch_normalization(x, m, numpy.arange(1.0, 4.0), o, s, 0.1),
        (ROWS, MEAN, OFFSET, SCALE),
        (0, 1, 2, 3),
        id="batch_normalization",
    ),
]
