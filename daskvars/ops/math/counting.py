"""Counts: of elements that are not zero, of values, of pairs, in bins."""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any

from daskvars import dtypes, shapes
from daskvars.dtypes import DType, DTypeLike, as_dtype
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import NO_GRADIENT, UNDEFINED_GRADIENT, OpDef, Spec
from daskvars.graph.definitions.patterns import Attrs, Contraction, RankedShapes
from daskvars.graph.interpreter import apply
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.kernels.math import reduce as kernels
from daskvars.ops.array import constant, joining
from daskvars.ops.control.dependencies import Assert, with_dependencies
from daskvars.ops.gather_scatter.scatter import gather_nd
from daskvars.ops.math.arithmetic import add, floor, maximum, minimum, multiply, number, subtract
from daskvars.ops.math.casting import cast
from daskvars.ops.math.comparison import equal, less, not_equal
from daskvars.ops.math.division import truediv
from daskvars.ops.math.reduce import reduce_max, reduce_mean, reduce_sum
from daskvars.ops.nn.weighting import remove_squeezable_dimensions
from daskvars.ops.rules.axes import as_operands, either
from daskvars.ops.rules.shapes import of_numbers
from daskvars.surface.accepted import accepts
from daskvars.surface.signatures import with_arguments_of


def count_nonzero(
    input_tensor: TensorLike | None = None,
    axis: TensorLike | None = None,
    keepdims: bool | None = None,
    dtype: DTypeLike = dtypes.int64,
    name: str | None = None,
    reduction_indices: TensorLike | None = None,
    keep_dims: bool | None = None,
    input: TensorLike | None = None,
) -> Tensor:
    """Count the elements that are not zero (of strings: not empty), along axes.

    Args:
      input_tensor: [...] number, bool or string.
      axis: int or list of ints, the axes to fold; None for all.
      keepdims: keep folded axes, with size 1.
      dtype: dtype of the counts.
      name: name scope of the operations, by default "count_nonzero".
      reduction_indices: the old name of `axis`.
      keep_dims: the old name of `keepdims`.
      input: another name of `input_tensor`.

    Returns:
      A tensor without the folded axes, of `dtype`.

    Raises:
      ValueError: an argument is given under two names.

    >>> count_nonzero([[0, 1], [2, 3]], axis=1).numpy().tolist()
    [1, 2]
    """
    input_tensor = either(input_tensor, input, "input_tensor", "input")
    axis = either(axis, reduction_indices, "axis", "reduction_indices")
    keepdims = either(keepdims, keep_dims, "keepdims", "keep_dims")
    with name_scope(name, "count_nonzero", [input_tensor]):
        x = convert_to_tensor(input_tensor, name="input_tensor")
        zero = constant.zeros([], x.dtype.base_dtype)
        counts = reduce_sum(cast(not_equal(x, zero), dtypes.int64), axis, keepdims)
        return cast(counts, dtype)


def _bins(inputs: Sequence[Spec], *, size: Any, dtype: DType, **attrs: Any) -> Spec:
    return Spec(dtype, (size,))


def _all_to_bins(inputs: RankedShapes, attrs: Attrs) -> str:
    """Every element may go to every bin: the counts of blocks add up."""
    rank = len(inputs[0])
    term = string.ascii_lowercase[:rank]
    return ",".join([term for shape in inputs if len(shape) == rank]) + "->_"


def _define_bincount(type: str, signature: str, gradient: Any) -> OpDef:
    return OpDef(
        type,
        signature,
        infer=_bins,
        pattern=Contraction(_all_to_bins),
        kernel=kernels.bincount,
        gradient=gradient,
        operands=("size",),
    )


BINCOUNT = _define_bincount("Bincount", "arr:I", NO_GRADIENT)
WEIGHTED_BINCOUNT = _define_bincount("WeightedBincount", "arr:I, weights:R", UNDEFINED_GRADIENT)


def bincount(
    arr: Any,
    weights: TensorLike | None = None,
    minlength: TensorLike | None = None,
    maxlength: TensorLike | None = None,
    dtype: DTypeLike = dtypes.int32,
    name: str | None = None,
) -> Tensor:
    """Count how often each value occurs.

    Args:
      arr: [...] integer, not negative.
      weights: of the shape of `arr`; each occurrence counts its weight.
      minlength: scalar integer, count at least this many values.
      maxlength: scalar integer, count at most this many; larger values are left out.
      dtype: dtype of the counts where there are no weights: int32, int64, float32 or float64.
      name: name scope of the operations, by default "bincount".

    Returns:
      [max(arr) + 1, within the bounds] `dtype`, or the dtype of `weights`.

    Raises:
      TypeError: `arr` holds no integers, or `dtype` is another.
      InvalidArgumentError: (when run) a value is negative.

    >>> bincount([1, 1, 3]).numpy().tolist()
    [0, 2, 0, 1]
    """
    with name_scope(name, "bincount", [arr, weights]):
        nothing = isinstance(arr, list | tuple) and not len(arr)  # which has no dtype of its own
        arr = convert_to_tensor(arr, dtypes.int32 if nothing else None, name="arr")
        if arr.dtype.is_integer and arr.dtype.base_dtype not in dtypes.INDEX:
            arr = cast(arr, dtypes.int64 if arr.dtype.size > 2 else dtypes.int32)
        kind = arr.dtype.base_dtype
        size = maximum(add(reduce_max(arr), number(1, arr)), number(0, arr))
        if minlength is not None:
            size = maximum(size, cast(minlength, kind))
        if maxlength is not None:
            size = minimum(size, cast(maxlength, kind))
        if weights is None:
            return apply(BINCOUNT, arr, size=size, dtype=_dtype_of_counts(dtype))
        weights = convert_to_tensor(weights, name="weights")
        return apply(WEIGHTED_BINCOUNT, arr, weights, size=size, dtype=weights.dtype.base_dtype)


def _dtype_of_counts(dtype: Any) -> dtypes.DType:
    allowed = (dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64)
    wanted = as_dtype(dtype).base_dtype
    if wanted not in allowed:
        raise TypeError(
            f"bincount counts in {', '.join(d.name for d in allowed)}, not in {wanted.name}"
        )
    return wanted


@accepts("dtype")
def histogram_fixed_width_bins(
    values: TensorLike,
    value_range: TensorLike,
    nbins: TensorLike = 100,
    dtype: DTypeLike = dtypes.int32,
    name: str | None = None,
) -> Tensor:
    """Return the bins of one width that values fall in; those outside go to the outer bins.

    Args:
      values: [...] real.
      value_range: [2] of the dtype of `values`, the range of the bins.
      nbins: scalar integer, the number of bins.
      dtype: accepted, without effect: bins are int32.
      name: name scope of the operations, by default "histogram_fixed_width_bins".

    Returns:
      [...] int32.

    Raises:
      InvalidArgumentError: `value_range` does not rise.

    Source: TensorFlow 1.15, ``tf.histogram_fixed_width_bins``.

    >>> histogram_fixed_width_bins([-1.0, 1.5, 15.0], [0.0, 5.0], nbins=5).numpy().tolist()
    [0, 1, 4]
    """
    as_dtype(dtype)  # which says what is no dtype
    with name_scope(name, "histogram_fixed_width_bins", [values, value_range]):
        values = convert_to_tensor(values, name="values")
        bounds = convert_to_tensor(value_range, values.dtype.base_dtype, name="value_range")
        low, high = joining.unstack(bounds, 2)
        is_range = Assert(less(low, high), ["value_range must rise, found", low, high])
        scaled = truediv(subtract(values, low), subtract(high, with_dependencies([is_range], low)))
        count = cast(convert_to_tensor(nbins, name="nbins"), dtypes.int32)
        last = subtract(count, number(1, count))
        places = multiply(cast(count, scaled.dtype), scaled)
        # Before the cast: what is far outside has no place that an int32 could say.
        inside = maximum(minimum(floor(places), cast(last, places.dtype)), number(0, places))
        return maximum(minimum(cast(inside, dtypes.int32), last), number(0, count))  # NaN too


@with_arguments_of(histogram_fixed_width_bins)
def histogram_fixed_width(
    values: TensorLike, value_range: TensorLike, nbins: TensorLike, dtype: DTypeLike, name: Any
) -> Tensor:
    """Count values in bins of one width; values outside the range count in the outer bins.

    Args:
      dtype: dtype of the counts.
      name: name scope of the operations, by default "histogram_fixed_width".

    Returns:
      [nbins] `dtype`.

    >>> values = [-1.0, 0.0, 1.5, 2.0, 5.0, 15.0]
    >>> histogram_fixed_width(values, [0.0, 5.0], nbins=5).numpy().tolist()
    [2, 1, 1, 0, 2]
    """
    with name_scope(name, "histogram_fixed_width", [values, value_range]):
        count = cast(convert_to_tensor(nbins, name="nbins"), dtypes.int32)
        places = histogram_fixed_width_bins(values, value_range, count)
        return apply(BINCOUNT, places, size=count, dtype=as_dtype(dtype).base_dtype)


def _not_squeezed(labels: Spec, predictions: Spec) -> str:
    """Return why the larger rank is not made the other's, where it is larger by one."""
    ranks = [len(spec.shape or ()) for spec in (labels, predictions)]
    if abs(ranks[0] - ranks[1]) != 1:
        return ""
    larger = (labels if ranks[0] > ranks[1] else predictions).shape or ()
    return f": Can not squeeze dim[{len(larger) - 1}], expected a dimension of 1, got {larger[-1]}"


def _square(inputs: Sequence[Spec], *, num_classes: int, dtype: DType, **attrs: Any) -> Spec:
    labels, predictions = inputs[:2]
    if not shapes.compatible(labels.shape, predictions.shape):
        raise ValueError(
            f"Shapes of labels and predictions must be equal, but are {shapes.show(labels.shape)} "
            f"and {shapes.show(predictions.shape)}{_not_squeezed(labels, predictions)}"
        )
    for weights in inputs[2:3]:
        if weights.shape and not shapes.compatible(labels.shape, weights.shape):
            raise ValueError(
                f"Shapes of labels and weights must be equal, but are {shapes.show(labels.shape)} "
                f"and {shapes.show(weights.shape)}"
            )
    return Spec(of_numbers(dtype), (num_classes, num_classes))


def _define_confusion(type: str, signature: str, gradient: Any) -> OpDef:
    return OpDef(
        type,
        signature,
        infer=_square,
        kernel=kernels.confusion_matrix,
        pattern=Contraction(lambda inputs, attrs: _all_to_bins(inputs, attrs) + "_"),
        gradient=gradient,
        operands=("num_classes",),
    )


def _weights_gradient(op: Operation, dy: Tensor) -> list[Tensor | None]:
    labels, predictions, weights = op.inputs
    of_each = gather_nd(dy, joining.stack([labels, predictions], -1))
    return [None, None, cast(of_each, weights.dtype)]


CONFUSION_MATRIX = _define_confusion("ConfusionMatrix", "labels:I, predictions:I", NO_GRADIENT)
WEIGHTED_CONFUSION_MATRIX = _define_confusion(
    "WeightedConfusionMatrix", "labels:I, predictions:I, weights:R", _weights_gradient
)


def confusion_matrix(
    labels: TensorLike,
    predictions: TensorLike,
    num_classes: TensorLike | None = None,
    dtype: DTypeLike = dtypes.int32,
    name: str | None = None,
    weights: TensorLike | None = None,
) -> Tensor:
    """Count which class was predicted for which.

    Args:
      labels: [n] integer, the classes wanted; or [n, 1].
      predictions: [n] integer, the classes predicted; or [n, 1].
      num_classes: scalar integer; by default the largest class plus one.
      dtype: dtype of the counts.
      name: name scope of the operations, by default "confusion_matrix".
      weights: [n], each pair counts its weight.

    Returns:
      [num_classes, num_classes] `dtype`; rows are labels, columns predictions.

    Raises:
      InvalidArgumentError: (when run) a class is negative or not below `num_classes`.

    >>> confusion_matrix([1, 2, 2], [1, 2, 0], num_classes=3).numpy().tolist()
    [[0, 0, 0], [0, 1, 0], [1, 0, 1]]
    """
    with name_scope(name, "confusion_matrix", [labels, predictions, num_classes, weights]):
        labels, predictions = remove_squeezable_dimensions(labels, predictions)
        labels, predictions = cast(labels, dtypes.int64), cast(predictions, dtypes.int64)
        if num_classes is None:
            largest = maximum(reduce_max(labels), reduce_max(predictions))
            num_classes = maximum(add(largest, number(1, largest)), number(0, largest))
        options = as_operands(num_classes=num_classes)
        options["dtype"] = as_dtype(dtype).base_dtype
        if weights is None:
            return apply(CONFUSION_MATRIX, labels, predictions, **options)
        weights = cast(convert_to_tensor(weights, name="weights"), dtype)
        return apply(WEIGHTED_CONFUSION_MATRIX, labels, predictions, weights, **options)


def zero_fraction(value: TensorLike, name: str | None = None) -> Tensor:
    """Return the fraction of elements that are zero, NaN where there are no elements.

    Args:
      value: [...] number.
      name: name scope of the operations, by default "zero_fraction".

    Returns:
      [] float32.

    >>> float(zero_fraction([[0, 1], [2, 0]]))
    0.5
    """
    with name_scope(name, "zero_fraction", [value]):
        value = convert_to_tensor(value, name="value")
        return reduce_mean(cast(equal(value, number(0, value)), dtypes.float32))
