import numpy

from daskvars.graph.interpreter import apply
from daskvars.ops.nn import dropout as ops
from tests.ops.sample import Sample

X = numpy.arange(1.0, 13.0).reshape(4, 3)
KEPT = X % 3 != 0

SAMPLES = [
    Sample("Dropout", lambda x: ops.dropout(x, 0.5, seed=1), (X,), random=True),
    Sample(
        "Dropout",
        lambda x, p: ops.dropout(x, p, seed=1),
        (X, numpy.float64(0.5)),
        random=True,
        id="tensor",
    ),
    Sample(
        "Dropout",
        lambda x: ops.dropout(x, rate=0.4, noise_shape=[None, 1], seed=1),
        (X,),
        random=True,
        id="rows",
    ),
    Sample(
        "Dropout",
        lambda x, kept: apply(ops.DROPOUT, x, kept, rate=0.25),
        (X, KEPT),
        (0,),
        id="mask",
    ),
    Sample(
        "Dropout",
        lambda x, kept: apply(ops.DROPOUT, x, kept, rate=0.25),
        (X, KEPT[:, :1]),
        (0,),
        id="broadcast mask",
    ),
]
