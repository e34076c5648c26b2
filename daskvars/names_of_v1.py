"""Names that are not here but in `daskvars.v1`, and the error that says so without loading it."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NoReturn

from daskvars.errors import did_you_mean

# Module -> what only TensorFlow 1 has under its name. A test compares it with `daskvars.v1`.
NAMES_OF_V1 = {
    "daskvars": """
        Event GraphDef HistogramProto MetaGraphDef NodeDef SessionLog Summary VERSION app compat
        disable_control_flow_v2 disable_eager_execution disable_tensor_equality
        disable_v2_behavior disable_v2_tensorshape enable_eager_execution enable_v2_behavior
        executing_eagerly flags get_logger gfile import_graph_def initialize_all_tables logging
        manip tables_initializer
    """,
    "daskvars.nn": """
        all_candidate_sampler compute_accidental_hits fixed_unigram_candidate_sampler
        learned_unigram_candidate_sampler log_uniform_candidate_sampler nce_loss raw_rnn
        sampled_softmax_loss uniform_candidate_sampler
    """,
    "daskvars.train": """
        AdagradDAOptimizer CheckpointSaverHook CheckpointSaverListener ChiefSessionCreator
        ClusterDef ClusterSpec Coordinator FeedFnHook FinalOpsHook FtrlOptimizer
        GlobalStepWaiterHook GreedyLoadBalancingStrategy JobDef LoggingTensorHook LooperThread
        MonitoredSession MonitoredTrainingSession NanLossDuringTrainingError NanTensorHook
        NeverTriggerTimer ProfilerHook ProximalAdagradOptimizer ProximalGradientDescentOptimizer
        QueueRunner Scaffold SecondOrStepTimer Server ServerDef SessionCreator SessionManager
        SessionRunArgs SessionRunContext SessionRunHook SessionRunValues SingularMonitoredSession
        StepCounterHook StopAtStepHook SummarySaverHook Supervisor SyncReplicasOptimizer
        WorkerSessionCreator byte_size_load_fn replica_device_setter start_queue_runners
    """,
}


def refuses_names_of_v1(module: str, names: list[str]) -> Callable[[str], NoReturn]:
    """Return the `__getattr__` of a module: it says where a name is that is not in `names`."""
    elsewhere = NAMES_OF_V1[module].split()

    @lru_cache(maxsize=256)  # tools ask each module for the same few names, thousands of times
    def message(name: str) -> str:
        if name in elsewhere:
            there = f"{module.replace('daskvars', 'daskvars.v1', 1)}.{name}"
            return f"{module} has no {name!r}: only TensorFlow-1 programs use it, as {there}"
        return f"module {module!r} has no attribute {name!r}{did_you_mean(name, names)}"

    def __getattr__(name: str) -> NoReturn:
        raise AttributeError(message(name))

    return __getattr__
