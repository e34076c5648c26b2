import numpy

from daskvars.graph.interpreter import apply
from daskvars.ops.nn import softmax as ops
from tests.ops.sample import Sample

rng = numpy.random.default_rng(0)
X, DY = rng.normal(size=(2, 4, 3))
CUBE = rng.normal(size=(2, 3, 4)) * 3
Y = numpy.exp(X) / numpy.exp(X).sum(-1, keepdims=True)
ACROSS = numpy.exp(X) / numpy.exp(X).sum(0)

SAMPLES = [
    Sample("Softmax", ops.softmax, (X,), (0,)),
    Sample("Softmax", lambda x: ops.softmax(x, axis=0), (X,), (0,), id="columns"),
    Sample("Softmax", lambda x: ops.softmax(x, dim=1), (CUBE,), (0,), id="middle"),
    Sample("Softmax", ops.softmax, (X.astype("f2"),), id="half", rtol=1e-3),
    Sample("SoftmaxGrad", lambda y, dy: apply(ops.SOFTMAX_GRAD, y, dy, axis=1), (Y, DY), (0, 1)),
    Sample(
        "SoftmaxGrad",
        lambda y, dy: apply(ops.SOFTMAX_GRAD, y, dy, axis=0),
        (ACROSS, DY),
        (0, 1),
        id="columns",
    ),
    Sample("LogSoftmax", ops.log_softmax, (X,), (0,)),
    Sample("LogSoftmax", lambda x: ops.log_softmax(x, axis=1), (CUBE,), (0,), id="middle"),
    Sample(
        "LogSoftmaxGrad",
        lambda y, dy: apply(ops.LOG_SOFTMAX_GRAD, y, dy, axis=1),
        (numpy.log(Y), DY),
        (0, 1),
    ),
]
