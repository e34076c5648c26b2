"""Training: optimizers, learning-rate schedules, the global step, and checkpoints.

An optimizer is the slots that it keeps for each variable and one update, written with elementwise
ops and assignments; lowering makes it one pass over memory. A `Saver` writes variables as Zarr
groups and reads them back into any layout.

Rooms: ``optimizers``, ``checkpoints``. Files: ``schedules`` (rates that fall with the step),
``training_step``. Monitored sessions with their hooks, servers of named tasks, graphs in files and
optimizers that only TensorFlow 1 has are in `daskvars.v1`.
"""

# fmt: off
import typing

from daskvars.surface.names_of_v1 import refuses as _refuses
from daskvars.summary.event_files import summary_iterator
from daskvars.train.checkpoints.initializers import init_from_checkpoint
from daskvars.train.checkpoints.interchange import export_checkpoint, import_checkpoint
from daskvars.train.checkpoints.iterator import checkpoints_iterator
from daskvars.train.checkpoints.objects.checkpoint import Checkpoint
from daskvars.train.checkpoints.objects.manager import CheckpointManager
from daskvars.train.checkpoints.reader import (
    NewCheckpointReader, list_variables, load_checkpoint, load_variable,
)
from daskvars.train.checkpoints.saver import Saver
from daskvars.train.checkpoints.checkpoint_state import (
    CheckpointState, checkpoint_exists, generate_checkpoint_state_proto, get_checkpoint_mtimes,
    get_checkpoint_state, latest_checkpoint, remove_checkpoint, update_checkpoint_state,
)
from daskvars.train.checkpoints.vocabularies import VocabInfo
from daskvars.train.checkpoints.warm_starting import warm_start
from daskvars.train.optimizers.adam_variants import (
    AdaMaxOptimizer, LazyAdamOptimizer, NadamOptimizer,
)
from daskvars.train.optimizers.adaptive import (
    AdadeltaOptimizer, AdagradOptimizer, AdamOptimizer, RMSPropOptimizer,
)
from daskvars.train.optimizers.decoupled_decay import AdamWOptimizer
from daskvars.train.optimizers.lamb import LAMBOptimizer
from daskvars.train.optimizers.moving_averages import (
    ExponentialMovingAverage, assign_moving_average, weighted_moving_average,
)
from daskvars.train.optimizers.optimizer import Optimizer
from daskvars.train.optimizers.sgd import GradientDescentOptimizer, MomentumOptimizer
from daskvars.train.schedules import (
    cosine_decay, cosine_decay_restarts, exponential_decay, inverse_time_decay, linear_cosine_decay,
    natural_exp_decay, noisy_linear_cosine_decay, piecewise_constant, piecewise_constant_decay,
    polynomial_decay,
)
from daskvars.train.training_step import (
    assert_global_step, create_global_step, get_global_step, get_or_create_global_step, global_step,
)

__all__ = [
    "AdaMaxOptimizer", "AdadeltaOptimizer", "AdagradOptimizer", "AdamOptimizer", "AdamWOptimizer",
    "Checkpoint", "CheckpointManager", "CheckpointState", "ExponentialMovingAverage",
    "GradientDescentOptimizer", "LAMBOptimizer", "LazyAdamOptimizer", "MomentumOptimizer",
    "NadamOptimizer", "NewCheckpointReader", "Optimizer", "RMSPropOptimizer", "Saver", "VocabInfo",
    "assert_global_step", "assign_moving_average", "checkpoint_exists", "checkpoints_iterator",
    "cosine_decay", "cosine_decay_restarts", "create_global_step", "exponential_decay",
    "export_checkpoint", "generate_checkpoint_state_proto", "get_checkpoint_mtimes",
    "get_checkpoint_state", "get_global_step", "get_or_create_global_step", "global_step",
    "import_checkpoint", "init_from_checkpoint", "inverse_time_decay", "latest_checkpoint",
    "linear_cosine_decay", "list_variables", "load_checkpoint", "load_variable",
    "natural_exp_decay", "noisy_linear_cosine_decay", "piecewise_constant",
    "piecewise_constant_decay", "polynomial_decay", "remove_checkpoint", "summary_iterator",
    "update_checkpoint_state", "warm_start", "weighted_moving_average",
]

if not typing.TYPE_CHECKING:
    __getattr__ = _refuses(__name__, __all__)
