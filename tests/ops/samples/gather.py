"""Samples of ops that pick, place, fold and sort by index."""

from functools import partial

import numpy as np

import daskvars as dv
from daskvars.graph.interpreter import apply
from daskvars.ops.array import one_hot
from daskvars.ops.gather_scatter import (
    gather,
    partitioning,
    scatter as scattering,
    segments,
    sorting,
)
from daskvars.ops.sparse import indices, products
from tests.ops.sample import Sample, gradient, ints, uniform

floats = partial(uniform, np.random.default_rng(6))

TABLE = floats(5, 3)
CUBE = floats(2, 3, 4)
IDS = ints(4, 0, 4, 1)
PAIRS = np.array([[1, 4], [0, 1]])
ROWS = floats(6, 2)
MASK = np.array([True, False, True, True, False])
WITH_ZEROS = np.array([[2.0, 0.0], [3.0, 0.0], [0.0, 4.0], [5.0, 6.0], [0.5, 1.5], [7.0, 2.5]])
UNORDERED = ints(2, 0, 2, -1, 3, 0)
FULL = ints(2, 0, 2, -1, 1, 0)  # no segment is empty: extremes of none are as good as infinite
ORDERED = ints(0, 0, 1, 3, 3, 3)


def gradient_of_square(function):
    return lambda x: dv.convert_to_tensor(gradient(dv.square(function(x)), x))


def folded(name, ids, num):
    function = getattr(segments, f"unsorted_segment_{name}")
    type = "UnsortedSegment" + name.capitalize()
    return [
        Sample(type, lambda x: function(x, ids, num), (ROWS,), (0,)),
        Sample(
            type,
            lambda x, n: function(x, ids, n),
            (ROWS, np.array(num, np.int32)),
            (0,),
            id="of-run",
        ),
    ]


# Index ranks 0 to 3, of a vector (whose elements come as numbers) and of rows.
INDICES = [ints(*np.arange(2**rank) * 3 % 5).reshape((2,) * rank) for rank in range(4)]
VECTOR = floats(5)


def of_every_rank(type, function, *tables, **rules):
    return [
        Sample(type, function, (table, ids), (0,), id=f"{table.ndim}d by {ids.ndim}d", **rules)
        for table in tables
        for ids in INDICES
    ]


def folds_of_every_rank(fold):
    function = getattr(segments, f"unsorted_segment_{fold}")
    return [
        Sample(
            "UnsortedSegment" + fold.capitalize(),
            lambda x, i: function(x, i, 5),
            (floats(*ids.shape, *tail), ids),
            (0,) if fold == "sum" else (),
            id=f"{ids.ndim}d ids of {len(tail)}d",
        )
        for tail in ((), (3,))
        for ids in INDICES
    ]


PICKED = [
    *of_every_rank("GatherV2", gather.gather, VECTOR, TABLE),
    *of_every_rank("GatherAxis", lambda x, i: gather.gather(x, i, axis=-1), floats(2, 5)),
    *of_every_rank("GatherOrZero", lambda x, i: segments.gather_or_zero(x, i - 2), VECTOR, TABLE),
    *of_every_rank("OneHot", lambda x, i: one_hot.one_hot(i, 5, dtype=dv.float64) * x, VECTOR),
    *[
        Sample(
            "GatherAxis",
            lambda x, i, axis: gather.gather(x, i, axis=axis),
            (floats(4, 5, 4), ints(2, 0, 2), np.array(axis, np.int32)),
            (0,),
            id=f"of-run {axis}",
        )
        for axis in (0, 1, -1)
    ],
    *[
        Sample("GatherNd", scattering.gather_nd, (VECTOR, ids[..., None]), (0,), id=f"{ids.ndim}d")
        for ids in INDICES
    ],
    Sample("GatherV2", gather.gather, (TABLE, IDS), (0,)),
    Sample("GatherV2", gather.gather, (TABLE, PAIRS), (0,), id="matrix"),
    Sample("GatherV2", gather.gather, (TABLE, np.array(3)), (0,), id="scalar"),
    Sample(
        "GatherV2",
        lambda x: gather.gather(x, [[2, 0]]),
        (np.array([b"a", b"b", b"c"], object),),
        chunked=(),
        id="string",
    ),
    Sample("GatherAxis", lambda x, i: gather.gather(x, i, axis=1), (CUBE, ints(2, 0, 2)), (0,)),
    Sample(
        "GatherAxis",
        lambda x, i: gather.gather(x, i, axis=-1),
        (CUBE, PAIRS % 4),
        (0,),
        id="matrix",
    ),
    Sample("GatherAxis", gather.batch_gather, (CUBE, ints([2, 0], [1, 1])), (0,), id="batch"),
    Sample(
        "GatherAxis",
        lambda x, i: gather.gather(x, i, axis=2, batch_dims=1),
        (CUBE, ints([3, 0, 3], [1, 1, 2])),
        (0,),
        id="batch-axis",
    ),
    Sample(
        "GatherAxisGrad",
        gradient_of_square(lambda x: gather.gather(x, [2, 0, 2], axis=1)),
        (CUBE,),
        (0,),
    ),
    Sample(
        "GatherAxisGrad",
        gradient_of_square(
            lambda x: gather.gather(x, [[3, 0, 3], [1, 1, 2]], axis=2, batch_dims=1)
        ),
        (CUBE,),
        (0,),
        id="batch",
    ),
    Sample("DeduplicateIndexedSlices", gather.deduplicate, (ROWS, ints(3, 1, 3, 0, 1, 3))),
    Sample("BooleanMask", gather.boolean_mask, (TABLE, MASK), (0,)),
    Sample(
        "BooleanMask",
        lambda x, m: gather.boolean_mask(x, m, axis=1),
        (floats(2, 5, 2), MASK),
        (0,),
        id="axis",
    ),
    Sample("BooleanMask", lambda x: gather.boolean_mask(x, x > 0.0), (TABLE,), (0,), id="elements"),
    Sample(
        "BooleanMaskGrad",
        gradient_of_square(lambda x: gather.boolean_mask(x, MASK)),
        (TABLE,),
        (0,),
    ),
    Sample("OneHot", lambda i: one_hot.one_hot(i, 5), (IDS,)),
    Sample("OneHot", lambda i: one_hot.one_hot(i, 3, True, False, 0), (PAIRS,), id="first"),
    Sample(
        "OneHot",
        lambda i, on, off: one_hot.one_hot(i, 5, on, off, dtype=dv.float64),
        (IDS, np.array(2.0), np.array(-1.0)),
        id="of-run",
    ),
    Sample("GatherNd", scattering.gather_nd, (CUBE, ints([0, 2], [1, 0], [0, 2])), (0,)),
    Sample("GatherNd", scattering.gather_nd, (TABLE, ints([4], [1])), (0,), id="rows"),
    Sample(
        "GatherNd",
        lambda x, i: scattering.gather_nd(x, i, batch_dims=1),
        (CUBE, ints([[2], [0]], [[1], [1]])),
        (0,),
        id="batch",
    ),
    Sample(
        "ScatterNd",
        lambda i, x: scattering.scatter_nd(i, x, [5, 2]),
        (ints([4], [0], [4]), floats(3, 2)),
        (1,),
    ),
    Sample(
        "ScatterNd",
        scattering.scatter_nd,
        (ints([1, 2], [0, 0]), floats(2), ints(2, 3)),
        (1,),
        id="of-run",
    ),
    *[
        Sample(
            f"TensorScatter{mode.capitalize()}",
            getattr(scattering, f"tensor_scatter_{mode}"),
            (TABLE, ints([4], [0]), floats(2, 3)),
            (0, 2),
        )
        for mode in ("update", "add", "sub")
    ],
]

FOLDED = [
    *folded("sum", UNORDERED, 5),
    *folded("prod", UNORDERED, 5),
    *folded("max", FULL, 3),
    *folded("min", FULL, 3),
    Sample(
        "UnsortedSegmentProd",
        lambda x: segments.unsorted_segment_prod(x, UNORDERED, 4),
        (WITH_ZEROS,),
        (0,),
        id="zeros",
    ),
    Sample(
        "UnsortedSegmentSum",
        lambda x: segments.unsorted_segment_mean(x, UNORDERED, 4),
        (ROWS,),
        (0,),
        id="mean",
    ),
    Sample(
        "UnsortedSegmentSum",
        lambda x: segments.unsorted_segment_sqrt_n(x, UNORDERED, 4),
        (ROWS,),
        (0,),
        id="sqrt_n",
    ),
    Sample(
        "UnsortedSegmentSum",
        lambda x: segments.unsorted_segment_sum(x, ints([1, 0], [1, 1]), 3),
        (floats(2, 2, 3),),
        (0,),
        id="matrix",
    ),
    *folds_of_every_rank("sum"),
    *folds_of_every_rank("max"),
    Sample("GatherOrZero", segments.gather_or_zero, (TABLE, ints(4, -1, 0, 4)), (0,)),
    Sample("SortedSegmentIds", lambda ids: segments.in_order(ids, 9), (ORDERED,)),
    Sample("SegmentSum", segments.segment_sum, (ROWS, ORDERED), (0,)),
    Sample("SegmentSum", lambda x: segments.segment_sum(x, ORDERED), (ROWS,), (0,), id="known"),
    Sample("SegmentMean", segments.segment_mean, (ROWS, ORDERED), (0,)),
    Sample("SegmentMax", segments.segment_max, (ROWS, ORDERED), (0,)),
    Sample("SegmentMin", segments.segment_min, (ROWS, ORDERED), (0,)),
    Sample("SegmentProd", segments.segment_prod, (WITH_ZEROS, ORDERED), (0,)),
]

SORTED = [
    Sample("UniqueWithCounts", partitioning.unique_with_counts, (ints(7, 3, 7, 1),)),
    Sample("UniqueWithCounts", lambda x: partitioning.unique(x, dv.int64), (floats(3),), id="two"),
    Sample(
        "UniqueWithCounts",
        lambda x: list(partitioning.unique_with_counts(x, axis=-1)),
        (np.array([[1, 0, 1], [2, 0, 2]]),),
        id="columns",
    ),
    Sample(
        "DynamicPartition",
        lambda x, p: partitioning.dynamic_partition(x, p, 3),
        (TABLE, ints(0, 2, 0, 0, 2)),
        (0,),
    ),
    Sample(
        "DynamicPartitionGrad",
        gradient_of_square(lambda x: partitioning.dynamic_partition(x, [1, 0, 1, 1, 0], 2)[1]),
        (TABLE,),
        (0,),
    ),
    Sample(
        "DynamicStitch",
        lambda a, b: partitioning.dynamic_stitch([[0, 2], [1, 3]], [a, b]),
        (floats(2, 3), floats(2, 3)),
        (0, 1),
    ),
    Sample("ArgSort", sorting.argsort, (TABLE,)),
    Sample(
        "ArgSort", lambda x: sorting.argsort(x, 0, "DESCENDING"), (ints(2, 5, 2, 1, 5),), id="ties"
    ),
    Sample("ArgSort", sorting.sort, (TABLE,), (0,), id="sort"),
    Sample("ArgSort", lambda x: sorting.sort(x, 0, "DESCENDING"), (TABLE,), (0,), id="sort-first"),
]

PLACES = np.array([[2, 0], [0, 1], [2, 0], [1, 3]])
VALUES = floats(4)


def multiplied(places, values, b, *shape, **options):
    matrix = dv.SparseTensor(places, values, *(shape or ([3, 4],)))
    return products.sparse_dense_matmul(matrix, b, **options)


SPARSE = [
    Sample("SparseOrder", lambda i: apply(indices.ORDER, i), (PLACES,)),
    Sample("SparseDistinct", indices.distinct, (PLACES,)),
    Sample("SparseFilledRows", lambda i: apply(indices.FILLED_ROWS, i, num_rows=4), (PLACES,)),
    Sample(
        "SparseReshape",
        lambda i: apply(indices.RESHAPE, i, np.array([3, 4]), np.array([2, 6])),
        (PLACES,),
    ),
    Sample("SparseTensorDenseMatMul", multiplied, (PLACES, VALUES, floats(4, 2)), (1, 2)),
    Sample(
        "SparseTensorDenseMatMul",
        multiplied,
        (PLACES, VALUES, floats(4, 2), np.array([3, 4])),
        (1, 2),
        id="of-run",
    ),
    Sample(
        "SparseTensorDenseMatMul",
        lambda v, b: multiplied(PLACES, v, b, adjoint_a=True, adjoint_b=True),
        (VALUES, floats(2, 3)),
        (0, 1),
        id="adjoint",
    ),
    Sample(
        "SampledMatMul",
        lambda i, x, y: apply(products.SAMPLED, i, x, y),
        (PLACES, floats(3, 2), floats(4, 2)),
        (1, 2),
    ),
    Sample(
        "SampledMatMul",
        lambda v, b: gradient(dv.square(multiplied(PLACES, v, b)), v),
        (VALUES, floats(4, 2)),
        (0, 1),
        id="gradient",
    ),
]

SAMPLES = [*PICKED, *FOLDED, *SORTED, *SPARSE]
