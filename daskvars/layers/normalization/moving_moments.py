"""The moving averages of batch normalization, and what batch renormalization does with them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.interpreter import builder_for
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.layers.training_phase import chosen, known_phase
from daskvars.ops.array.constant import ones_like, zeros_like
from daskvars.ops.array.reshaping import stop_gradient
from daskvars.ops.control.dependencies import control_dependencies
from daskvars.ops.math.arithmetic import maximum, minimum, multiply, square, subtract
from daskvars.ops.math.casting import cast
from daskvars.ops.math.division import divide
from daskvars.ops.math.transcendental import sqrt
from daskvars.ops.state.assign import assign, assign_sub
from daskvars.variables.colocation import colocate_with

_LIMITS = ("rmax", "rmin", "dmax")


def moved(average: Any, value: Tensor, momentum: Any, training: TensorLike) -> Tensor:
    """Move an average towards a value, in training; return it afterwards."""
    named = builder_for((value,)).name_scope("AssignMovingAvg")
    with named as scope, colocate_with(average):
        rate = convert_to_tensor(1.0 - momentum, average.dtype.base_dtype, name="decay")
        value = cast(value, average.dtype.base_dtype)
        delta = multiply(subtract(average.value(), value), rate)
        if not known_phase(training):
            delta = chosen(training, delta, zeros_like(delta))
        return assign_sub(average.handle, delta, name=scope)


class Renormalization:
    """Brings what a batch is normalized by towards the moving averages.

    A batch normalized by its own moments is scaled by `r` and shifted by `d` as if it had been
    normalized by the moving ones, within limits; no gradient flows through the two.

    Args:
      clipping: a dict of the limits "rmax", "rmin" and "dmax", as far as there are any; or None.
      momentum: how much of the moving averages for training stays in one update.

    Attributes:
      stddev: moving standard deviation for inference.
      training_mean, training_stddev: moving averages for training.

    Raises:
      ValueError: there is another key.

    Source: Ioffe, "Batch Renormalization", 2017.
    """

    def __init__(self, clipping: Mapping[str, Any] | None, momentum: float) -> None:
        self.limits = dict(clipping or {})
        if set(self.limits) - set(_LIMITS):
            raise ValueError(f"renorm_clipping {clipping} contains keys not in {_LIMITS}")
        self.momentum = momentum
        self.stddev: Any = None
        self.training_mean: Any = None
        self.training_stddev: Any = None

    def build(self, add: Callable[[str, Any], Any], mean: Any, variance: Any) -> None:
        """Make the variables: `add` makes one of a name and an initializer."""

        def stddev(*args: Any, **kwargs: Any) -> Tensor:
            return sqrt(variance(*args, **kwargs))

        self.stddev = add("moving_stddev", stddev)
        self.training_mean = add("renorm_mean", mean)
        self.training_stddev = add("renorm_stddev", stddev)

    def corrections(
        self, mean: Tensor, stddev: Tensor, epsilon: float, training: TensorLike
    ) -> tuple[Tensor, Tensor]:
        """Return the factor r and the shift d of a batch; 1 and 0 outside of training."""
        known = maximum(self.training_stddev.value(), epsilon**0.5)
        r = divide(stddev, known)
        d = divide(subtract(mean, self.training_mean.value()), known)
        if "rmin" in self.limits:
            r = maximum(r, self.limits["rmin"])
        if "rmax" in self.limits:
            r = minimum(r, self.limits["rmax"])
        if "dmax" in self.limits:
            d = minimum(maximum(d, -self.limits["dmax"]), self.limits["dmax"])
        if not known_phase(training):
            r, d = chosen(training, r, ones_like(r)), chosen(training, d, zeros_like(d))
        return stop_gradient(r, name="renorm_r"), stop_gradient(d, name="renorm_d")

    def updates(
        self, averages: tuple[Any, Any], mean: Tensor, stddev: Tensor, options: Mapping[str, Any]
    ) -> list[Tensor]:
        """Move all averages; return the updates of the two for inference, mean and variance.

        Args:
          averages: the moving mean and variance.
          mean: that of the batch.
          stddev: that of the batch.
          options: `momentum`, `epsilon` and `training` of the layer.
        """
        training, momentum = options["training"], options["momentum"]
        own = [
            moved(self.training_mean, mean, self.momentum, training),
            moved(self.training_stddev, stddev, self.momentum, training),
        ]
        with control_dependencies(own):
            first = moved(averages[0], mean, momentum, training)
            new = moved(self.stddev, stddev, momentum, training)
            variance = maximum(subtract(square(new), options["epsilon"]), 0.0)
            if not known_phase(training):
                variance = chosen(training, variance, averages[1].value())
            return [first, assign(averages[1].handle, variance)]
