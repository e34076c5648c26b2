import numpy

from daskvars.graph.interpreter import apply
from daskvars.ops.nn import ranking as ops
from tests.ops.sample import Sample

X = numpy.array([[3.0, 1.0, 2.5, -1.0], [0.5, 7.0, 7.5, 2.0], [9.0, 8.0, 1.5, 4.0]])
INDICES = numpy.array([[0, 2], [2, 1], [0, 1]], numpy.int32)
K = numpy.int32(2)

SAMPLES = [
    Sample("TopKV2", lambda x: list(ops.top_k(x, 2)), (X,), (0,)),
    Sample("TopKV2", lambda x, k: list(ops.top_k(x, k)), (X, K), (0,), id="tensor k"),
    Sample("TopKV2", lambda x: list(ops.top_k(x, 3)), (X.astype("i4")[0],), id="vector"),
    Sample(
        "TopKGrad", lambda dy, i: apply(ops.TOP_K_GRAD, dy, i, size=4), (X[:, :2], INDICES), (0,)
    ),
    Sample("TopKGradGrad", lambda g, i: apply(ops.TAKE_LAST, g, i), (X, INDICES), (0,)),
    Sample("NthElement", lambda x: ops.nth_element(x, 1), (X,), (0,)),
    Sample("NthElement", lambda x, n: ops.nth_element(x, n, True), (X, K), (0,), id="tensor n"),
    Sample(
        "InTopKV2",
        lambda p, t: ops.in_top_k(p, t, 2),
        (X.astype("f4"), numpy.array([1, 2, 1], numpy.int32)),
    ),
    Sample("InTopKV2", ops.in_top_k, (X, numpy.array([1, 2, 9]), K), id="tensor k"),
]
