"""Gamma and Poisson numbers, and draws from a seed that is data.

Rejection needs a varying number of random numbers. Attempt k of every element draws from a stream
of its own, from which element n takes number n, so that a block is bitwise the slice of the whole
here too; whole blocks are drawn again until each element has been accepted once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Required, TypedDict, Unpack

import numpy as np

from daskvars.backend import Array, ArrayModule
from daskvars.dtypes import DTypeLike, as_dtype
from daskvars.kernels.math.special import horner
from daskvars.kernels.random.distributions import (
    multinomial,
    random_normal,
    random_uniform,
    truncated_normal,
)
from daskvars.kernels.random.philox import WORD_MASK, Key
from daskvars.surface.signatures import named

STREAMS = 0x9E3779B97F4A7C15  # odd: its multiples name as many streams as there are attempts
# Bernoulli numbers over 2n (2n - 1), for the asymptotic series of log gamma, and the arguments from
# which on it is used.
STIRLING = (1 / 156, -691 / 360360, 1 / 1188, -1 / 1680, 1 / 1260, -1 / 360, 1 / 12)
ASYMPTOTIC = 10.0
INVERSION = 10.0  # Poisson rates from which on rejection is quicker than adding up probabilities


class OfEach(TypedDict, total=False):
    """Numbers of each of some distributions, of which a block is drawn.

    Attributes:
        shape: how many numbers of each, as leading dimensions.
        offset: where the block starts in the result; None for its origin.
        full_shape: extents of the result; None where the block is the whole of it.
    """

    shape: Required[tuple]
    offset: tuple | None
    full_shape: tuple | None


def random_gamma(
    xp: ArrayModule, key: Key, alpha: Array, *, dtype: DTypeLike, **block: Unpack[OfEach]
) -> Array:
    """Return numbers of the gamma distributions of shape ``alpha`` and rate 1.

    Args:
        key: two 64-bit ints naming the stream.
        alpha: [...] float, positive; NaN comes of others.
        dtype: a float dtype.
        block: how many numbers of each.

    Returns:
        [*shape, *alpha.shape] ``dtype``.

    Source: Marsaglia and Tsang, "A Simple Method for Generating Gamma Variables", 2000.
    """
    draws = _Draws(xp, key, alpha.shape, **block)
    alpha = xp.broadcast_to(alpha.astype(np.float64), draws.shape)
    defined = alpha > 0
    small = alpha < 1
    # Below 1 a number of shape alpha + 1 is made smaller by a power of a uniform one.
    d = xp.where(defined, alpha + small, 1.0) - 1 / 3
    c = 1 / xp.sqrt(9 * d)

    def attempt() -> tuple[Any, Any]:
        normal, uniform = draws.normal(), draws.uniform()
        cube = (1 + c * normal) ** 3
        positive = cube > 0
        bound = 0.5 * normal * normal + d - d * cube + d * xp.log(xp.where(positive, cube, 1.0))
        return d * cube, positive & (xp.log(uniform) < bound)

    boost = draws.uniform()
    found = _accepted(xp, attempt, draws.shape)
    power = xp.exp(xp.log(boost) / xp.where(defined & small, alpha, 1.0))
    return xp.where(defined, xp.where(small, found * power, found), np.nan).astype(
        as_dtype(dtype).np
    )


def random_poisson(
    xp: ArrayModule, key: Key, rate: Any, *, dtype: DTypeLike, **block: Unpack[OfEach]
) -> Array:
    """Return numbers of the Poisson distributions of ``rate``. See ``random_gamma``.

    Source: Hörmann, "The Transformed Rejection Method for Generating Poisson Random Variables",
    1993 (PTRS), from a rate of 10 on; below, the inverse of the distribution.
    """
    draws = _Draws(xp, key, rate.shape, **block)
    rate = xp.broadcast_to(rate.astype(np.float64), draws.shape)
    defined = (rate >= 0) & xp.isfinite(rate)
    low = defined & (rate < INVERSION)
    out = xp.where(low, _by_inversion(xp, xp.where(low, rate, 0.0), draws.uniform()), 0.0)
    if bool((defined & ~low).any()):
        high = xp.where(low | ~defined, INVERSION, rate)
        out = xp.where(low, out, _by_rejection(xp, high, draws))
    kind = as_dtype(dtype)
    return xp.where(defined, out, np.nan if kind.is_floating else -1).astype(kind.np)


def _by_inversion(xp: ArrayModule, rate: Any, uniform: Array) -> Array:
    """Count the probabilities that add up to less than a uniform number."""
    probability = xp.exp(-rate)
    total, count = probability, xp.zeros_like(rate)
    for k in range(1, 100):  # of a rate below 10 a number over 99 has probability 1e-60
        above = uniform > total
        if not bool(above.any()):
            break
        count += above
        probability = probability * rate / k
        total = total + probability
    return count


def _by_rejection(xp: ArrayModule, rate: Any, draws: _Draws) -> Array:
    b = 0.931 + 2.53 * xp.sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    quick = 0.9277 - 3.6224 / (b - 2)

    def attempt() -> tuple[Any, Any]:
        u, v = draws.uniform() - 0.5, draws.uniform()
        us = 0.5 - xp.abs(u)
        k = xp.floor((2 * a / us + b) * u + rate + 0.43)
        refused = (k < 0) | ((us < 0.013) & (v > us))
        left = xp.log(v * inverse_alpha / (a / (us * us) + b))
        right = k * xp.log(rate) - rate - _log_gamma(xp, xp.maximum(k, 0.0) + 1)
        return k, ((us >= 0.07) & (v <= quick)) | (~refused & (left <= right))

    return _accepted(xp, attempt, draws.shape)


def _log_gamma(xp: ArrayModule, x: Array) -> Array:
    """Return log gamma of numbers from 1 on.

    By one formula for every library and each release of it: which attempt is accepted, and so all
    bits of a draw, depends on the last bit of this.
    """
    product = xp.ones_like(x)
    for _ in range(int(ASYMPTOTIC)):
        low = x < ASYMPTOTIC
        product = xp.where(low, product * x, product)
        x = xp.where(low, x + 1.0, x)
    inverse = 1.0 / x
    series = horner(xp, STIRLING, inverse * inverse) * inverse
    main = (x - 0.5) * xp.log(x) - x + 0.5 * np.log(2 * np.pi)
    return main + series - xp.log(product)


def _accepted(xp: ArrayModule, attempt: Callable[[], tuple[Any, Any]], shape: tuple) -> Array:
    """Return for each element what its first accepted attempt gave."""
    result, pending = xp.zeros(shape), xp.ones(shape, bool)
    while bool(pending.any()):
        proposal, accepted = attempt()
        result = xp.where(pending & accepted, proposal, result)
        pending &= ~accepted
    return result


class _Draws:
    """Standard numbers for one block, each call from the next stream of the key."""

    def __init__(
        self, xp: ArrayModule, key: Key, each: tuple[int, ...], **block: Unpack[OfEach]
    ) -> None:
        self.xp = xp
        self.shape = (*block["shape"], *each)
        self._place: Any = {**block, "shape": self.shape}
        self._keys = _streams(key)

    def normal(self) -> Array:
        """Normal numbers, float64."""
        return random_normal(self.xp, next(self._keys), dtype="float64", **self._place)

    def uniform(self) -> Array:
        """Numbers uniform in (0, 1), float64."""
        drawn = random_uniform(self.xp, next(self._keys), dtype="float64", **self._place)
        return drawn + 2.0**-54


def _streams(key: Key) -> Iterator[Key]:
    number = key[0]
    while True:
        yield number, key[1]
        number = (number + STREAMS) & WORD_MASK


# -- a seed that is data -----------------------------------------------------------------------


def _of_seed(draw: Callable[..., Array]) -> Callable[..., Array]:
    """Return a kernel whose key is an attribute."""

    def drawn(xp: ArrayModule, *arrays: Array, seed: Key, **options: Any) -> Array:
        return draw(xp, seed, *arrays, **options)

    name = draw.__name__
    return named(drawn, f"stateless_{name.removeprefix('random_')}", f"Return `{name}` of a key.")


stateless_uniform = _of_seed(random_uniform)
stateless_normal = _of_seed(random_normal)
stateless_truncated_normal = _of_seed(truncated_normal)
stateless_multinomial = _of_seed(multinomial)
