"""Layer normalization: each row to mean 0 and variance 1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from daskvars import dtypes
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.tensor import Tensor
from daskvars.layers.functional import functional
from daskvars.layers.input_spec import InputSpec
from daskvars.layers.layer import Layer
from daskvars.ops.array.constant import ones, zeros
from daskvars.ops.nn.normalization import layer_norm as nn_layer_norm
from daskvars.shapes import TensorShape
from daskvars.variables.initializers import Ones, Zeros

_ZEROS, _ONES = Zeros(), Ones()


class LayerNormalization(Layer):
    """A layer that normalizes the last axis to mean 0 and variance 1, then scales and shifts it.

    Variables: `gamma` and `beta`, [size of the last axis].

    Args:
      epsilon: added to the variance.
      center: whether there is a `beta`, a shift.
      scale: whether there is a `gamma`, a factor.
      beta_initializer, gamma_initializer: initializers.
      beta_regularizer, gamma_regularizer: functions of a variable that give a loss.
      beta_constraint, gamma_constraint: functions that project a variable after an update.
      trainable, name: see `Layer`.

    Source: Ba, Kiros and Hinton, "Layer Normalization", 2016.

    >>> import daskvars as dv
    >>> dv.layers.LayerNormalization()([[1.0, 3.0]]).numpy().round(2).tolist()
    [[-1.0, 1.0]]
    """

    floating_inputs = True

    def __init__(
        self,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = _ZEROS,
        gamma_initializer: Any = _ONES,
        beta_regularizer: Callable[[Any], Any] | None = None,
        gamma_regularizer: Callable[[Any], Any] | None = None,
        beta_constraint: Callable[[Any], Any] | None = None,
        gamma_constraint: Callable[[Any], Any] | None = None,
        trainable: bool = True,
        name: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(trainable, name, **kwargs)
        self.epsilon, self.center, self.scale = epsilon, center, scale
        self.beta_initializer, self.gamma_initializer = beta_initializer, gamma_initializer
        self.beta_regularizer, self.gamma_regularizer = beta_regularizer, gamma_regularizer
        self.beta_constraint, self.gamma_constraint = beta_constraint, gamma_constraint
        self.input_spec = InputSpec(min_ndim=1)
        self.gamma: Any = None
        self.beta: Any = None

    def build(self, input_shape: Any) -> None:
        """Make `gamma` and `beta`."""
        size = TensorShape(input_shape).as_list()[-1]
        if size is None:
            raise ValueError(
                f"The last dimension of the inputs of layer {self.name} should be defined. Found "
                f"`None` in shape {input_shape}."
            )
        self.input_spec = InputSpec(min_ndim=1, axes={-1: size})
        small = self._dtype in (dtypes.float16, dtypes.bfloat16)
        dtype = dtypes.float32 if small else self._dtype
        if self.scale:
            self.gamma = self.add_weight(
                "gamma",
                [size],
                dtype,
                self.gamma_initializer,
                self.gamma_regularizer,
                constraint=self.gamma_constraint,
            )
        if self.center:
            self.beta = self.add_weight(
                "beta",
                [size],
                dtype,
                self.beta_initializer,
                self.beta_regularizer,
                constraint=self.beta_constraint,
            )
        self.built = True

    def call(self, inputs: Any) -> Tensor:
        """Return the normalized input."""
        inputs = convert_to_tensor(inputs)
        size = inputs.get_shape().as_list()[-1:]
        dtype = inputs.dtype.base_dtype
        gamma = ones(size, dtype) if self.gamma is None else self.gamma
        beta = zeros(size, dtype) if self.beta is None else self.beta
        return nn_layer_norm.layer_norm(inputs, gamma, beta, self.epsilon)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """Return `input_shape`."""
        return TensorShape(input_shape)


layer_norm = functional(LayerNormalization, "layer_norm")
