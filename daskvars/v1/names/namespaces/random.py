"""What ``tf.random`` has besides the package's: candidates out of very many classes."""

# fmt: off
from daskvars.v1.sampling.candidates import (
    all_candidate_sampler,
    fixed_unigram_candidate_sampler,
    log_uniform_candidate_sampler,
    uniform_candidate_sampler,
)
from daskvars.v1.sampling.learned_candidates import learned_unigram_candidate_sampler

__all__ = [
    "all_candidate_sampler", "fixed_unigram_candidate_sampler",
    "learned_unigram_candidate_sampler", "log_uniform_candidate_sampler",
    "uniform_candidate_sampler",
]
