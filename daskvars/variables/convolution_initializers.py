"""Initializers of convolutions' kernels that keep the length of what they are applied to.

A kernel is orthogonal where the convolution is: of padded images the output has the norm of the
input, times the gain, if the padding goes around (the last pixel is followed by the first). Then
deep networks can be trained from the first step without normalization.

Such a kernel of more than one pixel is a product, by convolution, of kernels of two pixels
``[p, 1 - p]``, where ``p`` projects on a random subspace of the channels: what lies in it stays
in place, and what does not moves on by a pixel.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from daskvars.graph.tensor import Tensor
from daskvars.ops.array.padding import pad
from daskvars.ops.array.reshaping import reshape
from daskvars.ops.linalg.products import matmul, tensordot
from daskvars.ops.math.arithmetic import add, multiply, subtract
from daskvars.ops.math.casting import cast
from daskvars.ops.math.comparison import greater
from daskvars.ops.random import distributions as random
from daskvars.variables.initializers import ARGUMENTS, Orthogonal, random_orthonormal
from daskvars.variables.partitions.slices import PartitionInfo

_KERNEL = """
It does so exactly where the padding of what is convolved goes around; at other borders some of
it is lost.

Args:
  gain, seed, dtype: see `orthogonal_initializer`.

Raises:
  ValueError: (when called) the shape is another, or there are more inputs than outputs; at
    once, the dtype is not floating.

Source: Xiao et al., "Dynamical isometry and a mean field theory of CNNs", 2018.

>>> make = dv.initializers.convolutional_orthogonal_{num_dims}d(seed=1)
>>> kernel = make([{pixels}, 3, 4]).numpy()
>>> kernel.shape, round(float((kernel**2).sum()), 4)  # as of a matrix of three unit rows
(({pixels}, 3, 4), 3.0)
"""


@ARGUMENTS.documents()
class ConvolutionDeltaOrthogonal(Orthogonal):
    """A kernel that is an orthogonal matrix in its middle, times `gain`, and zero elsewhere.

    Raises:
      ValueError: (when called) the shape is not ``[...pixels, in, out]`` of one to three dimensions
        of pixels, or there are more inputs than outputs; at once, the dtype is not floating.

    Source: Xiao et al., "Dynamical isometry and a mean field theory of CNNs", 2018.

    >>> kernel = ConvolutionDeltaOrthogonal(seed=1)([3, 3, 2, 2]).numpy()
    >>> abs(kernel[1, 1] @ kernel[1, 1].T).round(4).tolist(), int((kernel != 0).sum())
    ([[1.0, 0.0], [0.0, 1.0]], 4)
    """

    def _value(self, shape: Sequence[int], dtype: Any, part: PartitionInfo | None) -> Tensor:
        _check(shape, (1, 2, 3))
        *pixels, num_in, num_out = shape
        middle = random_orthonormal(num_in, num_out, dtype, self.seed)
        before = [(size - 1) // 2 for size in pixels]
        around = [(b, size - 1 - b) for b, size in zip(before, pixels, strict=True)]
        middle = reshape(multiply(middle, self.gain), [1] * len(pixels) + [num_in, num_out])
        return pad(middle, [*around, (0, 0), (0, 0)])


@ARGUMENTS.documents()
class ConvolutionOrthogonal(Orthogonal):
    """What the kernels for one to three dimensions share.

    Raises:
      ValueError: (when called) the shape is not ``[...pixels, in, out]`` with as many dimensions of
        pixels, of equal sizes, or there are more inputs than outputs; at once, the dtype is not
        floating.

    Source: Xiao et al., "Dynamical isometry and a mean field theory of CNNs", 2018.

    >>> [kind.num_dims for kind in (ConvolutionOrthogonal1D, ConvolutionOrthogonal2D)]
    [1, 2]
    """

    num_dims: int  # dimensions of pixels

    def _value(self, shape: Sequence[int], dtype: Any, part: PartitionInfo | None) -> Tensor:
        _check(shape, (self.num_dims,))
        *pixels, num_in, num_out = shape
        if len(set(pixels)) > 1:
            raise ValueError(f"Kernel sizes must be equal, got {pixels} of shape {list(shape)}")
        seeds = _seeds(self.seed)
        kernel = random_orthonormal(num_in, num_out, dtype, next(seeds))
        kernel = reshape(kernel, [1] * self.num_dims + [num_in, num_out])
        for _ in range(pixels[0] - 1):
            for axis in range(self.num_dims):
                projection = _random_projection(num_out, dtype, seeds)
                kernel = _spread(kernel, projection, axis)
        return multiply(kernel, self.gain)


Kind = TypeVar("Kind", bound=type[ConvolutionOrthogonal])


def _described(kind: Kind) -> Kind:
    """Complete the docstring of a kernel for some dimensions by what is said of all of them."""
    pixels = ", ".join(["2"] * kind.num_dims)
    kind.__doc__ = f"{kind.__doc__}\n{_KERNEL.format(num_dims=kind.num_dims, pixels=pixels)}"
    return kind


@_described
class ConvolutionOrthogonal1D(ConvolutionOrthogonal):
    """A kernel for sequences, ``[width, in, out]``, that keeps norms, times `gain`."""

    num_dims = 1


@_described
class ConvolutionOrthogonal2D(ConvolutionOrthogonal):
    """A kernel for images, ``[size, size, in, out]``, that keeps norms, times `gain`."""

    num_dims = 2


@_described
class ConvolutionOrthogonal3D(ConvolutionOrthogonal):
    """A kernel for volumes, ``[size, size, size, in, out]``, that keeps norms, times `gain`."""

    num_dims = 3


def _check(shape: Sequence[int], num_dims: Sequence[int]) -> None:
    """Raise where the shape is not that of a kernel with one of the numbers of dimensions."""
    wanted = " or ".join(f"{n + 2}" for n in num_dims)
    if len(shape) - 2 not in num_dims:
        raise ValueError(
            f"The tensor to initialize must have {wanted} dimensions, [...pixels, in, out], "
            f"got shape {list(shape)}"
        )
    if shape[-2] > shape[-1]:
        raise ValueError(
            f"In_filters cannot be greater than out_filters, got {shape[-2]} and {shape[-1]} of "
            f"shape {list(shape)}"
        )


def _seeds(seed: int | None) -> Iterator[int | None]:
    """Return a seed for each draw."""
    return itertools.repeat(None) if seed is None else itertools.count(seed)


def _random_projection(size: int, dtype: Any, seeds: Iterator[int | None]) -> Tensor:
    """Return the matrix that projects on a random subspace of random dimension."""
    basis = random_orthonormal(size, size, dtype, next(seeds))
    chosen = greater(random.random_normal([size], seed=next(seeds)), 0.0)
    basis = multiply(basis, cast(chosen, dtype))
    return matmul(basis, basis, transpose_b=True)


def _spread(kernel: Tensor, projection: Tensor, axis: int) -> Tensor:
    """Return a kernel convolved with ``[p, 1 - p]`` along one of its dimensions of pixels."""
    stays = tensordot(kernel, projection, 1)
    moves = subtract(kernel, stays)
    none: list[tuple[int, int]] = [(0, 0)] * len(kernel.shape.as_list())
    after, before = [*none], [*none]
    after[axis], before[axis] = (0, 1), (1, 0)
    return add(pad(stays, after), pad(moves, before))
