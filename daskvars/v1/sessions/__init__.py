"""Monitored sessions: initialized or restored by themselves, with hooks around their runs.

An eager program writes its training loop; a TensorFlow-1 program hands the loop's concerns to a
session that is wrapped again and again. Vocabulary:

- a *scaffold* (``scaffold``) is what a training needs besides its model: ops that initialize and
  say what is not initialized, the summary, the saver;
- a *session manager* (``session_manager``) makes a session ready: variables restored from the
  newest checkpoint or initialized, or waited for until the chief has done it;
- a *hook* (``session_run_hook``) is called before and after each run, may ask for fetches of its
  own, and may stop the loop: ``checkpoint_hooks``, ``control_hooks``, ``monitoring_hooks``; when
  they act say the timers of ``hook_timers``;
- ``wrapped_sessions`` are layers around a session, innermost first: hooks, a coordinator, and one
  that is made anew after the cluster lost its state;
- a *monitored session* (``monitored_session``) is all of that, for a chief or for a worker;
- ``session_tensors``: values that a plain session keeps between runs, by handles;
- ``supervisor``: the same in another form, that of older programs: threads save and write;
- ``coordinator`` and ``queue_runners``: threads that stop together, and those that fill queues;
  ``queue_runner_def``: the latter as data, in files of graphs.

The rule: nothing here is known to the engine. A wrapped session runs what a plain `Session` runs;
what the hooks want is added to the fetches of the one run.
"""

from daskvars.v1.sessions.checkpoint_hooks import CheckpointSaverHook, CheckpointSaverListener
from daskvars.v1.sessions.control_hooks import (
    FeedFnHook,
    FinalOpsHook,
    GlobalStepWaiterHook,
    StopAtStepHook,
)
from daskvars.v1.sessions.coordinator import Coordinator, LooperThread
from daskvars.v1.sessions.hook_timers import NeverTriggerTimer, SecondOrStepTimer
from daskvars.v1.sessions.monitored_session import (
    ChiefSessionCreator,
    MonitoredSession,
    MonitoredTrainingSession,
    SessionCreator,
    SingularMonitoredSession,
    WorkerSessionCreator,
)
from daskvars.v1.sessions.monitoring_hooks import (
    LoggingTensorHook,
    NanLossDuringTrainingError,
    NanTensorHook,
    ProfilerHook,
    StepCounterHook,
    SummarySaverHook,
)
from daskvars.v1.sessions.queue_runners import QueueRunner, add_queue_runner, start_queue_runners
from daskvars.v1.sessions.scaffold import Scaffold
from daskvars.v1.sessions.session_manager import SessionManager
from daskvars.v1.sessions.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from daskvars.v1.sessions.supervisor import Supervisor, basic_train_loop

__all__ = [
    "CheckpointSaverHook", "CheckpointSaverListener", "ChiefSessionCreator", "Coordinator",
    "FeedFnHook", "FinalOpsHook", "GlobalStepWaiterHook", "LoggingTensorHook", "LooperThread",
    "MonitoredSession", "MonitoredTrainingSession", "NanLossDuringTrainingError", "NanTensorHook",
    "NeverTriggerTimer", "ProfilerHook", "QueueRunner", "Scaffold", "SecondOrStepTimer",
    "SessionCreator", "SessionManager", "SessionRunArgs", "SessionRunContext", "SessionRunHook",
    "SessionRunValues", "SingularMonitoredSession", "StepCounterHook", "StopAtStepHook",
    "SummarySaverHook", "Supervisor", "WorkerSessionCreator", "add_queue_runner",
    "basic_train_loop", "start_queue_runners",
]  # fmt: skip
