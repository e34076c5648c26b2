"""Names that are elsewhere, most in `daskvars.v1`: the error says where, and loads nothing."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import lru_cache
from typing import NoReturn

from daskvars.errors import did_you_mean

# Module -> what only TensorFlow 1 has under its name. A test compares it with `daskvars.v1`.
NAMES_OF_V1 = {
    "daskvars": """
        COMPILER_VERSION ConditionalAccumulator ConditionalAccumulatorBase Event FIFOQueue
        FixedLengthRecordReader GIT_VERSION GraphDef HistogramProto IdentityReader LMDBReader
        MetaGraphDef Module NodeDef OpError PaddingFIFOQueue PriorityQueue QueueBase
        RandomShuffleQueue ReaderBase SessionLog
        SparseConditionalAccumulator Summary SummaryMetadata TFRecordReader TensorSpec
        TextLineReader VERSION
        WholeFileReader all_variables app arg_max arg_min compat contrib
        control_flow_v2_enabled
        convert_to_tensor_or_sparse_tensor delete_session_tensor dequantize
        deserialize_many_sparse disable_control_flow_v2
        disable_eager_execution disable_resource_variables disable_tensor_equality
        disable_v2_behavior disable_v2_tensorshape enable_control_flow_v2 enable_eager_execution
        enable_resource_variables enable_tensor_equality enable_v2_behavior
        enable_v2_tensorshape estimator executing_eagerly
        extract_image_patches fake_quant_with_min_max_args
        fake_quant_with_min_max_args_gradient fake_quant_with_min_max_vars
        fake_quant_with_min_max_vars_gradient fake_quant_with_min_max_vars_per_channel
        fake_quant_with_min_max_vars_per_channel_gradient feature_column fft fft2d fft3d
        flags get_logger get_session_handle get_session_tensor gfile graph_util
        guarantee_const ifft ifft2d ifft3d import_graph_def
        initialize_all_tables initialize_all_variables initialize_local_variables
        initialize_variables io logging lookup make_ndarray make_tensor_proto manip
        matrix_square_root nest no_gradient op_scope python_io quantize quantize_v2 queue raw_ops
        resource_variables_enabled saved_model serialize_many_sparse
        serialize_sparse sparse_add sparse_concat sparse_fill_empty_rows sparse_mask
        sparse_matmul sparse_maximum sparse_merge sparse_minimum sparse_placeholder
        sparse_reduce_max sparse_reduce_max_sparse sparse_reduce_sum
        sparse_reduce_sum_sparse sparse_reorder sparse_reset_shape sparse_reshape
        sparse_retain sparse_segment_mean sparse_segment_sqrt_n sparse_segment_sum
        sparse_slice sparse_softmax sparse_split sparse_tensor_dense_matmul
        sparse_tensor_to_dense sparse_to_indicator sparse_transpose spectral
        tables_initializer test to_bfloat16 to_complex128 to_complex64 to_double to_float
        to_int32 to_int64 variable_op_scope tpu version
    """,
    "daskvars.nn": """
        all_candidate_sampler avg_pool_v2 collapse_repeated compute_accidental_hits
        compute_average_loss conv_transpose ctc_beam_search_decoder_v2 ctc_loss_v2
        ctc_unique_labels fixed_unigram_candidate_sampler learned_unigram_candidate_sampler
        log_uniform_candidate_sampler max_pool_v2 nce_loss raw_rnn sampled_softmax_loss
        scale_regularization_loss uniform_candidate_sampler
    """,
    "daskvars.summary": "FileWriterCache",
    "daskvars.train": """
        AdagradDAOptimizer BytesList CheckpointSaverHook CheckpointSaverListener
        ChiefSessionCreator ClusterDef ClusterSpec Coordinator Example Feature FeatureList
        FeatureLists Features FeedFnHook FinalOpsHook FloatList FtrlOptimizer
        GlobalStepWaiterHook GreedyLoadBalancingStrategy Int64List JobDef LoggingTensorHook
        LooperThread MonitoredSession MonitoredTrainingSession NanLossDuringTrainingError
        NanTensorHook NeverTriggerTimer ProfilerHook ProximalAdagradOptimizer
        ProximalGradientDescentOptimizer QueueRunner SaverDef Scaffold SecondOrStepTimer
        SequenceExample Server ServerDef SessionCreator SessionManager SessionRunArgs
        SessionRunContext SessionRunHook SessionRunValues SingularMonitoredSession
        StepCounterHook StopAtStepHook SummarySaverHook Supervisor SyncReplicasOptimizer
        WorkerSessionCreator add_queue_runner basic_train_loop batch batch_join
        byte_size_load_fn export_meta_graph import_meta_graph input_producer limit_epochs
        match_filenames_once maybe_batch maybe_batch_join maybe_shuffle_batch
        maybe_shuffle_batch_join queue_runner range_input_producer replica_device_setter
        shuffle_batch shuffle_batch_join slice_input_producer start_queue_runners
        string_input_producer write_graph
    """,
}


# Names of TensorFlow 2 -> what does their work.
INSTEAD = {
    "daskvars.RaggedTensor": "use daskvars.sparse, or values and lengths as tensors",
    "daskvars.distribute": "with a dask.distributed Client in the process all runs on its workers",
    "daskvars.keras": "use layers, losses, metrics and train",
    "daskvars.optimizers": "optimizers are in daskvars.train",
    "daskvars.ragged": "use daskvars.sparse, or values and lengths as tensors",
    "daskvars.data.AUTOTUNE": "it is daskvars.data.experimental.AUTOTUNE",
    "daskvars.random.Generator": "use daskvars.random.stateless_normal and its like",
    "daskvars.random.set_seed": "it is daskvars.set_random_seed",
    "daskvars.summary.create_file_writer": "use daskvars.summary.FileWriter",
    "daskvars.train.SGD": "it is daskvars.train.GradientDescentOptimizer",
}


def refuses(module: str, names: Collection[str]) -> Callable[[str], NoReturn]:
    """Return the `__getattr__` of a module: it says where a name is that is not in `names`."""
    elsewhere = NAMES_OF_V1.get(module, "").split()

    @lru_cache(maxsize=256)  # tools ask each module for the same few names, thousands of times
    def message(name: str) -> str:
        if name in elsewhere:
            there = f"{module.replace('daskvars', 'daskvars.v1', 1)}.{name}"
            return f"{module} has no {name!r}: only TensorFlow-1 programs use it, as {there}"
        if f"{module}.{name}" in INSTEAD:
            return f"{module} has no {name!r}: {INSTEAD[f'{module}.{name}']}"
        return f"module {module!r} has no attribute {name!r}{did_you_mean(name, names)}"

    def __getattr__(name: str) -> NoReturn:
        raise AttributeError(message(name))

    return __getattr__
