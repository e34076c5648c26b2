"""One entry of the samples table: how to call an op, and what may be checked of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import daskvars as dv
from daskvars.backpropagation import backpropagated


@dataclass(frozen=True, eq=False)
class Sample:
    """A call of one op.

    Attributes:
      type: the registered op type that the sample covers.
      call: ``call(*tensors)`` -> tensor, or list of tensors.
      inputs: the arrays given to it, fed through placeholders; small (under 100 elements).
      differentiable: positions of the inputs whose gradient is compared with central differences
        (float64 inputs away from kinks).
      chunked: positions of the inputs that the chunked test cuts along axis 0 (into 2 blocks);
        None: all of rank 1 or more.
      rtol: relative tolerance of chunked = whole and eager = graph.
      random: the values are random: only shapes, dtypes and repeatability are compared.
      any_sign: the results are vectors whose signs each library chooses for itself.
      complex: whether the call may be tried on complex numbers too.
      id: a suffix for the test's name where an op has several samples.
    """

    type: str
    call: Callable[..., Any]
    inputs: tuple[Any, ...] = ()
    differentiable: tuple[int, ...] = ()
    chunked: tuple[int, ...] | None = None
    rtol: float = 1e-6
    random: bool = False
    any_sign: bool = False
    complex: bool = True
    id: str = field(default="")

    @property
    def name(self) -> str:
        """The name of the sample in a test report."""
        return f"{self.type}-{self.id}" if self.id else self.type


def gradient(y, x):
    """Return the gradient of the sum of `y` by `x`, also of complex numbers."""
    (dx,) = backpropagated(y, x, dv.ones_like(y))
    return dx


def normal(rng, *shape):
    """Return normal numbers of a shape."""
    return rng.normal(size=shape)


def uniform(rng, *shape, low=-2.0, high=2.0):
    """Return uniform numbers of a shape."""
    return rng.uniform(low, high, shape)


def ints(*values):
    """Return a vector of int32."""
    return np.array(values, np.int32)
