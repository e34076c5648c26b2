"""Neural-network ops, the names of ``tf.nn``.

Candidate samplers and `raw_rnn` are in `daskvars.v1`.
"""

# fmt: off
import typing

from daskvars.layers.recurrent import rnn_cell
from daskvars.layers.recurrent.bidirectional import (
    bidirectional_dynamic_rnn, static_bidirectional_rnn,
)
from daskvars.layers.recurrent.rnn import dynamic_rnn, static_rnn, static_state_saving_rnn
from daskvars.surface.names_of_v1 import refuses as _refuses
from daskvars.ops.array.rearranging import depth_to_space, space_to_batch, space_to_depth
from daskvars.ops.math.clip import global_norm
from daskvars.ops.math.counting import zero_fraction
from daskvars.ops.math.moments import (
    moments, normalize_moments, sufficient_statistics, weighted_moments,
)
from daskvars.ops.math.transcendental import log_sigmoid, sigmoid, softplus, softsign, tanh
from daskvars.ops.nn.activation import crelu, elu, gelu, leaky_relu, relu, relu6, selu, silu, swish
from daskvars.ops.nn.bias import bias_add, relu_layer, xw_plus_b
from daskvars.ops.nn.convolution.adjoints import atrous_conv2d_transpose, conv1d_transpose
from daskvars.ops.nn.convolution.composed import (
    atrous_conv2d, conv1d, convolution, depthwise_conv2d, separable_conv2d,
)
from daskvars.ops.nn.convolution.functions import (
    conv2d, conv2d_backprop_filter, conv2d_backprop_input, conv2d_transpose, conv3d,
    conv3d_backprop_filter, conv3d_backprop_filter_v2, conv3d_transpose,
    depthwise_conv2d_backprop_filter, depthwise_conv2d_backprop_input, depthwise_conv2d_native,
    depthwise_conv2d_native_backprop_filter, depthwise_conv2d_native_backprop_input,
)
from daskvars.ops.nn.convolution.quantized import quantized_conv2d
from daskvars.ops.nn.ctc import ctc_beam_search_decoder, ctc_greedy_decoder, ctc_loss
from daskvars.ops.nn.windows.dilated import with_space_to_batch
from daskvars.ops.nn.dropout import dropout
from daskvars.ops.nn.embedding import embedding_lookup
from daskvars.ops.nn.embedding_sparse import embedding_lookup_sparse, safe_embedding_lookup_sparse
from daskvars.ops.nn.windows.fractional_pooling import fractional_avg_pool, fractional_max_pool
from daskvars.ops.nn.loss import (
    l2_loss, log_poisson_loss, sigmoid_cross_entropy_with_logits, softmax_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits_v2, sparse_softmax_cross_entropy_with_logits,
    weighted_cross_entropy_with_logits,
)
from daskvars.ops.nn.windows.morphology import dilation2d, erosion2d
from daskvars.ops.nn.normalization.batch_norm import fused_batch_norm
from daskvars.ops.nn.normalization.layer_norm import layer_norm
from daskvars.ops.nn.normalization.moments import (
    batch_norm_with_global_normalization, batch_normalization, l2_normalize,
    local_response_normalization, lrn,
)
from daskvars.ops.nn.windows.pooling import avg_pool, max_pool, max_pool_with_argmax
from daskvars.ops.nn.windows.pooling_by_rank import (
    avg_pool1d, avg_pool2d, avg_pool3d, max_pool1d, max_pool2d, max_pool3d, pool,
)
from daskvars.ops.nn.ranking import in_top_k, top_k
from daskvars.ops.nn.softmax import log_softmax, softmax

__all__ = [
    "atrous_conv2d", "atrous_conv2d_transpose", "avg_pool", "avg_pool1d", "avg_pool2d",
    "avg_pool3d", "batch_norm_with_global_normalization", "batch_normalization", "bias_add",
    "bidirectional_dynamic_rnn", "conv1d", "conv1d_transpose", "conv2d", "conv2d_backprop_filter",
    "conv2d_backprop_input", "conv2d_transpose", "conv3d", "conv3d_backprop_filter",
    "conv3d_backprop_filter_v2", "conv3d_transpose", "convolution", "crelu",
    "ctc_beam_search_decoder", "ctc_greedy_decoder", "ctc_loss", "depth_to_space",
    "depthwise_conv2d", "depthwise_conv2d_backprop_filter", "depthwise_conv2d_backprop_input",
    "depthwise_conv2d_native", "depthwise_conv2d_native_backprop_filter",
    "depthwise_conv2d_native_backprop_input", "dilation2d", "dropout", "dynamic_rnn", "elu",
    "embedding_lookup", "embedding_lookup_sparse", "erosion2d", "fractional_avg_pool",
    "fractional_max_pool", "fused_batch_norm", "gelu", "global_norm", "in_top_k", "l2_loss",
    "l2_normalize", "layer_norm", "leaky_relu", "local_response_normalization",
    "log_poisson_loss", "log_sigmoid", "log_softmax", "lrn", "max_pool", "max_pool1d",
    "max_pool2d", "max_pool3d", "max_pool_with_argmax", "moments", "normalize_moments", "pool",
    "quantized_conv2d", "relu", "relu6", "relu_layer", "rnn_cell", "safe_embedding_lookup_sparse",
    "selu", "separable_conv2d", "sigmoid", "sigmoid_cross_entropy_with_logits", "silu", "softmax",
    "softmax_cross_entropy_with_logits", "softmax_cross_entropy_with_logits_v2", "softplus",
    "softsign", "space_to_batch", "space_to_depth", "sparse_softmax_cross_entropy_with_logits",
    "static_bidirectional_rnn", "static_rnn", "static_state_saving_rnn", "sufficient_statistics",
    "swish", "tanh", "top_k", "weighted_cross_entropy_with_logits", "weighted_moments",
    "with_space_to_batch", "xw_plus_b", "zero_fraction",
]

if not typing.TYPE_CHECKING:
    __getattr__ = _refuses(__name__, __all__)
