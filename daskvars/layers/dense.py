"""Dense: a matrix product, a bias and an activation."""

from __future__ import annotations

from typing import Any

from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.layers.arguments import ACTIVATED, DeclaredLayer, takes
from daskvars.layers.by_name import activation_of
from daskvars.layers.functional import functional
from daskvars.layers.input_spec import InputSpec
from daskvars.ops.linalg.products import matmul, tensordot
from daskvars.ops.nn.bias import bias_add
from daskvars.shapes import ShapeLike, TensorShape


@takes(f"units {ACTIVATED}")
class Dense(DeclaredLayer):
    """A layer that gives ``activation(inputs @ kernel + bias)``.

    Variables: `kernel` [inputs, units] and `bias` [units].

    Raises:
      ValueError: (when called) the size of the last axis of the input is not known.

    >>> layer = dv.layers.Dense(2, kernel_initializer=dv.ones_initializer(), name="fc")
    >>> layer(dv.ones([1, 3])).numpy().tolist(), layer.kernel.name
    ([[3.0, 3.0]], 'fc/kernel:0')
    """

    floating_inputs = True

    units: int
    activation: Any
    use_bias: bool

    def _prepare(self) -> None:
        self.units = int(self.units)
        self.activation = activation_of(self.activation)
        self.input_spec = InputSpec(min_ndim=2)
        self.kernel: Any = None
        self.bias: Any = None

    def build(self, input_shape: ShapeLike) -> None:
        """Make `kernel` and `bias`."""
        size = self._last_size(input_shape)
        self.input_spec = InputSpec(self._dtype, min_ndim=2, axes={-1: size})
        self.kernel = self._add_declared("kernel", [size, self.units])
        if self.use_bias:
            self.bias = self._add_declared("bias", [self.units])
        self.built = True

    def call(self, inputs: TensorLike) -> Tensor:
        """Return ``activation(inputs @ kernel + bias)``."""
        inputs = convert_to_tensor(inputs, self._dtype)
        rank = len(inputs.get_shape())
        if rank == 2:
            outputs = matmul(inputs, self.kernel)
        else:
            outputs = tensordot(inputs, self.kernel, [[rank - 1], [0]])
            outputs.set_shape(self.compute_output_shape(inputs.get_shape()))
        if self.use_bias:
            outputs = bias_add(outputs, self.bias)
        return outputs if self.activation is None else self.activation(outputs)

    def compute_output_shape(self, input_shape: ShapeLike) -> TensorShape:
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


dense = functional(
    Dense,
    "dense",
    example="y = dv.layers.dense(dv.ones([1, 3]), 2, kernel_initializer=dv.ones_initializer())\n"
    "y.numpy().tolist() -> [[3.0, 3.0]]",
)
