"""Samples of constants, fills, shapes, ranges and placeholders."""

import numpy as np

import daskvars as dv
from daskvars.ops.array import constant, placeholders, ranges
from tests.ops.sample import Sample

MATRIX = np.arange(12, dtype=np.float64).reshape(4, 3) / 7
TWO = np.array(2.5)
SIZES = np.array([4, 2], np.int32)


def filled_and_multiplied(x, value):
    """A fill takes the chunks of what it meets."""
    return x * constant.fill([4, 3], value)


def shape_of_unknown(x):
    """Known only when run: the number of rows that a mask leaves."""
    return dv.boolean_mask(x, dv.reduce_sum(x, 1) > 1.0)


SAMPLES = [
    Sample("Fill", lambda v: constant.fill([2, 3], v), (TWO,), (0,)),
    Sample("Fill", filled_and_multiplied, (MATRIX, TWO), (0, 1), id="cut"),
    Sample("Fill", lambda s, v: constant.fill(s, v), (SIZES, TWO), (1,), id="sizes-of-run"),
    Sample("Fill", lambda v: constant.fill([2], v), (np.array(b"ab", object),), id="string"),
    Sample(
        "Fill", lambda x: x + constant.zeros([40, 30]), (np.ones((40, 30), np.float32),), id="zeros"
    ),
    Sample("Fill", lambda x: constant.ones(constant.shape(x)), (MATRIX,), id="ones"),
    Sample("ZerosLike", lambda x: constant.zeros_like(x, optimize=False), (MATRIX,)),
    Sample(
        "ZerosLike",
        lambda x: constant.zeros_like(x, optimize=False),
        (np.array([b"a", b"bc"], object),),
        id="string",
    ),
    Sample("OnesLike", lambda x: constant.ones_like(x, dv.int64, optimize=False), (MATRIX,)),
    Sample("Shape", constant.shape, (MATRIX,)),
    Sample(
        "Shape",
        lambda x: constant.shape(shape_of_unknown(x), out_type=dv.int64),
        (MATRIX,),
        id="of-run",
    ),
    Sample("Size", constant.size, (MATRIX,)),
    Sample("Size", lambda x: constant.size(shape_of_unknown(x)), (MATRIX,), id="of-run"),
    Sample("Rank", constant.rank, (MATRIX,)),
    Sample("Range", lambda: ranges.range(3, 18, 4)),
    Sample("Range", lambda n: ranges.range(n), (np.array(5, np.int32),), id="limit-of-run"),
    Sample(
        "Range",
        lambda a: ranges.range(a, 3.0, 0.5),
        (np.array(1.25, np.float32),),
        id="start-of-run",
    ),
    Sample("Range", lambda x: x * ranges.range(6.0), (np.ones(6, np.float32),), id="cut"),
    Sample("Range", lambda: ranges.range(10, 0, -3), id="down"),
    Sample("LinSpace", lambda: ranges.linspace(10.0, 12.0, 5)),
    Sample(
        "LinSpace", lambda x: x * ranges.linspace(0.0, 1.0, 6), (np.ones(6, np.float32),), id="cut"
    ),
    Sample(
        "LinSpace",
        ranges.linspace,
        (np.array(0.0), np.array(1.0), np.array(3, np.int32)),
        (0, 1),
        id="of-run",
    ),
    Sample("Eye", lambda: ranges.eye(3)),
    Sample("Eye", lambda: ranges.eye(2, 3, [2], dv.int32), id="batch"),
    Sample("Eye", lambda x: x + ranges.eye(4, 3, dtype=dv.float64), (MATRIX,), (0,), id="cut"),
    Sample("Eye", lambda n: ranges.eye(n), (np.array(3, np.int32),), id="of-run"),
    Sample("SequenceMask", lambda n: ranges.sequence_mask(n, 4), (np.array([1, 3, 0, 6]),)),
    Sample(
        "SequenceMask",
        ranges.sequence_mask,
        (np.array([[1, 3], [2, 0]], np.int32), np.array(3, np.int32)),
        id="of-run",
    ),
    Sample(
        "SequenceMaskLongest",
        lambda n: ranges.sequence_mask(n, dtype=dv.float32),
        (np.array([1, 3, 0, 2]),),
    ),
    Sample(
        "PlaceholderWithDefault",
        lambda x: x * placeholders.placeholder_with_default(constant.constant(2.0, dv.float64), []),
        (MATRIX,),
        (0,),
    ),
]
