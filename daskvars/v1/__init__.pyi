"""The names of TensorFlow 1. Made by tests/typed/stubs.py; a test compares them."""

from daskvars import AUTO_REUSE as AUTO_REUSE, AggregationMethod as AggregationMethod
from daskvars import Assert as Assert, ConfigProto as ConfigProto, DType as DType
from daskvars import DeviceSpec as DeviceSpec, Dimension as Dimension
from daskvars import FixedLenFeature as FixedLenFeature
from daskvars import FixedLenSequenceFeature as FixedLenSequenceFeature, GPUOptions as GPUOptions
from daskvars import Graph as Graph, GraphKeys as GraphKeys, GraphOptions as GraphOptions
from daskvars import IndexedSlices as IndexedSlices, InteractiveSession as InteractiveSession
from daskvars import NO_GRADIENT as NO_GRADIENT, NoGradient as NoGradient
from daskvars import NotDifferentiable as NotDifferentiable, OpDef as OpDef, Operation as Operation
from daskvars import OptimizerOptions as OptimizerOptions
from daskvars import PartitionedVariable as PartitionedVariable, Print as Print
from daskvars import RegisterGradient as RegisterGradient, RunMetadata as RunMetadata
from daskvars import RunOptions as RunOptions, Session as Session, SparseFeature as SparseFeature
from daskvars import SparseTensor as SparseTensor, SparseTensorValue as SparseTensorValue
from daskvars import Spec as Spec, Tensor as Tensor, TensorArray as TensorArray
from daskvars import TensorShape as TensorShape, UnconnectedGradients as UnconnectedGradients
from daskvars import VarLenFeature as VarLenFeature, Variable as Variable
from daskvars import VariableAggregation as VariableAggregation, VariableScope as VariableScope
from daskvars import VariableSynchronization as VariableSynchronization, abs as abs
from daskvars import accumulate_n as accumulate_n, acos as acos, acosh as acosh, add as add
from daskvars import add_check_numerics_ops as add_check_numerics_ops, add_n as add_n
from daskvars import add_to_collection as add_to_collection
from daskvars import add_to_collections as add_to_collections, angle as angle
from daskvars import apply_regularization as apply_regularization, argmax as argmax
from daskvars import argmin as argmin, argsort as argsort, array_api as array_api
from daskvars import as_dtype as as_dtype, as_string as as_string, asin as asin, asinh as asinh
from daskvars import assert_equal as assert_equal, assert_greater as assert_greater
from daskvars import assert_greater_equal as assert_greater_equal, assert_integer as assert_integer
from daskvars import assert_less as assert_less, assert_less_equal as assert_less_equal
from daskvars import assert_near as assert_near, assert_negative as assert_negative
from daskvars import assert_non_negative as assert_non_negative
from daskvars import assert_non_positive as assert_non_positive
from daskvars import assert_none_equal as assert_none_equal, assert_positive as assert_positive
from daskvars import assert_proper_iterable as assert_proper_iterable, assert_rank as assert_rank
from daskvars import assert_rank_at_least as assert_rank_at_least, assert_rank_in as assert_rank_in
from daskvars import assert_same_float_dtype as assert_same_float_dtype
from daskvars import assert_scalar as assert_scalar, assert_type as assert_type
from daskvars import assert_variables_initialized as assert_variables_initialized, assign as assign
from daskvars import assign_add as assign_add, assign_sub as assign_sub, atan as atan
from daskvars import atan2 as atan2, atanh as atanh, batch_gather as batch_gather
from daskvars import batch_scatter_update as batch_scatter_update, batch_to_space as batch_to_space
from daskvars import batch_to_space_nd as batch_to_space_nd, betainc as betainc
from daskvars import bfloat16 as bfloat16, bincount as bincount, bitcast as bitcast
from daskvars import bitwise as bitwise, bool as bool, boolean_mask as boolean_mask
from daskvars import broadcast_dynamic_shape as broadcast_dynamic_shape
from daskvars import broadcast_static_shape as broadcast_static_shape, broadcast_to as broadcast_to
from daskvars import case as case, cast as cast, categorical as categorical, ceil as ceil
from daskvars import check_numerics as check_numerics, cholesky as cholesky
from daskvars import cholesky_solve as cholesky_solve, clip_by_average_norm as clip_by_average_norm
from daskvars import clip_by_global_norm as clip_by_global_norm, clip_by_norm as clip_by_norm
from daskvars import clip_by_value as clip_by_value, colocate_with as colocate_with
from daskvars import complex as complex, complex128 as complex128, complex64 as complex64
from daskvars import concat as concat, cond as cond, confusion_matrix as confusion_matrix
from daskvars import conj as conj, constant as constant
from daskvars import constant_initializer as constant_initializer, container as container
from daskvars import control_dependencies as control_dependencies
from daskvars import convert_to_tensor as convert_to_tensor
from daskvars import convert_to_tensor_or_indexed_slices as convert_to_tensor_or_indexed_slices
from daskvars import cos as cos, cosh as cosh, count_nonzero as count_nonzero
from daskvars import count_up_to as count_up_to
from daskvars import create_partitioned_variables as create_partitioned_variables, cross as cross
from daskvars import cumprod as cumprod, cumsum as cumsum, custom_gradient as custom_gradient
from daskvars import data as data, debugging as debugging, decode_base64 as decode_base64
from daskvars import decode_compressed as decode_compressed, decode_csv as decode_csv
from daskvars import decode_json_example as decode_json_example, decode_raw as decode_raw
from daskvars import depth_to_space as depth_to_space, device as device, diag as diag
from daskvars import diag_part as diag_part, digamma as digamma
from daskvars import dimension_at_index as dimension_at_index, dimension_value as dimension_value
from daskvars import distributions as distributions, div as div, div_no_nan as div_no_nan
from daskvars import divide as divide, double as double, dynamic_partition as dynamic_partition
from daskvars import dynamic_stitch as dynamic_stitch, edit_distance as edit_distance
from daskvars import einsum as einsum, encode_base64 as encode_base64, ensure_shape as ensure_shape
from daskvars import equal as equal, erf as erf, erfc as erfc, errors as errors, exp as exp
from daskvars import expand_dims as expand_dims, expm1 as expm1, eye as eye, fill as fill
from daskvars import fixed_size_partitioner as fixed_size_partitioner, float16 as float16
from daskvars import float32 as float32, float64 as float64, floor as floor, floor_div as floor_div
from daskvars import floordiv as floordiv, floormod as floormod, foldl as foldl, foldr as foldr
from daskvars import from_dlpack as from_dlpack, gather as gather, gather_nd as gather_nd
from daskvars import get_collection as get_collection, get_collection_ref as get_collection_ref
from daskvars import get_default_graph as get_default_graph
from daskvars import get_default_session as get_default_session
from daskvars import get_local_variable as get_local_variable, get_seed as get_seed
from daskvars import get_static_value as get_static_value, get_variable as get_variable
from daskvars import get_variable_scope as get_variable_scope, global_norm as global_norm
from daskvars import global_variables as global_variables
from daskvars import global_variables_initializer as global_variables_initializer
from daskvars import glorot_normal_initializer as glorot_normal_initializer
from daskvars import glorot_uniform_initializer as glorot_uniform_initializer
from daskvars import grad_pass_through as grad_pass_through, gradients as gradients
from daskvars import greater as greater, greater_equal as greater_equal, group as group
from daskvars import half as half, hessians as hessians
from daskvars import histogram_fixed_width as histogram_fixed_width
from daskvars import histogram_fixed_width_bins as histogram_fixed_width_bins, identity as identity
from daskvars import identity_initializer as identity_initializer, identity_n as identity_n
from daskvars import igamma as igamma, igammac as igammac, imag as imag, image as image
from daskvars import init_scope as init_scope, int16 as int16, int32 as int32, int64 as int64
from daskvars import int8 as int8, invert_permutation as invert_permutation, is_finite as is_finite
from daskvars import is_inf as is_inf, is_nan as is_nan, is_non_decreasing as is_non_decreasing
from daskvars import is_numeric_tensor as is_numeric_tensor
from daskvars import is_strictly_increasing as is_strictly_increasing, is_tensor as is_tensor
from daskvars import is_variable_initialized as is_variable_initialized
from daskvars import l1_l2_regularizer as l1_l2_regularizer, l1_regularizer as l1_regularizer
from daskvars import l2_regularizer as l2_regularizer, layers as layers, lbeta as lbeta
from daskvars import less as less, less_equal as less_equal, lgamma as lgamma
from daskvars import lin_space as lin_space, linalg as linalg, linspace as linspace
from daskvars import local_variables as local_variables
from daskvars import local_variables_initializer as local_variables_initializer, log as log
from daskvars import log1p as log1p, log_sigmoid as log_sigmoid, logical_and as logical_and
from daskvars import logical_not as logical_not, logical_or as logical_or
from daskvars import logical_xor as logical_xor, losses as losses, make_template as make_template
from daskvars import map_fn as map_fn, matching_files as matching_files, math as math
from daskvars import matmul as matmul, matrix_band_part as matrix_band_part
from daskvars import matrix_determinant as matrix_determinant, matrix_diag as matrix_diag
from daskvars import matrix_diag_part as matrix_diag_part, matrix_inverse as matrix_inverse
from daskvars import matrix_set_diag as matrix_set_diag, matrix_solve as matrix_solve
from daskvars import matrix_solve_ls as matrix_solve_ls, matrix_transpose as matrix_transpose
from daskvars import matrix_triangular_solve as matrix_triangular_solve, matvec as matvec
from daskvars import maximum as maximum, meshgrid as meshgrid, metrics as metrics
from daskvars import min_max_variable_partitioner as min_max_variable_partitioner
from daskvars import minimum as minimum, mod as mod, model_variables as model_variables
from daskvars import moments as moments, moving_average_variables as moving_average_variables
from daskvars import multinomial as multinomial, multiply as multiply, name_scope as name_scope
from daskvars import negative as negative, newaxis as newaxis, no_op as no_op
from daskvars import no_regularizer as no_regularizer, norm as norm, not_equal as not_equal
from daskvars import numpy_function as numpy_function, observe as observe, one_hot as one_hot
from daskvars import ones as ones, ones_initializer as ones_initializer, ones_like as ones_like
from daskvars import orthogonal_initializer as orthogonal_initializer, pad as pad
from daskvars import parallel_stack as parallel_stack, parse_example as parse_example
from daskvars import parse_single_example as parse_single_example
from daskvars import parse_single_sequence_example as parse_single_sequence_example
from daskvars import parse_tensor as parse_tensor, patterns as patterns, placeholder as placeholder
from daskvars import placeholder_with_default as placeholder_with_default, polygamma as polygamma
from daskvars import polyval as polyval, pow as pow, print as print, progress as progress
from daskvars import py_func as py_func, py_function as py_function, qint16 as qint16
from daskvars import qint32 as qint32, qint8 as qint8, qr as qr, quantization as quantization
from daskvars import quint16 as quint16, quint8 as quint8, random_crop as random_crop
from daskvars import random_gamma as random_gamma, random_normal as random_normal
from daskvars import random_normal_initializer as random_normal_initializer
from daskvars import random_poisson as random_poisson, random_shuffle as random_shuffle
from daskvars import random_uniform as random_uniform
from daskvars import random_uniform_initializer as random_uniform_initializer, range as range
from daskvars import rank as rank, read_file as read_file, real as real, realdiv as realdiv
from daskvars import reciprocal as reciprocal, recompute_grad as recompute_grad
from daskvars import reduce_all as reduce_all, reduce_any as reduce_any
from daskvars import reduce_euclidean_norm as reduce_euclidean_norm, reduce_join as reduce_join
from daskvars import reduce_logsumexp as reduce_logsumexp, reduce_max as reduce_max
from daskvars import reduce_mean as reduce_mean, reduce_min as reduce_min
from daskvars import reduce_prod as reduce_prod, reduce_std as reduce_std, reduce_sum as reduce_sum
from daskvars import reduce_variance as reduce_variance, regex_replace as regex_replace
from daskvars import register_op as register_op
from daskvars import register_tensor_conversion_function as register_tensor_conversion_function
from daskvars import repeat as repeat
from daskvars import report_uninitialized_variables as report_uninitialized_variables
from daskvars import required_space_to_batch_paddings as required_space_to_batch_paddings
from daskvars import reset_default_graph as reset_default_graph, reshape as reshape
from daskvars import resource as resource, reverse as reverse, reverse_sequence as reverse_sequence
from daskvars import reverse_v2 as reverse_v2, rint as rint, roll as roll, round as round
from daskvars import rsqrt as rsqrt, saturate_cast as saturate_cast, scalar_mul as scalar_mul
from daskvars import scan as scan, scatter_add as scatter_add, scatter_div as scatter_div
from daskvars import scatter_max as scatter_max, scatter_min as scatter_min
from daskvars import scatter_mul as scatter_mul, scatter_nd as scatter_nd
from daskvars import scatter_nd_add as scatter_nd_add, scatter_nd_sub as scatter_nd_sub
from daskvars import scatter_nd_update as scatter_nd_update, scatter_sub as scatter_sub
from daskvars import scatter_update as scatter_update, searchsorted as searchsorted
from daskvars import segment_max as segment_max, segment_mean as segment_mean
from daskvars import segment_min as segment_min, segment_prod as segment_prod
from daskvars import segment_sum as segment_sum, self_adjoint_eig as self_adjoint_eig
from daskvars import self_adjoint_eigvals as self_adjoint_eigvals, sequence_mask as sequence_mask
from daskvars import serialize_tensor as serialize_tensor, set_random_seed as set_random_seed
from daskvars import setdiff1d as setdiff1d, sets as sets, shape as shape, shape_n as shape_n
from daskvars import shard as shard, sigmoid as sigmoid, sign as sign, signal as signal, sin as sin
from daskvars import sinh as sinh, size as size, slice as slice, softplus as softplus
from daskvars import softsign as softsign, sort as sort, space_to_batch as space_to_batch
from daskvars import space_to_batch_nd as space_to_batch_nd, space_to_depth as space_to_depth
from daskvars import sparse_to_dense as sparse_to_dense, split as split, sqrt as sqrt
from daskvars import square as square, squared_difference as squared_difference, squeeze as squeeze
from daskvars import stack as stack, stop_gradient as stop_gradient, strided_slice as strided_slice
from daskvars import string as string, string_join as string_join, string_split as string_split
from daskvars import string_strip as string_strip, string_to_hash_bucket as string_to_hash_bucket
from daskvars import string_to_hash_bucket_fast as string_to_hash_bucket_fast
from daskvars import string_to_hash_bucket_strong as string_to_hash_bucket_strong
from daskvars import string_to_number as string_to_number, strings as strings, substr as substr
from daskvars import subtract as subtract, sum_regularizer as sum_regularizer, svd as svd
from daskvars import switch_case as switch_case, tan as tan, tanh as tanh
from daskvars import tensor_scatter_add as tensor_scatter_add
from daskvars import tensor_scatter_nd_add as tensor_scatter_nd_add
from daskvars import tensor_scatter_nd_sub as tensor_scatter_nd_sub
from daskvars import tensor_scatter_nd_update as tensor_scatter_nd_update
from daskvars import tensor_scatter_sub as tensor_scatter_sub
from daskvars import tensor_scatter_update as tensor_scatter_update, tensordot as tensordot
from daskvars import tile as tile, timestamp as timestamp, trace as trace
from daskvars import trainable_variables as trainable_variables, transpose as transpose
from daskvars import truediv as truediv, truncated_normal as truncated_normal
from daskvars import truncated_normal_initializer as truncated_normal_initializer
from daskvars import truncatediv as truncatediv, truncatemod as truncatemod, tuple as tuple
from daskvars import uint16 as uint16, uint32 as uint32, uint64 as uint64, uint8 as uint8
from daskvars import uniform_unit_scaling_initializer as uniform_unit_scaling_initializer
from daskvars import unique as unique, unique_with_counts as unique_with_counts
from daskvars import unravel_index as unravel_index, unsorted_segment_max as unsorted_segment_max
from daskvars import unsorted_segment_mean as unsorted_segment_mean
from daskvars import unsorted_segment_min as unsorted_segment_min
from daskvars import unsorted_segment_prod as unsorted_segment_prod
from daskvars import unsorted_segment_sqrt_n as unsorted_segment_sqrt_n
from daskvars import unsorted_segment_sum as unsorted_segment_sum, unstack as unstack
from daskvars import variable_axis_size_partitioner as variable_axis_size_partitioner
from daskvars import variable_creator_scope as variable_creator_scope
from daskvars import variable_scope as variable_scope
from daskvars import variables_initializer as variables_initializer
from daskvars import variance_scaling_initializer as variance_scaling_initializer
from daskvars import variant as variant, vectorized_map as vectorized_map
from daskvars import verify_tensor_all_finite as verify_tensor_all_finite
from daskvars import weighted_moments as weighted_moments, where as where, where_v2 as where_v2
from daskvars import while_loop as while_loop, write_file as write_file, zeros as zeros
from daskvars import zeros_initializer as zeros_initializer, zeros_like as zeros_like, zeta as zeta
from daskvars.v1.queues.accumulators import ConditionalAccumulator as ConditionalAccumulator
from daskvars.v1.queues.accumulators import ConditionalAccumulatorBase as ConditionalAccumulatorBase
from daskvars.v1.queues.accumulators import SparseConditionalAccumulator as SparseConditionalAccumulator
from daskvars.summary.records import Event as Event, HistogramProto as HistogramProto
from daskvars.summary.records import SessionLog as SessionLog, Summary as Summary
from daskvars.summary.records import SummaryMetadata as SummaryMetadata
from daskvars.v1.queues.queue_ops import FIFOQueue as FIFOQueue
from daskvars.v1.queues.queue_ops import PaddingFIFOQueue as PaddingFIFOQueue
from daskvars.v1.queues.queue_ops import PriorityQueue as PriorityQueue, QueueBase as QueueBase
from daskvars.v1.queues.queue_ops import RandomShuffleQueue as RandomShuffleQueue
from daskvars.v1.queues.readers import FixedLengthRecordReader as FixedLengthRecordReader
from daskvars.v1.queues.readers import IdentityReader as IdentityReader, LMDBReader as LMDBReader
from daskvars.v1.queues.readers import ReaderBase as ReaderBase, TFRecordReader as TFRecordReader
from daskvars.v1.queues.readers import TextLineReader as TextLineReader
from daskvars.v1.queues.readers import WholeFileReader as WholeFileReader
from daskvars.graph.records.graph_def import GraphDef as GraphDef, NodeDef as NodeDef
from daskvars.v1.graphs.meta_graph import MetaGraphDef as MetaGraphDef
from daskvars.v1.module import Module as Module
from daskvars.errors import OpError as OpError
from daskvars.v1.graphs.tensor_spec import TensorSpec as TensorSpec
from daskvars.variables.collections import global_variables as all_variables
from daskvars.variables.collections import tables_initializer as initialize_all_tables
from daskvars.variables.collections import global_variables_initializer as initialize_all_variables
from daskvars.variables.collections import local_variables_initializer as initialize_local_variables
from daskvars.variables.collections import variables_initializer as initialize_variables
from daskvars.variables.collections import tables_initializer as tables_initializer
from daskvars.v1 import app as app, compat as compat, contrib as contrib, dtypes as dtypes
from daskvars.v1 import estimator as estimator, feature_column as feature_column, flags as flags
from daskvars.v1 import gfile as gfile, graph_util as graph_util, initializers as initializers
from daskvars.v1 import io as io, logging as logging, lookup as lookup, manip as manip
from daskvars.v1 import nest as nest, nn as nn, python_io as python_io, queue as queue
from daskvars.v1 import random as random, raw_ops as raw_ops, saved_model as saved_model
from daskvars.v1 import sparse as sparse, spectral as spectral, summary as summary, test as test
from daskvars.v1 import tpu as tpu, train as train, version as version
from daskvars.v1.names.old_names import arg_max as arg_max, arg_min as arg_min
from daskvars.v1.names.old_names import convert_to_tensor_or_sparse_tensor as convert_to_tensor_or_sparse_tensor
from daskvars.v1.names.old_names import guarantee_const as guarantee_const, op_scope as op_scope
from daskvars.v1.names.old_names import quantize_v2 as quantize_v2, to_bfloat16 as to_bfloat16
from daskvars.v1.names.old_names import to_complex128 as to_complex128
from daskvars.v1.names.old_names import to_complex64 as to_complex64, to_double as to_double
from daskvars.v1.names.old_names import to_float as to_float, to_int32 as to_int32
from daskvars.v1.names.old_names import to_int64 as to_int64, variable_op_scope as variable_op_scope
from daskvars.v1.names.switches import control_flow_v2_enabled as control_flow_v2_enabled
from daskvars.v1.names.switches import disable_v2_behavior as disable_control_flow_v2
from daskvars.v1.names.switches import disable_v2_behavior as disable_eager_execution
from daskvars.v1.names.switches import disable_resource_variables as disable_resource_variables
from daskvars.v1.names.switches import disable_v2_behavior as disable_tensor_equality
from daskvars.v1.names.switches import disable_v2_behavior as disable_v2_behavior
from daskvars.v1.names.switches import disable_v2_tensorshape as disable_v2_tensorshape
from daskvars.v1.names.switches import enable_control_flow_v2 as enable_control_flow_v2
from daskvars.v1.names.switches import enable_eager_execution as enable_eager_execution
from daskvars.v1.names.switches import enable_resource_variables as enable_resource_variables
from daskvars.v1.names.switches import enable_tensor_equality as enable_tensor_equality
from daskvars.v1.names.switches import enable_v2_behavior as enable_v2_behavior
from daskvars.v1.names.switches import enable_v2_tensorshape as enable_v2_tensorshape
from daskvars.v1.names.switches import executing_eagerly as executing_eagerly
from daskvars.v1.names.switches import resource_variables_enabled as resource_variables_enabled
from daskvars.v1.sessions.session_tensors import delete_session_tensor as delete_session_tensor
from daskvars.v1.sessions.session_tensors import get_session_handle as get_session_handle
from daskvars.v1.sessions.session_tensors import get_session_tensor as get_session_tensor
from daskvars.ops.math.quantization import dequantize as dequantize, quantize as quantize
from daskvars.ops.sparse.serializing import deserialize_many_sparse as deserialize_many_sparse
from daskvars.ops.sparse.serializing import serialize_many_sparse as serialize_many_sparse
from daskvars.ops.sparse.serializing import serialize_sparse as serialize_sparse
from daskvars.ops.image.patches import extract_image_patches as extract_image_patches
from daskvars.ops.math.fake_quantization import fake_quant_with_min_max_args as fake_quant_with_min_max_args
from daskvars.ops.math.fake_quantization import fake_quant_with_min_max_args_gradient as fake_quant_with_min_max_args_gradient
from daskvars.ops.math.fake_quantization import fake_quant_with_min_max_vars as fake_quant_with_min_max_vars
from daskvars.ops.math.fake_quantization import fake_quant_with_min_max_vars_gradient as fake_quant_with_min_max_vars_gradient
from daskvars.ops.math.fake_quantization import fake_quant_with_min_max_vars_per_channel as fake_quant_with_min_max_vars_per_channel
from daskvars.ops.math.fake_quantization import fake_quant_with_min_max_vars_per_channel_gradient as fake_quant_with_min_max_vars_per_channel_gradient
from daskvars.ops.signal.spectra import fft as fft, fft2d as fft2d, fft3d as fft3d, ifft as ifft
from daskvars.ops.signal.spectra import ifft2d as ifft2d, ifft3d as ifft3d
from daskvars.v1.logging import get_logger as get_logger
from daskvars.v1.graphs.importer import import_graph_def as import_graph_def
from daskvars.v1.graphs.tensor_protos import make_ndarray as make_ndarray
from daskvars.v1.graphs.tensor_protos import make_tensor_proto as make_tensor_proto
from daskvars.ops.linalg.matrix_functions import sqrtm as matrix_square_root
from daskvars.graph.definitions.gradient_registry import NotDifferentiable as no_gradient
from daskvars.ops.sparse.arithmetic import add as sparse_add, maximum as sparse_maximum
from daskvars.ops.sparse.arithmetic import minimum as sparse_minimum
from daskvars.ops.sparse.arithmetic import reduce_max as sparse_reduce_max
from daskvars.ops.sparse.arithmetic import reduce_max_sparse as sparse_reduce_max_sparse
from daskvars.ops.sparse.arithmetic import reduce_sum as sparse_reduce_sum
from daskvars.ops.sparse.arithmetic import reduce_sum_sparse as sparse_reduce_sum_sparse
from daskvars.ops.sparse.arithmetic import softmax as sparse_softmax
from daskvars.ops.sparse.arranging import concat as sparse_concat
from daskvars.ops.sparse.arranging import fill_empty_rows as sparse_fill_empty_rows
from daskvars.ops.sparse.arranging import merge as sparse_merge, reset_shape as sparse_reset_shape
from daskvars.ops.sparse.arranging import retain as sparse_retain, slice as sparse_slice
from daskvars.ops.sparse.arranging import transpose as sparse_transpose
from daskvars.v1.names.sparse_functions import sparse_mask as sparse_mask
from daskvars.v1.names.sparse_functions import sparse_split as sparse_split
from daskvars.ops.sparse.products import sparse_matmul as sparse_matmul
from daskvars.ops.sparse.products import sparse_dense_matmul as sparse_tensor_dense_matmul
from daskvars.ops.sparse.dense import placeholder as sparse_placeholder
from daskvars.ops.sparse.dense import to_dense as sparse_tensor_to_dense
from daskvars.ops.sparse.dense import to_indicator as sparse_to_indicator
from daskvars.ops.sparse.indices import reorder as sparse_reorder, reshape as sparse_reshape
from daskvars.ops.sparse.segments import segment_mean as sparse_segment_mean
from daskvars.ops.sparse.segments import segment_sqrt_n as sparse_segment_sqrt_n
from daskvars.ops.sparse.segments import segment_sum as sparse_segment_sum
__version__: str
__all__: list[str]
COMPILER_VERSION: str
GIT_VERSION: str
VERSION: str
