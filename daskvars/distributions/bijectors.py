"""Functions that have an inverse, and how much they stretch: what distributions are moved by.

A *bijector* maps draws to draws. It acts on each number, or on vectors (``min_event_ndims`` says on
how many dimensions), and knows the logarithm of how much it stretches a small volume: of the
determinant of its Jacobian. Names and arguments are those of
``tf.contrib.distributions.bijectors``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from daskvars.distributions.scalar_distributions import log_odds
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.ops.array.constant import ones_like, zeros_like
from daskvars.ops.array.reshaping import expand_dims, squeeze
from daskvars.ops.linalg.decompositions import matrix_triangular_solve
from daskvars.ops.linalg.matrix_parts import matrix_band_part, matrix_diag_part
from daskvars.ops.linalg.products import matmul
from daskvars.ops.math.arithmetic import abs as absolute
from daskvars.ops.math.reduce import reduce_sum
from daskvars.ops.math.transcendental import exp, expm1, log, log1p, sigmoid, softplus, tanh

__all__ = [
    "Affine",
    "AffineScalar",
    "Bijector",
    "Chain",
    "Exp",
    "Identity",
    "Invert",
    "Sigmoid",
    "Softplus",
    "Tanh",
]


class Bijector:
    """A function with an inverse; a subclass has the formulas.

    Args:
      validate_args: kept, for those who ask; formulas hold for the arguments that they are of.
      name: name scope of the operations, by default that of the class.

    Attributes:
      min_event_ndims: of how many dimensions what it acts on has at least.
      is_constant_jacobian: whether it stretches alike everywhere.
      is_increasing: whether it is one number's and increasing, so that a cdf moves along.

    >>> b = dv.distributions.bijectors
    >>> chain = b.Chain([b.Exp(), b.AffineScalar(1.0, 2.0)])
    >>> round(float(chain.inverse(chain.forward(0.5))), 4)
    0.5
    >>> round(float(chain.forward_log_det_jacobian(0.5, event_ndims=0)), 4)
    2.6931
    """

    min_event_ndims = 0
    is_constant_jacobian = False
    is_increasing = False

    def __init__(self, validate_args: bool = False, name: str | None = None) -> None:
        self.validate_args, self.name = validate_args, name or type(self).__name__.lower()

    def forward(self, x: TensorLike, name: str = "forward") -> Tensor:
        """Return the function of x."""
        with name_scope(f"{self.name}/{name}", values=[x]):
            return self._forward(convert_to_tensor(x))

    def inverse(self, y: TensorLike, name: str = "inverse") -> Tensor:
        """Return what the function is y of."""
        with name_scope(f"{self.name}/{name}", values=[y]):
            return self._inverse(convert_to_tensor(y))

    def forward_log_det_jacobian(
        self, x: TensorLike, event_ndims: int = 0, name: str = "forward_log_det_jacobian"
    ) -> Tensor:
        """Return the logarithm of how much the function stretches at x.

        Args:
          x: [..., *event].
          event_ndims: how many of the last dimensions are one draw's: their parts are added up.
          name: name scope.

        Raises:
          ValueError: the function is of draws of more dimensions.
        """
        with name_scope(f"{self.name}/{name}", values=[x]):
            return self._summed(self._stretch(convert_to_tensor(x)), event_ndims)

    def inverse_log_det_jacobian(
        self, y: TensorLike, event_ndims: int = 0, name: str = "inverse_log_det_jacobian"
    ) -> Tensor:
        """Return the logarithm of how much the inverse stretches at y.

        See `forward_log_det_jacobian`.
        """
        with name_scope(f"{self.name}/{name}", values=[y]):
            return self._summed(-self._stretch(self._inverse(convert_to_tensor(y))), event_ndims)

    def _summed(self, stretch: Tensor, event_ndims: int) -> Tensor:
        more = event_ndims - self.min_event_ndims
        if more < 0:
            raise ValueError(
                f"event_ndims ({event_ndims}) must be at least {self.min_event_ndims}: "
                f"{self.name} is of draws of so many dimensions"
            )
        return reduce_sum(stretch, list(range(-more, 0))) if more else stretch

    def _forward(self, x: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} has no _forward")

    def _inverse(self, y: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} has no _inverse")

    def _stretch(self, x: Tensor) -> Tensor:
        """Return log |det J| at x, of the shape of x without `min_event_ndims` dimensions."""
        raise NotImplementedError(f"{type(self).__name__} has no _stretch")


class Identity(Bijector):
    """What changes nothing."""

    is_constant_jacobian = is_increasing = True

    def _forward(self, x: Tensor) -> Tensor:
        return x

    def _inverse(self, y: Tensor) -> Tensor:
        return y

    def _stretch(self, x: Tensor) -> Tensor:
        return zeros_like(x)


class Exp(Bijector):
    """``exp(x)``: moves a normal distribution to a log-normal one."""

    is_increasing = True

    def _forward(self, x: Tensor) -> Tensor:
        return exp(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return log(y)

    def _stretch(self, x: Tensor) -> Tensor:
        return x


class Sigmoid(Bijector):
    """``1 / (1 + exp(-x))``: to the numbers between 0 and 1."""

    is_increasing = True

    def _forward(self, x: Tensor) -> Tensor:
        return sigmoid(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return log_odds(y)

    def _stretch(self, x: Tensor) -> Tensor:
        return -softplus(-x) - softplus(x)


class Softplus(Bijector):
    """``log(1 + exp(x))``: to the positive numbers."""

    is_increasing = True

    def _forward(self, x: Tensor) -> Tensor:
        return softplus(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return y + log(-expm1(-y))

    def _stretch(self, x: Tensor) -> Tensor:
        return -softplus(-x)


class Tanh(Bijector):
    """``tanh(x)``: to the numbers between -1 and 1."""

    is_increasing = True

    def _forward(self, x: Tensor) -> Tensor:
        return tanh(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return 0.5 * (log1p(y) - log1p(-y))

    def _stretch(self, x: Tensor) -> Tensor:
        return 2.0 * (math.log(2) - x - softplus(-2.0 * x))


class AffineScalar(Bijector):
    """``scale * x + shift``, for each number.

    Args:
      shift: [...] floating, by default 0.
      scale: [...] floating, not zero, by default 1.
      validate_args, name: see `Bijector`.
    """

    is_constant_jacobian = True

    def __init__(
        self,
        shift: TensorLike | None = None,
        scale: TensorLike | None = None,
        validate_args: bool = False,
        name: str = "affine_scalar",
    ) -> None:
        super().__init__(validate_args, name)
        self.shift = None if shift is None else convert_to_tensor(shift)
        self.scale = None if scale is None else convert_to_tensor(scale)

    def _forward(self, x: Tensor) -> Tensor:
        x = x if self.scale is None else self.scale * x
        return x if self.shift is None else x + self.shift

    def _inverse(self, y: Tensor) -> Tensor:
        y = y if self.shift is None else y - self.shift
        return y if self.scale is None else y / self.scale

    def _stretch(self, x: Tensor) -> Tensor:
        none = zeros_like(x)
        return none if self.scale is None else log(absolute(self.scale)) + none


class Affine(Bijector):
    """``scale @ x + shift``, for vectors.

    The scale is the sum of what is given of it: a multiple of the identity, a diagonal, a lower
    triangle.

    Args:
      shift: [..., size] floating, by default 0.
      scale_identity_multiplier: [...] floating.
      scale_diag: [..., size] floating.
      scale_tril: [..., size, size] floating; what is above the diagonal is not looked at.
      validate_args, name: see `Bijector`.

    >>> affine = dv.distributions.bijectors.Affine([1.0, 1.0], scale_tril=[[2.0, 0.0], [1.0, 3.0]])
    >>> affine.forward([1.0, 1.0]).numpy().tolist(), affine.inverse([3.0, 5.0]).numpy().tolist()
    ([3.0, 5.0], [1.0, 1.0])
    """

    min_event_ndims = 1
    is_constant_jacobian = True

    def __init__(
        self,
        shift: TensorLike | None = None,
        scale_identity_multiplier: TensorLike | None = None,
        scale_diag: TensorLike | None = None,
        scale_tril: TensorLike | None = None,
        validate_args: bool = False,
        name: str = "affine",
    ) -> None:
        super().__init__(validate_args, name)
        self.shift = None if shift is None else convert_to_tensor(shift)
        multiple, diagonal = scale_identity_multiplier, scale_diag
        parts: list[Tensor] = []
        if multiple is not None:
            parts.append(expand_dims(convert_to_tensor(multiple), -1))
        if diagonal is not None:
            parts.append(convert_to_tensor(diagonal))
        self._diagonal = sum(parts[1:], parts[0]) if parts else None
        self._triangle = None if scale_tril is None else matrix_band_part(scale_tril, -1, 0)

    def _forward(self, x: Tensor) -> Tensor:
        found = x if self._diagonal is None and self._triangle is None else zeros_like(x)
        if self._diagonal is not None:
            found = self._diagonal * x
        if self._triangle is not None:
            found = found + squeeze(matmul(*_alike(self._triangle, expand_dims(x, -1))), -1)
        return found if self.shift is None else found + self.shift

    def _whole(self) -> Tensor:
        """Return the scale as one triangle."""
        assert self._triangle is not None
        if self._diagonal is None:
            return self._triangle
        eye = matrix_band_part(ones_like(self._triangle), 0, 0)
        return self._triangle + expand_dims(self._diagonal, -1) * eye

    def _inverse(self, y: Tensor) -> Tensor:
        y = y if self.shift is None else y - self.shift
        if self._triangle is not None:
            solved = matrix_triangular_solve(*_alike(self._whole(), expand_dims(y, -1)))
            return squeeze(solved, -1)
        return y if self._diagonal is None else y / self._diagonal

    def _stretch(self, x: Tensor) -> Tensor:
        diagonal = self._diagonal if self._triangle is None else matrix_diag_part(self._whole())
        none = zeros_like(x)
        return reduce_sum(none if diagonal is None else log(absolute(diagonal)) + none, -1)


def _alike(matrix: Tensor, columns: Tensor) -> tuple[Tensor, Tensor]:
    """Return matrices and columns with the batch of both."""
    return matrix + zeros_like(columns[..., :1]), columns + zeros_like(matrix[..., :1])


class Chain(Bijector):
    """Bijectors one after another, the last of them first: ``Chain([f, g])`` is ``f(g(x))``.

    Args:
      bijectors: at least one.
      validate_args, name: see `Bijector`.
    """

    def __init__(
        self,
        bijectors: Sequence[Bijector] = (),
        validate_args: bool = False,
        name: str | None = None,
    ) -> None:
        own = "chain_of_" + "_of_".join(b.name for b in bijectors) if bijectors else "identity"
        super().__init__(validate_args, name or own)
        self.bijectors = list(bijectors)
        self.min_event_ndims = max([b.min_event_ndims for b in bijectors], default=0)
        self.is_constant_jacobian = all(b.is_constant_jacobian for b in bijectors)
        self.is_increasing = all(b.is_increasing for b in bijectors)

    def _forward(self, x: Tensor) -> Tensor:
        for bijector in reversed(self.bijectors):
            x = bijector._forward(x)
        return x

    def _inverse(self, y: Tensor) -> Tensor:
        for bijector in self.bijectors:
            y = bijector._inverse(y)
        return y

    def _stretch(self, x: Tensor) -> Tensor:
        rank = self.min_event_ndims
        total = reduce_sum(zeros_like(x), list(range(-rank, 0))) if rank else zeros_like(x)
        for bijector in reversed(self.bijectors):
            total = total + bijector._summed(bijector._stretch(x), rank)
            x = bijector._forward(x)
        return total


class Invert(Bijector):
    """The inverse of a bijector.

    Args:
      bijector: the other one.
      validate_args, name: see `Bijector`.
    """

    def __init__(
        self, bijector: Bijector, validate_args: bool = False, name: str | None = None
    ) -> None:
        super().__init__(validate_args, name or f"invert_{bijector.name}")
        self.bijector = bijector
        self.min_event_ndims = bijector.min_event_ndims
        self.is_constant_jacobian = bijector.is_constant_jacobian
        self.is_increasing = bijector.is_increasing

    def _forward(self, x: Tensor) -> Tensor:
        return self.bijector._inverse(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.bijector._forward(y)

    def _stretch(self, x: Tensor) -> Tensor:
        return -self.bijector._stretch(self.bijector._inverse(x))


def of(value: Any) -> Bijector:
    """Return a bijector, the identity for None. Raises TypeError for anything else."""
    if value is None:
        return Identity()
    if not isinstance(value, Bijector):
        raise TypeError(f"bijector= takes a bijector, found {value!r}")
    return value
