"""How a window slides over an image: pure shape arithmetic, shared by kernels and shape rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, Required, TypedDict, TypeVar, Unpack

Padding = str | tuple[tuple[int, int], ...]
Pair = tuple[int, int]
_Size = TypeVar("_Size")

FORMATS = ("NHWC", "NCHW", "NDHWC", "NCDHW")
ONES = (1, 1, 1, 1)


class WindowOptions(TypedDict, total=False):
    """Where windows are, as the attributes of a convolution say it.

    Attributes:
        strides: distances between windows, one for each axis.
        padding: "SAME", "VALID" or, for images, four (before, after) pairs.
        dilations: distances between the taps of a window, as strides.
        data_format: the order of the axes, by default channels are last.
    """

    strides: Required[tuple]
    padding: Required[Padding]
    dilations: tuple
    data_format: str


class PoolOptions(TypedDict, total=False):
    """Where windows of pooling are: their extents for each axis, the rest as `WindowOptions`."""

    ksize: Required[tuple]
    strides: Required[tuple]
    padding: Required[Padding]
    data_format: str


def effective_size(window: int, dilation: int) -> int:
    """Return the extent of a dilated window, holes included.

    >>> effective_size(3, 2)
    5
    """
    return (window - 1) * dilation + 1


def conv_output_size(
    size: int | None, window: int, stride: int, dilation: int, padding: str | Pair
) -> int | None:
    """Return how many windows fit along one dimension.

    Args:
        size: extent of the image, None where unknown.
        window: extent of the window, without dilation.
        stride: distance between windows.
        dilation: distance between the taps of one window.
        padding: "SAME", "VALID" or a (before, after) pair.

    Returns:
        The number of windows; None where ``size`` is None.

    Raises:
        ValueError: the window is larger than the padded image, or the padding is unknown.

    >>> conv_output_size(28, 5, 2, 1, "SAME"), conv_output_size(28, 5, 2, 1, "VALID")
    (14, 12)
    """
    if size is None:
        return None
    if padding == "SAME":
        return -(-size // stride)
    before, after = (0, 0) if padding == "VALID" else explicit_pair(padding)
    extent = effective_size(window, dilation)
    room = size + before + after - extent
    if room < 0:
        raise ValueError(
            f"Negative dimension size caused by subtracting {extent} (window) from "
            f"{size + before + after} (padded input): use a smaller window or padding='SAME'"
        )
    return room // stride + 1


def conv_padding(size: int, window: int, stride: int, dilation: int, padding: str | Pair) -> Pair:
    """Return the zeros put before and after one dimension, as TensorFlow divides them.

    >>> conv_padding(5, 2, 1, 1, "SAME")
    (0, 1)
    """
    if padding == "VALID":
        return 0, 0
    if padding != "SAME":
        return explicit_pair(padding)
    count = -(-size // stride)
    total = max((count - 1) * stride + effective_size(window, dilation) - size, 0)
    return total // 2, total - total // 2


def explicit_pair(padding: str | Pair) -> Pair:
    """Return ``padding`` as a checked pair of ints."""
    if isinstance(padding, str):
        raise ValueError(
            f"padding must be 'SAME', 'VALID' or explicit pairs, got {padding!r}: "
            "spell it in capitals"
        )
    before, after = (int(amount) for amount in padding)
    if before < 0 or after < 0:
        raise ValueError(f"explicit padding must not be negative, got {(before, after)}")
    return before, after


def spatial(values: tuple, data_format: str) -> tuple:
    """Return the entries of space of a tuple written in ``data_format`` order.

    >>> spatial((1, 2, 3, 1), "NHWC"), spatial((1, 1, 2, 3), "NCHW")
    ((2, 3), (2, 3))
    """
    if data_format not in FORMATS:
        raise ValueError(f"data_format must be one of {', '.join(FORMATS)}, got {data_format!r}")
    return tuple(values[2:] if data_format[1] == "C" else values[1:-1])


def channels(values: Sequence[_Size], data_format: str) -> _Size:
    """Return the channel entry of a tuple written in ``data_format`` order."""
    return values[data_format.index("C")]


def spatial_padding(padding: Padding, data_format: str) -> tuple[str | Pair, ...]:
    """Return the padding of each dimension of space, from a name or from a pair for every one."""
    if isinstance(padding, str):
        return (padding,) * (len(data_format) - 2)
    return tuple(explicit_pair(pair) for pair in spatial(tuple(padding), data_format))


class Tap(NamedTuple):
    """One place of a window, where it sees pixels of the image and not padding.

    Attributes:
        row, column: the place in the window.
        pixels: index of what is seen, in a batch without padding.
        windows: index of the windows that see them, in a batch of results.
    """

    row: int
    column: int
    pixels: tuple[slice, ...]
    windows: tuple[slice, ...]


@dataclass(frozen=True)
class Windows:
    """One placing of windows over an image; each field is a (height, width) pair."""

    image: tuple[int, ...]
    size: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]
    count: tuple[int, ...]

    @cached_property
    def padded(self) -> tuple[int, int]:
        """The image's extent with its padding."""
        return (
            self.image[0] + self.before[0] + self.after[0],
            self.image[1] + self.before[1] + self.after[1],
        )

    @cached_property
    def pads(self) -> bool:
        """Whether any padding is added."""
        return any(self.before) or any(self.after)

    @property
    def apart(self) -> bool:
        """Whether no pixel is in two windows (for windows without dilation)."""
        return all(size <= step for size, step in zip(self.size, self.stride, strict=True))

    @property
    def tile(self) -> bool:
        """Whether every pixel is in exactly one window (for windows without dilation)."""
        return self.size == self.stride and self.padded == (
            self.count[0] * self.size[0],
            self.count[1] * self.size[1],
        )

    def sees_all(self, axis: int) -> bool:
        """Whether there is one window along an axis, which sees the whole image and no padding."""
        is_alone = self.count[axis] == 1 and not self.before[axis] and not self.after[axis]
        return is_alone and 0 < self.size[axis] == self.image[axis]

    def tap(self, row: int, column: int) -> tuple[slice, slice, slice]:
        """Index of the pixels that each window sees at its (row, column), in a padded batch."""
        top, left = row * self.dilation[0], column * self.dilation[1]
        return (
            slice(None),
            slice(top, top + (self.count[0] - 1) * self.stride[0] + 1, self.stride[0]),
            slice(left, left + (self.count[1] - 1) * self.stride[1] + 1, self.stride[1]),
        )

    def taps(self) -> list[tuple[int, int, tuple[slice, slice, slice]]]:
        """Every (row, column, index) of the window, in row-major order."""
        return [
            (row, column, self.tap(row, column))
            for row in range(self.size[0])
            for column in range(self.size[1])
        ]

    def taps_inside(self) -> list[Tap]:
        """Every place of the window that sees pixels of the image, in row-major order."""
        along = [[self.inside(axis, place) for place in range(self.size[axis])] for axis in (0, 1)]
        return [
            Tap(row, column, (slice(None), down[0], across[0]), (slice(None), down[1], across[1]))
            for row, down in enumerate(along[0])
            for column, across in enumerate(along[1])
            if down is not None and across is not None
        ]

    def inside(self, axis: int, place: int) -> tuple[slice, slice] | None:
        """Return the pixels that a place sees along an axis, and by which windows; None: none."""
        step = self.stride[axis]
        origin = place * self.dilation[axis] - self.before[axis]  # what the first window sees
        first = max(0, -(origin // step))
        last = min(self.count[axis] - 1, (self.image[axis] - 1 - origin) // step)
        if last < first:
            return None
        start = origin + first * step
        seen = slice(start, start + (last - first) * step + 1, step)
        return seen, slice(first, last + 1)

    def interior(self) -> tuple[slice, slice, slice]:
        """Index of the image inside a padded batch."""
        return (
            slice(None),
            slice(self.before[0], self.before[0] + self.image[0]),
            slice(self.before[1], self.before[1] + self.image[1]),
        )


@lru_cache(maxsize=1024)  # a program has few of them, and places them in each step
def place_windows(
    image: tuple[int, ...],
    size: tuple[int, ...],
    *,
    padding: Padding,
    strides: tuple,
    dilations: tuple = ONES,
    data_format: str = "NHWC",
) -> Windows:
    """Return the placing of ``size`` windows over ``image``, (height, width) both.

    >>> place_windows((5, 5), (3, 3), strides=(1, 2, 2, 1), padding="SAME").count
    (3, 3)
    """
    stride, dilation = spatial(strides, data_format), spatial(dilations, data_format)
    amounts = spatial_padding(padding, data_format)
    along = list(zip(image, size, stride, dilation, amounts, strict=True))
    pads = [conv_padding(*values) for values in along]
    counts = tuple(conv_output_size(*values) or 0 for values in along)
    before, after = zip(*pads, strict=True)
    return Windows(image, size, stride, dilation, before, after, counts)


@lru_cache(maxsize=1024)
def turned(windows: Windows) -> Windows | None:
    """Return the windows of the flipped filter over the gradient; None where there are none."""
    if windows.stride != (1, 1):
        return None
    extents = [effective_size(*pair) for pair in zip(windows.size, windows.dilation, strict=True)]
    before = tuple(extent - 1 - pad for extent, pad in zip(extents, windows.before, strict=True))
    after = tuple(extent - 1 - pad for extent, pad in zip(extents, windows.after, strict=True))
    if min(*before, *after) < 0:
        return None
    return replace(windows, image=windows.count, before=before, after=after, count=windows.image)


def pixels_as_channels(windows: Windows) -> tuple[Windows, int]:
    """Return windows over images of fewer pixels of more channels, and how many become one.

    To a window as wide as the image (of words, their vectors' components as columns) the pixels of
    a row are one pixel, and the convolution is one along the height alone; to a window as large as
    the image all of them are, and it is one product. So there are few taps, of long runs.
    """
    pixels = 1
    for axis in (1, 0):
        if not windows.sees_all(axis):
            break
        pixels *= windows.image[axis]
        alone = {
            name: tuple(1 if i == axis else n for i, n in enumerate(getattr(windows, name)))
            for name in ("image", "size", "stride", "dilation")
        }
        windows = replace(windows, **alone)
    return windows, pixels


def conv_shape(input_shape: tuple, filter_shape: tuple, **options: Unpack[WindowOptions]) -> tuple:
    """Return the shape of ``conv2d`` or ``conv3d``; None stands for an unknown extent.

    >>> conv_shape((None, 28, 28, 1), (5, 5, 1, 32), strides=(1, 1, 1, 1), padding="SAME")
    (None, 28, 28, 32)
    """
    return windowed_shape(input_shape, filter_shape[:-2], filter_shape[-1], **options)


def depthwise_conv2d_shape(
    input_shape: tuple, filter_shape: tuple, **options: Unpack[WindowOptions]
) -> tuple:
    """Return the shape of ``depthwise_conv2d``: channels times the filter's multiplier."""
    _, _, inputs, multiplier = filter_shape
    outputs = None if inputs is None or multiplier is None else inputs * multiplier
    return windowed_shape(input_shape, filter_shape[:2], outputs, **options)


def pool2d_shape(input_shape: tuple, *, ksize: tuple, **options: Any) -> tuple:
    """Return the shape of a pooling op. See `PoolOptions`.

    >>> pool2d_shape((8, 28, 28, 32), ksize=(1, 2, 2, 1), strides=(1, 2, 2, 1),
    ...              padding="VALID")
    (8, 14, 14, 32)
    """
    data_format = options.get("data_format", "NHWC")
    depth = channels(input_shape, data_format)
    return windowed_shape(input_shape, spatial(ksize, data_format), depth, **options)


def windowed_shape(
    input_shape: tuple,
    size: tuple,
    depth: int | None,
    *,
    padding: Padding,
    strides: tuple,
    dilations: tuple = ONES,
    data_format: str = "NHWC",
) -> tuple:
    """Return the shape of what windows give, ``depth`` channels for each, in the data format."""
    along = zip(
        spatial(input_shape, data_format),
        size,
        spatial(strides, data_format),
        spatial(dilations, data_format),
        spatial_padding(padding, data_format),
        strict=True,
    )
    counts = [None if part[1] is None else conv_output_size(*part) for part in along]
    return in_format(input_shape[0], counts, depth, data_format)


def in_format(batch: Any, counts: Any, depth: Any, data_format: str) -> tuple:
    """Return a tuple in ``data_format`` order."""
    return (batch, depth, *counts) if data_format[1] == "C" else (batch, *counts, depth)
