"""Layer normalization: each row to mean 0 and variance 1."""

from __future__ import annotations

from typing import Any

from daskvars import dtypes
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.layers.arguments import DeclaredLayer, takes
from daskvars.layers.functional import functional
from daskvars.layers.input_spec import InputSpec
from daskvars.ops.array.constant import ones, zeros
from daskvars.ops.nn.normalization import layer_norm as nn_layer_norm
from daskvars.shapes import ShapeLike, TensorShape


@takes(
    "epsilon center scale beta_initializer gamma_initializer beta_regularizer gamma_regularizer "
    "beta_constraint gamma_constraint trainable name"
)
class LayerNormalization(DeclaredLayer):
    """A layer that normalizes the last axis to mean 0 and variance 1, then scales and shifts it.

    Variables: `gamma` and `beta`, [size of the last axis].

    Source: Ba, Kiros and Hinton, "Layer Normalization", 2016.

    >>> dv.layers.LayerNormalization()([[1.0, 3.0]]).numpy().round(2).tolist()
    [[-1.0, 1.0]]
    """

    floating_inputs = True

    epsilon: float
    center: bool
    scale: bool

    def _prepare(self) -> None:
        self.input_spec = InputSpec(min_ndim=1)
        self.gamma: Any = None
        self.beta: Any = None

    def build(self, input_shape: ShapeLike) -> None:
        """Make `gamma` and `beta`.

        Raises:
          ValueError: the size of the last dimension is not known.
        """
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
            self.gamma = self._add_declared("gamma", [size], dtype)
        if self.center:
            self.beta = self._add_declared("beta", [size], dtype)
        self.built = True

    def call(self, inputs: TensorLike) -> Tensor:
        """Return the normalized input."""
        inputs = convert_to_tensor(inputs)
        size = [int(inputs.get_shape()[-1])]
        dtype = inputs.dtype.base_dtype
        gamma = ones(size, dtype) if self.gamma is None else self.gamma
        beta = zeros(size, dtype) if self.beta is None else self.beta
        return nn_layer_norm.layer_norm(inputs, gamma, beta, self.epsilon)

    def compute_output_shape(self, input_shape: ShapeLike) -> TensorShape:
        """Return `input_shape`."""
        return TensorShape(input_shape)


layer_norm = functional(
    LayerNormalization,
    "layer_norm",
    example="y = dv.layers.layer_norm(dv.constant([[1.0, 3.0]]), epsilon=0.0)\n"
    "y.numpy().round(4).tolist() -> [[-1.0, 1.0]]",
)
