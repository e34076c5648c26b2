import numpy

from daskvars.ops.nn import embedding as ops
from tests.ops.sample import Sample

rng = numpy.random.default_rng(0)
TABLE = rng.normal(size=(7, 2))
IDS = numpy.array([[6, 0, 3], [3, 5, 1]])
MOD = TABLE[::3], TABLE[1::3], TABLE[2::3]
DIV = TABLE[:3], TABLE[3:5], TABLE[5:]


def lookup(**options):
    return lambda ids, *parts: ops.embedding_lookup(list(parts), ids, **options)


SAMPLES = [
    Sample("GatherV2", lookup(), (IDS, TABLE), (1,), id="embedding_lookup"),
    Sample("GatherV2", lookup(max_norm=1.0), (IDS, TABLE), (1,), id="embedding_lookup clipped"),
    Sample("DynamicStitch", lookup(), (IDS, *MOD), (1, 2, 3), id="mod"),
    Sample("DynamicStitch", lookup(partition_strategy="div"), (IDS, *DIV), (1, 2, 3), id="div"),
    Sample(
        "DynamicStitch", lookup(max_norm=1.0), (IDS.astype("i4"), *MOD), (1, 2, 3), id="clipped"
    ),
]
