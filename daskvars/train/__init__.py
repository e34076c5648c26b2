"""Training: optimizers, learning-rate schedules, the global step, and checkpoints.

An optimizer is the slots that it keeps for each variable and one update, written with elementwise
ops and assignments; lowering makes it one pass over memory. A `Saver` writes variables as Zarr
groups and reads them back into any layout, with the graph as JSON beside them.

Rooms: ``optimizers``, ``checkpoints``; and what TensorFlow-1 programs train with: ``sessions`` that
are initialized and restored by themselves, with hooks; ``servers`` of a cluster of named tasks;
``graphs`` in files. Files: ``schedules`` (rates that fall with the step), ``training_step``.
"""

from daskvars.summary.event_lines import summary_iterator
from daskvars.train.checkpoints.initializers import init_from_checkpoint
from daskvars.train.checkpoints.iterator import checkpoints_iterator
from daskvars.train.checkpoints.reader import (
    NewCheckpointReader,
    list_variables,
    load_checkpoint,
    load_variable,
)
from daskvars.train.checkpoints.saver import Saver
from daskvars.train.checkpoints.saver_def import SaverDef
from daskvars.train.checkpoints.state import (
    CheckpointState,
    checkpoint_exists,
    generate_checkpoint_state_proto,
    get_checkpoint_mtimes,
    get_checkpoint_state,
    latest_checkpoint,
    remove_checkpoint,
    update_checkpoint_state,
)
from daskvars.train.checkpoints.warm_starting import warm_start
from daskvars.train.graphs.graph_files import export_meta_graph, import_meta_graph, write_graph
from daskvars.train.optimizers.adaptive import (
    AdadeltaOptimizer,
    AdagradOptimizer,
    AdamOptimizer,
    AdamWOptimizer,
    RMSPropOptimizer,
)
from daskvars.train.optimizers.ftrl import AdagradDAOptimizer, FtrlOptimizer
from daskvars.train.optimizers.lamb import LAMBOptimizer
from daskvars.train.optimizers.moving_averages import (
    ExponentialMovingAverage,
    assign_moving_average,
    weighted_moving_average,
)
from daskvars.train.optimizers.optimizer import Optimizer
from daskvars.train.optimizers.proximal import (
    ProximalAdagradOptimizer,
    ProximalGradientDescentOptimizer,
)
from daskvars.train.optimizers.sgd import GradientDescentOptimizer, MomentumOptimizer
from daskvars.train.optimizers.sync_replicas import SyncReplicasOptimizer
from daskvars.train.schedules import (
    cosine_decay,
    cosine_decay_restarts,
    exponential_decay,
    inverse_time_decay,
    linear_cosine_decay,
    natural_exp_decay,
    noisy_linear_cosine_decay,
    piecewise_constant,
    piecewise_constant_decay,
    polynomial_decay,
)
from daskvars.train.servers.cluster_spec import ClusterDef, ClusterSpec, JobDef
from daskvars.train.servers.device_setter import (
    GreedyLoadBalancingStrategy,
    byte_size_load_fn,
    replica_device_setter,
)
from daskvars.train.servers.server import Server, ServerDef
from daskvars.train.sessions.checkpoint_hooks import CheckpointSaverHook, CheckpointSaverListener
from daskvars.train.sessions.control_hooks import (
    FeedFnHook,
    FinalOpsHook,
    GlobalStepWaiterHook,
    StopAtStepHook,
)
from daskvars.train.sessions.coordinator import Coordinator, LooperThread
from daskvars.train.sessions.hook_timers import NeverTriggerTimer, SecondOrStepTimer
from daskvars.train.sessions.monitored_session import (
    ChiefSessionCreator,
    MonitoredSession,
    MonitoredTrainingSession,
    SessionCreator,
    SingularMonitoredSession,
    WorkerSessionCreator,
)
from daskvars.train.sessions.monitoring_hooks import (
    LoggingTensorHook,
    NanLossDuringTrainingError,
    NanTensorHook,
    ProfilerHook,
    StepCounterHook,
    SummarySaverHook,
)
from daskvars.train.sessions.queue_runners import QueueRunner, Supervisor, start_queue_runners
from daskvars.train.sessions.scaffold import Scaffold
from daskvars.train.sessions.session_manager import SessionManager
from daskvars.train.sessions.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from daskvars.train.training_step import (
    assert_global_step,
    create_global_step,
    get_global_step,
    get_or_create_global_step,
    global_step,
)

__all__ = [
    "AdadeltaOptimizer",
    "AdagradDAOptimizer",
    "AdagradOptimizer",
    "AdamOptimizer",
    "AdamWOptimizer",
    "CheckpointSaverHook",
    "CheckpointSaverListener",
    "CheckpointState",
    "ChiefSessionCreator",
    "ClusterDef",
    "ClusterSpec",
    "Coordinator",
    "ExponentialMovingAverage",
    "FeedFnHook",
    "FinalOpsHook",
    "FtrlOptimizer",
    "GlobalStepWaiterHook",
    "GradientDescentOptimizer",
    "GreedyLoadBalancingStrategy",
    "JobDef",
    "LAMBOptimizer",
    "LoggingTensorHook",
    "LooperThread",
    "MomentumOptimizer",
    "MonitoredSession",
    "MonitoredTrainingSession",
    "NanLossDuringTrainingError",
    "NanTensorHook",
    "NeverTriggerTimer",
    "NewCheckpointReader",
    "Optimizer",
    "ProfilerHook",
    "ProximalAdagradOptimizer",
    "ProximalGradientDescentOptimizer",
    "QueueRunner",
    "RMSPropOptimizer",
    "Saver",
    "SaverDef",
    "Scaffold",
    "SecondOrStepTimer",
    "Server",
    "ServerDef",
    "SessionCreator",
    "SessionManager",
    "SessionRunArgs",
    "SessionRunContext",
    "SessionRunHook",
    "SessionRunValues",
    "SingularMonitoredSession",
    "StepCounterHook",
    "StopAtStepHook",
    "SummarySaverHook",
    "Supervisor",
    "SyncReplicasOptimizer",
    "WorkerSessionCreator",
    "assert_global_step",
    "assign_moving_average",
    "byte_size_load_fn",
    "checkpoint_exists",
    "checkpoints_iterator",
    "cosine_decay",
    "cosine_decay_restarts",
    "create_global_step",
    "exponential_decay",
    "export_meta_graph",
    "generate_checkpoint_state_proto",
    "get_checkpoint_mtimes",
    "get_checkpoint_state",
    "get_global_step",
    "get_or_create_global_step",
    "global_step",
    "import_meta_graph",
    "init_from_checkpoint",
    "inverse_time_decay",
    "latest_checkpoint",
    "linear_cosine_decay",
    "list_variables",
    "load_checkpoint",
    "load_variable",
    "natural_exp_decay",
    "noisy_linear_cosine_decay",
    "piecewise_constant",
    "piecewise_constant_decay",
    "polynomial_decay",
    "remove_checkpoint",
    "replica_device_setter",
    "start_queue_runners",
    "summary_iterator",
    "update_checkpoint_state",
    "warm_start",
    "weighted_moving_average",
    "write_graph",
]
