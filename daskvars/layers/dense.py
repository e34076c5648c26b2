"""Dense: a matrix product, a bias and an activation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.tensor import Tensor
from daskvars.layers.activations import activation_of
from daskvars.layers.functional import functional
from daskvars.layers.input_spec import InputSpec
from daskvars.layers.layer import Layer
from daskvars.ops.linalg.products import matmul, tensordot
from daskvars.ops.nn.bias import bias_add
from daskvars.shapes import TensorShape
from daskvars.variables.initializers import Zeros

_ZEROS = Zeros()


class Dense(Layer):
    """A layer that gives ``activation(inputs @ kernel + bias)``.

    Variables: `kernel` [inputs, units] and `bias` [units].

    Args:
      units: size of the last axis of the output.
      activation: function of the output, or its name; None leaves it as it is.
      use_bias: whether there is a bias.
      kernel_initializer, bias_initializer: initializers; None takes the scope's, else Glorot's.
      kernel_regularizer, bias_regularizer: functions of a variable that give a loss.
      activity_regularizer: function of the output that gives a loss.
      kernel_constraint, bias_constraint: functions that project a variable after an update.
      trainable, name: see `Layer`.

    Raises:
      ValueError: (when called) the size of the last axis of the input is not known.

    >>> import daskvars as dv
    >>> layer = dv.layers.Dense(2, kernel_initializer=dv.ones_initializer(), name="fc")
    >>> layer(dv.ones([1, 3])).numpy().tolist(), layer.kernel.name
    ([[3.0, 3.0]], 'fc/kernel:0')
    """

    floating_inputs = True

    def __init__(
        self,
        units: int,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = None,
        bias_initializer: Any = _ZEROS,
        kernel_regularizer: Callable[[Any], Any] | None = None,
        bias_regularizer: Callable[[Any], Any] | None = None,
        activity_regularizer: Callable[[Any], Any] | None = None,
        kernel_constraint: Callable[[Any], Any] | None = None,
        bias_constraint: Callable[[Any], Any] | None = None,
        trainable: bool = True,
        name: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(trainable, name, activity_regularizer=activity_regularizer, **kwargs)
        self.units = int(units)
        self.activation = activation_of(activation)
        self.use_bias = use_bias
        self.kernel_initializer, self.bias_initializer = kernel_initializer, bias_initializer
        self.kernel_regularizer, self.bias_regularizer = kernel_regularizer, bias_regularizer
        self.kernel_constraint, self.bias_constraint = kernel_constraint, bias_constraint
        self.input_spec = InputSpec(min_ndim=2)
        self.kernel: Any = None
        self.bias: Any = None

    def build(self, input_shape: Any) -> None:
        """Make `kernel` and `bias`."""
        size = self._last_size(input_shape)
        self.input_spec = InputSpec(min_ndim=2, axes={-1: size})
        self.kernel = self.add_weight(
            "kernel",
            [size, self.units],
            initializer=self.kernel_initializer,
            regularizer=self.kernel_regularizer,
            constraint=self.kernel_constraint,
        )
        if self.use_bias:
            self.bias = self.add_weight(
                "bias",
                [self.units],
                initializer=self.bias_initializer,
                regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
            )
        self.built = True

    def call(self, inputs: Any) -> Tensor:
        """Return ``activation(inputs @ kernel + bias)``."""
        inputs = convert_to_tensor(inputs, self._dtype)
        rank = inputs.get_shape().ndims
        if rank == 2:
            outputs = matmul(inputs, self.kernel)
        else:
            outputs = tensordot(inputs, self.kernel, [[rank - 1], [0]])
            outputs.set_shape(self.compute_output_shape(inputs.get_shape()))
        if self.use_bias:
            outputs = bias_add(outputs, self.bias)
        return outputs if self.activation is None else self.activation(outputs)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """Return `input_shape` with `units` in the last place."""
        self._last_size(input_shape)
        return TensorShape([*TensorShape(input_shape).as_list()[:-1], self.units])

    def _last_size(self, input_shape: Any) -> int:
        shape = TensorShape(input_shape).with_rank_at_least(2)
        size = None if shape.ndims is None else shape.as_list()[-1]
        if size is None:
            raise ValueError(
                "The last dimension of the inputs to `Dense` should be defined. Found `None` in "
                f"shape {shape} (layer {self.name})."
            )
        return size


dense = functional(Dense, "dense")
