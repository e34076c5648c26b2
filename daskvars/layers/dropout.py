"""Dropout: random elements are set to zero in training."""

from __future__ import annotations

from typing import Any

from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.layers.functional import applied
from daskvars.layers.layer import Layer
from daskvars.layers.training_phase import in_phase
from daskvars.ops.array.constant import sizes_filled
from daskvars.ops.array.reshaping import identity
from daskvars.ops.nn import dropout as nn_dropout
from daskvars.shapes import ShapeLike, TensorShape


class Dropout(Layer):
    """A layer that drops random elements in training, and scales the others up.

    Args:
      rate: probability that an element is dropped; it may be a tensor.
      noise_shape: shape of what is decided, which broadcasts to the input; None sizes are those
        of the input.
      seed: int, see `set_random_seed`.
      name: see `Layer`.

    >>> dv.layers.Dropout(0.5)(dv.ones([2])).numpy().tolist()
    [1.0, 1.0]
    """

    def __init__(
        self,
        rate: TensorLike = 0.5,
        noise_shape: TensorLike | None = None,
        seed: int | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, **kwargs)
        self.rate = rate
        self.noise_shape = noise_shape
        self.seed = seed

    def call(self, inputs: TensorLike, training: TensorLike = False) -> Tensor:
        """Return the input, with dropout where `training`, a bool or a scalar tensor, is true."""
        inputs = convert_to_tensor(inputs)
        return in_phase(training, lambda: self._dropped(inputs), lambda: identity(inputs))

    def _dropped(self, inputs: Tensor) -> Tensor:
        shape = self.noise_shape
        if isinstance(shape, list | tuple):
            shape = sizes_filled(inputs, shape)
        return nn_dropout.dropout(inputs, rate=self.rate, noise_shape=shape, seed=self.seed)

    def compute_output_shape(self, input_shape: ShapeLike) -> TensorShape:
        """Return `input_shape`."""
        return TensorShape(input_shape)


def dropout(
    inputs: TensorLike,
    rate: TensorLike = 0.5,
    noise_shape: TensorLike | None = None,
    seed: int | None = None,
    training: TensorLike = False,
    name: str | None = None,
) -> Tensor:
    """Return the input, with dropout where `training` is true; see `Dropout`.

    Args:
      inputs: [...] floating.
      rate, noise_shape, seed, name: see `Dropout`.
      training: a bool or scalar bool tensor.

    Returns:
      A tensor of the shape and dtype of `inputs`.

    >>> sorted(set(dv.layers.dropout(dv.ones([99]), training=True).numpy().tolist()))
    [0.0, 2.0]
    """
    layer_arguments = {"rate": rate, "noise_shape": noise_shape, "seed": seed}
    return applied(Dropout, inputs, name, None, {"training": training}, **layer_arguments)
