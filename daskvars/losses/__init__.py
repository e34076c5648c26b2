"""Losses to train with: each is reduced to a scalar, weighted, and added to a collection.

Every loss takes ``weights``: a number for all elements, or a tensor that has a weight for each
element or for each slice of size one. By default the sum of the weighted losses is divided by the
number of elements whose weight is not zero. In eager code nothing is collected.
"""

# fmt: off
from daskvars.losses.classification import (
    hinge_loss, log_loss, sigmoid_cross_entropy, softmax_cross_entropy,
    sparse_softmax_cross_entropy,
)
from daskvars.losses.differences import (
    absolute_difference, cosine_distance, huber_loss, mean_pairwise_squared_error,
    mean_squared_error,
)
from daskvars.losses.reduction import (
    Reduction, add_loss, compute_weighted_loss, get_losses, get_regularization_loss,
    get_regularization_losses, get_total_loss,
)

__all__ = [
    "Reduction", "absolute_difference", "add_loss", "compute_weighted_loss", "cosine_distance",
    "get_losses", "get_regularization_loss", "get_regularization_losses", "get_total_loss",
    "hinge_loss", "huber_loss", "log_loss", "mean_pairwise_squared_error", "mean_squared_error",
    "sigmoid_cross_entropy", "softmax_cross_entropy", "sparse_softmax_cross_entropy",
]
