"""The names of ``tf.sparse``. Made by tests/typed/stubs.py; a test compares them."""

from daskvars.namespaces.sparse_names import SparseTensor as SparseTensor, add as add
from daskvars.namespaces.sparse_names import concat as concat, cross as cross
from daskvars.namespaces.sparse_names import cross_hashed as cross_hashed
from daskvars.namespaces.sparse_names import expand_dims as expand_dims, eye as eye
from daskvars.namespaces.sparse_names import fill_empty_rows as fill_empty_rows
from daskvars.namespaces.sparse_names import from_dense as from_dense, matmul as matmul
from daskvars.namespaces.sparse_names import maximum as maximum, merge as merge, minimum as minimum
from daskvars.namespaces.sparse_names import placeholder as placeholder, reduce_max as reduce_max
from daskvars.namespaces.sparse_names import reduce_max_sparse as reduce_max_sparse
from daskvars.namespaces.sparse_names import reduce_sum as reduce_sum
from daskvars.namespaces.sparse_names import reduce_sum_sparse as reduce_sum_sparse
from daskvars.namespaces.sparse_names import reorder as reorder, reset_shape as reset_shape
from daskvars.namespaces.sparse_names import reshape as reshape, retain as retain
from daskvars.namespaces.sparse_names import segment_mean as segment_mean
from daskvars.namespaces.sparse_names import segment_sqrt_n as segment_sqrt_n
from daskvars.namespaces.sparse_names import segment_sum as segment_sum, slice as slice
from daskvars.namespaces.sparse_names import softmax as softmax
from daskvars.namespaces.sparse_names import sparse_dense_matmul as sparse_dense_matmul
from daskvars.namespaces.sparse_names import split as split, to_dense as to_dense
from daskvars.namespaces.sparse_names import to_indicator as to_indicator, transpose as transpose
from daskvars.v1.names.namespaces.sparse import SparseConditionalAccumulator as SparseConditionalAccumulator
