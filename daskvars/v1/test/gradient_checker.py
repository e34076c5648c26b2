"""Gradients beside differences: how a test finds out that a gradient is wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

from daskvars.backpropagation import gradients
from daskvars.execution.engine.values.fetches import IndexedSlicesValue
from daskvars.graph.scopes import stacks
from daskvars.graph.tensor import Tensor
from daskvars.ops.array.constant import constant
from daskvars.ops.array.reshaping import identity, reshape
from daskvars.surface.signatures import with_arguments_of

_Feeds = Mapping[Any, Any] | None
_Jacobians = tuple[NDArray[Any], NDArray[Any]]


def compute_gradient(
    x: Any,
    x_shape: Any,
    y: Tensor,
    y_shape: Sequence[int],
    x_init_value: Any = None,
    delta: float = 1e-3,
    init_targets: Any = None,
    extra_feed_dict: _Feeds = None,
) -> Any:
    """Return the Jacobian of `y` by `x` as gradients give it, and by differences.

    Each part of a complex number counts as a number of its own. The default session runs it.

    Args:
      x: a tensor of floating point, or a list of them.
      x_shape: its shape, or the list of theirs.
      y: a tensor that is computed from `x`.
      y_shape: the sizes of `y`.
      x_init_value: where to look, by default at random numbers from 0 to 1; a list for a list.
      delta: the step of the differences, to both sides.
      init_targets: operations that are run first.
      extra_feed_dict: what is fed besides `x`.

    Returns:
      Two [size of `x`, size of `y`] arrays, or a list of such pairs.

    Raises:
      ValueError: there is no default session, `y` does not depend on `x`, or `x_init_value` has
        another shape.

    Source: TensorFlow 1.15, ``tf.test.compute_gradient``.

    >>> with tf.Graph().as_default(), tf.Session():
    ...     x = tf.constant([3.0])
    ...     [j.round(2).tolist() for j in compute_gradient(x, [1], x * x, [1], [3.0])]
    [[[6.0]], [[6.0]]]
    """
    if init_targets is not None:
        _session().run(init_targets)
    if not isinstance(x, list):
        return _jacobians(x, x_shape, y, y_shape, x_init_value, delta, extra_feed_dict)
    values = x_init_value if isinstance(x_init_value, list) else [x_init_value] * len(x)
    # While one is varied, the others are where they are said to be.
    given = {tensor: value for tensor, value in zip(x, values, strict=True) if value is not None}
    fed = {**given, **(extra_feed_dict or {})}
    return [
        _jacobians(tensor, shape, y, y_shape, value, delta, fed)
        for tensor, shape, value in zip(x, x_shape, values, strict=True)
    ]


@with_arguments_of(compute_gradient)
def compute_gradient_error(**arguments: Any) -> float:
    """Return the largest difference between the two Jacobians of `compute_gradient`.

    Returns:
      The difference.

    Source: TensorFlow 1.15, ``tf.test.compute_gradient_error``.

    >>> with tf.Graph().as_default(), tf.Session():
    ...     x = tf.constant([1.0, 2.0])
    ...     tf.test.compute_gradient_error(x, [2], tf.square(x), [2]) < 1e-2
    True
    """
    found = compute_gradient(**arguments)
    pairs = [found] if isinstance(found, tuple) else found
    return max(float(numpy.abs(first - second).max(initial=0)) for first, second in pairs)


def _session() -> Any:
    session = stacks.get_default_session()
    if session is None:
        raise ValueError("gradients are computed by the default session, and none is registered")
    return session


def _jacobians(
    x: Tensor,
    x_shape: Sequence[int],
    y: Tensor,
    y_shape: Sequence[int],
    x_init_value: Any,
    delta: float,
    fed: _Feeds,
) -> _Jacobians:
    dtype = x.dtype.as_numpy_dtype
    shape = tuple(int(size) for size in x_shape)
    if x_init_value is None:
        value = numpy.random.random_sample(shape).astype(dtype)
    else:
        value = numpy.array(x_init_value, dtype, order="C")
        if value.shape != shape:
            raise ValueError(f"x_init_value has shape {value.shape}, x_shape is {shape}")
    with x.graph.as_default():
        seed = constant(1.0, shape=y_shape, dtype=y.dtype)
        # `y_shape` may be another of as many elements, as TensorFlow's own tests have it.
        same = y.shape.is_compatible_with(y_shape)
        (found,) = gradients(y, x, identity(seed) if same else reshape(seed, y.shape))
    if found is None:
        raise ValueError(f"{y.name} does not depend on {x.name}: there is no gradient")
    dy_shape = tuple(int(size) for size in y_shape)
    dy_dtype = y.dtype.as_numpy_dtype
    feeds = {**(fed or {}), x: value}
    return (
        _by_gradients(found, shape, dtype, seed, dy_shape, dy_dtype, feeds),
        _by_differences(x, value, y, delta, dy_shape, feeds),
    )


def _reals(array: Any, dtype: Any) -> NDArray[Any]:
    """Return an array as a flat one of real numbers, in which a complex one is two."""
    flat = numpy.ascontiguousarray(array).reshape(-1)
    kind = numpy.dtype(dtype)
    return flat.view(flat.real.dtype) if kind.kind == "c" else flat


def _by_gradients(
    found: Any,
    shape: tuple[int, ...],
    dtype: Any,
    seed: Tensor,
    dy_shape: tuple[int, ...],
    dy_dtype: Any,
    feeds: dict[Any, Any],
) -> NDArray[Any]:
    run = _session().run
    dy = numpy.zeros(dy_shape, dy_dtype)
    numbers = _reals(dy, dy_dtype)  # a view
    num_x = _reals(numpy.empty(shape, dtype), dtype).size
    jacobian = numpy.zeros((num_x, numbers.size), numbers.dtype)
    for column in range(numbers.size):
        numbers[:] = 0
        numbers[column] = 1
        gradient = run(found, {**feeds, seed: dy.copy()})
        jacobian[:, column] = _reals(_dense(gradient, shape, dtype), dtype)
    if not numbers.size:  # run them all the same: they may fail
        gradient = _dense(run(found, {**feeds, seed: dy}), shape, dtype)
        if gradient.shape != shape:
            raise ValueError(
                f"Empty gradient has wrong shape: expected {shape}, got {gradient.shape}"
            )
        if numpy.any(gradient):
            raise ValueError(f"the gradient of an empty y should be zeros, got {gradient}")
    return jacobian


def _dense(gradient: Any, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    if not isinstance(gradient, IndexedSlicesValue):
        return numpy.asarray(gradient)
    result = numpy.zeros(shape, dtype)
    numpy.add.at(result, gradient.indices, gradient.values)
    return result


def _by_differences(
    x: Tensor,
    value: NDArray[Any],
    y: Tensor,
    delta: float,
    dy_shape: tuple[int, ...],
    feeds: dict[Any, Any],
) -> NDArray[Any]:
    run = _session().run
    dtype, dy_dtype = x.dtype.as_numpy_dtype, y.dtype.as_numpy_dtype
    num_x = _reals(value, dtype).size
    num_y = _reals(numpy.empty(dy_shape, dy_dtype), dy_dtype).size
    jacobian = numpy.zeros((num_x, num_y), _reals(numpy.empty(0, dy_dtype), dy_dtype).dtype)

    def moved(row: int, by: float) -> NDArray[Any]:
        there = value.copy()
        _reals(there, dtype)[row] += by
        return _reals(run(y, {**feeds, x: there}), dy_dtype)

    for row in range(num_x):
        jacobian[row] = (moved(row, delta) - moved(row, -delta)) / (2 * delta)
    return jacobian
