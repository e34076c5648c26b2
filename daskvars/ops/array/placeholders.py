"""Placeholders: tensors whose values are fed to a run."""

from __future__ import annotations

from collections.abc import Sequence

from daskvars import shapes
from daskvars.dtypes import DTypeLike, as_dtype
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import PASS_GRADIENT, Spec, without_gradient
from daskvars.graph.definitions.patterns import Source
from daskvars.graph.interpreter import apply, builder_for
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.kernels.array import placeholders as kernels
from daskvars.ops.rules.families import elementwise
from daskvars.shapes import Shape, ShapeLike

PLACEHOLDER = without_gradient(
    "Placeholder",
    "",
    infer=lambda inputs, *, dtype, shape, tensor: Spec(dtype, shape),
    kernel=kernels.missing_feed,
    pattern=Source(),
)


def placeholder(
    dtype: DTypeLike, shape: ShapeLike | None = None, name: str | None = None
) -> Tensor:
    """Return a tensor whose value is given with ``feed_dict`` when something is run.

    Args:
      dtype: its dtype.
      shape: its shape, None for sizes (or all of it) that are not known before.
      name: name of the operation, by default "Placeholder".

    Returns:
      [*shape] `dtype`.

    Raises:
      RuntimeError: outside a graph, where there is nothing to be run later.
      InvalidArgumentError: (when run) it is needed and was not fed.

    >>> with dv.Graph().as_default():
    ...     placeholder(dv.float32, [None, 784], name="x")
    <tf.Tensor 'x:0' shape=(?, 784) dtype=float32>
    """
    _check_graph("placeholder")
    with name_scope(name, "Placeholder", []) as scope:
        return apply(
            PLACEHOLDER,
            name=scope,
            dtype=as_dtype(dtype).base_dtype,
            shape=shapes.as_tuple(shape),
            tensor=scope.rstrip("/"),
        )


def _check_graph(function: str) -> None:
    if builder_for(()).is_eager:
        raise RuntimeError(
            f"{function}() is not compatible with eager execution: pass the value itself, or build "
            "a graph inside `with Graph().as_default():`"
        )


def _defaulted(inputs: Sequence[Spec], *, shape: Shape) -> Spec:
    if not shapes.compatible(inputs[0].shape, shape):
        raise ValueError(
            f"a default of shape {shapes.show(inputs[0].shape)} does not fit a placeholder of "
            f"shape {shapes.show(shape)}"
        )
    return Spec(inputs[0].dtype, shape)


PLACEHOLDER_WITH_DEFAULT = elementwise(
    "PlaceholderWithDefault",
    "input:T",
    infer=_defaulted,
    kernel=None,
    gradient=PASS_GRADIENT,
    static=lambda values, specs, attrs: None,  # a feed may take the place of a known default
)


def placeholder_with_default(
    input: TensorLike, shape: ShapeLike, name: str | None = None
) -> Tensor:
    """Return a tensor that passes `input` on unless it is fed.

    Args:
      input: [...] any dtype, the default.
      shape: the shape that may be fed, None for unknown sizes; that of `input` must fit.
      name: name of the operation, by default "PlaceholderWithDefault".

    Returns:
      [*shape], of the dtype of `input`.

    Raises:
      ValueError: the shape of `input` does not fit `shape`.

    >>> with dv.Graph().as_default(), dv.Session() as sess:
    ...     rate = dv.placeholder_with_default(0.5, [])
    ...     float(sess.run(rate)), float(sess.run(rate, {rate: 0.25}))
    (0.5, 0.25)
    """
    shape = shapes.as_tuple(shape)
    return apply(PLACEHOLDER_WITH_DEFAULT, convert_to_tensor(input), name=name, shape=shape)
