"""Checks shared by the kernel tests: read-only inputs and numerical gradients."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def frozen(array) -> np.ndarray:
    """Return a copy that raises when something writes into it."""
    array = np.array(array)
    array.flags.writeable = False
    return array


def normal(*shape: int, seed: int = 0, dtype: str = "float64") -> np.ndarray:
    """Return read-only normal numbers."""
    return frozen(np.random.default_rng(seed).standard_normal(shape).astype(dtype))


def central_gradient(function: Callable, x: np.ndarray, dy: np.ndarray) -> np.ndarray:
    """Return the gradient of sum(function(x) * dy) by central differences in float64."""
    gradient = np.empty(x.shape)
    step = 1e-6
    for index in np.ndindex(*x.shape):
        up, down = x.copy(), x.copy()
        up[index] += step
        down[index] -= step
        gradient[index] = ((function(up) - function(down)) * dy).sum() / (2 * step)
    return gradient


def assert_gradient(function: Callable, x: np.ndarray, dy: np.ndarray, gradient) -> None:
    """Assert that ``gradient`` is that of sum(function(x) * dy)."""
    np.testing.assert_allclose(gradient, central_gradient(function, x, dy), rtol=1e-5, atol=1e-7)
