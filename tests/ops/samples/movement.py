"""Samples of ops that move elements."""

from functools import partial

import numpy as np

import daskvars as dv
from daskvars.ops.array import (
    joining,
    padding,
    rearranging,
    repeating,
    reshaping,
    shard_constraint,
    slicing,
    transposing,
)
from tests.ops.sample import Sample, gradient, ints, uniform

floats = partial(uniform, np.random.default_rng(5))

VECTOR = floats(6)
MATRIX = floats(4, 3)
CUBE = floats(4, 2, 3)
ONES = floats(4, 1, 3, 1)
IMAGE = floats(2, 4, 4, 1)
COMPLEX = floats(2, 3) + 1j * floats(2, 3)
TEXT = np.array([[b"a", b"bc"], [b"", b"d"], [b"e", b"f"]], object)

SHAPES = [
    Sample("Identity", reshaping.identity, (MATRIX,), (0,)),
    Sample("Shard", lambda a: shard_constraint.shard(a, 0, 2), (MATRIX,), (0,)),
    Sample("Identity", lambda a, b: reshaping.identity_n([a, b]), (MATRIX, VECTOR), (0, 1), id="n"),
    Sample("StopGradient", reshaping.stop_gradient, (MATRIX,)),
    Sample("PreventGradient", reshaping.prevent_gradient, (MATRIX,)),
    Sample("OptimizationBarrier", reshaping.optimization_barrier, (MATRIX,), (0,)),
    Sample("EnsureShape", lambda x: reshaping.ensure_shape(x, [None, 3]), (MATRIX,), (0,)),
    Sample("Reshape", lambda x: reshaping.reshape(x, [-1, 6]), (CUBE,), (0,), id="flat"),
    Sample("Reshape", lambda x: reshaping.reshape(x, [2, 2, 6]), (CUBE,), (0,), id="split"),
    Sample("Reshape", lambda x: reshaping.reshape(x, [-1]), (CUBE,), (0,), id="vector"),
    Sample("Reshape", lambda x: reshaping.reshape(x, [3, 8]), (CUBE,), (0,), id="crossing"),
    Sample("Reshape", reshaping.reshape, (CUBE, ints(-1, 4)), (0,), id="of-run"),
    Sample("Reshape", lambda x: reshaping.reshape(x, [3, -1]), (TEXT,), id="string"),
    Sample(
        "Reshape", lambda x: reshaping.reshape(x, [dv.shape(x)[0], -1]), (CUBE,), (0,), id="shape"
    ),
    Sample("ExpandDims", lambda x: reshaping.expand_dims(x, 0), (MATRIX,), (0,), id="first"),
    Sample("ExpandDims", lambda x: reshaping.expand_dims(x, -1), (MATRIX,), (0,), id="last"),
    Sample("ExpandDims", reshaping.expand_dims, (MATRIX, np.array(1, np.int32)), (0,), id="of-run"),
    Sample("Squeeze", reshaping.squeeze, (ONES,), (0,)),
    Sample("Squeeze", reshaping.squeeze, (floats(2, 1, 3),), (0,), id="one-row-blocks"),
    Sample("Squeeze", lambda x: reshaping.squeeze(x, [-1]), (ONES,), (0,), id="last"),
    Sample("Transpose", transposing.transpose, (CUBE,), (0,)),
    Sample(
        "Transpose", lambda x: transposing.transpose(x, [0, 2, 1]), (CUBE,), (0,), id="trailing"
    ),
    Sample("Transpose", lambda x: transposing.transpose(x, [1, 2, 0]), (CUBE,), (0,), id="cycle"),
    Sample("Transpose", transposing.transpose, (CUBE, ints(2, 0, 1)), (0,), id="of-run"),
    Sample(
        "Transpose", lambda x: transposing.transpose(x, conjugate=True), (COMPLEX,), id="conjugate"
    ),
    Sample("MatrixTranspose", transposing.matrix_transpose, (CUBE,), (0,)),
    Sample("InvertPermutation", transposing.invert_permutation, (ints(2, 0, 3, 1),)),
    Sample("BroadcastTo", lambda x: repeating.broadcast_to(x, [2, 4, 3]), (MATRIX,), (0,)),
    Sample(
        "BroadcastTo",
        lambda x: repeating.broadcast_to(x, [4, 5, 3]),
        (floats(4, 1, 3),),
        (0,),
        id="middle",
    ),
    Sample("BroadcastTo", repeating.broadcast_to, (floats(1, 3), ints(4, 3)), (0,), id="of-run"),
    Sample("Tile", lambda x: repeating.tile(x, [1, 2]), (MATRIX,), (0,)),
    Sample("Tile", lambda x: repeating.tile(x, [2, 3]), (MATRIX,), (0,), id="first"),
    Sample("Tile", repeating.tile, (MATRIX, ints(2, 1)), (0,), id="of-run"),
    Sample("TileGrad", lambda x: repeating.tile_grad(x, [2, 3]), (MATRIX,), (0,)),
    Sample("TileGrad", lambda x: repeating.tile_grad(x, [1, 3]), (MATRIX,), (0,), id="cut"),
    Sample(
        "BroadcastTo",
        lambda a, b: repeating.meshgrid(a, b),
        (VECTOR, floats(2)),
        (0, 1),
        id="meshgrid",
    ),
]

PARTS = [
    Sample("ConcatV2", lambda a, b: joining.concat([a, b], 0), (MATRIX, floats(2, 3)), (0, 1)),
    Sample(
        "ConcatV2",
        lambda a, b: joining.concat([a, b], -1),
        (MATRIX, floats(4, 2)),
        (0, 1),
        id="last",
    ),
    Sample("ConcatV2", lambda a: joining.concat([a, [[b"x", b"y"]]], 0), (TEXT,), id="string"),
    *[
        Sample(
            "ConcatV2",
            lambda a, b, axis: joining.concat([a, b, a], axis),
            (MATRIX, floats(4, 3), np.array(axis, np.int32)),
            (0, 1),
            id=f"of-run {axis}",
        )
        for axis in (0, 1, -1)
    ],
    *[
        Sample(
            "Split",
            lambda x, axis: joining.split(x, 2, axis),
            (CUBE, np.array(axis, np.int32)),
            (0,),
            id=f"of-run {axis}",
        )
        for axis in (0, 1, -2)
    ],
    Sample(
        "SplitV",
        lambda x, n, axis: joining.split(x, n, axis, num=2),
        (MATRIX, ints(1, 2), np.array(1, np.int32)),
        (0,),
        id="all-of-run",
    ),
    Sample("Split", lambda x: joining.split(x, 2), (MATRIX,), (0,)),
    Sample("Split", lambda x: joining.split(x, 3, -1), (MATRIX,), (0,), id="last"),
    Sample("SplitV", lambda x: joining.split(x, [1, -1], 1), (MATRIX,), (0,)),
    Sample(
        "SplitV",
        lambda x, n: joining.split(x, n, num=3),
        (VECTOR, ints(1, 2, 3)),
        (0,),
        id="of-run",
    ),
    Sample("Pack", lambda a, b: joining.stack([a, b]), (MATRIX, floats(4, 3)), (0, 1)),
    Sample(
        "Pack", lambda a, b: joining.stack([a, b], -1), (MATRIX, floats(4, 3)), (0, 1), id="last"
    ),
    Sample(
        "Pack",
        lambda a: dv.convert_to_tensor([[a, 1.0], [2.0, a]]),
        (np.array(3.0),),
        (0,),
        id="list",
    ),
    Sample("Unpack", lambda x: joining.unstack(x, 4), (MATRIX,), (0,)),
    Sample("Unpack", lambda x: joining.unstack(x, 3, -1), (MATRIX,), (0,), id="last"),
    Sample("Unpack", lambda x: joining.unstack(x, 6), (VECTOR,), (0,), id="scalars"),
    Sample("Slice", lambda x: slicing.slice(x, [1, 0], [2, -1]), (MATRIX,), (0,)),
    Sample("Slice", lambda x: slicing.slice(x, [0, 1], [4, 2]), (MATRIX,), (0,), id="cut"),
    Sample("Slice", lambda x: slicing.slice(x, [0, 1], [-1, 2]), (MATRIX,), (0,), id="to-the-end"),
    Sample("Slice", slicing.slice, (MATRIX, ints(1, 0), ints(2, 3)), (0,), id="of-run"),
    Sample(
        "Slice",
        lambda x, i: slicing.slice(x, [0, i], [4, 1]),
        (MATRIX, np.array(1, np.int32)),
        (0,),
        id="column-of-run",
    ),
    Sample("SliceGrad", lambda x: slicing.slice_grad(x, [6, 4], [1, 1]), (MATRIX,), (0,)),
    Sample("SliceGrad", lambda x: slicing.slice_grad(x, [4, 4], [0, 1]), (MATRIX,), (0,), id="cut"),
    Sample("StridedSlice", lambda x: x[1:, ::2], (MATRIX,), (0,)),
    Sample("StridedSlice", lambda x: x[:, 1], (MATRIX,), (0,), id="column"),
    Sample("StridedSlice", lambda x: x[..., None, ::-1], (CUBE,), (0,), id="ellipsis"),
    Sample("StridedSlice", lambda x: x[-1, 2], (MATRIX,), (0,), id="element"),
    Sample("StridedSlice", lambda x: x[None, :, :-1], (MATRIX,), (0,), id="new"),
    Sample(
        "StridedSlice",
        lambda x, i: x[:, i],
        (MATRIX, np.array(2, np.int32)),
        (0,),
        id="column-of-run",
    ),
    Sample("StridedSlice", lambda x, i: x[i:, 0], (MATRIX, np.array(1)), (0,), id="rows-of-run"),
    Sample("StridedSliceGrad", lambda x: gradient(dv.square(x[:, 1:]), x), (MATRIX,), (0,)),
    Sample(
        "StridedSliceGrad", lambda x: gradient(dv.square(x[1::2]), x), (MATRIX,), (0,), id="rows"
    ),
    Sample("Pad", lambda x: padding.pad(x, [[1, 0], [0, 2]]), (MATRIX,), (0,)),
    Sample(
        "Pad",
        lambda x: padding.pad(x, [[0, 0], [2, 1]], constant_values=7.0),
        (MATRIX,),
        (0,),
        id="cut",
    ),
    Sample("Pad", padding.pad, (MATRIX, np.array([[1, 0], [0, 2]], np.int32)), (0,), id="of-run"),
    Sample("Pad", lambda x: padding.pad(x, [[0, 1], [1, 0]]), (TEXT,), id="string"),
    Sample("MirrorPad", lambda x: padding.pad(x, [[0, 0], [2, 1]], "REFLECT"), (MATRIX,), (0,)),
    Sample(
        "MirrorPad",
        lambda x: padding.pad(x, [[2, 3], [3, 1]], "symmetric"),
        (MATRIX,),
        (0,),
        id="symmetric",
    ),
    Sample(
        "MirrorPadGrad",
        lambda x: gradient(dv.square(padding.pad(x, [[1, 2], [2, 0]], "REFLECT")), x),
        (MATRIX,),
        (0,),
    ),
    Sample(
        "MirrorPadGrad",
        lambda x: gradient(dv.square(padding.pad(x, [[0, 0], [2, 3]], "SYMMETRIC")), x),
        (MATRIX,),
        (0,),
        id="symmetric",
    ),
]

ORDER = [
    Sample("ReverseV2", lambda x: rearranging.reverse(x, [0]), (MATRIX,), (0,)),
    Sample("ReverseV2", lambda x: rearranging.reverse(x, [-1]), (MATRIX,), (0,), id="last"),
    Sample("ReverseV2", rearranging.reverse, (MATRIX, ints(0, 1)), (0,), id="of-run"),
    Sample("Roll", lambda x: rearranging.roll(x, 2, 0), (VECTOR,), (0,)),
    Sample("Roll", lambda x: rearranging.roll(x, [1, -1], [1, 2]), (CUBE,), (0,), id="two"),
    Sample(
        "Roll",
        rearranging.roll,
        (VECTOR, np.array(1, np.int32), np.array(0, np.int32)),
        (0,),
        id="of-run",
    ),
    Sample(
        "ReverseSequence",
        lambda x, n: rearranging.reverse_sequence(x, n, 1),
        (MATRIX, ints(2, 0, 3, 1)),
        (0,),
    ),
    Sample(
        "ReverseSequence",
        lambda x, n: rearranging.reverse_sequence(x, n, 0, 2),
        (CUBE, ints(2, 4, 1)),
        (0,),
        id="first",
    ),
    Sample("SpaceToDepth", lambda x: rearranging.space_to_depth(x, 2), (IMAGE,), (0,)),
    Sample(
        "SpaceToDepth",
        lambda x: rearranging.space_to_depth(x, 2, data_format="NCHW"),
        (floats(2, 3, 4, 2),),
        (0,),
        id="NCHW",
    ),
    Sample("DepthToSpace", lambda x: rearranging.depth_to_space(x, 2), (floats(2, 1, 2, 8),), (0,)),
    Sample(
        "DepthToSpace",
        lambda x: rearranging.depth_to_space(x, 2, data_format="NCHW"),
        (floats(2, 4, 1, 2),),
        (0,),
        id="NCHW",
    ),
    Sample(
        "SpaceToBatchND",
        lambda x: rearranging.space_to_batch(x, [[0, 0], [1, 1]], 2),
        (floats(2, 4, 2, 2),),
        (0,),
    ),
    Sample(
        "SpaceToBatchND",
        rearranging.space_to_batch_nd,
        (floats(2, 3, 2), ints(2), np.array([[1, 0]], np.int32)),
        (0,),
        id="of-run",
    ),
    Sample(
        "BatchToSpaceND",
        lambda x: rearranging.batch_to_space(x, [[0, 1], [0, 0]], 2),
        (floats(4, 2, 2, 1),),
        (0,),
    ),
]

SAMPLES = [*SHAPES, *PARTS, *ORDER]
