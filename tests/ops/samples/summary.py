"""Samples of summaries."""

import numpy

import daskvars as dv
from daskvars.summary import summary_ops
from tests.ops.sample import Sample

X = numpy.array([[0.5, -1.0], [2.0, 0.25], [1.5, 3.0]])


def merged(x):
    parts = [summary_ops.scalar("s", dv.reduce_sum(x)), summary_ops.histogram("h", x)]
    return summary_ops.merge(parts)


SAMPLES = [
    Sample("ScalarSummary", lambda x: summary_ops.scalar("s", dv.reduce_max(x)), (X,)),
    Sample("HistogramSummary", lambda x: summary_ops.histogram("h", x), (X,)),
    Sample("AudioSummaryV2", lambda x: summary_ops.audio("a", x, 8000.0), (X.reshape(2, 3),)),
    Sample("ImageSummary", lambda x: summary_ops.image("i", x), (X.reshape(2, 3, 1, 1),)),
    Sample("TensorSummaryV2", lambda x: summary_ops.tensor_summary("t", x), (X,)),
    Sample("MergeSummary", merged, (X,)),
]
