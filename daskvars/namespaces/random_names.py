"""Random tensors, the names of ``tf.random``."""

# fmt: off
from daskvars.ops.random.distributions import (
    categorical, get_seed, multinomial, set_random_seed, truncated_normal,
)
from daskvars.ops.random.distributions import random_normal as normal
from daskvars.ops.random.distributions import random_shuffle as shuffle
from daskvars.ops.random.distributions import random_uniform as uniform
from daskvars.ops.random.gamma_poisson import random_gamma as gamma
from daskvars.ops.random.gamma_poisson import random_poisson as poisson
from daskvars.ops.random.stateless import (
    stateless_categorical, stateless_multinomial, stateless_normal, stateless_truncated_normal,
    stateless_uniform,
)

__all__ = [
    "categorical", "gamma", "get_seed", "multinomial", "normal", "poisson", "set_random_seed",
    "shuffle", "stateless_categorical", "stateless_multinomial", "stateless_normal",
    "stateless_truncated_normal", "stateless_uniform", "truncated_normal", "uniform",
]
