"""The names of ``tf.random``. Made by tests/typed/stubs.py; a test compares them."""

from daskvars.namespaces.random_names import categorical as categorical, gamma as gamma
from daskvars.namespaces.random_names import get_seed as get_seed, multinomial as multinomial
from daskvars.namespaces.random_names import normal as normal, poisson as poisson
from daskvars.namespaces.random_names import set_random_seed as set_random_seed, shuffle as shuffle
from daskvars.namespaces.random_names import stateless_categorical as stateless_categorical
from daskvars.namespaces.random_names import stateless_multinomial as stateless_multinomial
from daskvars.namespaces.random_names import stateless_normal as stateless_normal
from daskvars.namespaces.random_names import stateless_truncated_normal as stateless_truncated_normal
from daskvars.namespaces.random_names import stateless_uniform as stateless_uniform
from daskvars.namespaces.random_names import truncated_normal as truncated_normal
from daskvars.namespaces.random_names import uniform as uniform
from daskvars.v1.names.namespaces.random import all_candidate_sampler as all_candidate_sampler
from daskvars.v1.names.namespaces.random import fixed_unigram_candidate_sampler as fixed_unigram_candidate_sampler
from daskvars.v1.names.namespaces.random import learned_unigram_candidate_sampler as learned_unigram_candidate_sampler
from daskvars.v1.names.namespaces.random import log_uniform_candidate_sampler as log_uniform_candidate_sampler
from daskvars.v1.names.namespaces.random import uniform_candidate_sampler as uniform_candidate_sampler
