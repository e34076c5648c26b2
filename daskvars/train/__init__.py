"""Training: optimizers, learning-rate schedules, the global step, and checkpoints.

An optimizer is the slots that it keeps for each variable and one update, written with elementwise
ops and assignments; lowering makes it one pass over memory. A `Saver` writes variables as Zarr
groups and reads them back into any layout.
"""

from daskvars.state import list_variables, load_variable
from daskvars.train.adaptive import (
    AdadeltaOptimizer,
    AdagradOptimizer,
    AdamOptimizer,
    AdamWOptimizer,
    RMSPropOptimizer,
)
from daskvars.train.checkpoint_state import (
    CheckpointState,
    checkpoint_exists,
    get_checkpoint_state,
    latest_checkpoint,
    update_checkpoint_state,
)
from daskvars.train.ftrl import AdagradDAOptimizer, FtrlOptimizer
from daskvars.train.lamb import LAMBOptimizer
from daskvars.train.moving_averages import (
    ExponentialMovingAverage,
    assign_moving_average,
    weighted_moving_average,
)
from daskvars.train.optimizer import Optimizer
from daskvars.train.proximal import ProximalAdagradOptimizer, ProximalGradientDescentOptimizer
from daskvars.train.saver import Saver
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
from daskvars.train.sgd import GradientDescentOptimizer, MomentumOptimizer
from daskvars.train.sync_replicas import SyncReplicasOptimizer
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
    "CheckpointState",
    "ExponentialMovingAverage",
    "FtrlOptimizer",
    "GradientDescentOptimizer",
    "LAMBOptimizer",
    "MomentumOptimizer",
    "Optimizer",
    "ProximalAdagradOptimizer",
    "ProximalGradientDescentOptimizer",
    "RMSPropOptimizer",
    "Saver",
    "SyncReplicasOptimizer",
    "assert_global_step",
    "assign_moving_average",
    "checkpoint_exists",
    "cosine_decay",
    "cosine_decay_restarts",
    "create_global_step",
    "exponential_decay",
    "get_checkpoint_state",
    "get_global_step",
    "get_or_create_global_step",
    "global_step",
    "inverse_time_decay",
    "latest_checkpoint",
    "linear_cosine_decay",
    "list_variables",
    "load_variable",
    "natural_exp_decay",
    "noisy_linear_cosine_decay",
    "piecewise_constant",
    "piecewise_constant_decay",
    "polynomial_decay",
    "update_checkpoint_state",
    "weighted_moving_average",
]
