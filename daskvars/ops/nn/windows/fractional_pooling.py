"""Pooling that makes images smaller by a ratio that need not be a whole number.

Where windows begin is drawn at random, once for rows and once for columns; what is done with them
is an op without chance, so that the gradient has the same windows.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from daskvars import dtypes
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import UNDEFINED_GRADIENT, OpDef, Spec, without_gradient
from daskvars.graph.definitions.patterns import Contraction
from daskvars.graph.interpreter import apply
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Operation, Tensor
from daskvars.kernels.nn.windows import fractional_pooling as kernels
from daskvars.ops.array.constant import size_along
from daskvars.ops.array.joining import concat
from daskvars.ops.array.ranges import range
from daskvars.ops.gather_scatter.sorting import argsort
from daskvars.ops.math.arithmetic import floor, minimum
from daskvars.ops.math.casting import cast
from daskvars.ops.math.scans import cumsum
from daskvars.ops.nn.windows.arguments import image_shape, image_sizes, of_batch
from daskvars.ops.random.distributions import drawn_with, random_uniform
from daskvars.ops.random.stateless import stateless_uniform
from daskvars.ops.rules import axes
from daskvars.ops.rules.shapes import like_first
from daskvars.shapes import Shape
from daskvars.surface.signatures import Argument, Family

_SPREAD = 1_000_003  # so that seeds and axes do not meet


def _windows_of(begins: Spec) -> int | None:
    if begins.shape is None or begins.shape[0] is None:
        return None
    return begins.shape[0] - 1


def _pooled(inputs: Sequence[Spec], *, overlapping: bool) -> Spec:
    batch, _, _, channels = image_shape(inputs[0])
    return Spec(inputs[0].dtype, (batch, *map(_windows_of, inputs[1:]), channels))


def _spread(
    inputs: Sequence[Spec], *, input_shape: Shape, operands: Sequence[str] = (), overlapping: bool
) -> Spec:
    batch = image_shape(inputs[0], "grad")[0]
    wanted = image_shape(Spec(inputs[0].dtype, input_shape), "orig_input_shape")
    return of_batch(inputs[0].dtype, wanted, batch)


def _definition(
    kind: str, kernel: Callable[..., Any], gradient: Callable[[Operation, Tensor], Tensor]
) -> OpDef:
    """Define a pooling; ``gradient(op, dy)`` is that by the images."""
    return OpDef(
        f"Fractional{kind}Pool",
        "value:R, row_pooling_sequence:I, col_pooling_sequence:I",
        infer=_pooled,
        pattern=Contraction("n__c,_,_->n__c", None),
        kernel=kernel,
        gradient=lambda op, dy: (gradient(op, dy), None, None),
    )


def _max_gradient(op: Operation, dy: Tensor) -> Tensor:
    images, *windows = op.inputs
    options = {"overlapping": op.attrs["overlapping"]}
    return apply(MAX_POOL_GRAD, images, op.outputs[0], dy, *windows, **options)


def _avg_gradient(op: Operation, dy: Tensor) -> Tensor:
    images, *windows = op.inputs
    options = {"input_shape": image_sizes(images), "overlapping": op.attrs["overlapping"]}
    return apply(AVG_POOL_GRAD, dy, *windows, **options)


def _avg_grad_gradient(op: Operation, g: Tensor) -> tuple[Tensor, None, None]:
    return apply(AVG_POOL, g, *op.inputs[1:], overlapping=op.attrs["overlapping"]), None, None


MAX_POOL = _definition("Max", kernels.fractional_max_pool, _max_gradient)
MAX_POOL_GRAD = without_gradient(
    "FractionalMaxPoolGrad",
    "orig_input:R, orig_output:R, out_backprop:R, row_pooling_sequence:I, col_pooling_sequence:I",
    infer=like_first,
    kernel=kernels.fractional_max_pool_grad,
    pattern=Contraction("n__c,n__c,n__c,_,_->n__c", None),
    gradient=UNDEFINED_GRADIENT,
)
AVG_POOL = _definition("Avg", kernels.fractional_avg_pool, _avg_gradient)
AVG_POOL_GRAD = OpDef(
    "FractionalAvgPoolGrad",
    "out_backprop:R, row_pooling_sequence:I, col_pooling_sequence:I",
    infer=_spread,
    pattern=Contraction("n__c,_,_->n__c", None),
    kernel=kernels.fractional_avg_pool_grad,
    **axes.shaped_by("input_shape"),
    gradient=_avg_grad_gradient,
)


# -- where windows begin -------------------------------------------------------------------------


def _begins(size: Any, ratio: float, pseudo_random: bool, draw: Callable[[Any], Tensor]) -> Tensor:
    """Return where the windows of one dimension begin, [windows + 1] int64.

    Sizes are the two whole numbers next to size / windows. At random, they are in any order;
    pseudo-randomly, window i begins at ``floor(size / windows * (i + u))``, with one u for all,
    small enough that the first and the last window have one of the two sizes as well.
    """
    windows: Any
    if axes.is_symbolic(size):
        size = cast(size, dtypes.int64)
        windows = cast(floor(cast(size, dtypes.float64) / ratio), dtypes.int64)
    else:
        windows = int(size / ratio)
    least = size // windows
    if not pseudo_random:
        is_larger = argsort(argsort(draw([windows]))) < cast(size % windows, dtypes.int32)
        sizes = cast(least, dtypes.int64) + cast(is_larger, dtypes.int64)
        return concat([cast([0], dtypes.int64), cumsum(sizes)], 0)
    length, count, least = (cast(n, dtypes.float64) for n in (size, windows, least))
    mean = length / count
    room = minimum((least + 2.0) / mean - 1.0, (length + 1.0 - least) / mean - (count - 1.0))
    inner = cast(range(1, windows, dtype=dtypes.int64), dtypes.float64)
    between = cast(floor(mean * (inner + draw([]) * room)), dtypes.int64)
    return concat([cast([0], dtypes.int64), between, cast([size], dtypes.int64)], 0)


# -- functions -----------------------------------------------------------------------------------

POOLINGS = Family(
    {
        "value": Argument("[batch, height, width, channels] float32, float64, int32 or int64."),
        "pooling_ratio": Argument(
            "how many times smaller images become, [1.0, rows, columns, 1.0]; at least 1."
        ),
        "pseudo_random": Argument(
            "whether sizes of windows are spread evenly, from a start that is random; else they "
            "are in any order.",
            False,
            "bool",
        ),
        "overlapping": Argument(
            "whether the first pixel of the next window belongs to a window as well.", False, "bool"
        ),
        "deterministic": Argument("whether all runs have the same windows.", False, "bool"),
        "seed": Argument("the seed; 0 with `seed2` 0 for the graph's.", 0, "int"),
        "seed2": Argument("more of it.", 0, "int"),
        "name": Argument('name of the operation, by default "{type}".', None, "str | None"),
    },
    returns="""
        output: [batch, height // ratio, width // ratio, channels] of the dtype of `value`.
        row_pooling_sequence: [rows + 1] int64, where windows begin, from 0 to the height.
        col_pooling_sequence: [columns + 1] int64, likewise for columns.
    """,
    raises="""
        ValueError: the rank is not 4, a ratio is below 1 or larger than the image, or one of batch
          or channels is not 1.
    """,
    result="tuple[Tensor, Tensor, Tensor]",
)


def _pooling(
    name: str, definition: OpDef
) -> Callable[[str], Callable[..., tuple[Tensor, Tensor, Tensor]]]:
    """Return what gives the function of a pooling op, by its docstring."""

    order = "value pooling_ratio pseudo_random overlapping deterministic seed seed2 name"

    def call(given: dict[str, Any]) -> tuple[Tensor, ...]:
        ratio = [float(number) for number in given["pooling_ratio"]]
        if len(ratio) != 4 or (ratio[0], ratio[3]) != (1.0, 1.0) or min(ratio) < 1:
            raise ValueError(
                "pooling_ratio must be [1.0, rows, columns, 1.0] with ratios of at least 1, got "
                f"{given['pooling_ratio']}"
            )
        with name_scope(given["name"], definition.type, [given["value"]]) as scope:
            value = convert_to_tensor(given["value"], name="value")
            shape = image_shape(value.spec, "value")
            for what, size, number in zip(("height", "width"), shape[1:3], ratio[1:3], strict=True):
                if size is not None and size < number:
                    raise ValueError(f"pooling_ratio {number} is larger than the {what} {size}")
            begins = [
                _begins(
                    size_along(value, axis),
                    ratio[axis],
                    given["pseudo_random"],
                    _drawing(given["deterministic"], given["seed"], given["seed2"], axis),
                )
                for axis in (1, 2)
            ]
            options = {"overlapping": bool(given["overlapping"])}
            return apply(definition, value, *begins, name=scope, **options), *begins

    return functools.partial(POOLINGS.function, __name__, name, order, call, type=definition.type)


def _drawing(deterministic: bool, seed: int, seed2: int, axis: int) -> Callable[[Any], Tensor]:
    """Return what draws the numbers of rows or of columns, uniform in [0, 1)."""
    own = seed * _SPREAD + seed2 * 2 + axis if seed or seed2 else None
    if not deterministic:
        return lambda shape: random_uniform(shape, dtype=dtypes.float64, seed=own)
    seeds = [seed, seed2 * 2 + axis]
    if own is None:
        seeds = [number or 0 for number in drawn_with(None)]
        seeds[1] = seeds[1] * 2 + axis
    return lambda shape: stateless_uniform(shape, seeds, dtype=dtypes.float64)


fractional_max_pool = _pooling("fractional_max_pool", MAX_POOL)("""
    Return the maximum of windows of unequal sizes, drawn at random.

    Source: TensorFlow 1.15, ``tf.nn.fractional_max_pool``.

    >>> image = dv.reshape(dv.range(9.0), [1, 3, 3, 1])
    >>> output, rows, columns = fractional_max_pool(image, [1.0, 1.5, 3.0, 1.0], seed=1)
    >>> output.shape.as_list(), columns.numpy().tolist(), float(dv.reduce_max(output))
    ([1, 2, 1, 1], [0, 3], 8.0)
    """)
fractional_avg_pool = _pooling("fractional_avg_pool", AVG_POOL)("""
    Return the mean of windows of unequal sizes, drawn at random; of integers, cut off.

    Source: TensorFlow 1.15, ``tf.nn.fractional_avg_pool``.

    >>> image = dv.reshape(dv.range(4.0), [1, 2, 2, 1])
    >>> fractional_avg_pool(image, [1.0, 2.0, 2.0, 1.0])[0].numpy().ravel().tolist()
    [1.5]
    """)
