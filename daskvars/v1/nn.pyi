"""The names of ``tf.nn``. Made by tests/typed/stubs.py; a test compares them."""

from daskvars.nn import atrous_conv2d as atrous_conv2d
from daskvars.nn import atrous_conv2d_transpose as atrous_conv2d_transpose, avg_pool as avg_pool
from daskvars.nn import avg_pool1d as avg_pool1d, avg_pool2d as avg_pool2d
from daskvars.nn import avg_pool3d as avg_pool3d
from daskvars.nn import batch_norm_with_global_normalization as batch_norm_with_global_normalization
from daskvars.nn import batch_normalization as batch_normalization, bias_add as bias_add
from daskvars.nn import bidirectional_dynamic_rnn as bidirectional_dynamic_rnn, conv1d as conv1d
from daskvars.nn import conv1d_transpose as conv1d_transpose, conv2d as conv2d
from daskvars.nn import conv2d_backprop_filter as conv2d_backprop_filter
from daskvars.nn import conv2d_backprop_input as conv2d_backprop_input
from daskvars.nn import conv2d_transpose as conv2d_transpose, conv3d as conv3d
from daskvars.nn import conv3d_backprop_filter as conv3d_backprop_filter
from daskvars.nn import conv3d_backprop_filter_v2 as conv3d_backprop_filter_v2
from daskvars.nn import conv3d_transpose as conv3d_transpose, convolution as convolution
from daskvars.nn import crelu as crelu, ctc_beam_search_decoder as ctc_beam_search_decoder
from daskvars.nn import ctc_greedy_decoder as ctc_greedy_decoder, ctc_loss as ctc_loss
from daskvars.nn import depth_to_space as depth_to_space, depthwise_conv2d as depthwise_conv2d
from daskvars.nn import depthwise_conv2d_backprop_filter as depthwise_conv2d_backprop_filter
from daskvars.nn import depthwise_conv2d_backprop_input as depthwise_conv2d_backprop_input
from daskvars.nn import depthwise_conv2d_native as depthwise_conv2d_native
from daskvars.nn import depthwise_conv2d_native_backprop_filter as depthwise_conv2d_native_backprop_filter
from daskvars.nn import depthwise_conv2d_native_backprop_input as depthwise_conv2d_native_backprop_input
from daskvars.nn import dilation2d as dilation2d, dropout as dropout, dynamic_rnn as dynamic_rnn
from daskvars.nn import elu as elu, embedding_lookup as embedding_lookup
from daskvars.nn import embedding_lookup_sparse as embedding_lookup_sparse, erosion2d as erosion2d
from daskvars.nn import fractional_avg_pool as fractional_avg_pool
from daskvars.nn import fractional_max_pool as fractional_max_pool
from daskvars.nn import fused_batch_norm as fused_batch_norm, gelu as gelu
from daskvars.nn import global_norm as global_norm, in_top_k as in_top_k, l2_loss as l2_loss
from daskvars.nn import l2_normalize as l2_normalize, layer_norm as layer_norm
from daskvars.nn import leaky_relu as leaky_relu
from daskvars.nn import local_response_normalization as local_response_normalization
from daskvars.nn import log_poisson_loss as log_poisson_loss, log_sigmoid as log_sigmoid
from daskvars.nn import log_softmax as log_softmax, lrn as lrn, max_pool as max_pool
from daskvars.nn import max_pool1d as max_pool1d, max_pool2d as max_pool2d
from daskvars.nn import max_pool3d as max_pool3d, max_pool_with_argmax as max_pool_with_argmax
from daskvars.nn import moments as moments, normalize_moments as normalize_moments, pool as pool
from daskvars.nn import quantized_conv2d as quantized_conv2d, relu as relu, relu6 as relu6
from daskvars.nn import relu_layer as relu_layer, rnn_cell as rnn_cell
from daskvars.nn import safe_embedding_lookup_sparse as safe_embedding_lookup_sparse, selu as selu
from daskvars.nn import separable_conv2d as separable_conv2d, sigmoid as sigmoid
from daskvars.nn import sigmoid_cross_entropy_with_logits as sigmoid_cross_entropy_with_logits
from daskvars.nn import silu as silu, softmax as softmax
from daskvars.nn import softmax_cross_entropy_with_logits as softmax_cross_entropy_with_logits
from daskvars.nn import softmax_cross_entropy_with_logits_v2 as softmax_cross_entropy_with_logits_v2
from daskvars.nn import softplus as softplus, softsign as softsign
from daskvars.nn import space_to_batch as space_to_batch, space_to_depth as space_to_depth
from daskvars.nn import sparse_softmax_cross_entropy_with_logits as sparse_softmax_cross_entropy_with_logits
from daskvars.nn import static_bidirectional_rnn as static_bidirectional_rnn
from daskvars.nn import static_rnn as static_rnn
from daskvars.nn import static_state_saving_rnn as static_state_saving_rnn
from daskvars.nn import sufficient_statistics as sufficient_statistics, swish as swish
from daskvars.nn import tanh as tanh, top_k as top_k
from daskvars.nn import weighted_cross_entropy_with_logits as weighted_cross_entropy_with_logits
from daskvars.nn import weighted_moments as weighted_moments
from daskvars.nn import with_space_to_batch as with_space_to_batch, xw_plus_b as xw_plus_b
from daskvars.nn import zero_fraction as zero_fraction
from daskvars.v1.nn_functions import avg_pool_v2 as avg_pool_v2
from daskvars.v1.nn_functions import collapse_repeated as collapse_repeated
from daskvars.v1.nn_functions import compute_average_loss as compute_average_loss
from daskvars.v1.nn_functions import conv_transpose as conv_transpose
from daskvars.v1.nn_functions import ctc_beam_search_decoder_v2 as ctc_beam_search_decoder_v2
from daskvars.v1.nn_functions import ctc_loss_v2 as ctc_loss_v2
from daskvars.v1.nn_functions import ctc_unique_labels as ctc_unique_labels
from daskvars.v1.nn_functions import max_pool_v2 as max_pool_v2
from daskvars.v1.nn_functions import scale_regularization_loss as scale_regularization_loss
from daskvars.v1.raw_rnn import raw_rnn as raw_rnn
from daskvars.v1.sampling import all_candidate_sampler as all_candidate_sampler
from daskvars.v1.sampling import compute_accidental_hits as compute_accidental_hits
from daskvars.v1.sampling import fixed_unigram_candidate_sampler as fixed_unigram_candidate_sampler
from daskvars.v1.sampling import learned_unigram_candidate_sampler as learned_unigram_candidate_sampler
from daskvars.v1.sampling import log_uniform_candidate_sampler as log_uniform_candidate_sampler
from daskvars.v1.sampling import nce_loss as nce_loss, sampled_softmax_loss as sampled_softmax_loss
from daskvars.v1.sampling import uniform_candidate_sampler as uniform_candidate_sampler
