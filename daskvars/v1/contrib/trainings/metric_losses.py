"""Losses of embeddings by their distances, the names of ``tf.contrib.losses.metric_learning``."""

from __future__ import annotations

from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.ops.array.constant import ones_like, shape as shape_of, zeros_like
from daskvars.ops.array.reshaping import expand_dims, reshape
from daskvars.ops.control.dependencies import Print
from daskvars.ops.gather_scatter.gather import gather
from daskvars.ops.gather_scatter.searching import searchsorted
from daskvars.ops.gather_scatter.sorting import argsort
from daskvars.ops.linalg.matrix_parts import matrix_set_diag
from daskvars.ops.linalg.products import matmul
from daskvars.ops.math.arithmetic import maximum, minimum, square
from daskvars.ops.math.casting import cast
from daskvars.ops.math.comparison import equal, greater, less, logical_not, where_v2
from daskvars.ops.math.reduce import (
    reduce_logsumexp,
    reduce_max,
    reduce_mean,
    reduce_min,
    reduce_sum,
)
from daskvars.ops.math.transcendental import exp, log1p, sqrt
from daskvars.ops.nn.activation import relu
from daskvars.ops.nn.loss import softmax_cross_entropy_with_logits_v2


def _root(x: Tensor) -> Tensor:
    """Return the square root, whose gradient at 0 is 0 rather than infinite."""
    is_positive = greater(x, zeros_like(x))
    return where_v2(is_positive, sqrt(where_v2(is_positive, x, ones_like(x))), zeros_like(x))


def _squared_distances(embeddings: Tensor) -> Tensor:
    """Return the squares of the distances of all pairs of rows, [batch, batch]."""
    squares = reduce_sum(square(embeddings), 1)
    products = matmul(embeddings, embeddings, transpose_b=True)
    found = expand_dims(squares, 1) + expand_dims(squares, 0) - 2.0 * products
    return matrix_set_diag(maximum(found, zeros_like(found)), zeros_like(squares))


def _of_one_label(labels: TensorLike) -> Tensor:
    """Return of which pairs the labels are equal, [batch, batch] bool."""
    column = reshape(convert_to_tensor(labels), [-1, 1])
    return equal(column, reshape(column, [1, -1]))


def contrastive_loss(
    labels: TensorLike,
    embeddings_anchor: TensorLike,
    embeddings_positive: TensorLike,
    margin: float = 1.0,
) -> Tensor:
    """Return the contrastive loss: pairs are to be near, or at least `margin` apart.

    The mean of ``d**2`` where the label is 1, of ``max(margin - d, 0)**2`` where it is 0, with d
    the distance of a pair.

    Args:
      labels: [batch], 1 for a pair that belongs together, 0 for one that does not.
      embeddings_anchor: [batch, size] floating.
      embeddings_positive: the same, the other one of each pair.
      margin: a number.

    Returns:
      Scalar of the dtype of the embeddings.

    Source: Hadsell et al. 2006, "Dimensionality Reduction by Learning an Invariant Mapping";
    TensorFlow 1.15, ``tf.contrib.losses.metric_learning.contrastive_loss``.

    >>> a, b = dv.constant([[0.0, 0.0], [0.0, 0.0]]), dv.constant([[1.0, 0.0], [0.5, 0.0]])
    >>> float(contrastive_loss([1, 0], a, b))
    0.625
    """
    with name_scope(None, "contrastive_loss", [labels, embeddings_anchor, embeddings_positive]):
        anchor = convert_to_tensor(embeddings_anchor)
        squares = reduce_sum(square(anchor - embeddings_positive), 1)
        together = cast(labels, anchor.dtype.base_dtype)
        apart = square(relu(margin - _root(squares)))
        return reduce_mean(together * squares + (1.0 - together) * apart, name="contrastive_loss")


def triplet_semihard_loss(
    labels: TensorLike, embeddings: TensorLike, margin: float = 1.0
) -> Tensor:
    """Return the triplet loss with semi-hard negatives out of the batch.

    For each anchor a and other example p of its label, the negative n is the nearest one that is
    further from a than p; where there is none, the furthest. The loss is the mean of
    ``max(margin + d(a, p) - d(a, n), 0)``, with d the square of the distance.

    Args:
      labels: [batch] integer.
      embeddings: [batch, size] floating, normalized to length 1.
      margin: a number.

    Returns:
      Scalar of the dtype of `embeddings`; NaN where no two labels are equal.

    Source: Schroff et al. 2015, "FaceNet: A Unified Embedding for Face Recognition and
    Clustering"; TensorFlow 1.15, ``tf.contrib.losses.metric_learning.triplet_semihard_loss``.

    >>> points = dv.constant([[0.0], [1.0], [1.5]])
    >>> round(float(triplet_semihard_loss([0, 0, 1], points)), 4)
    0.875
    """
    with name_scope(None, "triplet_semihard_loss", [labels, embeddings]):
        embeddings = convert_to_tensor(embeddings)
        distances = _squared_distances(embeddings)
        alike = _of_one_label(labels)
        # By the ranks of negatives, row by row: in memory for pairs, not for triplets.
        beyond = reduce_max(distances) + 1.0
        negatives = where_v2(alike, beyond + zeros_like(distances), distances)
        order = argsort(negatives, axis=-1)
        ordered = gather(negatives, order, batch_dims=1)
        last = shape_of(distances)[1] - 1
        place = minimum(searchsorted(ordered, distances, side="right"), last)
        further = gather(ordered, place, batch_dims=1)
        lowest = reduce_min(distances, 1, keepdims=True)
        furthest = where_v2(alike, lowest + zeros_like(distances), distances)
        furthest = reduce_max(furthest, 1, keepdims=True) + zeros_like(distances)
        semihard = where_v2(less(further, beyond), further, furthest)
        pairs = cast(alike, distances.dtype.base_dtype)
        pairs = matrix_set_diag(pairs, zeros_like(pairs[0]))
        violations = relu(pairs * (margin + distances - semihard))
        return reduce_sum(violations) / reduce_sum(pairs)


def npairs_loss(
    labels: TensorLike,
    embeddings_anchor: TensorLike,
    embeddings_positive: TensorLike,
    reg_lambda: float = 0.002,
    print_losses: bool = False,
) -> Tensor:
    """Return the N-pairs loss: each anchor is to be most alike to the positives of its label.

    The cross entropy of the products of all anchors with all positives, plus ``0.25 * reg_lambda``
    times the mean squared length of anchors and of positives.

    Args:
      labels: [batch] integer.
      embeddings_anchor: [batch, size] floating, not normalized.
      embeddings_positive: the same.
      reg_lambda: a number.
      print_losses: print both parts whenever they are computed.

    Returns:
      Scalar of the dtype of the embeddings.

    Source: Sohn 2016, "Improved Deep Metric Learning with Multi-class N-pair Loss Objective";
    TensorFlow 1.15, ``tf.contrib.losses.metric_learning.npairs_loss``.

    >>> eye = dv.eye(2)
    >>> round(float(npairs_loss([0, 1], eye, eye)), 4)
    0.3143
    """
    with name_scope(None, "npairs_loss", [labels, embeddings_anchor, embeddings_positive]):
        anchor = convert_to_tensor(embeddings_anchor)
        positive = convert_to_tensor(embeddings_positive)
        lengths = [reduce_mean(reduce_sum(square(x), 1)) for x in (anchor, positive)]
        alike = cast(_of_one_label(labels), anchor.dtype.base_dtype)
        shares = alike / reduce_sum(alike, 1, keepdims=True)
        products = matmul(anchor, positive, transpose_b=True)
        each = softmax_cross_entropy_with_logits_v2(labels=shares, logits=products)
        entropy, penalty = reduce_mean(each), 0.25 * reg_lambda * (lengths[0] + lengths[1])
        if print_losses:
            entropy = Print(entropy, ["cross entropy:", entropy, "L2 loss:", penalty])
        return entropy + penalty


def lifted_struct_loss(labels: TensorLike, embeddings: TensorLike, margin: float = 1.0) -> Tensor:
    """Return the lifted structured loss, in which each pair of a label meets all negatives.

    Half the mean, over pairs i, j of one label, of ``max(J, 0)**2`` with
    ``J = log(sum(exp(margin - d(i, k))) + sum(exp(margin - d(j, l)))) + d(i, j)``, the sums over
    the examples of other labels and d the distance.

    Args:
      labels: [batch] integer.
      embeddings: [batch, size] floating, not normalized.
      margin: a number.

    Returns:
      Scalar of the dtype of `embeddings`; NaN where no two labels are equal.

    Source: Song et al. 2016, "Deep Metric Learning via Lifted Structured Feature Embedding";
    TensorFlow 1.15, ``tf.contrib.losses.metric_learning.lifted_struct_loss``.

    >>> points = dv.constant([[0.0], [1.0], [1.5]])
    >>> round(float(lifted_struct_loss([0, 0, 1], points)), 4)
    1.644
    """
    with name_scope(None, "lifted_struct_loss", [labels, embeddings]):
        embeddings = convert_to_tensor(embeddings)
        distances = _root(_squared_distances(embeddings))
        alike = _of_one_label(labels)
        lowest = distances.dtype.base_dtype.min / 2
        nearness = where_v2(logical_not(alike), margin - distances, zeros_like(distances) + lowest)
        of_one = reduce_logsumexp(nearness, 1)
        of_two = expand_dims(of_one, 1) + zeros_like(distances), expand_dims(of_one, 0)
        larger = maximum(*of_two)
        smaller = minimum(*of_two)
        joined = larger + log1p(exp(smaller - larger))
        pairs = cast(alike, distances.dtype.base_dtype)
        pairs = matrix_set_diag(pairs, zeros_like(pairs[0]))
        violations = square(relu((joined + distances) * pairs))
        return 0.5 * reduce_sum(violations) / reduce_sum(pairs)
