"""Learning rates that fall with the step.

In a graph each function returns the rate as a scalar tensor, a function of `global_step`. In the
eager program it returns a callable without arguments, which an optimizer calls at every step, as
TensorFlow 1 does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from daskvars.dtypes import int32, int64
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.interpreter import builder_for
from daskvars.graph.scopes.name_scope import entered_graph
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.ops.math.arithmetic import add, ceil, floor, minimum, multiply
from daskvars.ops.math.casting import cast
from daskvars.ops.math.comparison import equal, greater, where
from daskvars.ops.math.division import divide
from daskvars.ops.math.transcendental import cos, exp, log, pow
from daskvars.ops.random.distributions import random_normal
from daskvars.surface.signatures import Argument, Family

Rate = Tensor | Callable[[], Tensor]
Formula = Callable[..., Tensor]


class At(NamedTuple):
    """Where a schedule is.

    Attributes:
      rate: the rate at step 0.
      step: the step, of the dtype of `rate`.
      name: what its last operation is called.
    """

    rate: Tensor
    step: Tensor
    name: str


SCHEDULES = Family(
    {
        "learning_rate": Argument("scalar floating, the rate at step 0."),
        "global_step": Argument("scalar integer, tensor or Variable."),
        "decay_steps": Argument("scalar, when the end is reached."),
        "decay_rate": Argument("scalar floating."),
        "staircase": Argument(
            "take the whole part of the quotient: the rate falls in steps.", False, "bool"
        ),
        "end_learning_rate": Argument("scalar floating, the rate from then on.", 0.0001),
        "power": Argument("scalar floating, 1 for a straight line.", 1.0),
        "cycle": Argument(
            "rather than stay at the end, stretch `decay_steps` to the next multiple of it.",
            False,
            "bool",
        ),
        "first_decay_steps": Argument("scalar, the length of the first fall."),
        "t_mul": Argument(
            "how many times longer each fall is than the one before, 1 or more; a Python number.",
            2.0,
            "float",
        ),
        "m_mul": Argument(
            "scalar floating, how many times higher each starts than the one before.", 1.0
        ),
        "initial_variance": Argument("scalar floating, variance of the noise at step 0.", 1.0),
        "variance_decay": Argument(
            "scalar floating, the variance is divided by ``(1 + step) ** variance_decay``.", 0.55
        ),
        "num_periods": Argument("periods of the cosine.", 0.5, "float"),
        "alpha": Argument(
            "scalar floating, the lowest rate as a fraction of that at the start.", 0.0
        ),
        "beta": Argument(
            "scalar floating, what is added as a fraction of that at the start.", 0.001
        ),
        "name": Argument(
            'name of the operation and of its scope, by default "{scope}".', None, "str | None"
        ),
    },
    returns="""
        The rate, a scalar of the dtype of `learning_rate`; a callable that gives it in the eager
        program.
    """,
    raises="ValueError: `global_step` is None.",
    result="Rate",
)


def _schedule(scope: str, order: str) -> Callable[[Formula], Callable[..., Rate]]:
    """Make a schedule of a function of where it is, and of its own arguments.

    Args:
      scope: default name of the operation.
      order: its own arguments.
    """

    def decorate(formula: Formula) -> Callable[..., Rate]:
        def call(given: dict[str, Any]) -> Rate:
            rate, step, name = (given.pop(n) for n in ("learning_rate", "global_step", "name"))
            return _scheduled(
                lambda *where: formula(At(*where), **given), rate, step, name or scope
            )

        names = f"learning_rate global_step {order} name"
        module, name, doc = formula.__module__, formula.__name__, formula.__doc__ or ""
        return SCHEDULES.function(module, name, names, call, doc, scope=scope)

    return decorate


def _scheduled(
    formula: Callable[[Tensor, Tensor, str], Tensor],
    learning_rate: Any,
    global_step: Any,
    name: str,
    keep_step: bool = False,
) -> Rate:
    """Build the rate in a graph, or return what computes it in the eager program."""
    if global_step is None:
        raise ValueError(f"global_step is required for {name}.")

    def rate() -> Tensor:
        builder = builder_for((learning_rate, global_step))
        with entered_graph(builder), builder.name_scope(name) as scope:
            initial = convert_to_tensor(learning_rate, name="learning_rate")
            step = convert_to_tensor(global_step)
            return formula(initial, step if keep_step else cast(step, initial.dtype), scope)

    return rate if builder_for((learning_rate, global_step)).is_eager else rate()


@_schedule("ExponentialDecay", "decay_steps decay_rate staircase")
def exponential_decay(
    at: At, *, decay_steps: TensorLike, decay_rate: TensorLike, staircase: bool
) -> Tensor:
    """Return ``learning_rate * decay_rate ** (global_step / decay_steps)``.

    Args:
      decay_steps: scalar, after how many steps the rate is multiplied by `decay_rate`.

    Source: TensorFlow 1.15, ``tf.train.exponential_decay``.

    >>> rate = dv.train.exponential_decay(0.5, 200, 100, 0.5)
    >>> float(rate())
    0.125
    """
    quotient = _quotient(at.step, decay_steps, staircase)
    return multiply(at.rate, pow(_as(decay_rate, at.step), quotient), name=at.name)


@_schedule("NaturalExpDecay", "decay_steps decay_rate staircase")
def natural_exp_decay(at: At, *, decay_steps: Any, decay_rate: Any, staircase: bool) -> Tensor:
    """Return ``learning_rate * exp(-decay_rate * global_step / decay_steps)``.

    Args:
      decay_steps: scalar, the unit of the steps.

    Source: TensorFlow 1.15, ``tf.train.natural_exp_decay``.

    >>> round(float(dv.train.natural_exp_decay(0.5, 200, 100, 0.5)()), 4)
    0.1839
    """
    exponent = _quotient(at.step, decay_steps, staircase) * _as(-decay_rate, at.step)
    return multiply(at.rate, exp(exponent), name=at.name)


@_schedule("InverseTimeDecay", "decay_steps decay_rate staircase")
def inverse_time_decay(
    at: At, *, decay_steps: TensorLike, decay_rate: TensorLike, staircase: bool
) -> Tensor:
    """Return ``learning_rate / (1 + decay_rate * global_step / decay_steps)``.

    Args:
      decay_steps: scalar, the unit of the steps.

    Source: TensorFlow 1.15, ``tf.train.inverse_time_decay``.

    >>> float(dv.train.inverse_time_decay(0.5, 200, 100, 0.5)())
    0.25
    """
    quotient = _quotient(at.step, decay_steps, staircase)
    return divide(at.rate, 1.0 + _as(decay_rate, at.step) * quotient, name=at.name)


@_schedule("PolynomialDecay", "decay_steps end_learning_rate power cycle")
def polynomial_decay(
    at: At,
    *,
    decay_steps: TensorLike,
    end_learning_rate: TensorLike,
    power: TensorLike,
    cycle: bool,
) -> Tensor:
    """Return a rate that falls to `end_learning_rate` within `decay_steps` steps.

    ``(learning_rate - end) * (1 - step / decay_steps) ** power + end``

    Source: TensorFlow 1.15, ``tf.train.polynomial_decay``.

    >>> [float(dv.train.polynomial_decay(1.0, step, 100, 0.5)()) for step in (0, 50, 100, 200)]
    [1.0, 0.75, 0.5, 0.5]
    """
    total, end = _as(decay_steps, at.step), _as(end_learning_rate, at.step)
    if cycle:
        total = total * where(equal(at.step, 0.0), _as(1.0, at.step), ceil(at.step / total))
    left = 1.0 - (at.step if cycle else minimum(at.step, total)) / total
    return add((at.rate - end) * pow(left, _as(power, at.step)), end, name=at.name)


@_schedule("CosineDecay", "decay_steps alpha")
def cosine_decay(at: At, *, decay_steps: TensorLike, alpha: TensorLike) -> Tensor:
    """Return a rate that falls along half a cosine to ``alpha * learning_rate``.

    Source: Loshchilov and Hutter 2017, "SGDR: Stochastic Gradient Descent with Warm Restarts".

    >>> rates = [dv.train.cosine_decay(1.0, step, 100) for step in (0, 50, 100)]
    >>> [round(float(rate()), 4) for rate in rates]
    [1.0, 0.5, 0.0]
    """
    total = _as(decay_steps, at.step)
    wave = _half_wave(minimum(at.step, total) / total)
    return multiply(at.rate, _above(alpha, wave), name=at.name)


@_schedule("SGDRDecay", "first_decay_steps t_mul m_mul alpha")
def cosine_decay_restarts(
    at: At, *, first_decay_steps: TensorLike, t_mul: Any, m_mul: TensorLike, alpha: TensorLike
) -> Tensor:
    """Return a rate that falls along half a cosine, again and again.

    Source: Loshchilov and Hutter 2017, "SGDR: Stochastic Gradient Descent with Warm Restarts".

    >>> rates = [dv.train.cosine_decay_restarts(1.0, step, 100) for step in (50, 100, 200)]
    >>> [round(float(rate()), 4) for rate in rates]
    [0.5, 1.0, 0.5]
    """
    t_mul = float(t_mul)
    fraction = at.step / _as(first_decay_steps, at.step)
    if t_mul == 1.0:
        restarts = floor(fraction)
        fraction = fraction - restarts
    else:
        restarts = floor(log(1.0 - fraction * (1.0 - t_mul)) / math.log(t_mul))
        length = pow(t_mul, restarts)
        fraction = (fraction - (1.0 - length) / (1.0 - t_mul)) / length
    wave = pow(_as(m_mul, at.step), restarts) * _half_wave(fraction)
    return multiply(at.rate, _above(alpha, wave), name=at.name)


@_schedule("LinearCosineDecay", "decay_steps num_periods alpha beta")
def linear_cosine_decay(
    at: At, *, decay_steps: TensorLike, num_periods: TensorLike, alpha: TensorLike, beta: TensorLike
) -> Tensor:
    """Return ``learning_rate * ((alpha + linear) * cosine + beta)``.

    ``linear`` falls from 1 to 0 in `decay_steps` steps, ``cosine`` makes `num_periods` periods
    between 1 and 0 meanwhile.

    Source: Bello et al. 2017, "Neural Optimizer Search with Reinforcement Learning".

    >>> rates = [dv.train.linear_cosine_decay(1.0, step, 100) for step in (0, 50, 100)]
    >>> [round(float(rate()), 4) for rate in rates]
    [1.001, 0.251, 0.001]
    """
    linear = _as(alpha, at.step) + (1.0 - _done(at.step, decay_steps))
    return _waving(at, linear, decay_steps, num_periods, beta)


@_schedule(
    "NoisyLinearCosineDecay", "decay_steps initial_variance variance_decay num_periods alpha beta"
)
def noisy_linear_cosine_decay(
    at: At,
    *,
    decay_steps: TensorLike,
    initial_variance: TensorLike,
    variance_decay: TensorLike,
    num_periods: TensorLike,
    alpha: TensorLike,
    beta: TensorLike,
) -> Tensor:
    """Return `linear_cosine_decay` with normal noise on its linear part.

    Source: Bello et al. 2017, "Neural Optimizer Search with Reinforcement Learning".

    >>> rate = dv.train.noisy_linear_cosine_decay(1.0, 50, 100, initial_variance=0.0)
    >>> round(float(rate()), 4)
    0.251
    """
    linear = _as(alpha, at.step) + (1.0 - _done(at.step, decay_steps))
    reached = minimum(at.step, _as(decay_steps, at.step))
    variance = _as(initial_variance, at.step) / pow(1.0 + reached, _as(variance_decay, at.step))
    noise = random_normal([], dtype=at.step.dtype) * pow(variance, 0.5)
    return _waving(at, linear + noise, decay_steps, num_periods, beta)


def _waving(at: At, linear: Tensor, decay_steps: Any, num_periods: Any, beta: Any) -> Tensor:
    wave = _half_wave(2.0 * num_periods * _done(at.step, decay_steps))
    return multiply(at.rate, linear * wave + beta, name=at.name)


def piecewise_constant(
    x: TensorLike, boundaries: Sequence[Any], values: Sequence[Any], name: str | None = None
) -> Rate:
    """Return ``values[0]`` while ``x <= boundaries[0]``, then ``values[1]``, and so on.

    Args:
      x: scalar, usually the global step.
      boundaries: rising numbers or tensors of the dtype of x.
      values: one more number or tensor than there are boundaries.
      name: name of the scope.

    Returns:
      A scalar of the dtype of `values`, see `exponential_decay`.

    Raises:
      ValueError: the lengths do not fit, the boundaries do not rise, their dtype is not that of x,
        or the values have several dtypes.

    Source: TensorFlow 1.15, ``tf.train.piecewise_constant``.

    >>> step = dv.Variable(0)
    >>> rate = dv.train.piecewise_constant(step, [100, 200], [0.5, 0.25, 0.125])
    >>> for at in (100, 101, 999):
    ...     _ = step.assign(at)
    ...     float(rate())
    0.5
    0.25
    0.125
    """
    if len(boundaries) != len(values) - 1:
        raise ValueError(
            "The length of boundaries should be 1 less than the length of values: got "
            f"{len(boundaries)} boundaries and {len(values)} values"
        )
    known = [boundary for boundary in boundaries if isinstance(boundary, int | float)]
    if known != sorted(known):
        raise ValueError(f"Boundaries must increase, got {known}")

    def formula(first: Tensor, step: Tensor, name: str) -> Tensor:
        rate = first
        for boundary, value in zip(boundaries, values[1:], strict=True):
            rate = where(greater(step, _boundary(boundary, step)), _alike(value, first), rate)
        return rate

    return _scheduled(formula, values[0], x, name or "PiecewiseConstant", keep_step=True)


piecewise_constant_decay = piecewise_constant


def _alike(value: Any, first: Tensor) -> Tensor:
    found = convert_to_tensor(value)
    if found.dtype.base_dtype is not first.dtype.base_dtype:
        raise ValueError(
            "Values must have elements all with the same dtype: "
            f"{first.dtype.base_dtype.name} and {found.dtype.base_dtype.name} are given."
        )
    return found


def _boundary(value: Any, x: Tensor) -> Tensor:
    boundary = convert_to_tensor(value)
    dtype, wanted = boundary.dtype.base_dtype, x.dtype.base_dtype
    if dtype is not wanted and not (dtype is int32 and wanted is int64):
        raise ValueError(
            f"Boundaries ({dtype.name}) must have the same dtype as x ({wanted.name})."
        )
    return cast(boundary, wanted)


def _as(value: Any, like: Tensor) -> Tensor:
    return cast(convert_to_tensor(value, preferred_dtype=like.dtype), like.dtype)


def _quotient(step: Tensor, decay_steps: Any, staircase: bool) -> Tensor:
    quotient = step / _as(decay_steps, step)
    return floor(quotient) if staircase else quotient


def _done(step: Tensor, decay_steps: Any) -> Tensor:
    total = _as(decay_steps, step)
    return minimum(step, total) / total


def _half_wave(fraction: Tensor) -> Tensor:
    """Return a cosine that falls from 1 to 0 while `fraction` goes from 0 to 1."""
    return 0.5 * (1.0 + cos(math.pi * fraction))


def _above(alpha: Any, wave: Tensor) -> Tensor:
    """Return `wave` lifted to fall to `alpha` rather than to 0."""
    lowest = _as(alpha, wave)
    return (1.0 - lowest) * wave + lowest
