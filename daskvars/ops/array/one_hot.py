"""One-hot rows: indices as positions of the one value that differs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from daskvars import dtypes, shapes
from daskvars.dtypes import DType, DTypeLike, as_dtype
from daskvars.graph.definitions.opdef import Spec, without_gradient
from daskvars.graph.definitions.patterns import Access, Attrs, KnownShapes, Movement
from daskvars.graph.interpreter import apply
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.kernels.array import one_hot as kernels
from daskvars.ops.rules import axes


def _one_hot(inputs: Sequence[Spec], *, depth: Any, axis: Any, dtype: DType, **attrs: Any) -> Spec:
    shape = inputs[0].shape
    if depth is not None and depth < 0:
        raise ValueError(f"depth must be non-negative, got: {depth}")
    if shape is None:
        return Spec(dtype, None)
    place = shapes.normalize_axis(axis, len(shape) + 1)
    return Spec(dtype, (*shape[:place], depth, *shape[place:]))


def _one_hot_access(inputs: KnownShapes, outputs: KnownShapes, attrs: Attrs) -> Access:
    place = attrs["axis"] % len(outputs[0])
    return axes.aligned(inputs, outputs, ((i, i + (i >= place)) for i in range(len(inputs[0]))))


ONE_HOT = without_gradient(
    "OneHot",
    "indices:Z",
    infer=_one_hot,
    kernel=kernels.one_hot,
    pattern=Movement(_one_hot_access, view=False),
    operands=("depth", "on_value", "off_value"),
)


def one_hot(
    indices: TensorLike,
    depth: TensorLike,
    on_value: TensorLike | None = None,
    off_value: TensorLike | None = None,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Return a new dimension that holds `on_value` at the index and `off_value` elsewhere.

    Args:
      indices: [...] integer; one outside [0, depth) gives `off_value` throughout.
      depth: scalar integer, the size of the new dimension.
      on_value: scalar, by default 1.
      off_value: scalar, by default 0.
      axis: where the new dimension is, by default last.
      dtype: dtype of the result, by default that of the values given, else float32.
      name: name of the operation, by default "one_hot".

    Returns:
      [..., depth] `dtype`.

    Raises:
      TypeError: `on_value`, `off_value` and `dtype` do not agree.
      ValueError: there is no such place, or `depth` is negative.

    >>> one_hot([0, 2, -1], 3).numpy().tolist()
    [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]
    """
    wanted = _dtype_of_values(on_value, off_value, dtype)
    return apply(
        ONE_HOT,
        indices,
        name=name or "one_hot",
        depth=axes.as_operand(depth),
        on_value=_operand("on_value", 1 if on_value is None else on_value, wanted),
        off_value=_operand("off_value", 0 if off_value is None else off_value, wanted),
        axis=-1 if axis is None else int(axis),
        dtype=wanted,
    )


def _operand(name: str, value: Any, dtype: dtypes.DType) -> Any:
    if dtype is dtypes.string and not isinstance(value, Tensor):
        value = dtypes.to_numpy(value, dtype, name).item()
    return axes.as_operand(value)


def _dtype_of_values(on_value: Any, off_value: Any, dtype: Any) -> dtypes.DType:
    given = {"on_value": on_value, "off_value": off_value}
    found = {
        name: as_dtype(value.dtype) if hasattr(value, "dtype") else dtypes.infer_dtype(value)
        for name, value in given.items()
        if value is not None
    }
    typed = [name for name in found if hasattr(given[name], "dtype")]
    if dtype is not None:
        wanted = as_dtype(dtype).base_dtype
    elif found:
        wanted = found[typed[0] if typed else next(iter(found))].base_dtype
    else:
        wanted = dtypes.float32
    for name, value in given.items():
        if name in typed and found[name].base_dtype is not wanted:
            raise TypeError(
                f"dtype {found[name].name} of {name} does not match dtype parameter {wanted.name}"
            )
        if name in found and name not in typed:
            dtypes.to_numpy(value, wanted, name)
    return wanted
