"""Batch normalization, with moving averages of its moments for inference."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from daskvars import dtypes
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.interpreter import builder_for
from daskvars.graph.tensor import Tensor
from daskvars.layers.functional import applied
from daskvars.layers.input_spec import InputSpec
from daskvars.layers.layer import Layer
from daskvars.layers.training_phase import known_phase
from daskvars.ops import nn_normalization
from daskvars.ops.arithmetic import multiply, subtract
from daskvars.ops.assign import assign_sub
from daskvars.ops.comparison import where_v2
from daskvars.ops.constant import ones, zeros, zeros_like
from daskvars.ops.moments import moments
from daskvars.ops.nn_batch_norm import batch_moments, fused_batch_norm
from daskvars.ops.reshaping import reshape
from daskvars.shapes import TensorShape
from daskvars.variables.colocation import colocate_with
from daskvars.variables.initializers import Ones, Zeros

_ZEROS, _ONES = Zeros(), Ones()


class BatchNormalization(Layer):
    """A layer that normalizes each channel to mean 0 and variance 1, then scales and shifts it.

    In training the moments are those of the batch, and the operations in ``GraphKeys.UPDATE_OPS``
    move the averages that take their place in inference: run them with each training step. Eager
    code moves them at once.

    Variables: `gamma`, `beta`, `moving_mean`, `moving_variance`, each [channels].

    Args:
      axis: the axis of the channels, or a list of axes.
      momentum: how much of a moving average stays in one update.
      epsilon: added to the variance.
      center: whether there is a `beta`, a shift.
      scale: whether there is a `gamma`, a factor.
      beta_initializer, gamma_initializer, moving_mean_initializer, moving_variance_initializer:
        initializers.
      beta_regularizer, gamma_regularizer: functions of a variable that give a loss.
      beta_constraint, gamma_constraint: functions that project a variable after an update.
      renorm, renorm_clipping, renorm_momentum, virtual_batch_size, adjustment: refused.
      fused: images with channels in axis 1 or 3 take one op; False never does that. Its moving
        variance is without bias, divided by one less than the number of elements.
      trainable, name: see `Layer`.

    Raises:
      NotImplementedError: batch renormalization, virtual batches or an adjustment are asked for.
      ValueError: (when called) an axis does not exist or is given twice, or its size is not known.

    Source: Ioffe and Szegedy, "Batch Normalization", 2015.

    >>> import daskvars as dv
    >>> layer = dv.layers.BatchNormalization(momentum=0.5)
    >>> layer([[1.0], [3.0]], training=True).numpy().round(2).ravel().tolist()
    [-1.0, 1.0]
    >>> layer.moving_mean.numpy().tolist()
    [1.0]
    """

    def __init__(
        self,
        axis: Any = -1,
        momentum: Any = 0.99,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = _ZEROS,
        gamma_initializer: Any = _ONES,
        moving_mean_initializer: Any = _ZEROS,
        moving_variance_initializer: Any = _ONES,
        beta_regularizer: Callable[[Any], Any] | None = None,
        gamma_regularizer: Callable[[Any], Any] | None = None,
        beta_constraint: Callable[[Any], Any] | None = None,
        gamma_constraint: Callable[[Any], Any] | None = None,
        renorm: bool = False,
        renorm_clipping: Any = None,
        renorm_momentum: float = 0.99,
        fused: bool | None = None,
        trainable: bool = True,
        virtual_batch_size: int | None = None,
        adjustment: Any = None,
        name: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(trainable, name, **kwargs)
        _refuse(renorm=renorm, virtual_batch_size=virtual_batch_size, adjustment=adjustment)
        self.axis = list(axis) if isinstance(axis, list | tuple) else axis
        self.momentum, self.epsilon = momentum, epsilon
        self.center, self.scale = center, scale
        self.beta_initializer, self.gamma_initializer = beta_initializer, gamma_initializer
        self.moving_mean_initializer = moving_mean_initializer
        self.moving_variance_initializer = moving_variance_initializer
        self.beta_regularizer, self.gamma_regularizer = beta_regularizer, gamma_regularizer
        self.beta_constraint, self.gamma_constraint = beta_constraint, gamma_constraint
        self.fused = fused is not False
        self.gamma: Any = None
        self.beta: Any = None
        self.moving_mean: Any = None
        self.moving_variance: Any = None

    # -- variables ----------------------------------------------------------------------------

    def build(self, input_shape: Any) -> None:
        """Make the variables."""
        shape = TensorShape(input_shape)
        if not shape.ndims:
            raise ValueError(f"Input has undefined rank: {shape} (layer {self.name}).")
        self.axis = _axes(self.axis, shape.ndims)
        sizes = {axis: shape.as_list()[axis] for axis in self.axis}
        if None in sizes.values():
            raise ValueError(
                f"Input has undefined `axis` dimension {self.axis}. Input shape: {shape} (layer "
                f"{self.name})."
            )
        self.input_spec = InputSpec(ndim=shape.ndims, axes=sizes)
        self.fused = self.fused and shape.ndims == 4 and self.axis in ([1], [3])
        one = len(sizes) == 1
        self._build_variables(
            list(sizes.values()) if one else [sizes.get(i, 1) for i in range(shape.ndims)]
        )
        self.built = True

    def _build_variables(self, shape: list[int]) -> None:
        small = self._dtype in (dtypes.float16, dtypes.bfloat16)
        dtype = dtypes.float32 if small else self._dtype
        if self.scale:
            self.gamma = self.add_weight(
                "gamma", shape, dtype, self.gamma_initializer, self.gamma_regularizer,
                constraint=self.gamma_constraint,
            )  # fmt: skip
        if self.center:
            self.beta = self.add_weight(
                "beta", shape, dtype, self.beta_initializer, self.beta_regularizer,
                constraint=self.beta_constraint,
            )  # fmt: skip
        scope = self._scope
        partitioner = scope.partitioner
        scope.set_partitioner(None)  # the averages are never cut
        try:
            self.moving_mean = self.add_weight(
                "moving_mean", shape, dtype, self.moving_mean_initializer, trainable=False
            )
            self.moving_variance = self.add_weight(
                "moving_variance", shape, dtype, self.moving_variance_initializer, trainable=False
            )
        finally:
            scope.set_partitioner(partitioner)

    # -- the output ---------------------------------------------------------------------------

    def call(self, inputs: Any, training: Any = False) -> Tensor:
        """Return the normalized input.

        Args:
          inputs: [...] floating.
          training: a bool or scalar bool tensor: take the moments of the batch, and move the
            averages.
        """
        inputs = convert_to_tensor(inputs)
        outputs = (self._fused if self.fused else self._plain)(inputs, training)
        outputs.set_shape(inputs.get_shape())
        return outputs

    def _fused(self, x: Tensor, training: Any) -> Tensor:
        data_format = "NCHW" if self.axis == [1] else "NHWC"
        dtype, shape = self.moving_mean.dtype.base_dtype, self.moving_mean.get_shape()
        gamma = ones(shape, dtype) if self.gamma is None else self.gamma
        beta = zeros(shape, dtype) if self.beta is None else self.beta
        options: dict[str, Any] = {"epsilon": self.epsilon, "data_format": data_format}
        known = known_phase(training)
        if known:
            y, mean, unbiased = fused_batch_norm(x, gamma, beta, **options)
            self._move(x, training, mean, unbiased)
            return y
        mean, variance = self.moving_mean.value(), self.moving_variance.value()
        if known is None:
            # Not a branch for each phase: choosing the moments leaves the batch in its chunks.
            batch_mean, biased, unbiased = batch_moments(x, dtype, data_format)
            self._move(x, training, batch_mean, unbiased)
            mean = where_v2(training, batch_mean, mean)
            variance = where_v2(training, biased, variance)
        return fused_batch_norm(
            x, gamma, beta, mean, variance, is_training=False, **options
        )[0]  # fmt: skip

    def _plain(self, x: Tensor, training: Any) -> Tensor:
        rank = x.get_shape().ndims
        others = [i for i in range(rank) if i not in self.axis]
        known = known_phase(training)
        mean, variance = self.moving_mean.value(), self.moving_variance.value()
        if known is not False:
            batch_mean, batch_variance = moments(x, others, keepdims=len(self.axis) > 1)
            self._move(x, training, batch_mean, batch_variance)
            mean = batch_mean if known else where_v2(training, batch_mean, mean)
            variance = batch_variance if known else where_v2(training, batch_variance, variance)
        factors = [mean, variance, self.beta, self.gamma]
        if len(self.axis) == 1 and self.axis != [rank - 1]:
            shape = [1] * rank
            shape[self.axis[0]] = -1
            factors = [None if v is None else reshape(v, shape) for v in factors]
        mean, variance, beta, gamma = factors
        return nn_normalization.batch_normalization(x, mean, variance, beta, gamma, self.epsilon)

    def _move(self, x: Tensor, training: Any, mean: Tensor, variance: Tensor) -> None:
        for average, value in ((self.moving_mean, mean), (self.moving_variance, variance)):
            named = builder_for((value,)).name_scope("AssignMovingAvg")
            with named as scope, colocate_with(average):
                rate = convert_to_tensor(1.0 - self.momentum, value.dtype, name="decay")
                delta = multiply(subtract(average.value(), value), rate)
                if known_phase(training) is None:
                    delta = where_v2(training, delta, zeros_like(delta))
                update = assign_sub(average.handle, delta, name=scope)
            self.add_update(update, inputs=x)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """Return `input_shape`."""
        return TensorShape(input_shape)


def _refuse(**given: Any) -> None:
    reasons = {
        "renorm": "batch renormalization; use renorm=False",
        "virtual_batch_size": "virtual batches; normalize whole batches, or split them before",
        "adjustment": "an adjustment; apply it to the output",
    }
    for name, value in given.items():
        if value:
            raise NotImplementedError(
                f"BatchNormalization({name}={value!r}): daskvars has no {reasons[name]}."
            )


def _axes(axis: Any, rank: int) -> list[int]:
    if not isinstance(axis, int | list):
        raise TypeError(f"axis must be int or list, got {type(axis).__name__}")
    axes = [a + rank if a < 0 else a for a in ([axis] if isinstance(axis, int) else axis)]
    if any(not 0 <= a < rank for a in axes):
        raise ValueError(f"Invalid axis: {axis} of an input of rank {rank}")
    if len(set(axes)) != len(axes):
        raise ValueError(f"Duplicate axis: {axis}")
    return axes


def batch_normalization(
    inputs: Any,
    axis: Any = -1,
    momentum: Any = 0.99,
    epsilon: float = 1e-3,
    center: bool = True,
    scale: bool = True,
    beta_initializer: Any = _ZEROS,
    gamma_initializer: Any = _ONES,
    moving_mean_initializer: Any = _ZEROS,
    moving_variance_initializer: Any = _ONES,
    beta_regularizer: Callable[[Any], Any] | None = None,
    gamma_regularizer: Callable[[Any], Any] | None = None,
    beta_constraint: Callable[[Any], Any] | None = None,
    gamma_constraint: Callable[[Any], Any] | None = None,
    training: Any = False,
    trainable: bool = True,
    name: Any = None,
    reuse: Any = None,
    renorm: bool = False,
    renorm_clipping: Any = None,
    renorm_momentum: float = 0.99,
    fused: bool | None = None,
    virtual_batch_size: int | None = None,
    adjustment: Any = None,
) -> Tensor:
    """Normalize each channel; see `BatchNormalization`, also for the arguments.

    Args:
      inputs: [...] floating.
      training: a bool or scalar bool tensor: take the moments of the batch, and move the averages
        by the operations in ``GraphKeys.UPDATE_OPS``, to be run with each training step.
      reuse: True shares the variables of an earlier layer of that name.

    >>> import daskvars.v1 as tf
    >>> with tf.Graph().as_default():
    ...     y = tf.layers.batch_normalization(tf.ones([8, 3]), training=True)
    ...     len(tf.get_collection(tf.GraphKeys.UPDATE_OPS))
    2
    """
    arguments = {
        "axis": axis, "momentum": momentum, "epsilon": epsilon, "center": center, "scale": scale,
        "beta_initializer": beta_initializer, "gamma_initializer": gamma_initializer,
        "moving_mean_initializer": moving_mean_initializer,
        "moving_variance_initializer": moving_variance_initializer,
        "beta_regularizer": beta_regularizer, "gamma_regularizer": gamma_regularizer,
        "beta_constraint": beta_constraint, "gamma_constraint": gamma_constraint,
        "trainable": trainable, "renorm": renorm, "renorm_clipping": renorm_clipping,
        "renorm_momentum": renorm_momentum, "fused": fused,
        "virtual_batch_size": virtual_batch_size, "adjustment": adjustment,
    }  # fmt: skip
    call = {"training": training}
    return applied(BatchNormalization, inputs, name, reuse, call, **arguments)
