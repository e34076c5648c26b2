"""The largest entries of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy

from daskvars import shapes
from daskvars.dtypes import bool as bool_, int32
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import OpDef, Spec, without_gradient
from daskvars.graph.definitions.patterns import Contraction
from daskvars.graph.indexed_slices import Gradients
from daskvars.graph.interpreter import apply
from daskvars.graph.records import attribute_kinds as kinds_of
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.kernels.nn import ranking as kernels
from daskvars.ops.array.constant import size_along
from daskvars.ops.array.reshaping import expand_dims
from daskvars.ops.math.casting import cast
from daskvars.ops.math.comparison import equal
from daskvars.ops.math.division import truediv
from daskvars.ops.math.reduce import reduce_sum
from daskvars.ops.rules.axes import as_operand
from daskvars.surface.accepted import accepts


class TopK(NamedTuple):
    """What `top_k` returns."""

    values: Tensor
    indices: Tensor


def _largest(inputs: Sequence[Spec], *, k: int, sorted: bool, **attrs: Any) -> tuple[Spec, ...]:
    dtype, shape = inputs[0]
    if k is not None and k < 0:
        raise ValueError(f"Need k >= 0, got {k}")
    if shape is not None:
        if not shape:
            raise ValueError("input must have at least rank 1 but is rank 0")
        if k is not None and shape[-1] is not None and shape[-1] < k:
            raise ValueError(f"input must have last dimension >= k = {k} but is {shape[-1]}")
        shape = (*shape[:-1], k)
    return Spec(dtype, shape), Spec(int32, shape)


def _top_k_gradient(op: Operation, dy: Tensor, _: Tensor) -> Tensor:
    return apply(TOP_K_GRAD, dy, op.outputs[1], size=size_along(op.inputs[0], -1))


TOP_K = OpDef(
    "TopKV2",
    "input:R",
    infer=_largest,
    pattern=Contraction("..._->..._", None),
    kernel=kernels.top_k,
    gradient=_top_k_gradient,
    operands=("k",),
)


def _spread(inputs: Sequence[Spec], *, size: Any, **attrs: Any) -> Spec:
    dtype, shape = inputs[0]
    return Spec(dtype, None if shape is None else (*shape[:-1], size))


TOP_K_GRAD = OpDef(
    "TopKGrad",
    "gradients:N, indices:I",
    infer=_spread,
    operands=("size",),
    pattern=Contraction("..._,..._->..._", None),
    kernel=kernels.top_k_grad,
    gradient=lambda op, g: (apply(TAKE_LAST, g, op.inputs[1]), None),
)


def _taken(inputs: Sequence[Spec]) -> Spec:
    return Spec(inputs[0].dtype, inputs[1].shape)


def _take_gradient(op: Operation, g: Tensor) -> Gradients:
    return apply(TOP_K_GRAD, g, op.inputs[1], size=size_along(op.inputs[0], -1)), None


TAKE_LAST: OpDef = OpDef(
    "TopKGradGrad",
    "gradients:N, indices:I",
    infer=_taken,
    pattern=Contraction("..._,..._->..._", None),
    kernel=kernels.take_last,
    gradient=_take_gradient,
)


@accepts("sorted")
def top_k(
    input: TensorLike, k: TensorLike = 1, sorted: bool = True, name: str | None = None
) -> TopK:
    """Return the largest entries of each row and where they are.

    Args:
      input: [..., n] real.
      k: scalar int32, how many, at most n.
      name: name of the operation, by default "TopKV2".

    Returns:
      values: [..., k] of the dtype of `input`, the largest first.
      indices: [..., k] int32; of equal entries, the first.

    Raises:
      ValueError: k is larger than n, or negative.
      InvalidArgumentError: that shows in the run alone.

    >>> [t.numpy().tolist() for t in top_k([1.0, 3.0, 2.0, 3.0], k=3)]
    [[3.0, 3.0, 2.0], [1, 3, 2]]
    """
    input = convert_to_tensor(input, name="input")
    return TopK(*apply(TOP_K, input, name=name, k=as_operand(k), sorted=bool(sorted)))


def _nth(inputs: Sequence[Spec], *, n: Any, **attrs: Any) -> Spec:
    dtype, shape = inputs[0]
    if n is not None and not isinstance(n, int):
        raise ValueError(f"n must be scalar but has rank {numpy.ndim(n)}: {n}")
    if n is not None and n < 0:
        raise ValueError(f"n must be non-negative but is {n}")
    if shape is None:
        return Spec(dtype, None)
    if not shape:
        raise ValueError("Shape must be at least rank 1 but is rank 0: Input must be >= 1-D")
    if n is not None and shape[-1] is not None and shape[-1] <= n:
        raise ValueError(f"Input must have last dimension > n = {n} but is {shape[-1]}")
    return Spec(dtype, shape[:-1])


def _nth_gradient(op: Operation, dy: Tensor) -> Tensor:
    """Entries that are equal to the one that was found share its gradient."""
    x = op.inputs[0]
    is_found = cast(equal(expand_dims(op.outputs[0], -1), x), dy.dtype)
    share = truediv(dy, reduce_sum(is_found, axis=-1))
    return is_found * expand_dims(share, -1)


NTH_ELEMENT = OpDef(
    "NthElement",
    "input:R",
    infer=_nth,
    pattern=Contraction("..._->...", None),
    kernel=kernels.nth_element,
    gradient=_nth_gradient,
    operands=("n",),
    attributes={"reverse": kinds_of.BOOL},
)


def nth_element(
    input: TensorLike, n: TensorLike, reverse: bool = False, name: str | None = None
) -> Tensor:
    """Return the entry of each row that is at a place in order.

    Args:
      input: [..., size] real.
      n: scalar int32: how many entries are before it, below `size`.
      reverse: whether in descending order.
      name: name of the operation, by default "NthElement".

    Returns:
      [...] of the dtype of `input`.

    Raises:
      ValueError: n is out of range, or no scalar, or the input is one.
      InvalidArgumentError: that shows in the run alone.

    Gradient: entries that are equal to the one that was found share it.

    Source: TensorFlow 1.15, ``tf.contrib.nn.nth_element``.

    >>> nth_element([[3.0, 1.0, 2.0], [0.0, 5.0, 4.0]], 1).numpy().tolist()
    [2.0, 4.0]
    """
    input = convert_to_tensor(input, name="input")
    return apply(NTH_ELEMENT, input, name=name, n=as_operand(n), reverse=bool(reverse))


def _tested(inputs: Sequence[Spec], *, k: int, **attrs: Any) -> Spec:
    predictions, targets = (spec.shape for spec in inputs[:2])
    for shape, rank, what in ((predictions, 2, "predictions"), (targets, 1, "targets")):
        if shape is not None and len(shape) != rank:
            raise ValueError(f"{what} must be rank {rank} but has shape {shapes.show(shape)}")
    rows = None if predictions is None else predictions[:1]
    return Spec(bool_, shapes.merge(shapes.merge(rows, targets), (None,)))


IN_TOP_K = without_gradient(
    "InTopKV2",
    "predictions:F, targets:I",
    infer=_tested,
    kernel=kernels.in_top_k,
    pattern=Contraction("n_,n->n", None),
    operands=("k",),
)


def in_top_k(
    predictions: TensorLike, targets: TensorLike, k: TensorLike, name: str | None = None
) -> Tensor:
    """Return whether each row's target is among its k largest predictions.

    Args:
      predictions: [batch, classes] floating.
      targets: [batch] int32 or int64, the class of each row.
      k: scalar int, how many are looked at; classes that tie with the last of them all count.
      name: name of the operation, by default "InTopKV2".

    Returns:
      [batch] bool; False where the target is no class or a prediction is not finite.

    Raises:
      ValueError: the shapes do not fit.

    >>> in_top_k([[0.1, 0.7, 0.2], [0.5, 0.3, 0.2]], [2, 2], k=2).numpy().tolist()
    [True, False]
    """
    return apply(IN_TOP_K, predictions, targets, name=name, k=as_operand(k))
