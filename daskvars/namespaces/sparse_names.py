"""Sparse tensors, the names of ``tf.sparse``."""

# fmt: off
from daskvars.graph.sparse_tensor import SparseTensor
from daskvars.ops.sparse.arithmetic import (
    add, maximum, minimum, reduce_max, reduce_max_sparse, reduce_sum, reduce_sum_sparse, softmax,
)
from daskvars.ops.sparse.arranging import (
    concat, expand_dims, fill_empty_rows, merge, reset_shape, retain, slice, split, transpose,
)
from daskvars.ops.sparse.crossing import cross, cross_hashed
from daskvars.ops.sparse.dense import eye, from_dense, placeholder, to_dense, to_indicator
from daskvars.ops.sparse.indices import reorder, reshape
from daskvars.ops.sparse.products import sparse_dense_matmul
from daskvars.ops.sparse.products import sparse_dense_matmul as matmul
from daskvars.ops.sparse.segments import segment_mean, segment_sqrt_n, segment_sum

__all__ = [
    "SparseTensor", "add", "concat", "cross", "cross_hashed", "expand_dims", "eye",
    "fill_empty_rows", "from_dense", "matmul", "maximum", "merge", "minimum", "placeholder",
    "reduce_max", "reduce_max_sparse", "reduce_sum", "reduce_sum_sparse", "reorder", "reset_shape",
    "reshape", "retain", "segment_mean", "segment_sqrt_n", "segment_sum", "slice", "softmax",
    "sparse_dense_matmul", "split", "to_dense", "to_indicator", "transpose",
]
