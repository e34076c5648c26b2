"""Reductions: folds over axes.

The axes of a fold may be cut into blocks: partial results merge by the ufunc of the pattern.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy

from daskvars import dtypes, shapes
from daskvars.dtypes import DType, DTypeLike, as_dtype
from daskvars.errors import InvalidArgumentError
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import NO_GRADIENT, OpDef, Spec, without_gradient
from daskvars.graph.definitions.patterns import Block, Merge, Reduction
from daskvars.graph.interpreter import apply
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.kernels.math import reduce as kernels
from daskvars.ops.array import constant, repeating, reshaping
from daskvars.ops.math.arithmetic import maximum, multiply, subtract
from daskvars.ops.math.casting import CAST, cast, conj
from daskvars.ops.math.comparison import equal
from daskvars.ops.math.division import floordiv, realdiv, truncatediv
from daskvars.ops.math.scans import cumprod, static_axis
from daskvars.ops.math.transcendental import exp
from daskvars.ops.rules.axes import either, is_symbolic, operand_of
from daskvars.surface.signatures import named, with_arguments_of, with_example


def _reduced(
    inputs: Sequence[Spec],
    *,
    axis: Any = None,
    keepdims: bool = False,
    operands: Sequence[str] = (),
    **attrs: Any,
) -> Spec:
    dtype, shape = inputs[0]
    if "axis" in operands or shape is None:
        everything = axis is None and not operands and not keepdims
        unknown = None if shape is None or not keepdims else (None,) * len(shape)
        return Spec(dtype, () if everything else unknown)
    axes = shapes.distinct_axes(axis, len(shape))
    if keepdims:
        return Spec(dtype, tuple(1 if i in axes else n for i, n in enumerate(shape)))
    return Spec(dtype, tuple(n for i, n in enumerate(shape) if i not in axes))


# -- gradients ---------------------------------------------------------------------------------


def _known_axes(op: Operation) -> tuple[int, ...] | None:
    """Return the axes, counted from the front; None where they are not known yet."""
    shape = op.inputs[0].spec.shape
    if shape is None or "operands" in op.attrs:
        return None
    return shapes.distinct_axes(op.attrs["axis"], len(shape))


def _again(op: Operation, definition: OpDef, x: Tensor, keepdims: bool) -> Tensor:
    """Apply another reduction over the axes of `op`."""
    return apply(definition, x, axis=operand_of(op, "axis"), keepdims=keepdims)


def _broadcastable(op: Operation, value: Tensor) -> Tensor:
    """Return `value`, shaped as the result of `op`, so that it broadcasts to its input."""
    if op.attrs["keepdims"] or op.outputs[0].spec.shape == ():
        return value
    axes = _known_axes(op)
    if axes is None:
        return reshaping.reshape(value, constant.shape(_again(op, op.opdef, op.inputs[0], True)))
    lead = 0  # dimensions that were reduced from the front broadcast by themselves
    for axis in sorted(axes):
        if axis == lead:
            lead += 1
        else:
            value = reshaping.expand_dims(value, axis - lead)
    return value


def _sum_gradient(op: Operation, dy: Tensor) -> Tensor:
    return repeating.broadcast_to(_broadcastable(op, dy), constant.full_shape(op.inputs[0]))


def _reduced_number(op: Operation, dtype: Any) -> Tensor:
    """Return how many elements were folded into one, as a scalar of `dtype`."""
    x, axes = op.inputs[0], _known_axes(op)
    folded = None if axes is None else tuple(x.shape.as_list()[axis] for axis in axes)
    if shapes.is_known(folded):
        return constant.constant(math.prod(folded), dtype)
    one = constant.constant(1, dtypes.int32)
    count = floordiv(constant.size(x), maximum(constant.size(op.outputs[0]), one))
    return cast(count, dtype)


def _mean_gradient(op: Operation, dy: Tensor) -> Tensor:
    share = realdiv(dy, _reduced_number(op, dy.dtype.base_dtype))
    return repeating.broadcast_to(_broadcastable(op, share), constant.full_shape(op.inputs[0]))


def _extreme_gradient(op: Operation, dy: Tensor) -> Tensor:
    """Share the gradient equally among the elements that are extreme."""
    x = op.inputs[0]
    chosen = cast(equal(x, _broadcastable(op, op.outputs[0])), dy.dtype.base_dtype)
    share = realdiv(dy, _again(op, SUM, chosen, op.attrs["keepdims"]))
    return multiply(chosen, _broadcastable(op, share))


def _prod_gradient(op: Operation, dy: Tensor) -> Tensor:
    x, axes = conj(op.inputs[0]), _known_axes(op)
    if axes is None:
        if "operands" in op.attrs or op.attrs["axis"] is not None:
            raise ValueError(
                f"the gradient of {op.name!r} (Prod) needs its axes, and the rank of its input, "
                "when the graph is built"
            )
        flat = reshaping.reshape(x, (-1,))
        return reshaping.reshape(multiply(dy, _slope_of_product(flat, (0,))), constant.shape(x))
    return multiply(_broadcastable(op, dy), _slope_of_product(x, axes))


def _slope_of_product(x: Tensor, axes: tuple[int, ...]) -> Tensor:
    """Return for each element the product of all others, along `axes`; zeros do no harm."""
    if not axes:
        return constant.ones_like(x)
    axis, rest = axes[0], axes[1:]
    before = cumprod(x, axis, exclusive=True)
    slope = multiply(before, cumprod(x, axis, exclusive=True, reverse=True))
    if rest:
        partial = reduce_prod(x, axis, keepdims=True)
        slope = multiply(slope, _slope_of_product(partial, rest))
    return slope


def _logsumexp_gradient(op: Operation, dy: Tensor) -> Tensor:
    difference = subtract(op.inputs[0], _broadcastable(op, op.outputs[0]))
    return multiply(_broadcastable(op, dy), exp(conj(difference)))


# -- definitions and functions -----------------------------------------------------------------


def _whole_count(attrs: Mapping[str, Any], block: Block) -> dict[str, Any]:
    """Let each block divide by the number of elements of all blocks."""
    whole = block.full_in_shapes[0]
    assert shapes.is_known(whole), "what is cut has known sizes"
    return {**attrs, "count": kernels.reduced_count(whole, attrs["axis"])}


def _reduction(
    type: str,
    letter: str,
    combine: Merge,
    kernel: Callable[..., Any] | str,
    gradient: Any,
    rows: Callable[..., Any] | None = None,
    linear: bool = False,
    **rules: Any,
) -> OpDef:
    return OpDef(
        type,
        f"input_tensor:{letter}",
        infer=_reduced,
        pattern=Reduction(combine, rows, linear),
        kernel=kernel,
        gradient=gradient,
        operands=("axis",),
        **rules,
    )


SUM = _reduction("Sum", "N", "add", kernels.reduce_sum, _sum_gradient, kernels.sum_rows, True)
MEAN = _reduction(
    "Mean", "F", "add", kernels.reduce_mean, _mean_gradient, linear=True, block=_whole_count
)
PROD = _reduction("Prod", "N", "multiply", kernels.reduce_prod, _prod_gradient)
MAX = _reduction("Max", "R", "maximum", kernels.reduce_max, _extreme_gradient)
MIN = _reduction("Min", "R", "minimum", kernels.reduce_min, _extreme_gradient)
ALL = _reduction("All", "B", "logical_and", kernels.reduce_all, NO_GRADIENT)
ANY = _reduction("Any", "B", "logical_or", kernels.reduce_any, NO_GRADIENT)
LOGSUMEXP = _reduction(
    "ReduceLogSumExp", "F", kernels.logaddexp, kernels.logsumexp, _logsumexp_gradient
)


def axes_of(axis: TensorLike, x: Tensor) -> Any:
    """Return axes as a tuple counted from the front, where they and the rank are known.

    Raises:
      TypeError: they are no integers.
      ValueError: there is no such axis.
    """
    if axis is None or is_symbolic(axis):
        return axis
    given = numpy.asarray(axis)
    if given.size and given.dtype.kind not in "iu":
        raise TypeError(
            f"the axes of a reduction must be int32 or int64, got {axis!r} ({given.dtype})"
        )
    if given.ndim > 1:
        raise ValueError(f"the axes of a reduction must be at most rank 1, got {axis!r}")
    listed, shape = tuple(given.ravel().tolist()), x.spec.shape
    if shape is None:
        return listed
    for number in listed:
        if not -len(shape) <= number < len(shape):
            raise ValueError(
                f"Invalid reduction dimension {number} for input with {len(shape)} dimension(s), "
                f"{shapes.show(shape)}: the axis is out of range [{-len(shape)}, {len(shape)})"
            )
    return shapes.distinct_axes(listed, len(shape))


REDUCTION = """{summary}

Args:
  input_tensor: [...] {types}.
  axis: int, list of ints or int tensor: the axes to fold, each once however often it is named;
    None for all.
  keepdims: keep folded axes, with size 1.
  name: name of the operation, by default "{type}".
  reduction_indices: the old name of `axis`.
  keep_dims: the old name of `keepdims`.

Returns:
  A tensor without the folded axes, of the dtype of `input_tensor`.

Raises:
  ValueError: there is no such axis, or an argument is given under both of its names.
  TypeError: `input_tensor` has another dtype.
"""


class ReductionFunction(Protocol):
    """A function that folds axes of a tensor."""

    def __call__(
        self,
        input_tensor: TensorLike,
        axis: TensorLike | None = None,
        keepdims: bool | None = None,
        name: str | None = None,
        reduction_indices: TensorLike | None = None,
        keep_dims: bool | None = None,
    ) -> Tensor: ...


def _function(
    function_name: str,
    definition: OpDef,
    types: str,
    of_integers: Callable[..., Tensor] | None = None,
) -> Callable[[str, str], ReductionFunction]:
    """Return what gives the function of a reduction, by its docstring's first line and example.

    Of integers it is `of_integers`, where that is given.
    """

    allowed = definition.arguments[0].allowed or frozenset()
    hint = next(iter(allowed)) if len(allowed) == 1 else None  # of an empty list, say

    def reduce(
        input_tensor: TensorLike,
        axis: TensorLike | None = None,
        keepdims: bool | None = None,
        name: str | None = None,
        reduction_indices: TensorLike | None = None,
        keep_dims: bool | None = None,
    ) -> Tensor:
        axis = either(axis, reduction_indices, "axis", "reduction_indices")
        keepdims = either(keepdims, keep_dims, "keepdims", "keep_dims")
        x = convert_to_tensor(input_tensor, dtype_hint=hint)
        if of_integers and x.dtype.is_integer:
            return of_integers(x, axis, keepdims, name)
        return apply(definition, x, name=name, axis=axes_of(axis, x), keepdims=bool(keepdims))

    def documented(summary: str, example: str) -> ReductionFunction:
        doc = REDUCTION.format(summary=summary, types=types, type=definition.type)
        return named(reduce, function_name, with_example(doc, example))

    return documented


reduce_sum = _function("reduce_sum", SUM, "any number")(
    "Add up elements along axes.", "reduce_sum([[1, 2], [3, 4]], axis=0).numpy().tolist() -> [4, 6]"
)
reduce_prod = _function("reduce_prod", PROD, "any number")(
    "Multiply elements along axes.",
    "reduce_prod([[1, 2], [3, 4]], axis=1, keepdims=True).numpy().tolist() -> [[2], [12]]",
)
reduce_max = _function("reduce_max", MAX, "real")(
    "Return the largest element along axes. Its gradient is shared among equal ones.",
    "reduce_max([[1, 5], [7, 2]], axis=-1).numpy().tolist() -> [5, 7]",
)
reduce_min = _function("reduce_min", MIN, "real")(
    "Return the smallest element along axes. Its gradient is shared among equal ones.",
    "reduce_min([[1, 5], [7, 2]], axis=[0, 1]).numpy().tolist() -> 1",
)
reduce_all = _function("reduce_all", ALL, "bool")(
    "Return whether all elements hold, along axes.",
    "reduce_all([[True, False], [True, True]], axis=1).numpy().tolist() -> [False, True]",
)
reduce_any = _function("reduce_any", ANY, "bool")(
    "Return whether any element holds, along axes.",
    "reduce_any([[True, False], [False, False]], axis=1).numpy().tolist() -> [True, False]",
)
reduce_logsumexp = _function("reduce_logsumexp", LOGSUMEXP, "floating or complex")(
    "Return log(sum(exp(elements))) along axes, without overflow.",
    "round(float(reduce_logsumexp([1000.0, 1000.0])), 3) -> 1000.693",
)


def _mean_of_integers(x: Tensor, axis: Any, keepdims: bool | None, name: str | None) -> Tensor:
    with name_scope(name, "Mean", [x]) as scope:
        wide = dtypes.uint64 if x.dtype.is_unsigned else dtypes.int64  # sums in few bits wrap
        total = reduce_sum(cast(x, wide), axis, keepdims)
        mean = truncatediv(total, _reduced_number(total.op, wide))
        return apply(CAST, mean, name=scope, dtype=x.dtype.base_dtype)


reduce_mean = _function("reduce_mean", MEAN, "any number", _mean_of_integers)(
    "Return the mean along axes; of integers without its fraction.",
    "float(reduce_mean([1.0, 2.0])), int(reduce_mean([1, 2])) -> (1.5, 1)",
)

# -- positions ---------------------------------------------------------------------------------


def _position(inputs: Sequence[Spec], *, axis: Any, dtype: DType) -> Spec:
    shape = inputs[0].shape
    if shape is not None and shape[shapes.normalize_axis(axis, len(shape))] == 0:
        raise ValueError(f"Reduction axis {axis} is empty in shape {shapes.in_brackets(shape)}")
    return Spec(dtype, _reduced(inputs, axis=axis).shape)


ARG_MAX = without_gradient("ArgMax", "input:R", _position, kernels.argmax, pattern=Reduction())

ARG_MIN = without_gradient("ArgMin", "input:R", _position, kernels.argmin, pattern=Reduction())


def argmax(
    input: TensorLike,
    axis: TensorLike | None = None,
    name: str | None = None,
    dimension: TensorLike | None = None,
    output_type: DTypeLike = dtypes.int64,
) -> Tensor:
    """Return the position of the largest element along an axis, the first of equal ones.

    Args:
      input: [...] real.
      axis: the axis, an int; by default 0.
      name: name of the operation, by default "ArgMax".
      dimension: the old name of `axis`.
      output_type: int32 or int64; int16 and uint16, too.

    Returns:
      [...] without the axis, of dtype `output_type`.

    Raises:
      ValueError: there is no such axis.
      TypeError: `output_type` is another dtype.
      InvalidArgumentError: the axis is empty.

    >>> argmax([[1, 5], [7, 2]], axis=1).numpy().tolist()
    [1, 0]
    """
    return _position_along(ARG_MAX, input, axis, name, dimension, output_type)


@with_arguments_of(argmax)
def argmin(**arguments: Any) -> Tensor:
    """Return the position of the smallest element along an axis. See `argmax`.

    Args:
      name: name of the operation, by default "ArgMin".

    >>> print(argmin([3, 1, 2]))
    1
    """
    return _position_along(ARG_MIN, **arguments)


_POSITIONS = (dtypes.int16, dtypes.uint16, dtypes.int32, dtypes.int64)


def _position_along(
    definition: OpDef, input: Any, axis: Any, name: str | None, dimension: Any, output_type: Any
) -> Any:
    x = convert_to_tensor(input)
    axis = either(axis, dimension, "axis", "dimension")
    dtype = as_dtype(output_type).base_dtype
    if dtype not in _POSITIONS:
        raise TypeError(
            f"Value passed to parameter 'output_type' of '{definition.type}' has DataType "
            f"{dtype.name} not in list of allowed values: "
            f"{', '.join(allowed.name for allowed in _POSITIONS)}"
        )
    axis = static_axis(0 if axis is None else axis, x)
    shape = x.spec.shape
    if shape is not None and shape[axis] == 0:
        raise InvalidArgumentError(
            None,
            name or definition.type,
            f"Reduction axis {axis} is empty in shape {shapes.in_brackets(shape)}: "
            f"{definition.type} needs an element to point at",
        )
    return apply(definition, x, name=name, axis=axis, dtype=dtype)
