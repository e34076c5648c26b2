"""Clipping of values and of gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

from daskvars import shapes
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.indexed_slices import IndexedSlices
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.ops.array import constant
from daskvars.ops.math.arithmetic import add_n, maximum, minimum, multiply, number, square
from daskvars.ops.math.casting import cast
from daskvars.ops.math.comparison import greater, is_finite, where_v2
from daskvars.ops.math.division import realdiv
from daskvars.ops.math.reduce import reduce_sum
from daskvars.ops.math.transcendental import sqrt

Gradient = Tensor | IndexedSlices | None


def _like(values: Any, sparse: Any) -> Any:
    """Return `values` with the indices of `sparse` where that has any."""
    if isinstance(sparse, IndexedSlices):
        return IndexedSlices(values, sparse.indices, sparse.dense_shape)
    return values


def _values_of(x: Any) -> Tensor:
    return x.values if isinstance(x, IndexedSlices) else convert_to_tensor(x, name="t")


def _check_kept(values: Tensor, result: Tensor, what: str) -> None:
    if not shapes.compatible(values.spec.shape, result.spec.shape):
        raise ValueError(
            f"{what} a tensor of shape {shapes.show(values.spec.shape)} to "
            f"{shapes.show(result.spec.shape)}"
        )


@overload
def clip_by_value(
    t: IndexedSlices,
    clip_value_min: TensorLike,
    clip_value_max: TensorLike,
    name: str | None = None,
) -> IndexedSlices: ...
@overload
def clip_by_value(
    t: TensorLike, clip_value_min: TensorLike, clip_value_max: TensorLike, name: str | None = None
) -> Tensor: ...
def clip_by_value(
    t: TensorLike | IndexedSlices,
    clip_value_min: TensorLike,
    clip_value_max: TensorLike,
    name: str | None = None,
) -> Tensor | IndexedSlices:
    """Bring values into a range.

    Args:
      t: [...] real; Tensor or IndexedSlices.
      clip_value_min: scalar, or a tensor that broadcasts to `t`, of the dtype of `t`.
      clip_value_max: as `clip_value_min`.
      name: name of the operation, by default "clip_by_value".

    Returns:
      A tensor, or `IndexedSlices`, of the shape and dtype of `t`.

    Raises:
      ValueError: the bounds broadcast to another shape than that of `t`.

    >>> clip_by_value([-5.0, 0.5, 9.0], 0.0, 1.0).numpy().tolist()
    [0.0, 0.5, 1.0]
    """
    with name_scope(name, "clip_by_value", [t]) as scope:
        values = _values_of(t)
        lowered = minimum(values, clip_value_max)
        clipped = maximum(lowered, clip_value_min, name=scope)
        _check_kept(values, clipped, "the bounds broadcast")
        clipped.set_shape(values.spec.shape)
        return _like(clipped, t)


@overload
def clip_by_norm(
    t: IndexedSlices, clip_norm: TensorLike, axes: TensorLike | None = None, name: str | None = None
) -> IndexedSlices: ...
@overload
def clip_by_norm(
    t: TensorLike, clip_norm: TensorLike, axes: TensorLike | None = None, name: str | None = None
) -> Tensor: ...
def clip_by_norm(
    t: TensorLike | IndexedSlices,
    clip_norm: TensorLike,
    axes: TensorLike | None = None,
    name: str | None = None,
) -> Tensor | IndexedSlices:
    """Scale values so that their 2-norm is at most `clip_norm`.

    Args:
      t: [...] floating; Tensor or IndexedSlices.
      clip_norm: scalar, positive.
      axes: list of ints, the axes of one norm; None for all.
      name: name of the operation, by default "clip_by_norm".

    Returns:
      A tensor, or `IndexedSlices`, of the shape and dtype of `t`.

    Raises:
      ValueError: `clip_norm` broadcasts to another shape than that of `t`.

    >>> clip_by_norm([3.0, 4.0], 1.0).numpy().round(3).tolist()
    [0.6000000238418579, 0.800000011920929]
    """
    with name_scope(name, "clip_by_norm", [t]) as scope:
        values = _values_of(t)
        squares = reduce_sum(square(values), axes, keepdims=True)
        # The root has no derivative at 0, where there is nothing to clip either.
        positive = greater(squares, number(0, squares))
        safe = where_v2(positive, squares, number(1, squares))
        length = where_v2(positive, sqrt(safe), squares)
        scaled = multiply(values, clip_norm)
        _check_kept(values, scaled, "clip_norm broadcasts")
        clipped = realdiv(scaled, maximum(length, clip_norm), name=scope)
        return _like(clipped, t)


def clip_by_average_norm(t: TensorLike, clip_norm: TensorLike, name: str | None = None) -> Tensor:
    """Scale values so that their 2-norm over their number is at most `clip_norm`.

    Args:
      t: [...] floating.
      clip_norm: scalar, positive.
      name: name of the operation, by default "clip_by_average_norm".

    Returns:
      [...] as `t`.

    >>> print(clip_by_average_norm([3.0, 4.0], 1.0))
    [1.2 1.6]
    """
    with name_scope(name, "clip_by_average_norm", [t]) as scope:
        values = _values_of(t)
        count = cast(constant.size(values), values.dtype)
        average = realdiv(sqrt(reduce_sum(square(values))), count)
        scaled = multiply(values, clip_norm)
        return realdiv(scaled, maximum(average, clip_norm), name=scope)


def global_norm(t_list: Sequence[Gradient], name: str | None = None) -> Tensor:
    """Return the 2-norm of many tensors taken as one vector.

    Args:
      t_list: tensors and IndexedSlices, [...] floating, of one dtype; None is left out.
      name: name of the operation, by default "global_norm".

    Returns:
      [] of that dtype.

    Raises:
      TypeError: `t_list` is not a list.
      ValueError: there is no tensor in it.

    >>> float(global_norm([[3.0], [4.0]]))
    5.0
    """
    _check_list(t_list)
    given = [t for t in t_list if t is not None]
    with name_scope(name, "global_norm", given):
        squares = [reduce_sum(square(_values_of(t))) for t in given]
        return sqrt(add_n(squares), name="global_norm")


def _check_list(t_list: Any) -> None:
    if not isinstance(t_list, list | tuple):
        raise TypeError("t_list should be a sequence")


def clip_by_global_norm(
    t_list: Sequence[Gradient],
    clip_norm: TensorLike,
    use_norm: TensorLike | None = None,
    name: str | None = None,
) -> tuple[list[Gradient], Tensor]:
    """Scale many tensors by one factor so that their `global_norm` is at most `clip_norm`.

    Args:
      t_list: tensors and IndexedSlices, [...] floating; None stays None.
      clip_norm: scalar, positive.
      use_norm: [] the global norm, where it is known already.
      name: name scope of the operations, by default "clip_by_global_norm".

    Returns:
      The clipped list, each of the shape and dtype that it had; and the global norm from before,
      a scalar. All become NaN where that is not finite.

    Raises:
      TypeError: `t_list` is not a list.

    Source: Pascanu et al., "On the difficulty of training Recurrent Neural Networks", 2012.

    >>> clipped, length = clip_by_global_norm([dv.constant([3.0]), dv.constant([4.0])], 2.5)
    >>> [t.numpy().tolist() for t in clipped], float(length)
    ([[1.5], [2.0]], 5.0)
    """
    _check_list(t_list)
    length = global_norm(t_list, name) if use_norm is None else convert_to_tensor(use_norm)
    given = [t for t in t_list if t is not None]
    with name_scope(name, "clip_by_global_norm", [*given, length]):
        # min(1 / norm, 1 / clip_norm) * clip_norm, as TensorFlow rounds it.
        one = number(1, length)
        clip_norm = convert_to_tensor(clip_norm, length.dtype.base_dtype)
        scale = multiply(clip_norm, minimum(realdiv(one, length), realdiv(one, clip_norm)))
        scale = where_v2(is_finite(length), scale, number(float("nan"), length))
        clipped: dict[int, Any] = {}
        for t in given:
            if id(t) not in clipped:
                values = _values_of(t)
                clipped[id(t)] = _like(multiply(values, cast(scale, values.dtype)), t)
        return [None if t is None else clipped[id(t)] for t in t_list], length
