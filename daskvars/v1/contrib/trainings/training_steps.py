"""Training operations: `optimize_loss` of ``tf.contrib.layers``, `create_train_op` of slim."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from daskvars import summary
from daskvars.dtypes import float32
from daskvars.graph.by_identity import is_among
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.indexed_slices import IndexedSlices
from daskvars.graph.scopes.collections import GraphKeys
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.ops.array.constant import ones_like
from daskvars.ops.checks.shape_assertions import assert_scalar
from daskvars.ops.control.dependencies import (
    check_numerics,
    control_dependencies,
    no_op,
    with_dependencies,
)
from daskvars.ops.math.arithmetic import add, maximum, minimum, multiply, square, subtract
from daskvars.ops.math.casting import cast
from daskvars.ops.math.clip import clip_by_global_norm, clip_by_norm, global_norm
from daskvars.ops.math.comparison import less, where
from daskvars.ops.math.division import divide
from daskvars.ops.math.transcendental import exp, log, sqrt
from daskvars.ops.random.distributions import truncated_normal
from daskvars.surface.signatures import with_arguments_in_order
from daskvars.train.optimizers.adaptive import AdagradOptimizer, AdamOptimizer, RMSPropOptimizer
from daskvars.train.optimizers.moving_averages import assign_moving_average
from daskvars.train.optimizers.optimizer import Optimizer
from daskvars.train.optimizers.sgd import GradientDescentOptimizer, MomentumOptimizer
from daskvars.train.training_step import (
    assert_global_step,
    get_global_step,
    get_or_create_global_step,
)
from daskvars.v1 import logging
from daskvars.v1.optimizers.ftrl import FtrlOptimizer
from daskvars.variables.collections import trainable_variables
from daskvars.variables.colocation import owner
from daskvars.variables.initializers import Constant, Zeros
from daskvars.variables.scopes.variable_scope import get_variable, variable_scope

Pairs = list[tuple[Any, Any]]

# -- gradients -----------------------------------------------------------------------------------


def _mapped(gradient: Any, function: Callable[[Any], Any]) -> Any:
    """Return a gradient whose values went through a function; None stays None."""
    if isinstance(gradient, IndexedSlices):
        return IndexedSlices(function(gradient.values), gradient.indices, gradient.dense_shape)
    return None if gradient is None else function(gradient)


def clip_gradient_norms(gradients_to_variables: Iterable[tuple[Any, Any]], max_norm: Any) -> Pairs:
    """Clip each gradient to a norm.

    Args:
      gradients_to_variables: pairs of a gradient and its variable.
      max_norm: the greatest norm.
    """
    return [(_mapped(g, lambda v: clip_by_norm(v, max_norm)), v) for g, v in gradients_to_variables]


def clip_gradient_norms_fn(max_norm: Any) -> Callable[[Any], Pairs]:
    """Return `clip_gradient_norms` for that norm."""
    return lambda gradients_to_variables: clip_gradient_norms(gradients_to_variables, max_norm)


def multiply_gradients(grads_and_vars: Pairs, gradient_multipliers: Mapping[Any, Any]) -> Pairs:
    """Multiply gradients with numbers.

    Args:
      grads_and_vars: list of pairs of a gradient and its variable.
      gradient_multipliers: a number or tensor for each of some variables or names of them.

    Raises:
      ValueError: one of the two is not as described, or there is no gradient to multiply.
    """
    if not isinstance(grads_and_vars, list):
        raise ValueError("`grads_and_vars` must be a list.")
    if not gradient_multipliers:
        raise ValueError("`gradient_multipliers` is empty.")
    if not isinstance(gradient_multipliers, dict):
        raise ValueError("`gradient_multipliers` must be a dict.")
    for gradient, var in grads_and_vars:
        if gradient is None and _multiplier(var, gradient_multipliers) is not None:
            raise ValueError(f"Requested multiple of `None` gradient, of {var.op.name}.")
    return _multiplied(grads_and_vars, gradient_multipliers)


def _multiplier(var: Any, multipliers: Mapping[Any, Any]) -> Any:
    return next((multipliers[k] for k in (var, var.op.name, var.name) if k in multipliers), None)


def _times(factor: Any, values: Any) -> Tensor:
    return multiply(values, cast(factor, values.dtype))


def _multiplied(pairs: Iterable[tuple[Any, Any]], multipliers: Mapping[Any, Any]) -> Pairs:
    found = []
    for gradient, var in pairs:
        factor = _multiplier(var, multipliers)
        if factor is not None:
            gradient = _mapped(gradient, partial(_times, factor))
        found.append((gradient, var))
    return found


def add_gradients_summaries(grads_and_vars: Iterable[tuple[Any, Any]]) -> list[Tensor]:
    """Add summaries of each gradient, its histogram and norm, and return them."""
    found = []
    for gradient, var in grads_and_vars:
        if gradient is None:
            logging.info("Var %s has no gradient", var.op.name)
            continue
        values = gradient.values if isinstance(gradient, IndexedSlices) else gradient
        found.append(summary.histogram(f"{var.op.name}/gradient", values))
        found.append(summary.scalar(f"{var.op.name}/gradient_norm", global_norm([values])))
    return found


# -- slim's ---------------------------------------------------------------------------------------

_OF_THE_GRAPH = 0  # as an argument: the graph's global step; None is none


def create_train_op(
    total_loss: Tensor,
    optimizer: Optimizer,
    global_step: Any = _OF_THE_GRAPH,
    update_ops: Iterable[Any] | None = None,
    variables_to_train: Sequence[Any] | None = None,
    transform_grads_fn: Callable[[Pairs], Pairs] | None = None,
    summarize_gradients: bool = False,
    gate_gradients: int = Optimizer.GATE_OP,
    aggregation_method: Any = None,
    colocate_gradients_with_ops: bool = False,
    check_numerics: bool = True,
) -> Tensor:
    """Return the loss such that computing it trains. ``tf.contrib.training.create_train_op``.

    Args:
      total_loss: scalar.
      optimizer: an `Optimizer`.
      global_step: variable that counts the steps, by default the graph's; None for none.
      update_ops: operations to run before, by default those in ``GraphKeys.UPDATE_OPS``.
      variables_to_train: by default all trainable ones.
      transform_grads_fn: function of pairs of gradient and variable that gives such pairs.
      summarize_gradients: whether gradients get summaries.
      gate_gradients, aggregation_method, colocate_gradients_with_ops: see `Optimizer.minimize`.
      check_numerics: whether a loss that is not finite raises InvalidArgumentError.

    Raises:
      ValueError: a variable is not trainable, or there is none.
    """
    if isinstance(global_step, int):
        global_step = get_or_create_global_step()
    collected = owner().get_collection(GraphKeys.UPDATE_OPS)
    updates = collected if update_ops is None else list(update_ops)
    if not all(is_among(op, updates) for op in collected):
        logging.warning(
            "update_ops in create_train_op does not contain all the update_ops in "
            "GraphKeys.UPDATE_OPS"
        )
    if updates:
        with control_dependencies(updates):
            barrier = no_op(name="update_barrier")
        total_loss = with_dependencies([barrier], total_loss)
    variables = _trained(variables_to_train)
    pairs: Pairs = optimizer.compute_gradients(
        total_loss,
        variables,
        gate_gradients=gate_gradients,
        aggregation_method=aggregation_method,
        colocate_gradients_with_ops=colocate_gradients_with_ops,
    )
    if transform_grads_fn is not None:
        pairs = transform_grads_fn(pairs)
    if summarize_gradients:
        with name_scope("summarize_grads"):
            add_gradients_summaries(pairs)
    trained = optimizer.apply_gradients(pairs, global_step=global_step)
    with name_scope("train_op"):
        if check_numerics:
            total_loss = _checked(total_loss)
        train_op = with_dependencies([trained], total_loss)
    owner().add_to_collection(GraphKeys.TRAIN_OP, train_op)
    return train_op


def _checked(loss: Tensor) -> Tensor:
    return check_numerics(loss, "LossTensor is inf or nan")


def _trained(variables: Sequence[Any] | None) -> Sequence[Any]:
    found = trainable_variables() if variables is None else variables
    known = {id(v) for v in trainable_variables()}
    for var in found:
        if not (getattr(var, "trainable", False) or id(var) in known):
            raise ValueError(f"{var.op.name} is not trainable")
    if not found:
        raise ValueError("There are no variables to train")
    return found


@with_arguments_in_order(
    "total_loss optimizer global_step update_ops variables_to_train clip_gradient_norm "
    "summarize_gradients gate_gradients aggregation_method colocate_gradients_with_ops "
    "gradient_multipliers check_numerics",
    create_train_op,
)
def create_slim_train_op(
    clip_gradient_norm: float = 0,
    gradient_multipliers: Mapping[Any, Any] | None = None,
    **arguments: Any,
) -> Tensor:
    """Return the loss such that computing it trains. ``slim.learning.create_train_op``.

    Args:
      clip_gradient_norm: greatest norm of each gradient; 0 clips nothing.
      gradient_multipliers: see `multiply_gradients`.

    >>> slim = tf.contrib.slim
    >>> with tf.Graph().as_default():
    ...     y = slim.fully_connected(tf.ones([4, 2]), 1, activation_fn=None)
    ...     loss = tf.losses.mean_squared_error(tf.ones([4, 1]), y)
    ...     train_op = slim.learning.create_train_op(loss, tf.train.GradientDescentOptimizer(0.1))
    ...     last = slim.learning.train(train_op, None, number_of_steps=30)
    >>> bool(last < 1e-3)
    True
    """

    def transformed(pairs: Pairs) -> Pairs:
        if gradient_multipliers:
            with name_scope("multiply_grads"):
                pairs = multiply_gradients(pairs, gradient_multipliers)
        if clip_gradient_norm > 0:
            with name_scope("clip_grads"):
                pairs = clip_gradient_norms(pairs, clip_gradient_norm)
        return pairs

    return create_train_op(transform_grads_fn=transformed, **arguments)


# -- optimize_loss -------------------------------------------------------------------------------

OPTIMIZER_CLS_NAMES: dict[str, Callable[..., Optimizer]] = {
    "Adagrad": AdagradOptimizer,
    "Adam": AdamOptimizer,
    "Ftrl": FtrlOptimizer,
    "Momentum": lambda learning_rate: MomentumOptimizer(learning_rate, momentum=0.9),
    "RMSProp": RMSPropOptimizer,
    "SGD": GradientDescentOptimizer,
}
OPTIMIZER_SUMMARIES = [
    "learning_rate",
    "loss",
    "gradients",
    "gradient_norm",
    "global_gradient_norm",
]


def optimize_loss(
    loss: TensorLike,
    global_step: Any,
    learning_rate: Any,
    optimizer: Any,
    gradient_noise_scale: float | None = None,
    gradient_multipliers: Mapping[Any, Any] | None = None,
    clip_gradients: Any = None,
    learning_rate_decay_fn: Callable[[Any, Any], Any] | None = None,
    update_ops: Iterable[Any] | None = None,
    variables: Sequence[Any] | None = None,
    name: str | None = None,
    summaries: Sequence[str] | None = None,
    colocate_gradients_with_ops: bool = False,
    increment_global_step: bool = True,
) -> Tensor:
    """Return the loss such that computing it trains, with noise, clipping and summaries.

    Args:
      loss: scalar.
      global_step: variable that counts the steps; None takes the graph's, if there is one.
      learning_rate: a float, which becomes a variable, a scalar tensor, or None.
      optimizer: a name ("Adagrad", "Adam", "Ftrl", "Momentum", "RMSProp", "SGD"), a class or a
        function of the rate, or an `Optimizer`.
      gradient_noise_scale: factor of normal noise that is added to gradients.
      gradient_multipliers: a number for each of some variables or names of them.
      clip_gradients: the greatest norm of all gradients together, or a function of pairs of
        gradient and variable that gives such pairs, see `adaptive_clipping_fn`.
      learning_rate_decay_fn: function of rate and step that gives a rate.
      update_ops: operations to run before, by default those in ``GraphKeys.UPDATE_OPS``.
      variables: what to train, by default all trainable ones.
      name: name of the variable scope, by default "OptimizeLoss".
      summaries: which of "learning_rate", "loss", "gradients", "gradient_norm" and
        "global_gradient_norm" there are, by default the first two and the last.
      colocate_gradients_with_ops: see `Optimizer.minimize`.
      increment_global_step: whether the step is counted.

    Raises:
      ValueError: an argument is none of that, or there is no gradient.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     w = tf.get_variable("w", initializer=1.0)
    ...     step = tf.train.get_or_create_global_step()
    ...     train = tf.contrib.layers.optimize_loss(w * w, step, 0.25, "SGD")
    ...     sess.run(tf.global_variables_initializer())
    ...     _ = sess.run(train)
    ...     print(*sess.run([w, step]))
    0.5 1
    """
    loss = convert_to_tensor(loss)
    assert_scalar(loss)
    if global_step is None:
        global_step = get_global_step()
    else:
        assert_global_step(global_step)
    summaries = _checked_summaries(summaries)
    with variable_scope(name, "OptimizeLoss", [loss]):
        updates = owner().get_collection(GraphKeys.UPDATE_OPS) if update_ops is None else update_ops
        updates = list(updates)
        if updates:
            loss = with_dependencies(updates, loss)
        rate = _rate(learning_rate)
        if learning_rate is not None and learning_rate_decay_fn is not None:
            if global_step is None:
                raise ValueError("global_step is required for learning_rate_decay_fn.")
            rate = learning_rate_decay_fn(rate, global_step)
            if "learning_rate" in summaries:
                summary.scalar("learning_rate", rate)
        made = _optimizer(optimizer, rate)
        pairs: Pairs = made.compute_gradients(
            loss,
            trainable_variables() if variables is None else variables,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
        )
        if gradient_noise_scale is not None:
            pairs = [(_noisy(g, gradient_noise_scale), v) for g, v in pairs]
        if gradient_multipliers is not None:
            pairs = _multiplied(pairs, gradient_multipliers)
        with_norm = bool({"global_gradient_norm", "gradient_norm"} & set(summaries))
        if with_norm:
            summary.scalar("global_norm/gradient_norm", global_norm([g for g, _ in pairs]))
        pairs = _clipped(pairs, clip_gradients)
        if "loss" in summaries:
            summary.scalar("loss", loss)
        _summarize_gradients(pairs, summaries)
        if clip_gradients is not None and with_norm:
            summary.scalar("global_norm/clipped_gradient_norm", global_norm([g for g, _ in pairs]))
        counted = global_step if increment_global_step else None
        trained = made.apply_gradients(pairs, global_step=counted, name="train")
        return with_dependencies([trained], loss)


def _checked_summaries(summaries: Sequence[str] | None) -> Sequence[str]:
    if summaries is None:
        return ["loss", "learning_rate", "global_gradient_norm"]
    for name in summaries:
        if name not in OPTIMIZER_SUMMARIES:
            raise ValueError(
                f"Summaries should be one of [{', '.join(OPTIMIZER_SUMMARIES)}], you provided "
                f"{name}."
            )
    return summaries


def _rate(rate: Any) -> Any:
    if rate is None or (isinstance(rate, Tensor) and rate.get_shape().ndims == 0):
        return rate
    if not isinstance(rate, float):
        raise ValueError(f"Learning rate should be 0d Tensor or float. Got {rate} of {type(rate)}")
    if rate < 0.0:
        raise ValueError(f"Invalid learning_rate {rate}.")
    return get_variable("learning_rate", [], trainable=False, initializer=Constant(rate))


def _optimizer(optimizer: Any, rate: Any) -> Optimizer:
    """Return the optimizer that a name, class, function or object means."""
    if isinstance(optimizer, Optimizer):
        return optimizer
    is_name = isinstance(optimizer, str)
    if is_name and optimizer not in OPTIMIZER_CLS_NAMES:
        names = ", ".join(OPTIMIZER_CLS_NAMES)
        raise ValueError(f"Optimizer name should be one of [{names}], you provided {optimizer}.")
    is_class = isinstance(optimizer, type) and issubclass(optimizer, Optimizer)
    if (is_name or is_class) and rate is None:
        raise ValueError(
            "Learning rate is None, but should be specified if optimizer is "
            f"{'string' if is_name else 'class'} ({optimizer})."
        )
    if is_name:
        return OPTIMIZER_CLS_NAMES[optimizer](learning_rate=rate)
    if is_class:
        return optimizer(learning_rate=rate)
    made = (optimizer() if rate is None else optimizer(rate)) if callable(optimizer) else optimizer
    if not isinstance(made, Optimizer):
        raise ValueError(
            "Unrecognized optimizer: should be string, subclass of Optimizer, instance of subclass "
            f"of Optimizer or function with one argument that gives one. Got {made!r}."
        )
    return made


def _noisy(gradient: Any, scale: float) -> Any:
    """Return a gradient with noise, dense or of the rows that it has."""

    def noisy(values: Any) -> Any:
        return add(
            values, multiply(truncated_normal(values.get_shape(), dtype=values.dtype), scale)
        )

    return _mapped(gradient, noisy)


def _clipped(pairs: Pairs, clip: Any) -> Pairs:
    if clip is None:
        return pairs
    if callable(clip):
        return clip(pairs)
    if not isinstance(clip, float):
        raise ValueError(f"Unknown type {type(clip)} for clip_gradients")
    clipped, _ = clip_by_global_norm([g for g, _ in pairs], clip)
    return list(zip(clipped, [v for _, v in pairs], strict=True))


def _summarize_gradients(pairs: Pairs, summaries: Sequence[str]) -> None:
    for gradient, var in pairs:
        values = gradient.values if isinstance(gradient, IndexedSlices) else gradient
        name = var.name.replace(":", "_")
        if values is None:
            continue
        if "gradients" in summaries:
            summary.histogram(f"gradients/{name}", values)
        if "gradient_norm" in summaries:
            summary.scalar(f"gradient_norm/{name}", global_norm([values]))


def adaptive_clipping_fn(
    std_factor: float = 2.0,
    decay: Any = 0.95,
    static_max_norm: float | None = None,
    global_step: Any = None,
    report_summary: bool = False,
    epsilon: float = 1e-8,
    name: str | None = None,
) -> Callable[[Pairs], Pairs]:
    """Return a function that clips gradients whose norm is unusual.

    Args:
      std_factor: how many standard deviations of its logarithm above the mean a norm may be.
      decay: how much of the moving averages stays in one update.
      static_max_norm: greatest norm in any case.
      global_step: variable that counts the steps: early averages forget faster.
      report_summary: whether the greatest norm gets a summary.
      epsilon: least variance, and added to the norm.
      name: name of the variable scope, by default "AdaptiveMaxNorm".
    """

    def clip(pairs: Pairs) -> Pairs:
        norm = global_norm([g for g, _ in pairs])
        greatest, mean = _adaptive_norm(norm, std_factor, decay, global_step, epsilon, name)
        if report_summary:
            summary.scalar("global_norm/adaptive_max_gradient_norm", greatest)
        factor = where(less(norm, greatest), ones_like(norm), divide(exp(mean), norm))
        if static_max_norm is not None:
            factor = minimum(divide(static_max_norm, norm), factor)
        return [(_mapped(g, lambda values: multiply(values, factor)), v) for g, v in pairs]

    return clip


def _adaptive_norm(
    norm: Tensor, std_factor: float, decay: Any, step: Any, epsilon: float, name: str | None
) -> tuple[Tensor, Tensor]:
    """Return the greatest usual norm, and the mean of logarithms."""
    with variable_scope(name, "AdaptiveMaxNorm", [norm]):
        logarithm = log(add(norm, epsilon))
        if step is not None:
            n = cast(step, float32)
            decay = minimum(decay, divide(n, add(n, 1.0)))

        def averaged(kind: str, value: Tensor) -> Tensor:
            average = get_variable(kind, value.get_shape(), value.dtype, Zeros(), trainable=False)
            return assign_moving_average(average, value, decay, zero_debias=False)

        mean, of_squares = averaged("mean", logarithm), averaged("sq_mean", square(logarithm))
        deviation = sqrt(maximum(epsilon, subtract(of_squares, square(mean))))
        return exp(add(mean, multiply(std_factor, deviation))), mean
