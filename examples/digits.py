"""Scikit-learn's handwritten digits, 1,797 real 8x8 images, split the same way everywhere."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_digits


def load() -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """Return ((images, labels), (images, labels)) for training and testing.

    Images are [n, 8, 8, 1] float32 in [0, 1], labels [n] int32; 360 images are held out.
    """
    data = load_digits()
    images = (data.images / 16.0).astype(np.float32)[..., np.newaxis]
    labels = data.target.astype(np.int32)
    order = np.random.default_rng(0).permutation(len(labels))
    test, train = order[:360], order[360:]
    return (images[train], labels[train]), (images[test], labels[test])


def batches(images: np.ndarray, labels: np.ndarray, size: int, epoch: int):
    """Yield the shuffled batches of one epoch; the last, smaller one is left out."""
    order = np.random.default_rng(1000 + epoch).permutation(len(labels))
    for start in range(0, len(order) - size + 1, size):
        rows = order[start : start + size]
        yield images[rows], labels[rows]
