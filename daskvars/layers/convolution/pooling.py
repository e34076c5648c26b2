"""Pooling in one, two and three dimensions."""

from __future__ import annotations

from typing import Any

from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.layers.arguments import takes
from daskvars.layers.convolution.sizes import Sliding, op_format, sizes_of
from daskvars.layers.functional import functional
from daskvars.ops.nn.windows.pooling_by_rank import pool
from daskvars.shapes import ShapeLike, TensorShape


@takes("pool_size strides= padding data_format name")
class Pooling(Sliding):
    """What pooling layers are: they give one value for each window and channel.

    Raises:
      ValueError: an argument is none of those.
    """

    kind = "MAX"

    pool_size: Any

    def _prepare(self) -> None:
        self.pool_size = sizes_of(self.pool_size, self.rank, "pool_size")
        super()._prepare()

    def call(self, inputs: TensorLike) -> Tensor:
        """Return the pooled input."""
        name = "MaxPool" if self.kind == "MAX" else "AvgPool"
        return pool(
            convert_to_tensor(inputs),
            self.pool_size,
            self.kind,
            self.padding.upper(),
            None,
            self.strides,
            name,
            op_format(self.data_format, self.rank),
        )

    def compute_output_shape(self, input_shape: ShapeLike) -> TensorShape:
        """Return [batch, *windows, channels], in the order of the data format."""
        return self._slid(input_shape, self.pool_size, (1,) * self.rank)


class MaxPooling1D(Pooling):
    """The maximum of each window of sequences, [batch, steps, channels].

    Args: see `Pooling`; sizes are ints.

    >>> dv.layers.MaxPooling1D(2, 2)([[[1.0], [3.0], [2.0], [0.0]]]).numpy().ravel().tolist()
    [3.0, 2.0]
    """

    rank = 1


class MaxPooling2D(Pooling):
    """The maximum of each window of images, [batch, height, width, channels].

    Args: see `Pooling`; sizes are ints or pairs of them.

    >>> dv.layers.MaxPooling2D(2, 2)(dv.ones([2, 8, 8, 3])).shape.as_list()
    [2, 4, 4, 3]
    """


class MaxPooling3D(Pooling):
    """The maximum of each window of volumes, [batch, depth, height, width, channels].

    Args: see `Pooling`; sizes are ints or three of them.

    >>> dv.layers.MaxPooling3D(2, 2)(dv.ones([2, 4, 6, 8, 3])).shape.as_list()
    [2, 2, 3, 4, 3]
    """

    rank = 3


class AveragePooling1D(Pooling):
    """The mean of each window of sequences, [batch, steps, channels].

    Args: see `Pooling`; sizes are ints.

    >>> dv.layers.AveragePooling1D(2, 2)([[[1.0], [3.0], [2.0], [0.0]]]).numpy().ravel().tolist()
    [2.0, 1.0]
    """

    rank = 1
    kind = "AVG"


class AveragePooling2D(Pooling):
    """The mean of each window of images, [batch, height, width, channels].

    Args: see `Pooling`; sizes are ints or pairs of them.

    >>> dv.layers.AveragePooling2D(2, 2)(dv.ones([2, 8, 8, 3])).shape.as_list()
    [2, 4, 4, 3]
    """

    kind = "AVG"


class AveragePooling3D(Pooling):
    """The mean of each window of volumes, [batch, depth, height, width, channels].

    Args: see `Pooling`; sizes are ints or three of them.

    >>> dv.layers.AveragePooling3D(2, 2)(dv.ones([2, 4, 6, 8, 3])).shape.as_list()
    [2, 2, 3, 4, 3]
    """

    rank = 3
    kind = "AVG"


max_pooling1d = functional(
    MaxPooling1D,
    "max_pooling1d",
    has_variables=False,
    example="x = dv.constant([[[1.0], [3.0], [2.0], [0.0]]])\n"
    "dv.layers.max_pooling1d(x, 2, 2).numpy().ravel().tolist() -> [3.0, 2.0]",
)
max_pooling2d = functional(
    MaxPooling2D,
    "max_pooling2d",
    has_variables=False,
    example="x = dv.reshape(dv.range(9.0), [1, 3, 3, 1])\n"
    "dv.layers.max_pooling2d(x, 2, 1).numpy().ravel().tolist() -> [4.0, 5.0, 7.0, 8.0]",
)
max_pooling3d = functional(
    MaxPooling3D,
    "max_pooling3d",
    has_variables=False,
    example="x = dv.reshape(dv.range(12.0), [1, 2, 2, 3, 1])\n"
    "dv.layers.max_pooling3d(x, 2, 1).numpy().ravel().tolist() -> [10.0, 11.0]",
)
average_pooling1d = functional(
    AveragePooling1D,
    "average_pooling1d",
    has_variables=False,
    example="x = dv.constant([[[1.0], [3.0], [2.0], [0.0]]])\n"
    "dv.layers.average_pooling1d(x, 2, 2).numpy().ravel().tolist() -> [2.0, 1.0]",
)
average_pooling2d = functional(
    AveragePooling2D,
    "average_pooling2d",
    has_variables=False,
    example="x = dv.reshape(dv.range(9.0), [1, 3, 3, 1])\n"
    "dv.layers.average_pooling2d(x, 2, 1).numpy().ravel().tolist() -> [2.0, 3.0, 5.0, 6.0]",
)
average_pooling3d = functional(
    AveragePooling3D,
    "average_pooling3d",
    has_variables=False,
    example="x = dv.reshape(dv.range(12.0), [1, 2, 2, 3, 1])\n"
    "dv.layers.average_pooling3d(x, 2, 1).numpy().ravel().tolist() -> [5.0, 6.0]",
)
