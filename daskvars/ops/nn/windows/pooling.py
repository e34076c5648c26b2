"""Pooling over windows of images; batch and channels may be cut."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from daskvars import shapes
from daskvars.dtypes import DType, DTypeLike, as_dtype, int32, int64
from daskvars.errors import UnimplementedError
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import OpDef, Spec
from daskvars.graph.definitions.patterns import Attrs, Contraction, RankedShapes
from daskvars.graph.interpreter import apply
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.kernels.nn.windows import pooling
from daskvars.kernels.nn.windows.sliding import channels, pool2d_shape
from daskvars.ops.array import ranges
from daskvars.ops.array.constant import size_along
from daskvars.ops.array.reshaping import reshape
from daskvars.ops.math.casting import cast
from daskvars.ops.nn.windows.arguments import (
    PaddingLike,
    PerAxis,
    image_shape,
    image_sizes,
    of_all_axes,
    of_batch,
    space_format,
    window_padding,
)
from daskvars.ops.rules import axes
from daskvars.ops.rules.axes import either
from daskvars.ops.rules.shapes import like_first
from daskvars.shapes import Shape
from daskvars.surface.signatures import Argument, Family


def _each_channel(inputs: RankedShapes, attrs: Attrs) -> str:
    term = "nc__" if attrs.get("data_format") == "NCHW" else "n__c"
    return f"{','.join([term] * len(inputs))}->{term}"


def _pooled(inputs: Sequence[Spec], **options: Any) -> Spec:
    return Spec(inputs[0].dtype, pool2d_shape(image_shape(inputs[0]), **options))


def _windows(ksize: Any, strides: Any, data_format: str) -> dict[str, tuple[int, ...]]:
    """Return the sizes of windows and the distances between them.

    Raises:
      UnimplementedError: they are of several images or channels.
    """
    found = _windows_of_channels(ksize, strides, data_format)
    if any(channels(each, data_format) != 1 for each in found.values()):
        raise _unimplemented("Non-spatial pooling is not yet supported", found, data_format)
    return found


def _windows_of_channels(ksize: Any, strides: Any, data_format: str) -> dict[str, tuple[int, ...]]:
    """Return those of `_windows` that may be of several channels."""
    found = {
        "ksize": of_all_axes(ksize, data_format, "ksize"),
        "strides": of_all_axes(strides, data_format, "strides"),
    }
    if any(each[0] != 1 for each in found.values()):
        raise _unimplemented(
            "Pooling is not yet supported on the batch dimension", found, data_format
        )
    return found


def _unimplemented(problem: str, found: dict[str, Any], data_format: str) -> UnimplementedError:
    given = ", ".join(f"{name}={list(sizes)}" for name, sizes in found.items())
    return UnimplementedError.saying(f"{problem}: found {given} ({data_format})")


def _options(op: Operation) -> dict[str, Any]:
    keys = ("ksize", "strides", "padding", "data_format")
    return {key: op.attrs[key] for key in keys if key in op.attrs}


# -- maximum -----------------------------------------------------------------------------------

_PER_CHANNEL = Contraction(_each_channel, None)


def _max_gradient(op: Operation, dy: Tensor) -> Tensor:
    return apply(MAX_POOL_GRAD, op.inputs[0], op.outputs[0], dy, **_options(op))


MAX_POOL = OpDef("MaxPool", "input:R", _pooled, _PER_CHANNEL, pooling.max_pool, _max_gradient)
MAX_POOL_GRAD = OpDef(
    "MaxPoolGrad",
    "orig_input:R, orig_output:R, grad:R",
    infer=like_first,
    pattern=_PER_CHANNEL,
    kernel=pooling.max_pool_grad,
    gradient=lambda op, g: (
        None,
        None,
        apply(MAX_POOL_GRAD_GRAD, *op.inputs[:2], g, **_options(op)),
    ),
)
MAX_POOL_GRAD_GRAD: OpDef = OpDef(
    "MaxPoolGradGrad",
    "orig_input:R, orig_output:R, grad:R",
    pattern=_PER_CHANNEL,
    infer=lambda inputs, **attrs: inputs[1],
    kernel=pooling.max_pool_grad_grad,
    gradient=lambda op, g: (None, None, apply(MAX_POOL_GRAD, *op.inputs[:2], g, **_options(op))),
)


def _argmax_spec(inputs: Sequence[Spec], *, dtype: DType, **options: Any) -> tuple[Spec, ...]:
    pooled = _pooled(inputs, **options)
    return pooled, Spec(dtype, pooled.shape)


MAX_POOL_WITH_ARGMAX = OpDef(
    "MaxPoolWithArgmax",
    "input:R",
    infer=_argmax_spec,
    pattern=Contraction("n___->n___", None),
    kernel=pooling.max_pool_with_argmax,
    gradient=lambda op, dy, _: _max_gradient(op, dy),
)


def max_pool_with_argmax(
    input: TensorLike,
    ksize: PerAxis,
    strides: PerAxis,
    padding: PaddingLike,
    data_format: str = "NHWC",
    Targmax: DTypeLike | None = None,
    name: str | None = None,
    output_dtype: DTypeLike | None = None,
    include_batch_in_index: bool = False,
) -> tuple[Tensor, Tensor]:
    """Return the maximum of each window and where it was.

    Args:
      input: [batch, height, width, channels] real.
      ksize: see `max_pool`, also for strides and padding.
      data_format: "NHWC" alone.
      Targmax: int32 or int64 (the default).
      name: name of the operation, by default "MaxPoolWithArgmax".
      output_dtype: another name of `Targmax`.
      include_batch_in_index: whether places count from the first image on.

    Returns:
      output: [batch, rows, columns, channels] of the dtype of `input`.
      argmax: [batch, rows, columns, channels] `Targmax`, the place in its image of each window's
        first maximum, (row * width + column) * channels + channel; or, where the batch is included,
        ((image * height + row) * width + column) * channels + channel.

    Raises:
      ValueError: `Targmax` is another dtype or given twice, the windows do not fit, or channels are
        not last.
      UnimplementedError: a window is of several images or channels.

    >>> max_pool_with_argmax([[[[1.0], [3.0]]]], [1, 1, 2, 1], 1, "VALID")[1].numpy().ravel()
    array([1])
    """
    dtype = as_dtype(either(Targmax, output_dtype, "Targmax", "output_dtype") or int64)
    if dtype not in (int32, int64):
        raise ValueError(f"Targmax must be int32 or int64, got {dtype.name}")
    if data_format != "NHWC":
        raise ValueError(f"data_format must be 'NHWC', got {data_format!r}")
    input = convert_to_tensor(input, name="input")
    output, places = apply(
        MAX_POOL_WITH_ARGMAX,
        input,
        name=name,
        dtype=dtype,
        padding=window_padding(padding),
        **_windows(ksize, strides, "NHWC"),
    )
    if include_batch_in_index:
        images, *sizes = (cast(size_along(input, axis), dtype) for axis in range(4))
        first = ranges.range(images) * math.prod(sizes)
        places += first[:, None, None, None]
    return output, places


# -- mean --------------------------------------------------------------------------------------


def _avg_gradient(op: Operation, dy: Tensor) -> Tensor:
    return apply(AVG_POOL_GRAD, dy, input_shape=image_sizes(op.inputs[0]), **_options(op))


def _spread(
    inputs: Sequence[Spec], *, input_shape: Shape, operands: Sequence[str] = (), **options: Any
) -> Spec:
    dy = image_shape(inputs[0], "grad")
    wanted = image_shape(Spec(inputs[0].dtype, input_shape), "orig_input_shape")
    found = _pooled([Spec(inputs[0].dtype, wanted)], **options).shape
    if not shapes.compatible(found, dy):
        raise ValueError(
            f"a gradient of shape {shapes.show(dy)} does not fit images of shape "
            f"{shapes.show(wanted)}, pooled to {shapes.show(found)}"
        )
    return of_batch(inputs[0].dtype, wanted, dy[0])


AVG_POOL = OpDef("AvgPool", "value:F", _pooled, _PER_CHANNEL, pooling.avg_pool, _avg_gradient)
AVG_POOL_GRAD = OpDef(
    "AvgPoolGrad",
    "grad:F",
    infer=_spread,
    kernel=pooling.avg_pool_grad,
    pattern=Contraction(lambda inputs, attrs: _each_channel(inputs[:1], attrs), None),
    **axes.shaped_by("input_shape"),
    gradient=lambda op, g: apply(AVG_POOL, g, **_options(op)),
)


# -- functions ---------------------------------------------------------------------------------

POOLINGS = Family(
    {
        "value": Argument(
            "[batch, height, width, channels] {types}, or in the order of `data_format`."
        ),
        "ksize": Argument(
            "size of a window: an int, two, or four in the order of `data_format`.", type="PerAxis"
        ),
        "strides": Argument("distance between windows, likewise.", type="PerAxis"),
        "padding": Argument(
            '"SAME" or "VALID", or four (before, after) pairs.', type="PaddingLike"
        ),
        "data_format": Argument('"NHWC" or "NCHW".', "NHWC", "str | None"),
        "name": Argument('name of the operation, by default "{type}".', None, "str | None"),
        "input": Argument("the new name of `value`.", None),
    },
    returns="[batch, rows, columns, channels] of the dtype of `value`.",
    raises="ValueError: the rank is not 4, or a window is larger than the image.\n"
    "UnimplementedError: a window is of several images, or of several channels in another way.",
    result="Tensor",
)


def _pooling(
    name: str, definition: OpDef, types: str, across: Callable[..., Tensor] | None = None
) -> Callable[[str], Callable[..., Tensor]]:
    """Return what gives the function of a pooling op, by its docstring.

    `across` is what pools channels, where that is known.
    """
    order = "value=None ksize=None strides=None padding=None data_format name input"

    def call(given: dict[str, Any]) -> Tensor:
        value = either(given["input"], given["value"], "input", "value")
        data_format = space_format(given["data_format"])
        padding = window_padding(given["padding"])
        windows = _windows_of_channels(given["ksize"], given["strides"], data_format)
        is_across = any(channels(each, data_format) != 1 for each in windows.values())
        with name_scope(given["name"], definition.type, [value]) as scope:
            value = convert_to_tensor(value, name="value")
            if is_across and across is not None:
                return across(value, windows, data_format, scope)
            options = _windows(given["ksize"], given["strides"], data_format)
            return apply(
                definition, value, name=scope, padding=padding, data_format=data_format, **options
            )

    words = {"types": types, "type": definition.type}
    return functools.partial(POOLINGS.function, __name__, name, order, call, **words)


def _max_of_channels(
    value: Tensor, windows: dict[str, tuple[int, ...]], data_format: str, name: str
) -> Tensor:
    """Return the maximum of each group of channels: the channels, as rows of images, in windows."""
    (*space, size), steps = windows["ksize"], windows["strides"]
    if data_format != "NHWC" or {*space, *steps[:-1]} != {1}:
        raise _unimplemented(
            "MaxPooling supports exactly one of pooling across depth or pooling across "
            "width/height, the former with channels last",
            windows,
            data_format,
        )
    if steps[-1] != size:
        raise _unimplemented(
            "Depthwise max pooling requires the depth window to equal the depth stride",
            windows,
            data_format,
        )
    batch, height, width, depth = image_shape(value.spec)
    if depth is not None and depth % size:
        raise _unimplemented(
            f"Depthwise max pooling requires the depth window to evenly divide the input depth, "
            f"{depth}",
            windows,
            data_format,
        )
    known = [batch, height, width, depth]
    sizes = [n if n is not None else size_along(value, i) for i, n in enumerate(known)]
    rows = reshape(value, [sizes[0], -1, sizes[3], 1])
    window = (1, 1, size, 1)
    options: dict[str, Any] = {"ksize": window, "strides": window, "padding": "VALID"}
    pooled = apply(MAX_POOL, rows, data_format="NHWC", **options)
    return reshape(pooled, [*sizes[:3], sizes[3] // size], name=name)


max_pool = _pooling("max_pool", MAX_POOL, "real", _max_of_channels)("""
    Return the maximum of each window; padding never wins.

    With a window of several channels (``ksize=[1, 1, 1, k]`` and `strides` as that) that of each
    ``k`` channels.

    >>> image = dv.reshape(dv.range(16.0), [1, 4, 4, 1])
    >>> max_pool(image, 2, 2, "VALID").numpy().ravel().tolist()
    [5.0, 7.0, 13.0, 15.0]
    """)
avg_pool = _pooling("avg_pool", AVG_POOL, "floating")("""
    Return the mean of each window; padding does not count.

    >>> image = dv.reshape(dv.range(16.0), [1, 4, 4, 1])
    >>> avg_pool(image, 2, 2, "VALID").numpy().ravel().tolist()
    [2.5, 4.5, 10.5, 12.5]
    """)
