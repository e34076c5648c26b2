"""Candidate samplers, and losses on what they draw: training with very many classes.

A softmax over a hundred thousand words costs as many products; TensorFlow 1's word-vector programs
compare the true class with a few others instead. Vocabulary:

- the *candidates* are the classes drawn for a batch, together with how often each of them, and each
  true class, was to be expected among them; a loss subtracts the logarithms of these counts;
- a *sampler* (``candidates``) draws: evenly, by a Zipf-like law, or by given frequencies;
  ``learned_candidates`` draws by how often classes were true in earlier runs, which is a variable;
- an *accidental hit* is a true class among the candidates, which a loss may take out;
- ``sampled_loss``: noise-contrastive estimation and sampled softmax, over any embeddings.

The draw is one op that takes no part of the batch, so that all parts compare with the same
candidates; what is computed of the true classes stays where the batch lies. Kernels are in
`daskvars.kernels.nn.candidates`.
"""

from daskvars.v1.sampling.candidates import (
    all_candidate_sampler,
    compute_accidental_hits,
    fixed_unigram_candidate_sampler,
    log_uniform_candidate_sampler,
    uniform_candidate_sampler,
)
from daskvars.v1.sampling.learned_candidates import learned_unigram_candidate_sampler
from daskvars.v1.sampling.sampled_loss import nce_loss, sampled_softmax_loss

__all__ = [
    "all_candidate_sampler",
    "compute_accidental_hits",
    "fixed_unigram_candidate_sampler",
    "learned_unigram_candidate_sampler",
    "log_uniform_candidate_sampler",
    "nce_loss",
    "sampled_softmax_loss",
    "uniform_candidate_sampler",
]
