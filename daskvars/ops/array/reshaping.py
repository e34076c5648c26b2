"""Identity, and changes of shape that leave elements in their order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from daskvars import shapes
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import (
    PASS_GRADIENT,
    UNDEFINED_GRADIENT,
    OpDef,
    Spec,
    without_gradient,
)
from daskvars.graph.definitions.patterns import (
    Access,
    Attrs,
    Elementwise,
    KnownShapes,
    Movement,
    reshape_access,
)
from daskvars.graph.interpreter import apply
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.kernels.array import movement as kernels
from daskvars.ops.array.constant import sizes_like
from daskvars.ops.rules import axes
from daskvars.ops.rules.families import elementwise
from daskvars.ops.rules.shapes import like_first
from daskvars.shapes import Shape, ShapeLike

# -- identity ----------------------------------------------------------------------------------


IDENTITY = elementwise(
    "Identity", "input:T", None, PASS_GRADIENT, infer=like_first, static=axes.first_value
)


def identity(input: TensorLike, name: str | None = None) -> Tensor:
    """Return a tensor of the same value, a node of its own.

    Args:
      input: [...] any dtype.
      name: name of the operation, by default "Identity".

    Returns:
      A tensor of the shape, dtype and value of `input`.

    >>> print(identity([1, 2]))
    [1 2]
    """
    return apply(IDENTITY, input, name=name)


def identity_n(input: Sequence[Any], name: str | None = None) -> list[Tensor]:
    """Return tensors of the same values. See `identity`.

    >>> [x.numpy().tolist() for x in identity_n([[1, 2], [3.0]])]
    [[1, 2], [3.0]]
    """
    with name_scope(name, "IdentityN", input):
        return [identity(item) for item in input]


STOP_GRADIENT = without_gradient(
    "StopGradient", "input:T", like_first, None, pattern=Elementwise(), static=axes.first_value
)


def stop_gradient(input: TensorLike, name: str | None = None) -> Tensor:
    """Return a tensor of the same value that gradients take as a constant.

    Args:
      input: [...] any dtype.
      name: name of the operation, by default "StopGradient".

    Returns:
      A tensor of the shape, dtype and value of `input`.

    >>> x = dv.constant(3.0)
    >>> with dv.GradientTape() as tape:
    ...     y = x * stop_gradient(x)
    >>> float(tape.gradient(y, x))
    3.0
    """
    return apply(STOP_GRADIENT, input, name=name)


PREVENT_GRADIENT = without_gradient(
    "PreventGradient",
    "input:T",
    like_first,
    None,
    pattern=Elementwise(),
    gradient=UNDEFINED_GRADIENT,
    static=axes.first_value,
)


def prevent_gradient(input: TensorLike, name: str | None = None) -> Tensor:
    """Return a tensor of the same value whose gradient raises LookupError: it is not written.

    Args:
      input: [...] any dtype.
      name: name of the operation, by default "PreventGradient".
    """
    return apply(PREVENT_GRADIENT, input, name=name)


OPTIMIZATION_BARRIER = OpDef(
    "OptimizationBarrier",
    "input:T",
    infer=like_first,
    pattern=Movement("...->..."),
    kernel=kernels.given,
    gradient=PASS_GRADIENT,
    static=axes.first_value,
)


def optimization_barrier(input: TensorLike) -> Tensor:
    """Return a tensor of the same value of which is computed anew what is computed of `input`
    elsewhere."""
    return apply(OPTIMIZATION_BARRIER, input)


ENSURE_SHAPE = OpDef(
    "EnsureShape",
    "input:T",
    pattern=Movement("...->..."),
    kernel=kernels.ensure_shape,
    infer=lambda inputs, *, shape: Spec(inputs[0].dtype, shapes.merge(inputs[0].shape, shape)),
    gradient=PASS_GRADIENT,
    static=axes.first_value,
    block=axes.shaped_as_block("shape"),
)


def ensure_shape(x: TensorLike, shape: ShapeLike, name: str | None = None) -> Tensor:
    """Return `x`, whose shape is known to fit `shape` and checked where it is computed.

    Args:
      x: [...] any dtype.
      shape: the shape, None for unknown sizes.
      name: name of the operation, by default "EnsureShape".

    Raises:
      ValueError: the static shape does not fit.
      InvalidArgumentError: (when run) the shape does not fit.

    >>> ensure_shape([[1, 2]], [None, 2]).numpy().tolist()
    [[1, 2]]
    """
    return apply(ENSURE_SHAPE, convert_to_tensor(x), name=name, shape=shapes.as_tuple(shape))


# -- reshape -----------------------------------------------------------------------------------


def _reshaped(inputs: Sequence[Spec], *, shape: Shape, **attrs: Any) -> Spec:
    source, wanted = inputs[0], axes.sizes_of(shape, inputs[1:])
    if wanted is None:
        return Spec(source.dtype, None)
    if wanted.count(-1) > 1 or any(n is not None and n < -1 for n in wanted):
        raise ValueError(f"Only one input size may be -1, all others positive, got {wanted}")
    total = shapes.size(source.shape)
    open_sizes = [i for i, n in enumerate(wanted) if n in (None, -1)]
    known = 1
    for n in wanted:
        known *= 1 if n in (None, -1) else n
    target = [None if n == -1 else n for n in wanted]
    if total is None:
        return Spec(source.dtype, tuple(target))
    if open_sizes:
        if known and total % known:
            raise ValueError(
                f"Dimension size must be evenly divisible by {known} but is {total}: cannot "
                f"reshape {shapes.show(source.shape)} to {list(wanted)}"
            )
        if not known and wanted.count(-1) and total:
            raise ValueError(
                "reshape cannot infer the missing input size for an empty tensor unless all "
                "specified input sizes are non-zero"
            )
        if len(open_sizes) == 1 and known:
            target[open_sizes[0]] = total // known
        elif -1 in wanted and shapes.is_known(wanted) and shapes.is_known(source.shape):
            target[open_sizes[0]] = shapes.missing_size(source.shape, wanted)
    elif total != known:
        raise ValueError(
            f"Cannot reshape a tensor with {total} elements to shape {shapes.in_brackets(wanted)} "
            f"({known} elements)"
        )
    return Spec(source.dtype, tuple(target))


def _reshaped_value(values: list[Any], specs: list[Spec], attrs: dict[str, Any]) -> Any:
    arrays = axes.known_arrays(values[:1], specs[:1])
    target = _reshaped((specs[0],), shape=attrs["shape"]).shape
    if arrays is None or not shapes.is_known(target):
        return None
    return axes.as_value(arrays[0].reshape(target))


def _reshape_access(inputs: KnownShapes, outputs: KnownShapes, attrs: Attrs) -> Access:
    if not axes.is_complete(attrs["shape"]):
        return axes.whole(inputs, outputs)
    return reshape_access(inputs, outputs, attrs)


RESHAPE = OpDef(
    "Reshape",
    "tensor:T",
    infer=_reshaped,
    pattern=Movement(_reshape_access, linear=True),
    kernel=kernels.reshape,
    static=_reshaped_value,
    same_if_same_shape=True,
    gradient=lambda op, dy: reshape(dy, sizes_like(op.inputs[0])),
    **axes.shaped_by("shape"),
)


def reshape(tensor: TensorLike, shape: TensorLike, name: str | None = None) -> Tensor:
    """Return the elements of a tensor, in row-major order, in another shape.

    Args:
      tensor: [...] any dtype.
      shape: [rank] int32 or int64, of which one size may be -1: what the elements leave for it.
      name: name of the operation, by default "Reshape".

    Returns:
      [*shape], of the dtype of `tensor`. Chunks of the leading dimension stay chunks.

    Raises:
      ValueError: the numbers of elements differ.
      InvalidArgumentError: (when run) the same, where shapes are known only then.

    >>> reshape([[1, 2, 3], [4, 5, 6]], [-1, 2]).numpy().tolist()
    [[1, 2], [3, 4], [5, 6]]
    """
    sizes = axes.as_operand(shape)
    return apply(RESHAPE, tensor, name=name, shape=(sizes,) if isinstance(sizes, int) else sizes)


# -- dimensions of size 1 ----------------------------------------------------------------------


def _single_axis(axis: Any) -> Any:
    return axis[0] if isinstance(axis, tuple) and len(axis) == 1 else axis


def _expanded(inputs: Sequence[Spec], *, axis: Any, **attrs: Any) -> Spec:
    shape = inputs[0].shape
    if shape is None:
        return Spec(inputs[0].dtype, None)
    if axis is None:
        return Spec(inputs[0].dtype, (None,) * (len(shape) + 1))
    place = shapes.normalize_axis(_single_axis(axis), len(shape) + 1)
    return Spec(inputs[0].dtype, (*shape[:place], 1, *shape[place:]))


def _expanded_access(inputs: KnownShapes, outputs: KnownShapes, attrs: Attrs) -> Access:
    if attrs["axis"] is None:
        return axes.whole(inputs, outputs)
    place = _single_axis(attrs["axis"]) % len(outputs[0])
    return axes.aligned(inputs, outputs, ((i, i + (i >= place)) for i in range(len(inputs[0]))))


def _expanded_value(values: list[Any], specs: list[Spec], attrs: dict[str, Any]) -> Any:
    arrays = axes.known_arrays(values[:1], specs[:1])
    if arrays is None or attrs["axis"] is None:
        return None
    target = _expanded((specs[0],), axis=attrs["axis"]).shape
    return axes.as_value(arrays[0].reshape(target))


EXPAND_DIMS = OpDef(
    "ExpandDims",
    "input:T",
    infer=_expanded,
    pattern=Movement(_expanded_access, linear=True),
    kernel=kernels.expand_dims,
    operands=("axis",),
    static=_expanded_value,
    gradient=lambda op, dy: reshape(dy, sizes_like(op.inputs[0])),
)


def expand_dims(
    input: TensorLike,
    axis: TensorLike | None = None,
    name: str | None = None,
    dim: TensorLike | None = None,
) -> Tensor:
    """Return a tensor with a new dimension of size 1.

    Args:
      input: [...] any dtype.
      axis: scalar integer, where the new dimension is; negative ones count from the end.
      name: name of the operation, by default "ExpandDims".
      dim: deprecated name of `axis`.

    Returns:
      [..., 1, ...], of the dtype of `input`.

    Raises:
      ValueError: there is no such place, or `axis` is not given.

    >>> expand_dims([1, 2], -1).numpy().tolist()
    [[1], [2]]
    """
    axis = axes.either(axis, dim, "axis", "dim")
    if axis is None:
        raise ValueError("Must specify an axis argument to expand_dims()")
    place = _single_axis(axes.as_integers(axis=axis)["axis"])
    return apply(EXPAND_DIMS, input, name=name, axis=place)


def _squeezed_axes(shape: Any, axis: Sequence[int] | None) -> tuple[int, ...]:
    if axis is None:
        return tuple(i for i, n in enumerate(shape) if n == 1)
    return shapes.normalize_axes(axis, len(shape))


def _squeezed(inputs: Sequence[Spec], *, axis: Any) -> Spec:
    shape = inputs[0].shape
    if shape is None or (axis is None and None in shape):
        return Spec(inputs[0].dtype, None)
    dropped = _squeezed_axes(shape, axis)
    for i in dropped:
        if shape[i] not in (1, None):
            raise ValueError(f"Can not squeeze dim[{i}], expected a dimension of 1, got {shape[i]}")
    return Spec(inputs[0].dtype, tuple(n for i, n in enumerate(shape) if i not in dropped))


def _squeezed_access(inputs: KnownShapes, outputs: KnownShapes, attrs: Attrs) -> Access:
    dropped = _squeezed_axes(inputs[0], attrs["axis"])
    kept = [i for i in range(len(inputs[0])) if i not in dropped]
    return axes.aligned(inputs, outputs, ((i, j) for j, i in enumerate(kept)))


def _squeezed_value(values: list[Any], specs: list[Spec], attrs: dict[str, Any]) -> Any:
    arrays = axes.known_arrays(values, specs)
    if arrays is None:
        return None
    return axes.as_value(arrays[0].reshape(_squeezed(specs, axis=attrs["axis"]).shape))


# A block may have size 1 where the whole has not, so blocks are told which dimensions go.
SQUEEZE = OpDef(
    "Squeeze",
    "input:T",
    infer=_squeezed,
    pattern=Movement(_squeezed_access, linear=True),
    kernel="squeeze",
    static=_squeezed_value,
    gradient=lambda op, dy: reshape(dy, sizes_like(op.inputs[0])),
    block=lambda attrs, block: {"axis": _squeezed_axes(block.full_in_shapes[0], attrs["axis"])},
)


def squeeze(
    input: TensorLike,
    axis: Any = None,
    name: str | None = None,
    squeeze_dims: TensorLike | None = None,
) -> Tensor:
    """Return a tensor without dimensions of size 1.

    Args:
      input: [...] any dtype.
      axis: the dimensions to drop, by default all of size 1.
      name: name of the operation, by default "Squeeze".
      squeeze_dims: deprecated name of `axis`.

    Returns:
      [...], of the dtype of `input`.

    Raises:
      ValueError: a dimension named has another size than 1.

    >>> squeeze([[[1], [2]]], [0]).numpy().tolist()
    [[1], [2]]
    """
    axis = axes.either(axis, squeeze_dims, "axis", "squeeze_dims")
    places = () if axis is None else axes.as_integers(axis=axes.as_known(axis))["axis"]
    listed = places if isinstance(places, tuple) else (places,)
    return apply(SQUEEZE, input, name=name, axis=tuple(map(int, listed)) or None)
