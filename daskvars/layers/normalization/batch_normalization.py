"""Batch normalization, with moving averages of its moments for inference."""

from __future__ import annotations

from typing import Any

from daskvars import dtypes
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.layers.arguments import DeclaredLayer, takes
from daskvars.layers.functional import functional
from daskvars.layers.input_spec import InputSpec
from daskvars.layers.normalization.moving_moments import Renormalization, moved
from daskvars.layers.training_phase import chosen, known_phase
from daskvars.ops.array.constant import ones, ones_like, shape as shape_of, zeros, zeros_like
from daskvars.ops.array.reshaping import reshape
from daskvars.ops.math.arithmetic import add, multiply
from daskvars.ops.math.moments import moments
from daskvars.ops.math.reduce import reduce_mean
from daskvars.ops.math.transcendental import sqrt
from daskvars.ops.nn.normalization import moments as nn_normalization
from daskvars.ops.nn.normalization.batch_norm import batch_moments, fused_batch_norm
from daskvars.shapes import ShapeLike, TensorShape


@takes(
    "axis momentum epsilon center scale beta_initializer gamma_initializer "
    "moving_mean_initializer moving_variance_initializer beta_regularizer gamma_regularizer "
    "beta_constraint gamma_constraint renorm renorm_clipping renorm_momentum fused trainable "
    "virtual_batch_size adjustment name"
)
class BatchNormalization(DeclaredLayer):
    """A layer that normalizes each channel to mean 0 and variance 1, then scales and shifts it.

    In training the moments are those of the batch, and the operations in ``GraphKeys.UPDATE_OPS``
    move the averages that take their place in inference: run them with each training step. Eager
    code moves them at once.

    Variables: `gamma`, `beta`, `moving_mean`, `moving_variance`, each [channels].

    Raises:
      ValueError: `fused` is True along with one of the three above; (when called) an axis does not
        exist or is given twice, or its size is not known; virtual batches have no positive size,
        their sizes are not known but for the batch, or come with an adjustment or axis 0.

    Source: Ioffe and Szegedy, "Batch Normalization", 2015.

    >>> layer = dv.layers.BatchNormalization(momentum=0.5)
    >>> layer([[1.0], [3.0]], training=True).numpy().round(2).ravel().tolist()
    [-1.0, 1.0]
    >>> layer.moving_mean.numpy().tolist()
    [1.0]
    """

    floating_inputs = True

    axis: Any
    momentum: Any
    epsilon: float
    center: bool
    scale: bool
    moving_mean_initializer: Any
    moving_variance_initializer: Any
    renorm: bool
    renorm_clipping: Any
    renorm_momentum: float
    fused: bool | None
    virtual_batch_size: int | None
    adjustment: Any

    def _prepare(self) -> None:
        plain = self.renorm or self.virtual_batch_size is not None or self.adjustment is not None
        if self.fused and plain:
            raise ValueError(
                "fused=True is not supported along with renorm, virtual_batch_size or adjustment"
            )
        self.fused = self.fused is not False and not plain
        self.axis = list(self.axis) if isinstance(self.axis, list | tuple) else self.axis
        self._renormalization = None
        if self.renorm:
            self._renormalization = Renormalization(self.renorm_clipping, self.renorm_momentum)
        self.gamma: Any = None
        self.beta: Any = None
        self.moving_mean: Any = None
        self.moving_variance: Any = None

    # -- variables ----------------------------------------------------------------------------

    def build(self, input_shape: ShapeLike) -> None:
        """Make the variables.

        Raises:
          ValueError: there is no such axis, or its size is not known.
        """
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
        variables = list(sizes.values())
        if len(sizes) > 1 or self.virtual_batch_size is not None:
            variables = [sizes.get(i, 1) for i in range(shape.ndims)]
        if self.virtual_batch_size is not None:
            self._check_virtual_batches(shape, self.virtual_batch_size)
            variables.insert(1, 1)
            self.axis = [axis + 1 for axis in self.axis]
        self._build_variables(variables)
        self.built = True

    def _check_virtual_batches(self, shape: TensorShape, size: int) -> None:
        if size <= 0:
            raise ValueError(
                "virtual_batch_size must be a positive integer that divides the true batch size of "
                f"the input Tensor, got {size} (layer {self.name})"
            )
        if 0 in self.axis or self.adjustment is not None:
            raise ValueError(
                "When using virtual_batch_size, the batch dimension must be 0 and thus axis cannot "
                f"include 0, and adjustment cannot be specified (layer {self.name})"
            )
        if None in shape.as_list()[1:]:
            raise ValueError(
                "When using virtual_batch_size, only the batch may be of unknown size: the input "
                f"has shape {shape} (layer {self.name})"
            )

    def _build_variables(self, shape: list[int]) -> None:
        small = self._dtype in (dtypes.float16, dtypes.bfloat16)
        dtype = dtypes.float32 if small else self._dtype
        if self.scale:
            self.gamma = self._add_declared("gamma", shape, dtype)
        if self.center:
            self.beta = self._add_declared("beta", shape, dtype)
        scope = self._set_scope(None)
        partitioner = scope.partitioner
        scope.set_partitioner(None)  # the averages are never cut
        try:
            self.moving_mean = self.add_weight(
                "moving_mean", shape, dtype, self.moving_mean_initializer, trainable=False
            )
            self.moving_variance = self.add_weight(
                "moving_variance", shape, dtype, self.moving_variance_initializer, trainable=False
            )
            if self._renormalization is not None:
                self._renormalization.build(
                    lambda name, initializer: self.add_weight(
                        name, shape, dtype, initializer, trainable=False
                    ),
                    self.moving_mean_initializer,
                    self.moving_variance_initializer,
                )
        finally:
            scope.set_partitioner(partitioner)

    # -- the output ---------------------------------------------------------------------------

    def call(self, inputs: TensorLike, training: TensorLike = False) -> Tensor:
        """Return the normalized input.

        Args:
          inputs: [...] floating.
          training: a bool or scalar bool tensor: take the moments of the batch, and move the
            averages by the operations in ``GraphKeys.UPDATE_OPS``, to be run with each training
            step.
        """
        inputs = convert_to_tensor(inputs)
        if self.virtual_batch_size is not None:
            # One batch for each index of the second axis.
            rest = [int(n) for n in inputs.get_shape()[1:]]
            outputs = self._plain(reshape(inputs, [self.virtual_batch_size, -1, *rest]), training)
            outputs = reshape(outputs, [-1, *rest])
        else:
            outputs = (self._fused if self.fused else self._plain)(inputs, training)
        outputs.set_shape(inputs.get_shape())
        return outputs

    def _fused(self, x: Tensor, training: TensorLike) -> Tensor:
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
            mean = chosen(training, batch_mean, mean)
            variance = chosen(training, biased, variance)
        return fused_batch_norm(x, gamma, beta, mean, variance, is_training=False, **options)[0]

    def _plain(self, x: Tensor, training: TensorLike) -> Tensor:
        rank = len(x.get_shape())
        others = [i for i in range(rank) if i not in self.axis]
        if self.virtual_batch_size is not None:
            others.remove(1)  # each virtual batch has moments of its own
        mean, variance = self.moving_mean.value(), self.moving_variance.value()
        scale, offset = self._broadcast(self.gamma, rank), self._broadcast(self.beta, rank)
        if known_phase(training) is not False:
            keepdims = self.virtual_batch_size is not None or len(self.axis) > 1
            found = moments(x, others, keepdims=keepdims)
            scale, offset = self._transformed(x, found, training, scale, offset)
            mean, variance = chosen(training, found[0], mean), chosen(training, found[1], variance)
        mean, variance = self._broadcast(mean, rank), self._broadcast(variance, rank)
        return nn_normalization.batch_normalization(x, mean, variance, offset, scale, self.epsilon)

    def _broadcast(self, v: Any, rank: int) -> Any:
        """Return a value per channel in a shape that broadcasts with inputs of that rank."""
        if v is None or len(v.get_shape()) == rank or self.axis == [rank - 1]:
            return v
        return reshape(v, [-1 if i in self.axis else 1 for i in range(rank)])

    def _transformed(
        self, x: Tensor, found: tuple[Tensor, Tensor], training: TensorLike, scale: Any, offset: Any
    ) -> tuple[Any, Any]:
        """Return scale and offset in training; have the averages moved."""
        mean, variance = found
        if self.virtual_batch_size is not None:
            mean, variance = (reduce_mean(v, axis=1, keepdims=True) for v in found)
        if self.adjustment is not None:
            factor, shift = self.adjustment(shape_of(x))
            factor = chosen(training, factor, ones_like(factor))
            shift = chosen(training, shift, zeros_like(shift))
            scale, offset = _composed(factor, shift, scale, offset)
        if self._renormalization is None:
            self._move(x, training, mean, variance)
            return scale, offset
        stddev = sqrt(add(variance, self.epsilon))
        corrections = self._renormalization.corrections(mean, stddev, self.epsilon, training)
        factor, shift = (self._broadcast(v, len(x.get_shape())) for v in corrections)
        options = {"momentum": self.momentum, "epsilon": self.epsilon, "training": training}
        averages = self.moving_mean, self.moving_variance
        for update in self._renormalization.updates(averages, mean, stddev, options):
            self.add_update(update, inputs=x)
        return _composed(factor, shift, scale, offset)

    def _move(self, x: Tensor, training: TensorLike, mean: Tensor, variance: Tensor) -> None:
        for average, value in ((self.moving_mean, mean), (self.moving_variance, variance)):
            self.add_update(moved(average, value, self.momentum, training), inputs=x)

    def compute_output_shape(self, input_shape: ShapeLike) -> TensorShape:
        """Return `input_shape`."""
        return TensorShape(input_shape)


def _composed(factor: Any, shift: Any, scale: Any, offset: Any) -> tuple[Any, Any]:
    """Return `factor` and `shift`, followed by `scale` and `offset` as far as there are any."""
    if scale is not None:
        factor, shift = multiply(factor, scale), multiply(shift, scale)
    return factor, shift if offset is None else add(shift, offset)


def _axes(axis: Any, rank: int) -> list[int]:
    if not isinstance(axis, int | list):
        raise TypeError(f"axis must be int or list, got {type(axis).__name__}")
    axes = [a + rank if a < 0 else a for a in ([axis] if isinstance(axis, int) else axis)]
    if any(not 0 <= a < rank for a in axes):
        raise ValueError(f"Invalid axis: {axis} of an input of rank {rank}")
    if len(set(axes)) != len(axes):
        raise ValueError(f"Duplicate axis: {axis}")
    return axes


batch_normalization = functional(
    BatchNormalization,
    "batch_normalization",
    order="inputs axis momentum epsilon center scale beta_initializer gamma_initializer "
    "moving_mean_initializer moving_variance_initializer beta_regularizer gamma_regularizer "
    "beta_constraint gamma_constraint training trainable name reuse renorm renorm_clipping "
    "renorm_momentum fused virtual_batch_size adjustment",
    example="with tf.Graph().as_default():\n"
    "    y = tf.layers.batch_normalization(tf.ones([8, 3]), training=True)\n"
    "    len(tf.get_collection(tf.GraphKeys.UPDATE_OPS)) -> 2",
    training=False,
)
