"""Which name of ``tf.contrib`` is what here, and what to use where there is no counterpart."""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from daskvars import distributions, initializers, losses, metrics
from daskvars.data import dataset, experimental
from daskvars.data.iterators.graph import Iterator
from daskvars.distributions import bijectors
from daskvars.dtypes import float32
from daskvars.errors import did_you_mean
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.layers.recurrent import rnn_cell
from daskvars.layers.recurrent.bidirectional import static_bidirectional_rnn
from daskvars.layers.recurrent.rnn import static_rnn, static_state_saving_rnn
from daskvars.namespaces import sets_names, signal_names
from daskvars.ops.checks.shape_assertions import assert_same_float_dtype, assert_scalar
from daskvars.ops.gather_scatter import sorting
from daskvars.ops.math.arithmetic import multiply
from daskvars.ops.math.casting import cast
from daskvars.ops.math.comparison import equal
from daskvars.ops.math.division import divide
from daskvars.ops.math.reduce import reduce_mean, reduce_sum
from daskvars.ops.nn.convolution.adjoints import conv1d_transpose
from daskvars.ops.nn.embedding_sparse import safe_embedding_lookup_sparse
from daskvars.ops.nn.ranking import nth_element
from daskvars.ops.random import stateless
from daskvars.ops.rules.static_shapes import get_static_value, is_tensor
from daskvars.summary.summary_ops import merge, merge_all
from daskvars.surface.signatures import named
from daskvars.train.checkpoints.initializers import init_from_checkpoint
from daskvars.train.checkpoints.iterator import checkpoints_iterator, wait_for_new_checkpoint
from daskvars.train.checkpoints.reader import list_variables, load_checkpoint, load_variable
from daskvars.train.optimizers import adam_variants, decoupled_decay
from daskvars.train.training_step import (
    assert_global_step,
    create_global_step,
    get_global_step,
    get_or_create_global_step,
)
from daskvars.v1 import nest
from daskvars.v1.contrib import (
    all_reduce,
    arg_scopes,
    compiling,
    images,
    known_predicates,
    old_summaries,
    predictors,
    projections,
    random_fields,
    sparse_probabilities,
    streaming_metrics,
    texts,
    transformations,
)
from daskvars.v1.contrib.datasets import example_decoding, parallel_reading, providing
from daskvars.v1.contrib.nets import inception, plain as plain_nets, residual
from daskvars.v1.contrib.networks import (
    attention_cell,
    collected,
    further_cells,
    fused_networks,
    normalizations,
    plain_layers,
    projected_cells,
    sequence_layers,
    weighted_layers,
)
from daskvars.v1.contrib.sequences import (
    attention,
    attention_wrapper,
    beam_search,
    decoders,
    legacy,
    next_inputs,
)
from daskvars.v1.contrib.trainings import (
    activity_summaries,
    averaged_optimizer,
    external_optimizers,
    hyperparameters,
    metric_losses,
    old_losses,
    sequence_losses,
    slim_evaluation,
    slim_learning,
    slim_queues,
    training_steps,
)
from daskvars.v1.contrib.variables import model_analyzer, model_variables, restoring
from daskvars.v1.estimator import early_stopping, tpu as tpu_estimators
from daskvars.v1.estimator.specs import ModeKeys
from daskvars.v1.graphs import tensor_protos, tensor_spec
from daskvars.v1.lookup import (
    buckets,
    initializers as table_initializers,
    tables as lookup_tables,
    vocabularies,
)
from daskvars.v1.names import tpu
from daskvars.v1.queues import buckets as queue_buckets
from daskvars.v1.queues.staging import StagingArea
from daskvars.v1.servers import device_setter
from daskvars.variables import regularizers
from daskvars.variables.scopes.variable_scope import create_partitioned_variables


def _of(module: Any, names: str) -> dict[str, Any]:
    return {name: getattr(module, name) for name in names.split()}


_ARG_SCOPES = _of(
    arg_scopes,
    "add_arg_scope arg_scope arg_scope_func_key arg_scoped_arguments current_arg_scope "
    "has_arg_scope",
)
OF_NO_GRAPH = list(_ARG_SCOPES.values())
_VARIABLES = {
    **_of(
        model_variables,
        "VariableDeviceChooser add_model_variable assert_or_get_global_step assign_from_values "
        "assign_from_values_fn filter_variables get_local_variables get_model_variables "
        "get_trainable_variables get_unique_variable get_variable_full_name get_variables "
        "get_variables_by_name get_variables_by_suffix get_variables_to_restore global_variable "
        "local_variable model_variable variable",
    ),
    **_of(restoring, "assign_from_checkpoint assign_from_checkpoint_fn"),
    "assert_global_step": assert_global_step,
    "create_global_step": create_global_step,
    "get_global_step": get_global_step,
    "get_or_create_global_step": get_or_create_global_step,
}
_REGULARIZERS = _of(
    regularizers,
    "apply_regularization l1_l2_regularizer l1_regularizer l2_regularizer sum_regularizer",
)
_INITIALIZERS = _of(
    plain_layers, "variance_scaling_initializer xavier_initializer xavier_initializer_conv2d"
)
_SUMMARIES = _of(
    activity_summaries,
    "summarize_activation summarize_activations summarize_biases summarize_collection "
    "summarize_tensor summarize_tensors summarize_variables summarize_weights",
)
_LAYERS = {
    **_of(
        weighted_layers,
        "bias_add conv1d conv2d conv2d_in_plane conv2d_transpose conv3d conv3d_transpose "
        "convolution convolution1d convolution2d convolution2d_in_plane convolution2d_transpose "
        "convolution3d convolution3d_transpose elu fully_connected linear relu relu6 "
        "separable_conv2d separable_convolution2d",
    ),
    **_of(
        normalizations,
        "batch_norm group_norm instance_norm layer_norm poincare_normalize unit_norm",
    ),
    **_of(
        plain_layers,
        "avg_pool2d avg_pool3d dense_to_sparse dropout flatten images_to_sequence max_pool2d "
        "max_pool3d maxout one_hot_encoding pool repeat scale_gradient sequence_to_images softmax "
        "spatial_softmax stack",
    ),
    **_INITIALIZERS,
    **_REGULARIZERS,
    **_SUMMARIES,
    **_of(
        training_steps, "OPTIMIZER_CLS_NAMES OPTIMIZER_SUMMARIES adaptive_clipping_fn optimize_loss"
    ),
}
_UTILS = {
    **_of(
        collected,
        "append_tensor_alias channel_dimension collect_named_outputs convert_collection_to_dict "
        "gather_tensors_aliases get_tensor_aliases get_variable_collections last_dimension "
        "n_positive_integers two_element_tuple",
    ),
    **_of(known_predicates, "smart_cond"),  # which was here before it was in the framework
}
_LOOKUP = {
    **_of(buckets, "FastHashSpec HasherSpec IdTableWithHashBuckets StrongHashSpec"),
    **_of(
        table_initializers,
        "KeyValueTensorInitializer TableInitializerBase TextFileIdTableInitializer "
        "TextFileIndex TextFileInitializer TextFileStringTableInitializer",
    ),
    **_of(lookup_tables, "HashTable LookupInterface MutableHashTable"),
    **_of(
        vocabularies,
        "index_table_from_file index_table_from_tensor index_to_string_table_from_file "
        "index_to_string_table_from_tensor",
    ),
}
_LOSSES = {
    **_of(
        old_losses,
        "absolute_difference compute_weighted_loss cosine_distance get_losses get_total_loss "
        "hinge_loss log_loss mean_pairwise_squared_error mean_squared_error sigmoid_cross_entropy "
        "softmax_cross_entropy sparse_softmax_cross_entropy add_loss",
    ),
    "get_regularization_losses": losses.get_regularization_losses,
}
_SLIM_DATA = {
    "data_decoder": {"DataDecoder": example_decoding.DataDecoder},
    "data_provider": {"DataProvider": providing.DataProvider},
    "dataset": {"Dataset": providing.Dataset},
    "dataset_data_provider": {"DatasetDataProvider": providing.DatasetDataProvider},
    "parallel_reader": _of(parallel_reading, "get_data_files parallel_read single_pass_read"),
    "prefetch_queue": {"prefetch_queue": parallel_reading.prefetch_queue},
    "tfexample_decoder": {
        **_of(
            example_decoding, "BoundingBox Image ItemHandler ItemHandlerCallback TFExampleDecoder"
        ),
        "Tensor": example_decoding.TensorItem,
    },
}
_EVALUATION = {
    **_of(
        slim_evaluation,
        "StopAfterNEvalsHook SummaryAtEndHook evaluate_repeatedly get_or_create_eval_step",
    ),
    "checkpoints_iterator": checkpoints_iterator,
    "wait_for_new_checkpoint": wait_for_new_checkpoint,
}
_GRADIENTS = _of(training_steps, "add_gradients_summaries clip_gradient_norms multiply_gradients")


def _predictions_first(metric: Any) -> Any:
    """Return a metric that takes the predictions before the labels."""
    names = list(inspect.signature(metric).parameters)
    if names[:2] != ["labels", "predictions"]:
        return metric

    def streaming(predictions: Any, labels: Any, *args: Any, **kwargs: Any) -> Any:
        return metric(labels, predictions, *args, **kwargs)

    doc = f"Return `metrics.{metric.__name__}`, whose first two arguments are swapped."
    return named(streaming, f"streaming_{metric.__name__}", doc)


def aggregate_metrics(*value_update_tuples: Any) -> Any:
    """Return the list of values and that of updates of several metrics.

    Raises:
      ValueError: there is none.
    """
    if not value_update_tuples:
        raise ValueError("Expected at least one value_tensor/update_op pair")
    values, updates = zip(*value_update_tuples, strict=True)
    return list(values), list(updates)


def aggregate_metric_map(names_to_tuples: Mapping[str, Any]) -> Any:
    """Return a dict of values and one of updates of several metrics, by name."""
    return tuple({name: pair[i] for name, pair in names_to_tuples.items()} for i in (0, 1))


def accuracy(predictions: Any, labels: Any, weights: Any = None, name: str | None = None) -> Any:
    """Return the share of a batch's predictions that equal their labels.

    Args:
      predictions, labels: [...] of one shape and dtype.
      weights: a number for each.
      name: name scope, by default "accuracy".

    Raises:
      ValueError: the dtypes differ.
    """
    with name_scope(name, "accuracy", [predictions, labels]):
        predictions, labels = convert_to_tensor(predictions), convert_to_tensor(labels)
        if labels.dtype != predictions.dtype:
            raise ValueError(
                f"Labels and predictions should have same dtype, but there are {labels.dtype} and "
                f"{predictions.dtype}"
            )
        right = cast(equal(predictions, labels), float32)
        if weights is None:
            return reduce_mean(right)
        return divide(reduce_sum(multiply(right, weights)), reduce_sum(weights))


_STREAMING = (
    "accuracy auc false_negatives false_negatives_at_thresholds false_positives "
    "false_positives_at_thresholds mean mean_absolute_error mean_cosine_distance mean_iou "
    "mean_relative_error mean_squared_error mean_tensor precision precision_at_thresholds recall "
    "recall_at_thresholds root_mean_squared_error sensitivity_at_specificity "
    "specificity_at_sensitivity true_negatives true_negatives_at_thresholds true_positives "
    "true_positives_at_thresholds"
)
_METRICS = {
    **_of(sets_names, "set_difference set_intersection set_size set_union"),
    **{f"streaming_{n}": _predictions_first(getattr(metrics, n)) for n in _STREAMING.split()},
    "accuracy": accuracy,
    "aggregate_metric_map": aggregate_metric_map,
    "aggregate_metrics": aggregate_metrics,
    **_of(streaming_metrics, " ".join(streaming_metrics.__all__)),
    "streaming_percentage_less": metrics.percentage_below,
    "streaming_sparse_average_precision_at_k": _predictions_first(metrics.average_precision_at_k),
    "streaming_sparse_precision_at_k": _predictions_first(metrics.precision_at_k),
    "streaming_sparse_recall_at_k": _predictions_first(metrics.recall_at_k),
}
_CELLS = {name: getattr(rnn_cell, name) for name in rnn_cell.__all__}


class _LearnModeKeys(ModeKeys):
    """What a model is built for: `tf.estimator.ModeKeys`, of which one is called ``INFER``.

    Source: TensorFlow 1.15, ``tf.contrib.learn.ModeKeys``.

    >>> tf.contrib.learn.ModeKeys.INFER
    'infer'
    """

    INFER = ModeKeys.PREDICT


# Namespace of tf.contrib -> its names; an inner namespace is a dict.
NAMESPACES: dict[str, dict[str, Any]] = {
    "cluster_resolver": {},
    "compiler": {"jit": _of(compiling, "experimental_jit_scope")},
    "crf": _of(
        random_fields,
        "CrfDecodeBackwardRnnCell CrfDecodeForwardRnnCell CrfForwardRnnCell crf_binary_score "
        "crf_decode crf_log_likelihood crf_log_norm crf_sequence_score crf_unary_score "
        "viterbi_decode",
    ),
    "data": {
        **_of(
            experimental,
            "Counter CsvDataset RandomDataset Reducer bucket_by_sequence_length "
            "choose_from_datasets dense_to_sparse_batch enumerate_dataset get_single_element "
            "group_by_reducer group_by_window ignore_errors make_batched_features_dataset "
            "make_csv_dataset make_saveable_from_iterator map_and_batch parallel_interleave "
            "prefetch_to_device rejection_resample sample_from_datasets scan shuffle_and_repeat "
            "unbatch unique",
        ),
        **_of(transformations, "batch_and_drop_remainder padded_batch_and_drop_remainder"),
        **_of(dataset, "Dataset FixedLengthRecordDataset TFRecordDataset TextLineDataset"),
        "AUTOTUNE": experimental.AUTOTUNE,
        "Iterator": Iterator,
    },
    "deprecated": {
        **_of(old_summaries, "audio_summary histogram_summary image_summary scalar_summary"),
        "merge_all_summaries": merge_all,
        "merge_summary": merge,
    },
    "distributions": {
        **_of(distributions, " ".join(distributions.__all__)),
        "bijectors": _of(bijectors, " ".join(bijectors.__all__)),
    },
    "estimator": _of(early_stopping, " ".join(early_stopping.__all__)),
    "framework": {
        **_ARG_SCOPES,
        **_VARIABLES,
        **_of(model_variables, "get_graph_from_inputs get_name_scope"),
        **_of(tensor_spec, "TensorSpec"),
        **_of(known_predicates, "smart_cond smart_constant_value"),
        **_of(
            initializers,
            "convolutional_delta_orthogonal convolutional_orthogonal_1d "
            "convolutional_orthogonal_2d convolutional_orthogonal_3d",
        ),
        **_of(sorting, "argsort sort"),
        "assert_same_float_dtype": assert_same_float_dtype,
        "assert_scalar": assert_scalar,
        "create_partitioned_variables": create_partitioned_variables,
        "init_from_checkpoint": init_from_checkpoint,
        "is_tensor": is_tensor,
        "nest": {
            **_of(nest, " ".join(nest.__all__)),
            **_of(
                nest,
                "assert_shallow_structure flatten_dict_items flatten_up_to map_structure_up_to",
            ),
            "is_sequence": nest.is_nested,
        },
        "list_variables": list_variables,
        "load_checkpoint": load_checkpoint,
        "load_variable": load_variable,
    },
    "image": _of(
        images,
        "angles_to_projective_transforms compose_transforms flat_transforms_to_matrices "
        "matrices_to_flat_transforms rotate transform translate "
        "translations_to_projective_transforms",
    ),
    "layers": {
        **_LAYERS,
        **_of(sequence_layers, "bow_encoder embed_sequence embedding_lookup_unique"),
        "safe_embedding_lookup_sparse": safe_embedding_lookup_sparse,
        "initializers": _INITIALIZERS,
        "regularizers": _REGULARIZERS,
        "summaries": _SUMMARIES,
        "utils": _UTILS,
    },
    "learn": {
        "ModeKeys": _LearnModeKeys,
        "preprocessing": _of(
            texts, "ByteProcessor CategoricalVocabulary VocabularyProcessor tokenizer"
        ),
    },
    "legacy_seq2seq": {
        **_of(
            legacy,
            "attention_decoder basic_rnn_seq2seq embedding_attention_decoder "
            "embedding_attention_seq2seq embedding_rnn_decoder embedding_rnn_seq2seq "
            "embedding_tied_rnn_seq2seq model_with_buckets one2many_rnn_seq2seq rnn_decoder "
            "tied_rnn_seq2seq",
        ),
        "sequence_loss": sequence_losses.legacy_sequence_loss,
        "sequence_loss_by_example": sequence_losses.sequence_loss_by_example,
    },
    "lookup": _LOOKUP,
    "losses": {
        **_LOSSES,
        "metric_learning": _of(
            metric_losses, "contrastive_loss lifted_struct_loss npairs_loss triplet_semihard_loss"
        ),
    },
    "metrics": _METRICS,
    "nccl": _of(all_reduce, " ".join(all_reduce.__all__)),
    "nn": {"conv1d_transpose": conv1d_transpose, "nth_element": nth_element},
    "opt": {
        **_of(adam_variants, "AdaMaxOptimizer LazyAdamOptimizer NadamOptimizer"),
        **_of(
            decoupled_decay,
            "AdamWOptimizer DecoupledWeightDecayExtension MomentumWOptimizer "
            "extend_with_decoupled_weight_decay",
        ),
        **_of(external_optimizers, "ExternalOptimizerInterface ScipyOptimizerInterface"),
        "MovingAverageOptimizer": averaged_optimizer.MovingAverageOptimizer,
    },
    "predictor": _of(predictors, "Predictor from_saved_model"),
    "rnn": {
        **_CELLS,
        "AttentionCellWrapper": attention_cell.AttentionCellWrapper,
        **_of(projected_cells, "EmbeddingWrapper InputProjectionWrapper OutputProjectionWrapper"),
        **_of(
            further_cells,
            "Conv1DLSTMCell Conv2DLSTMCell Conv3DLSTMCell ConvLSTMCell "
            "CoupledInputForgetGateLSTMCell GRUBlockCellV2 HighwayWrapper LSTMBlockCell "
            "LayerNormBasicLSTMCell NASCell UGRNNCell stack_bidirectional_dynamic_rnn "
            "stack_bidirectional_rnn",
        ),
        **_of(fused_networks, "FusedRNNCellAdaptor LSTMBlockFusedCell TimeReversedFusedRNN"),
        "GRUBlockCell": further_cells.GRUBlockCellV2,
        "static_bidirectional_rnn": static_bidirectional_rnn,
        "static_rnn": static_rnn,
        "static_state_saving_rnn": static_state_saving_rnn,
    },
    "seq2seq": {
        **_of(
            attention,
            "AttentionMechanism BahdanauAttention BahdanauMonotonicAttention LuongAttention "
            "LuongMonotonicAttention hardmax monotonic_attention safe_cumprod",
        ),
        **_of(attention_wrapper, "AttentionWrapper AttentionWrapperState"),
        **_of(
            beam_search,
            "BeamSearchDecoder BeamSearchDecoderOutput BeamSearchDecoderState "
            "FinalBeamSearchDecoderOutput gather_tree tile_batch",
        ),
        **_of(decoders, "BasicDecoder BasicDecoderOutput Decoder dynamic_decode"),
        **_of(
            next_inputs,
            "CustomHelper GreedyEmbeddingHelper Helper InferenceHelper SampleEmbeddingHelper "
            "ScheduledEmbeddingTrainingHelper ScheduledOutputTrainingHelper TrainingHelper",
        ),
        "sequence_loss": sequence_losses.sequence_loss,
    },
    "signal": _of(
        signal_names,
        "frame hamming_window hann_window inverse_stft inverse_stft_window_fn "
        "linear_to_mel_weight_matrix mfccs_from_log_mel_spectrograms overlap_and_add stft",
    ),
    "slim": {
        **_ARG_SCOPES,
        **_VARIABLES,
        **_LAYERS,
        **_SLIM_DATA,
        "evaluation": {**_EVALUATION, **_of(slim_evaluation, "evaluate_once evaluation_loop")},
        "initializers": _INITIALIZERS,
        "layers": _LAYERS,
        "learning": {
            **_GRADIENTS,
            "create_train_op": training_steps.create_slim_train_op,
            "train": slim_learning.train,
            "train_step": slim_learning.train_step,
        },
        "lookup": _LOOKUP,
        "losses": _LOSSES,
        "metrics": _METRICS,
        "model_analyzer": _of(model_analyzer, "analyze_ops analyze_vars tensor_description"),
        "nets": {
            "alexnet": _of(plain_nets, "alexnet_v2 alexnet_v2_arg_scope"),
            "inception": {
                **_of(inception, "inception_v1 inception_v1_base inception_v3 inception_v3_base"),
                "inception_v1_arg_scope": inception.inception_arg_scope,
                "inception_v3_arg_scope": inception.inception_arg_scope,
            },
            "resnet_utils": _of(
                residual, "Block conv2d_same resnet_arg_scope stack_blocks_dense subsample"
            ),
            "resnet_v1": residual.names_of(1),
            "resnet_v2": residual.names_of(2),
            "vgg": _of(plain_nets, "vgg_16 vgg_19 vgg_a vgg_arg_scope vgg_d vgg_e"),
        },
        "queues": {"QueueRunners": slim_queues.QueueRunners},
        "regularizers": _REGULARIZERS,
        "summaries": _of(
            activity_summaries,
            "add_histogram_summaries add_histogram_summary add_image_summaries add_image_summary "
            "add_scalar_summaries add_scalar_summary add_zero_fraction_summaries "
            "add_zero_fraction_summary",
        ),
        "utils": _UTILS,
        "variables": _VARIABLES,
    },
    "sparsemax": _of(sparse_probabilities, " ".join(sparse_probabilities.__all__)),
    "staging": {"StagingArea": StagingArea},
    "stateless": {
        "stateless_multinomial": stateless.stateless_multinomial,
        "stateless_random_normal": stateless.stateless_normal,
        "stateless_random_uniform": stateless.stateless_uniform,
        "stateless_truncated_normal": stateless.stateless_truncated_normal,
    },
    "tensorboard": {"plugins": {"projector": _of(projections, " ".join(projections.__all__))}},
    "tpu": {
        **_of(tpu_estimators, " ".join(tpu_estimators.__all__)),
        **_of(tpu, " ".join(tpu.__all__)),
    },
    "training": {
        **_EVALUATION,
        **_GRADIENTS,
        **_of(device_setter, "GreedyLoadBalancingStrategy byte_size_load_fn"),
        **_of(queue_buckets, "bucket bucket_by_sequence_length"),
        "HParams": hyperparameters.HParams,
        "clip_gradient_norms_fn": training_steps.clip_gradient_norms_fn,
        "create_train_op": training_steps.create_train_op,
        "evaluate_once": slim_evaluation.evaluate_checkpoint,
        "train": slim_learning.train_monitored,
    },
    "util": {
        **_of(tensor_protos, "make_ndarray make_tensor_proto"),
        "constant_value": get_static_value,
    },
}

# What has no counterpart, and what to use instead; "x" stands for all of x that is not there.
_DATA = "tf.data, or feed arrays"
_OWN_FILE = "the model's own file: nets are written with slim's layers"
_ESTIMATOR = "tf.estimator, or a training loop with a session"
INSTEAD = {
    "": "the name itself in layers, nn, train or at the top level, if the core has it",
    "batching": _DATA,
    "bayesflow": "tf.distributions",
    "cluster_resolver": "tf.train.ClusterSpec",
    "cmake": "pip",
    "compiler": "nothing: plans are compiled, and fused, always",
    "copy_graph": "tf.import_graph_def, of the graph's as_graph_def()",
    "cudnn_rnn": "tf.nn.rnn_cell and tf.nn.dynamic_rnn",
    "data": "a method of tf.data.Dataset",
    "distribute": "a dask client: steps are cut over its workers",
    "distributions": "tf.distributions, which has the common ones",
    "eager": "import daskvars, which is eager",
    "estimator": _ESTIMATOR,
    "ffmpeg": "a Python library, and feed what it gives",
    "graph_editor": "tf.import_graph_def with input_map, or tf.graph_util.extract_sub_graph",
    "image": "tf.image",
    "keras": "tf.layers",
    **{
        f"layers.{old}": f"tf.feature_column.{new}"
        for old, new in {
            "bucketized_column": "bucketized_column",
            "create_feature_spec_for_parsing": "make_parse_example_spec",
            "crossed_column": "crossed_column",
            "embedding_column": "embedding_column",
            "one_hot_column": "indicator_column",
            "real_valued_column": "numeric_column",
            "sparse_column_with_hash_bucket": "categorical_column_with_hash_bucket",
            "sparse_column_with_integerized_feature": "categorical_column_with_identity",
            "sparse_column_with_keys": "categorical_column_with_vocabulary_list",
            "sparse_column_with_vocabulary_file": "categorical_column_with_vocabulary_file",
            "weighted_sparse_column": "weighted_categorical_column",
        }.items()
    },
    "learn": _ESTIMATOR,
    "learn.datasets": "numpy, or tf.examples.tutorials.mnist.input_data: feed arrays",
    "lite": "tf.train.export_meta_graph",
    "lookup.MutableDenseHashTable": "tf.contrib.lookup.MutableHashTable",
    "lookup.index_to_string": "tf.contrib.lookup.index_to_string_table_from_tensor",
    "lookup.string_to_index": "tf.contrib.lookup.index_table_from_tensor",
    "memory_stats": "the Dask dashboard",
    "mixed_precision": "tf.cast to tf.bfloat16 or tf.float16",
    "opt": "tf.train's optimizers",
    "quantize": "nothing: there are no quantized kernels",
    "rnn": "the cells of tf.nn.rnn_cell",
    "slim.nets.inception.inception_v2": _OWN_FILE,
    "slim.nets.overfeat": _OWN_FILE,
    "solvers": "tf.matrix_solve or tf.cholesky_solve, or the iteration in a tf.while_loop",
    "summary": "tf.summary",
    "tensorboard": "TensorBoard itself, on the directory of a tf.summary.FileWriter",
    "tensor_forest": "XGBoost or LightGBM on Dask",
    "tpu": "workers with GPUs, or CPUs",
    "training.batch_sequences_with_states": _DATA,
    "training.rejection_sample": _DATA,
    "training.stratified_sample": _DATA,
    "util": "the messages of tf.train, or tf.Graph.as_graph_def()",
}


@lru_cache(maxsize=256)
def why_missing(namespace: str, name: str) -> str:
    """Return what the error says of a name that is not there.

    Args:
      namespace: as in "slim.learning"; "" for ``tf.contrib`` itself.
      name: the name.

    >>> why_missing("", "cmake")
    "tf.contrib has no 'cmake' here: use pip"
    """
    path = f"{namespace}.{name}" if namespace else name
    place = f"tf.contrib.{namespace}" if namespace else "tf.contrib"
    names: Any = NAMESPACES
    for part in namespace.split(".") if namespace else ():
        names = names[part]
    hint = "" if path in INSTEAD else did_you_mean(name, names)
    while path not in INSTEAD and path:
        path = path.rpartition(".")[0]
    instead = f": use {INSTEAD[path]}" if not hint and path in INSTEAD else hint
    return f"{place} has no {name!r} here{instead}"


def namespace(path: str, names: Mapping[str, Any], in_graph_mode: Any) -> types.ModuleType:
    """Return a namespace of functions and classes in graph mode.

    Args:
      path: as in "slim.learning".
      names: what is in it; a dict is a namespace in it.
      in_graph_mode: function of a name and a value that gives the value in graph mode.
    """
    module = types.ModuleType(f"daskvars.v1.contrib.{path}", f"The names of ``tf.contrib.{path}``.")
    for name, value in names.items():
        if isinstance(value, Mapping) and name.islower():
            value = namespace(f"{path}.{name}", value, in_graph_mode)
        else:
            value = in_graph_mode(name, value)
        setattr(module, name, value)

    def missing(name: str) -> Any:
        raise AttributeError(why_missing(path, name))

    module.__getattr__ = missing  # type: ignore[method-assign]
    module.__all__ = sorted(names)  # type: ignore[attr-defined]
    sys.modules.setdefault(module.__name__, module)
    return module
