"""Pooling in one, two and three dimensions, made of that in two."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from daskvars import shapes
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.ops.array.constant import size_along
from daskvars.ops.array.rearranging import batch_to_space_nd, space_to_batch_nd
from daskvars.ops.array.reshaping import expand_dims, reshape, squeeze
from daskvars.ops.array.transposing import transpose
from daskvars.ops.nn.windows.arguments import PaddingLike
from daskvars.ops.nn.windows.pooling import avg_pool, max_pool
from daskvars.ops.rules.axes import either
from daskvars.surface.signatures import Argument, Family

Given = dict[str, Any]

POOLINGS = Family(
    {
        "input": Argument("[batch, {space}, channels] {types}, or in the order of `data_format`."),
        "ksize": Argument(
            "size of a window: {sizes} in the order of `data_format`.", type="PerAxis"
        ),
        "strides": Argument("distance between windows, likewise.", type="PerAxis"),
        "padding": Argument('"SAME" or "VALID"; padding does not count.', type="str"),
        "data_format": Argument("{formats}.", "", "str"),
        "name": Argument('name of the operations, by default "{scope}".', None, "str | None"),
    },
    returns="""
        [batch, {windows}, channels] of the dtype of `input`, in the order of `data_format`.
    """,
    raises="ValueError: an argument is none of those, or a size that is needed is not known.",
    result="Tensor",
)
RANKS: list[dict[str, str]] = [
    {
        "of": "sequences",
        "format": "NWC",
        "formats": '"NWC" or "NCW"',
        "space": "width",
        "windows": "windows",
        "sizes": "an int, a list of one, or of three",
    },
    {
        "of": "images",
        "format": "NHWC",
        "formats": '"NHWC" or "NCHW"',
        "space": "height, width",
        "windows": "rows, columns",
        "sizes": "an int, two, or four",
    },
    {
        "of": "volumes",
        "format": "NDHWC",
        "formats": '"NDHWC" or "NCDHW"',
        "space": "depth, height, width",
        "windows": "planes, rows, columns",
        "sizes": "an int, three, or five",
    },
]


def _pooling(
    kind: str, rank: int, pool: Callable[..., Tensor], scope: str
) -> Callable[[str], Callable[..., Tensor]]:
    """Return what gives, by its example, the function of a kind of pooling in that many dimensions.

    It is made of that of images.
    """
    name, words = f"{kind}_pool{rank}d", RANKS[rank - 1]
    form = (_sequences, _images, _volumes)[rank - 1]
    what, types = {"max": ("maximum", "real"), "avg": ("mean", "floating")}[kind]
    order = f"input ksize strides padding data_format='{words['format']}' name"

    def call(given: Given) -> Tensor:
        return form(pool, given, scope)

    def documented(example: str) -> Callable[..., Tensor]:
        doc = f"Return the {what} of each window of {words['of']}.\n\n{inspect.cleandoc(example)}"
        return POOLINGS.function(
            __name__, name, order, call, doc, types=types, scope=scope, **words
        )

    return documented


def _sequences(pool: Callable[..., Tensor], given: Given, default: str) -> Tensor:
    """Pool images of height 1."""
    data_format = given["data_format"]
    if data_format not in ("NWC", "NCW"):
        raise ValueError(f"data_format must be 'NWC' or 'NCW', got {data_format!r}")
    height, images = (1, "NHWC") if data_format == "NWC" else (2, "NCHW")
    window = _sizes(given["ksize"], 1, data_format, "ksize")
    step = _sizes(given["strides"], 1, data_format, "strides")
    with name_scope(given["name"], default, [given["input"]]):
        value = expand_dims(convert_to_tensor(given["input"], name="input"), height)
        return squeeze(pool(value, (1, *window), (1, *step), given["padding"], images), [height])


def _images(pool: Callable[..., Tensor], given: Given, default: str) -> Tensor:
    names = ("input", "ksize", "strides", "padding", "data_format")
    return pool(*(given[name] for name in names), given["name"] or default)


def _volumes(pool: Callable[..., Tensor], given: Given, default: str) -> Tensor:
    """Pool the planes as images, then along the depth as rows of images.

    Both folds separate: a window's maximum is that of its planes' maxima, and the number of
    elements in it is a product.
    """
    data_format = given["data_format"]
    if data_format not in ("NDHWC", "NCDHW"):
        raise ValueError(f"data_format must be 'NDHWC' or 'NCDHW', got {data_format!r}")
    window = _sizes(given["ksize"], 3, data_format, "ksize")
    step = _sizes(given["strides"], 3, data_format, "strides")
    with name_scope(given["name"], default, [given["input"]]):
        value = convert_to_tensor(given["input"], name="input")
        if data_format == "NCDHW":
            value = transpose(value, [0, 2, 3, 4, 1])
        depth, *image = _all_but_batch(value, 5)
        planes = pool(reshape(value, [-1, *image]), window[1:], step[1:], given["padding"])
        rows, columns, channels = _all_but_batch(planes, 4)
        folded = reshape(planes, [-1, depth, rows * columns, channels])
        folded = pool(folded, (window[0], 1), (step[0], 1), given["padding"])
        depth = _all_but_batch(folded, 4)[0]
        pooled = reshape(folded, [-1, depth, rows, columns, channels])
        return transpose(pooled, [0, 4, 1, 2, 3]) if data_format == "NCDHW" else pooled


def _all_but_batch(value: Tensor, rank: int) -> list[Any]:
    """Return the sizes behind the batch: numbers where they are known, else scalar tensors."""
    if value.spec.shape is not None and len(value.spec.shape) != rank:
        raise ValueError(
            f"pooling of volumes needs a tensor of rank {rank}: {value.name!r} has shape "
            f"{value.shape}"
        )
    return [size_along(value, axis) for axis in range(1, rank)]


max_pool1d = _pooling("max", 1, max_pool, "max_pool1d")("""
    >>> max_pool1d([[[1.0], [3.0], [2.0]]], 2, 1, "VALID").numpy().ravel().tolist()
    [3.0, 3.0]
    """)
max_pool2d = _pooling("max", 2, max_pool, "max_pool2d")("""
    >>> max_pool2d([[[[1.0], [2.0]], [[5.0], [3.0]]]], 2, 1, "VALID").numpy().tolist()
    [[[[5.0]]]]
    """)
max_pool3d = _pooling("max", 3, max_pool, "MaxPool3D")("""
    >>> volume = dv.reshape(dv.range(8.0), [1, 2, 2, 2, 1])
    >>> float(max_pool3d(volume, 2, 2, "VALID")[0, 0, 0, 0, 0])
    7.0
    """)
avg_pool1d = _pooling("avg", 1, avg_pool, "avg_pool1d")("""
    >>> avg_pool1d([[[1.0], [3.0], [5.0]]], 2, 2, "SAME").numpy().ravel().tolist()
    [2.0, 5.0]
    """)
avg_pool2d = avg_pool  # which takes the old name of the input too
avg_pool3d = _pooling("avg", 3, avg_pool, "AvgPool3D")("""
    >>> volume = dv.reshape(dv.range(8.0), [1, 2, 2, 2, 1])
    >>> avg_pool3d(volume, [1, 2, 2], 1, "VALID").numpy().ravel().tolist()
    [1.5, 5.5]
    """)


def pool(
    input: TensorLike,
    window_shape: Sequence[int],
    pooling_type: str,
    padding: PaddingLike,
    dilation_rate: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: Sequence[int] | None = None,
) -> Tensor:
    """Pool in one, two or three dimensions, also with windows whose elements are apart.

    Args:
      input: [batch, *space, channels] floating, or [batch, channels, *space].
      window_shape: an int for each dimension of space.
      pooling_type: "MAX" or "AVG".
      padding: "SAME" or "VALID".
      dilation_rate: distance between the elements of a window in each dimension of space, by
        default ones; others only for padding "VALID" and strides of 1.
      strides: an int for each dimension of space, by default ones.
      name: name of the operation, by default "max_pool" or "avg_pool".
      data_format: "NWC" or "NCW", "NHWC" or "NCHW", "NDHWC" or "NCDHW"; by default channels are
        last.
      dilations: the new name of `dilation_rate`.

    Returns:
      [batch, *space, channels] of the dtype of `input`, in the order of `data_format`.

    Raises:
      ValueError: there are not 1, 2 or 3 dimensions of space, an argument is none of those, or
        sizes are not known where a rate is above 1.

    >>> pool([[[1.0], [3.0], [2.0]]], [2], "MAX", "VALID").numpy().ravel().tolist()
    [3.0, 3.0]
    """
    forms = {
        "MAX": (max_pool1d, max_pool2d, max_pool3d),
        "AVG": (avg_pool1d, avg_pool2d, avg_pool3d),
    }
    if pooling_type not in forms:
        raise ValueError(f"pooling_type must be 'MAX' or 'AVG', got {pooling_type!r}")
    window, steps = tuple(window_shape), tuple(strides or (1,) * len(window_shape))
    rank = len(window)
    rate = tuple(either(dilations, dilation_rate, "dilations", "dilation_rate") or (1,) * rank)
    if rank not in (1, 2, 3) or len(steps) != rank or len(rate) != rank:
        raise ValueError(
            f"pool takes 1 to 3 dimensions of space, got window_shape {window}, strides {steps} "
            f"and dilation_rate {rate}"
        )
    if max(rate) > 1 and (max(steps) > 1 or padding != "VALID"):
        raise ValueError(
            f"dilation_rate {rate} needs strides of 1 and padding 'VALID', got {steps} and "
            f"{padding!r}"
        )
    space = "DHW"[3 - rank :]
    first = data_format is not None and data_format.startswith("NC")
    name = name or f"{pooling_type.lower()}_pool"

    def plain(value: TensorLike, name: str, first: bool) -> Tensor:
        data_format = f"NC{space}" if first else f"N{space}C"
        return forms[pooling_type][rank - 1](value, window, steps, padding, data_format, name)

    if max(rate) == 1:
        return plain(input, name, first)
    with name_scope(name, values=[input]) as scope:
        value = convert_to_tensor(input, name="input")
        to_last = [0, *range(2, rank + 2), 1]
        value = transpose(value, to_last) if first else value
        pooled = _dilated(lambda phases: plain(phases, scope, False), value, window, rate)
        return transpose(pooled, [0, rank + 1, *range(1, rank + 1)]) if first else pooled


def _dilated(
    pool_phases: Callable[[Tensor], Tensor],
    value: Tensor,
    window: tuple[int, ...],
    rate: tuple[int, ...],
) -> Tensor:
    """Pool each phase of the space as a batch of its own; what padding took part in is cut off."""
    rank = len(window)
    sizes = None if value.spec.shape is None else value.spec.shape[1 : rank + 1]
    if not shapes.is_known(sizes):
        raise ValueError(f"pool with dilation_rate {rate} needs known sizes, got {value.shape}")
    more = [(0, -n % r) for n, r in zip(sizes, rate, strict=True)]
    pooled = pool_phases(space_to_batch_nd(value, list(rate), more))
    crops = []
    for n, w, r in zip(sizes, window, rate, strict=True):
        kept = max(0, n - (w - 1) * r)
        crops.append((0, (-(-n // r) - w + 1) * r - kept))
    return batch_to_space_nd(pooled, list(rate), crops)


def _sizes(value: Any, rank: int, data_format: str, what: str) -> tuple[int, ...]:
    """Return a size for each dimension of space, of one, of one each, or of all dimensions."""
    given = tuple(value) if isinstance(value, Sequence) else (value,)
    if len(given) not in (1, rank, rank + 2):
        raise ValueError(f"{what} should be of length 1, {rank} or {rank + 2}, got {given}")
    if len(given) == rank + 2:
        channel = data_format.index("C")
        if given[0] != 1 or given[channel] != 1:
            raise ValueError(f"{what} of batch and channels must be 1, got {given}")
        return given[2:] if channel == 1 else given[1:-1]
    return given * rank if len(given) == 1 else given
