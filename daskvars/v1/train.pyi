"""The names of ``tf.train``. Made by tests/typed/stubs.py; a test compares them."""

from daskvars.train import AdaMaxOptimizer as AdaMaxOptimizer
from daskvars.train import AdadeltaOptimizer as AdadeltaOptimizer
from daskvars.train import AdagradOptimizer as AdagradOptimizer, AdamOptimizer as AdamOptimizer
from daskvars.train import AdamWOptimizer as AdamWOptimizer, Checkpoint as Checkpoint
from daskvars.train import CheckpointManager as CheckpointManager
from daskvars.train import CheckpointState as CheckpointState
from daskvars.train import ExponentialMovingAverage as ExponentialMovingAverage
from daskvars.train import GradientDescentOptimizer as GradientDescentOptimizer
from daskvars.train import LAMBOptimizer as LAMBOptimizer, LazyAdamOptimizer as LazyAdamOptimizer
from daskvars.train import MomentumOptimizer as MomentumOptimizer, NadamOptimizer as NadamOptimizer
from daskvars.train import NewCheckpointReader as NewCheckpointReader, Optimizer as Optimizer
from daskvars.train import RMSPropOptimizer as RMSPropOptimizer, VocabInfo as VocabInfo
from daskvars.train import assert_global_step as assert_global_step
from daskvars.train import assign_moving_average as assign_moving_average
from daskvars.train import checkpoint_exists as checkpoint_exists
from daskvars.train import checkpoints_iterator as checkpoints_iterator
from daskvars.train import cosine_decay as cosine_decay
from daskvars.train import cosine_decay_restarts as cosine_decay_restarts
from daskvars.train import create_global_step as create_global_step
from daskvars.train import exponential_decay as exponential_decay
from daskvars.train import export_checkpoint as export_checkpoint
from daskvars.train import generate_checkpoint_state_proto as generate_checkpoint_state_proto
from daskvars.train import get_checkpoint_mtimes as get_checkpoint_mtimes
from daskvars.train import get_checkpoint_state as get_checkpoint_state
from daskvars.train import get_global_step as get_global_step
from daskvars.train import get_or_create_global_step as get_or_create_global_step
from daskvars.train import global_step as global_step, import_checkpoint as import_checkpoint
from daskvars.train import init_from_checkpoint as init_from_checkpoint
from daskvars.train import inverse_time_decay as inverse_time_decay
from daskvars.train import latest_checkpoint as latest_checkpoint
from daskvars.train import linear_cosine_decay as linear_cosine_decay
from daskvars.train import list_variables as list_variables, load_checkpoint as load_checkpoint
from daskvars.train import load_variable as load_variable, natural_exp_decay as natural_exp_decay
from daskvars.train import noisy_linear_cosine_decay as noisy_linear_cosine_decay
from daskvars.train import piecewise_constant as piecewise_constant
from daskvars.train import piecewise_constant_decay as piecewise_constant_decay
from daskvars.train import polynomial_decay as polynomial_decay
from daskvars.train import remove_checkpoint as remove_checkpoint
from daskvars.train import summary_iterator as summary_iterator
from daskvars.train import update_checkpoint_state as update_checkpoint_state
from daskvars.train import warm_start as warm_start
from daskvars.train import weighted_moving_average as weighted_moving_average
from daskvars.v1.graphs import Saver as Saver, SaverDef as SaverDef
from daskvars.v1.graphs import export_meta_graph as export_meta_graph
from daskvars.v1.graphs import import_meta_graph as import_meta_graph, write_graph as write_graph
from daskvars.data.records.examples import BytesList as BytesList, Example as Example
from daskvars.data.records.examples import Feature as Feature, FeatureList as FeatureList
from daskvars.data.records.examples import FeatureLists as FeatureLists, Features as Features
from daskvars.data.records.examples import FloatList as FloatList, Int64List as Int64List
from daskvars.data.records.examples import SequenceExample as SequenceExample
from daskvars.v1.optimizers import AdagradDAOptimizer as AdagradDAOptimizer
from daskvars.v1.optimizers import FtrlOptimizer as FtrlOptimizer
from daskvars.v1.optimizers import ProximalAdagradOptimizer as ProximalAdagradOptimizer
from daskvars.v1.optimizers import ProximalGradientDescentOptimizer as ProximalGradientDescentOptimizer
from daskvars.v1.optimizers import SyncReplicasOptimizer as SyncReplicasOptimizer
from daskvars.v1.queues.pipelines import batch as batch, batch_join as batch_join
from daskvars.v1.queues.pipelines import input_producer as input_producer
from daskvars.v1.queues.pipelines import limit_epochs as limit_epochs
from daskvars.v1.queues.pipelines import match_filenames_once as match_filenames_once
from daskvars.v1.queues.pipelines import maybe_batch as maybe_batch
from daskvars.v1.queues.pipelines import maybe_batch_join as maybe_batch_join
from daskvars.v1.queues.pipelines import maybe_shuffle_batch as maybe_shuffle_batch
from daskvars.v1.queues.pipelines import maybe_shuffle_batch_join as maybe_shuffle_batch_join
from daskvars.v1.queues.pipelines import range_input_producer as range_input_producer
from daskvars.v1.queues.pipelines import shuffle_batch as shuffle_batch
from daskvars.v1.queues.pipelines import shuffle_batch_join as shuffle_batch_join
from daskvars.v1.queues.pipelines import slice_input_producer as slice_input_producer
from daskvars.v1.queues.pipelines import string_input_producer as string_input_producer
from daskvars.v1.servers import ClusterDef as ClusterDef, ClusterSpec as ClusterSpec
from daskvars.v1.servers import GreedyLoadBalancingStrategy as GreedyLoadBalancingStrategy
from daskvars.v1.servers import JobDef as JobDef, Server as Server, ServerDef as ServerDef
from daskvars.v1.servers import byte_size_load_fn as byte_size_load_fn
from daskvars.v1.servers import replica_device_setter as replica_device_setter
from daskvars.v1.sessions import CheckpointSaverHook as CheckpointSaverHook
from daskvars.v1.sessions import CheckpointSaverListener as CheckpointSaverListener
from daskvars.v1.sessions import ChiefSessionCreator as ChiefSessionCreator
from daskvars.v1.sessions import Coordinator as Coordinator, FeedFnHook as FeedFnHook
from daskvars.v1.sessions import FinalOpsHook as FinalOpsHook
from daskvars.v1.sessions import GlobalStepWaiterHook as GlobalStepWaiterHook
from daskvars.v1.sessions import LoggingTensorHook as LoggingTensorHook
from daskvars.v1.sessions import LooperThread as LooperThread, MonitoredSession as MonitoredSession
from daskvars.v1.sessions import MonitoredTrainingSession as MonitoredTrainingSession
from daskvars.v1.sessions import NanLossDuringTrainingError as NanLossDuringTrainingError
from daskvars.v1.sessions import NanTensorHook as NanTensorHook
from daskvars.v1.sessions import NeverTriggerTimer as NeverTriggerTimer
from daskvars.v1.sessions import ProfilerHook as ProfilerHook, QueueRunner as QueueRunner
from daskvars.v1.sessions import Scaffold as Scaffold, SecondOrStepTimer as SecondOrStepTimer
from daskvars.v1.sessions import SessionCreator as SessionCreator, SessionManager as SessionManager
from daskvars.v1.sessions import SessionRunArgs as SessionRunArgs
from daskvars.v1.sessions import SessionRunContext as SessionRunContext
from daskvars.v1.sessions import SessionRunHook as SessionRunHook
from daskvars.v1.sessions import SessionRunValues as SessionRunValues
from daskvars.v1.sessions import SingularMonitoredSession as SingularMonitoredSession
from daskvars.v1.sessions import StepCounterHook as StepCounterHook
from daskvars.v1.sessions import StopAtStepHook as StopAtStepHook
from daskvars.v1.sessions import SummarySaverHook as SummarySaverHook, Supervisor as Supervisor
from daskvars.v1.sessions import WorkerSessionCreator as WorkerSessionCreator
from daskvars.v1.sessions import add_queue_runner as add_queue_runner
from daskvars.v1.sessions import basic_train_loop as basic_train_loop
from daskvars.v1.sessions import start_queue_runners as start_queue_runners
from daskvars.v1 import train as queue_runner
