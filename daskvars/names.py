"""The public names of the package but its modules: `daskvars` has them from here.

They are loaded together, with all that eager code needs, when the first of them is used.
"""

# fmt: off

import typing

# -- foundation
from daskvars.dtypes import (
    DType, as_dtype, bfloat16, bool, complex128, complex64, double, float16, float32, float64, half,
    int16, int32, int64, int8, qint16, qint32, qint8, quint16, quint8, resource, string, uint16,
    uint32, uint64, uint8, variant,
)
from daskvars.shapes import Dimension, TensorShape
from daskvars import config, errors
from daskvars.surface.progress_bars import progress

# -- graph
from daskvars.graph.scopes.collections import GraphKeys
from daskvars.graph.scopes.context import (
    add_to_collection, add_to_collections, container, device, get_collection, get_collection_ref,
)
from daskvars.graph.convert import convert_to_tensor, register_tensor_conversion_function
from daskvars.graph.scopes.default_graph import get_default_graph, reset_default_graph
from daskvars.graph.scopes.device import DeviceSpec
from daskvars.graph.definitions.gradient_registry import (
    NoGradient, NotDifferentiable, RegisterGradient,
)
from daskvars.graph.graph import Graph
from daskvars.graph.indexed_slices import IndexedSlices
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.sparse_tensor import SparseTensor, SparseTensorValue
from daskvars.graph.tensor import Operation
from daskvars.graph.scopes.stacks import get_default_session
from daskvars.graph.tensor import Tensor

# -- an op of your own: `register_op`, and what its rules are written with
from daskvars.graph.definitions import patterns
from daskvars.graph.interpreter import register_op
from daskvars.graph.definitions.opdef import NO_GRADIENT, OpDef, Spec

# -- ops
from daskvars.ops.math.arithmetic import (
    abs, accumulate_n, add, add_n, ceil, floor, maximum, minimum, multiply, negative, polyval, rint,
    round, saturate_cast, scalar_mul, sign, square, squared_difference, subtract,
)
from daskvars.ops.checks.assertions import (
    assert_equal, assert_greater, assert_greater_equal, assert_less, assert_less_equal, assert_near,
    assert_negative, assert_non_negative, assert_non_positive, assert_none_equal, assert_positive,
    is_non_decreasing, is_strictly_increasing,
)
from daskvars.ops.state.assign import (
    assign, assign_add, assign_sub, count_up_to, is_variable_initialized, scatter_add, scatter_div,
    scatter_max, scatter_min, scatter_mul, scatter_sub, scatter_update,
)
from daskvars.ops.math.bitwise import bitcast
from daskvars.ops.protocols.array_api import from_dlpack
from daskvars.ops.control.cond import case, cond, switch_case
from daskvars.ops.math.casting import cast, complex, conj, imag, real
from daskvars.ops.math.clip import (
    clip_by_average_norm, clip_by_global_norm, clip_by_norm, clip_by_value, global_norm,
)
from daskvars.ops.math.comparison import (
    equal, greater, greater_equal, is_finite, is_inf, is_nan, less, less_equal, logical_and,
    logical_not, logical_or, logical_xor, not_equal, where, where_v2,
)
from daskvars.ops.array.constant import (
    constant, convert_to_tensor_or_indexed_slices, fill, ones, ones_like, rank, shape, shape_n,
    size, zeros, zeros_like,
)
from daskvars.ops.linalg.einsum import einsum
from daskvars.ops.control.dependencies import (
    Assert, Print, check_numerics, control_dependencies, group, no_op, numpy_function, py_func,
)
from daskvars.ops.control.dependencies import tuple_ as tuple
from daskvars.ops.math.counting import (
    bincount, confusion_matrix, count_nonzero, histogram_fixed_width, histogram_fixed_width_bins,
)
from daskvars.ops.control.custom_gradient import custom_gradient, grad_pass_through
from daskvars.ops.linalg.decompositions import (
    cholesky, cholesky_solve, matrix_determinant, matrix_inverse, matrix_solve,
    matrix_triangular_solve, qr, self_adjoint_eig, self_adjoint_eigvals, svd,
)
from daskvars.ops.math.division import (
    div, div_no_nan, divide, floordiv, floormod, mod, realdiv, truediv, truncatediv, truncatemod,
)
from daskvars.ops.math.division import floordiv as floor_div
from daskvars.ops.math.gamma_functions import betainc, igamma, igammac, lbeta, zeta
from daskvars.ops.control.clock import timestamp
from daskvars.ops.control.map_fn import foldl, foldr, map_fn, scan, vectorized_map
from daskvars.ops.gather_scatter.gather import batch_gather, boolean_mask, gather
from daskvars.ops.protocols.indexing import newaxis
from daskvars.ops.array.joining import concat, parallel_stack, split, stack, unstack
from daskvars.ops.linalg.products import cross, matmul, matvec, tensordot, trace
from daskvars.ops.control.while_loop import while_loop
from daskvars.ops.linalg.matrix_forms import matrix_solve_ls
from daskvars.ops.linalg.matrix_parts import (
    diag, diag_part, matrix_band_part, matrix_diag, matrix_diag_part, matrix_set_diag,
)
from daskvars.ops.linalg.norms import norm
from daskvars.ops.math.moments import (
    moments, reduce_euclidean_norm, reduce_std, reduce_variance, weighted_moments,
)
from daskvars.ops.checks.numerics import add_check_numerics_ops, verify_tensor_all_finite
from daskvars.ops.array.one_hot import one_hot
from daskvars.ops.array.padding import pad
from daskvars.ops.gather_scatter.partitioning import (
    dynamic_partition, dynamic_stitch, unique, unique_with_counts,
)
from daskvars.ops.array.placeholders import placeholder, placeholder_with_default
from daskvars.ops.control.printing import print_ as print
from daskvars.ops.random.distributions import (
    categorical, get_seed, multinomial, random_crop, random_normal, random_shuffle, random_uniform,
    set_random_seed, truncated_normal,
)
from daskvars.ops.random.gamma_poisson import random_gamma, random_poisson
from daskvars.ops.array.ranges import eye, lin_space, linspace, range, sequence_mask
from daskvars.ops.array.rearranging import (
    batch_to_space, batch_to_space_nd, depth_to_space, reverse, reverse_sequence, roll,
    space_to_batch, space_to_batch_nd, space_to_depth,
)
from daskvars.ops.array.rearranging import reverse as reverse_v2
from daskvars.ops.nn.windows.dilated import required_space_to_batch_paddings
from daskvars.ops.math.reduce import (
    argmax, argmin, reduce_all, reduce_any, reduce_logsumexp, reduce_max, reduce_mean, reduce_min,
    reduce_prod, reduce_sum,
)
from daskvars.ops.array.repeating import broadcast_to, meshgrid, tile
from daskvars.ops.array.reshaping import (
    ensure_shape, expand_dims, identity, identity_n, reshape, squeeze, stop_gradient,
)
from daskvars.ops.array.shard_constraint import shard
from daskvars.ops.math.scans import cumprod, cumsum
from daskvars.ops.gather_scatter.scatter import (
    batch_scatter_update, gather_nd, scatter_nd, scatter_nd_add, scatter_nd_sub, scatter_nd_update,
    tensor_scatter_add, tensor_scatter_sub, tensor_scatter_update,
)
from daskvars.ops.gather_scatter.scatter import tensor_scatter_add as tensor_scatter_nd_add
from daskvars.ops.gather_scatter.scatter import tensor_scatter_sub as tensor_scatter_nd_sub
from daskvars.ops.gather_scatter.scatter import tensor_scatter_update as tensor_scatter_nd_update
from daskvars.ops.gather_scatter.searching import searchsorted, setdiff1d, unravel_index
from daskvars.ops.gather_scatter.segments import (
    segment_max, segment_mean, segment_min, segment_prod, segment_sum, unsorted_segment_max,
    unsorted_segment_mean, unsorted_segment_min, unsorted_segment_prod, unsorted_segment_sqrt_n,
    unsorted_segment_sum,
)
from daskvars.ops.checks.shape_assertions import (
    assert_integer, assert_proper_iterable, assert_rank, assert_rank_at_least, assert_rank_in,
    assert_same_float_dtype, assert_scalar, assert_type, is_numeric_tensor,
)
from daskvars.ops.array.slicing import slice, strided_slice
from daskvars.ops.gather_scatter.sorting import argsort, sort
from daskvars.ops.gather_scatter.spreading import repeat, sparse_to_dense
from daskvars.ops.rules.static_shapes import (
    broadcast_dynamic_shape, broadcast_static_shape, dimension_at_index, dimension_value,
    get_static_value, is_tensor,
)
from daskvars.ops.control.tensor_array import TensorArray
from daskvars.ops.files import matching_files, read_file, write_file
from daskvars.ops.parsing import (
    FixedLenFeature, FixedLenSequenceFeature, SparseFeature, VarLenFeature, decode_compressed,
    decode_csv, decode_json_example, decode_raw, parse_example, parse_single_example,
    parse_single_sequence_example,
)
from daskvars.ops.sparse.serializing import parse_tensor, serialize_tensor
from daskvars.ops.sparse.sets import edit_distance
from daskvars.ops.sparse.splitting import string_split
from daskvars.ops.string_coding import decode_base64, encode_base64
from daskvars.ops.string_hashes import (
    string_to_hash_bucket, string_to_hash_bucket_fast, string_to_hash_bucket_strong,
)
from daskvars.ops.strings import (
    as_string, reduce_join, regex_replace, string_join, string_strip, string_to_number, substr,
)
from daskvars.ops.math.transcendental import (
    acos, acosh, angle, asin, asinh, atan, atan2, atanh, cos, cosh, digamma, erf, erfc, exp, expm1,
    lgamma, log, log1p, log_sigmoid, polygamma, pow, reciprocal, rsqrt, sigmoid, sin, sinh,
    softplus, softsign, sqrt, tan, tanh,
)
from daskvars.ops.array.transposing import invert_permutation, matrix_transpose, transpose

# -- gradients and variables
from daskvars.backpropagation import AggregationMethod, UnconnectedGradients, gradients, hessians
from daskvars import initializers
from daskvars.variables.colocation import colocate_with, init_scope
from daskvars.variables.initializers import (
    constant_initializer, glorot_normal_initializer, glorot_uniform_initializer,
    identity_initializer, ones_initializer, orthogonal_initializer, random_normal_initializer,
    random_uniform_initializer, truncated_normal_initializer, uniform_unit_scaling_initializer,
    variance_scaling_initializer, zeros_initializer,
)
from daskvars.variables.partitions.partitioned_variable import PartitionedVariable
from daskvars.variables.partitions.partitioners import (
    fixed_size_partitioner, min_max_variable_partitioner, variable_axis_size_partitioner,
)
from daskvars.variables.regularizers import (
    apply_regularization, l1_l2_regularizer, l1_regularizer, l2_regularizer, sum_regularizer,
)
from daskvars.variables.scopes.scope_stack import VariableScope, get_variable_scope
from daskvars.variables.synchronization import VariableAggregation, VariableSynchronization
from daskvars.variables.scopes.templates import make_template
from daskvars.variables.variable import Variable
from daskvars.variables.collections import (
    assert_variables_initialized, global_variables, global_variables_initializer, local_variables,
    local_variables_initializer, model_variables, moving_average_variables,
    report_uninitialized_variables, trainable_variables, variables_initializer,
)
from daskvars.variables.scopes.creators import variable_creator_scope
from daskvars.variables.scopes.variable_scope import (
    create_partitioned_variables, get_local_variable, get_variable, no_regularizer, variable_scope,
)
from daskvars.variables.scopes.variable_store import AUTO_REUSE

# -- execution
from daskvars.execution.config_proto import (
    ConfigProto, GPUOptions, GraphOptions, OptimizerOptions, RunMetadata, RunOptions,
)
from daskvars.execution.eager import reset, sync
from daskvars.execution.function import function
from daskvars.execution.python_calls import py_function
from daskvars.execution.recompute_grad import recompute_grad
from daskvars.execution.session import InteractiveSession, Session
from daskvars.execution.tape import GradientTape

# -- layers, training, what happens meanwhile, names by subject: loaded when they are first named
if typing.TYPE_CHECKING:
    from daskvars import data, distributions, layers, losses, metrics, nn, observe, summary, train
    from daskvars.namespaces import bitwise_names as bitwise
    from daskvars.ops.protocols import array_api
    from daskvars.namespaces import debugging_names as debugging
    from daskvars.namespaces import image_names as image
    from daskvars.namespaces import linalg_names as linalg
    from daskvars.namespaces import math_names as math
    from daskvars.namespaces import quantization_names as quantization
    from daskvars.namespaces import random_names as random
    from daskvars.namespaces import sets_names as sets
    from daskvars.namespaces import signal_names as signal
    from daskvars.namespaces import sparse_names as sparse
    from daskvars.namespaces import strings_names as strings
    from daskvars.observe import profile

__all__ = [
    "AUTO_REUSE", "AggregationMethod", "Assert", "ConfigProto", "DType", "DeviceSpec", "Dimension",
    "FixedLenFeature", "FixedLenSequenceFeature", "GPUOptions", "GradientTape", "Graph",
    "GraphKeys", "GraphOptions", "IndexedSlices", "InteractiveSession", "NO_GRADIENT", "NoGradient",
    "NotDifferentiable", "OpDef", "Operation", "OptimizerOptions", "PartitionedVariable", "Print",
    "RegisterGradient", "RunMetadata", "RunOptions", "Session", "SparseFeature", "SparseTensor",
    "SparseTensorValue",
    "Spec", "Tensor", "TensorArray", "TensorShape", "UnconnectedGradients", "VarLenFeature",
    "Variable", "VariableAggregation", "VariableScope", "VariableSynchronization", "abs",
    "accumulate_n", "acos", "acosh", "add", "add_check_numerics_ops", "add_n", "add_to_collection",
    "add_to_collections", "angle", "apply_regularization", "argmax", "argmin", "argsort",
    "array_api", "as_dtype", "as_string", "asin", "asinh", "assert_equal", "assert_greater",
    "assert_greater_equal", "assert_integer", "assert_less", "assert_less_equal", "assert_near",
    "assert_negative", "assert_non_negative", "assert_non_positive", "assert_none_equal",
    "assert_positive", "assert_proper_iterable", "assert_rank", "assert_rank_at_least",
    "assert_rank_in", "assert_same_float_dtype", "assert_scalar", "assert_type",
    "assert_variables_initialized", "assign", "assign_add", "assign_sub", "atan", "atan2", "atanh",
    "batch_gather", "batch_scatter_update", "batch_to_space", "batch_to_space_nd", "betainc",
    "bfloat16", "bincount", "bitcast", "bitwise", "bool", "boolean_mask", "broadcast_dynamic_shape",
    "broadcast_static_shape", "broadcast_to", "case", "cast", "categorical", "ceil",
    "check_numerics", "cholesky", "cholesky_solve", "clip_by_average_norm", "clip_by_global_norm",
    "clip_by_norm", "clip_by_value", "colocate_with", "complex", "complex128", "complex64",
    "concat", "cond", "config", "confusion_matrix", "conj", "constant", "constant_initializer",
    "container", "control_dependencies", "convert_to_tensor", "convert_to_tensor_or_indexed_slices",
    "cos", "cosh", "count_nonzero", "count_up_to", "create_partitioned_variables", "cross",
    "cumprod", "cumsum", "custom_gradient", "data", "debugging", "decode_base64",
    "decode_compressed", "decode_csv", "decode_json_example", "decode_raw", "depth_to_space",
    "device", "diag", "diag_part", "digamma", "dimension_at_index", "dimension_value",
    "distributions", "div", "div_no_nan", "divide", "double",
    "dynamic_partition", "dynamic_stitch", "edit_distance", "einsum", "encode_base64",
    "ensure_shape", "equal", "erf", "erfc", "errors", "exp", "expand_dims", "expm1", "eye", "fill",
    "fixed_size_partitioner", "float16", "float32", "float64", "floor", "floor_div", "floordiv",
    "floormod", "foldl", "foldr", "from_dlpack", "function", "gather", "gather_nd",
    "get_collection", "get_collection_ref", "get_default_graph", "get_default_session",
    "get_local_variable", "get_seed", "get_static_value", "get_variable", "get_variable_scope",
    "global_norm", "global_variables", "global_variables_initializer", "glorot_normal_initializer",
    "glorot_uniform_initializer", "grad_pass_through", "gradients", "greater", "greater_equal",
    "group", "half", "hessians", "histogram_fixed_width", "histogram_fixed_width_bins", "identity",
    "identity_initializer", "identity_n", "igamma", "igammac", "imag", "image", "init_scope",
    "initializers", "int16", "int32", "int64", "int8", "invert_permutation", "is_finite", "is_inf",
    "is_nan", "is_non_decreasing", "is_numeric_tensor", "is_strictly_increasing", "is_tensor",
    "is_variable_initialized", "l1_l2_regularizer", "l1_regularizer", "l2_regularizer", "layers",
    "lbeta", "less", "less_equal", "lgamma", "lin_space", "linalg", "linspace", "local_variables",
    "local_variables_initializer", "log", "log1p", "log_sigmoid", "logical_and", "logical_not",
    "logical_or", "logical_xor", "losses", "make_template", "map_fn", "matching_files", "math",
    "matmul", "matrix_band_part", "matrix_determinant", "matrix_diag", "matrix_diag_part",
    "matrix_inverse", "matrix_set_diag", "matrix_solve", "matrix_solve_ls", "matrix_transpose",
    "matrix_triangular_solve", "matvec", "maximum", "meshgrid", "metrics",
    "min_max_variable_partitioner", "minimum", "mod", "model_variables", "moments",
    "moving_average_variables", "multinomial", "multiply", "name_scope", "negative", "newaxis",
    "nn", "no_op", "no_regularizer", "norm", "not_equal", "numpy_function", "observe", "one_hot",
    "ones", "ones_initializer", "ones_like", "orthogonal_initializer", "pad", "parallel_stack",
    "parse_example", "parse_single_example", "parse_single_sequence_example",
    "parse_tensor", "patterns", "placeholder",
    "placeholder_with_default", "polygamma", "polyval", "pow", "print", "profile", "progress",
    "py_func", "py_function", "qint16", "qint32", "qint8", "qr", "quantization", "quint16",
    "quint8", "random", "random_crop", "random_gamma", "random_normal", "random_normal_initializer",
    "random_poisson", "random_shuffle", "random_uniform", "random_uniform_initializer", "range",
    "rank", "read_file", "real", "realdiv", "reciprocal", "recompute_grad", "reduce_all",
    "reduce_any", "reduce_euclidean_norm", "reduce_join", "reduce_logsumexp", "reduce_max",
    "reduce_mean", "reduce_min", "reduce_prod", "reduce_std", "reduce_sum", "reduce_variance",
    "regex_replace", "register_op", "register_tensor_conversion_function", "repeat",
    "report_uninitialized_variables", "required_space_to_batch_paddings", "reset",
    "reset_default_graph", "reshape", "resource",
    "reverse", "reverse_sequence", "reverse_v2", "rint", "roll", "round", "rsqrt", "saturate_cast",
    "scalar_mul", "scan", "scatter_add", "scatter_div", "scatter_max", "scatter_min", "scatter_mul",
    "scatter_nd", "scatter_nd_add", "scatter_nd_sub", "scatter_nd_update", "scatter_sub",
    "scatter_update", "searchsorted", "segment_max", "segment_mean", "segment_min", "segment_prod",
    "segment_sum", "self_adjoint_eig", "self_adjoint_eigvals", "sequence_mask", "serialize_tensor",
    "set_random_seed", "setdiff1d", "sets", "shape", "shape_n", "shard", "sigmoid", "sign",
    "signal", "sin", "sinh", "size", "slice", "softplus", "softsign", "sort", "space_to_batch",
    "space_to_batch_nd", "space_to_depth", "sparse", "sparse_to_dense", "split", "sqrt", "square",
    "squared_difference", "squeeze", "stack", "stop_gradient", "strided_slice", "string",
    "string_join", "string_split", "string_strip", "string_to_hash_bucket",
    "string_to_hash_bucket_fast", "string_to_hash_bucket_strong", "string_to_number", "strings",
    "substr", "subtract", "sum_regularizer", "summary", "svd", "switch_case", "sync", "tan", "tanh",
    "tensor_scatter_add", "tensor_scatter_nd_add", "tensor_scatter_nd_sub",
    "tensor_scatter_nd_update", "tensor_scatter_sub", "tensor_scatter_update", "tensordot", "tile",
    "timestamp", "trace", "train", "trainable_variables", "transpose", "truediv",
    "truncated_normal", "truncated_normal_initializer", "truncatediv", "truncatemod", "tuple",
    "uint16", "uint32", "uint64", "uint8", "uniform_unit_scaling_initializer", "unique",
    "unique_with_counts",
    "unravel_index", "unsorted_segment_max", "unsorted_segment_mean", "unsorted_segment_min",
    "unsorted_segment_prod", "unsorted_segment_sqrt_n", "unsorted_segment_sum", "unstack",
    "variable_axis_size_partitioner", "variable_creator_scope", "variable_scope",
    "variables_initializer", "variance_scaling_initializer", "variant", "vectorized_map",
    "verify_tensor_all_finite", "weighted_moments", "where", "where_v2", "while_loop",
    "write_file", "zeros", "zeros_initializer", "zeros_like", "zeta",
]

from daskvars.surface.names_of_v1 import refuses as _refuses

if not typing.TYPE_CHECKING:
    __getattr__ = _refuses("daskvars", __all__)
