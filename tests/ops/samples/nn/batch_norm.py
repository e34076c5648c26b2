import numpy

from daskvars.graph.interpreter import apply
from daskvars.ops.nn.normalization import batch_norm as ops
from tests.ops.sample import Sample

rng = numpy.random.default_rng(0)
X, DY = rng.normal(size=(2, 4, 3, 2, 2)) + 1
FIRST = numpy.ascontiguousarray(X.transpose(0, 3, 1, 2))
SCALE, OFFSET, MEAN = rng.normal(size=(3, 2))
VARIANCE = numpy.array([0.5, 2.0])
FORMAT = {"data_format": "NHWC"}


def train(**options):
    return lambda x, scale, offset: list(ops.fused_batch_norm(x, scale, offset, **options))


def infer(**options):
    return lambda *inputs: ops.fused_batch_norm(*inputs, is_training=False, **options)[0]


SAMPLES = [
    Sample("FusedBatchNorm", train(), (X, SCALE, OFFSET), (0, 1, 2), rtol=1e-5),
    Sample("FusedBatchNorm", train(), (X, SCALE, OFFSET), chunked=(0,), id="batch"),
    Sample(
        "FusedBatchNorm", train(data_format="NCHW"), (FIRST, SCALE, OFFSET), (0, 1, 2), id="NCHW"
    ),
    Sample(
        "FusedBatchNorm",
        train(),
        (X.astype("f2"), SCALE.astype("f4"), OFFSET.astype("f4")),
        id="half",
        rtol=2e-3,
    ),
    Sample(
        "FusedBatchNorm",
        infer(),
        (X, SCALE, OFFSET, MEAN, VARIANCE),
        (0, 1, 2, 3, 4),
        id="inference",
    ),
    Sample("ChannelMoments", lambda x: list(apply(ops.CHANNEL_MOMENTS, x, **FORMAT)), (X,), (0,)),
    Sample(
        "ChannelMoments",
        lambda x: list(apply(ops.CHANNEL_MOMENTS, x, data_format="NCHW")),
        (FIRST,),
        (0,),
        id="NCHW",
    ),
    Sample(
        "ChannelSums",
        lambda dy, x, m: list(apply(ops.CHANNEL_SUMS, dy, x, m, **FORMAT)),
        (DY, X, MEAN),
        (0, 1, 2),
    ),
    Sample(
        "ChannelAffine",
        lambda *inputs: apply(ops.CHANNEL_AFFINE, *inputs, **FORMAT),
        (X, MEAN, SCALE, OFFSET),
        (0, 1, 2, 3),
    ),
    Sample(
        "ChannelMix",
        lambda *inputs: apply(ops.CHANNEL_MIX, *inputs, **FORMAT),
        (X, MEAN, SCALE, OFFSET, DY, VARIANCE),
        (0, 1, 2, 3, 4, 5),
    ),
]
