"""Arguments and output sizes of windows that layers slide over space."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from daskvars.layers.arguments import DeclaredLayer
from daskvars.layers.input_spec import InputSpec
from daskvars.ops.nn.windows.arguments import PerAxis
from daskvars.shapes import ShapeLike, TensorShape


def sizes_of(value: PerAxis, rank: int, what: str) -> tuple[int, ...]:
    """Return an int, or `rank` of them, as a tuple.

    Raises:
      ValueError: it is something else, or not positive.
    """
    values = (value,) * rank if isinstance(value, int) else value
    try:
        found = tuple(int(n) for n in values)
        is_whole = found == tuple(values)
    except (TypeError, ValueError):
        found, is_whole = (), False
    if len(found) != rank or not is_whole:
        raise ValueError(
            f"The `{what}` argument must be an int or a tuple of {rank} integers. "
            f"Received: {value!r}"
        )
    return found


def checked_format(value: str | None) -> str:
    """Return "channels_last" or "channels_first". Raises ValueError for anything else."""
    found = (value or "channels_last").lower()
    if found not in ("channels_first", "channels_last"):
        raise ValueError(
            'The `data_format` argument must be one of "channels_first", "channels_last". '
            f"Received: {value!r}"
        )
    return found


def checked_padding(value: str) -> str:
    """Return "valid" or "same". Raises ValueError for anything else."""
    found = value.lower() if isinstance(value, str) else value
    if found not in ("valid", "same"):
        raise ValueError(
            f'The `padding` argument must be one of "valid", "same". Received: {value!r}'
        )
    return found


def op_format(data_format: str, rank: int) -> str:
    """Return the format as ops call it, such as "NHWC"."""
    space = {1: "W", 2: "HW", 3: "DHW"}[rank]
    return f"NC{space}" if data_format == "channels_first" else f"N{space}C"


def channel_axis(data_format: str, rank: int) -> int:
    """Return which axis of the input the channels are."""
    return 1 if data_format == "channels_first" else rank + 1


def num_windows(
    size: int | None, window: int, padding: str, stride: int, dilation: int = 1
) -> int | None:
    """Return how many windows fit into `size` elements."""
    if size is None:
        return None
    span = (window - 1) * dilation + 1
    room = size if padding == "same" else size - span + 1
    return -(-room // stride)


def transposed_size(size: Any, window: int, padding: str, stride: int) -> Any:
    """Return the size (a number or a tensor) whose windows a transposed convolution covers."""
    if size is None:
        return None
    size = size * stride
    return size + max(window - stride, 0) if padding == "valid" else size


def with_space(
    input_shape: ShapeLike,
    data_format: str,
    space: Sequence[int | None],
    channels: int | None = None,
) -> TensorShape:
    """Return the shape of an output: that of the input with another space and other channels."""
    shape = TensorShape(input_shape).with_rank(len(space) + 2).as_list()
    axis = channel_axis(data_format, len(space))
    last = shape[axis] if channels is None else channels
    sizes = [last, *space] if axis == 1 else [*space, last]
    return TensorShape([shape[0], *sizes])


def space_of(input_shape: ShapeLike, data_format: str) -> list[int | None]:
    """Return the sizes of an input along the dimensions of space."""
    shape = TensorShape(input_shape).as_list()
    return shape[2:] if data_format == "channels_first" else shape[1:-1]


class Sliding(DeclaredLayer):
    """What layers are that slide windows over `rank` dimensions of space."""

    rank = 2

    strides: Any
    padding: str
    data_format: str

    def _prepare(self) -> None:
        self.strides = sizes_of(self.strides, self.rank, "strides")
        self.padding = checked_padding(self.padding)
        self.data_format = checked_format(self.data_format)
        self.input_spec = InputSpec(ndim=self.rank + 2)

    def _slid(
        self, input_shape: ShapeLike, sizes: Any, rates: Any, channels: int | None = None
    ) -> TensorShape:
        """Return the shape of what windows of some sizes give, in the order of the data format."""
        space = space_of(input_shape, self.data_format)
        each = zip(space, sizes, self.strides, rates, strict=True)
        windows = [num_windows(n, size, self.padding, step, rate) for n, size, step, rate in each]
        return with_space(input_shape, self.data_format, windows, channels)
