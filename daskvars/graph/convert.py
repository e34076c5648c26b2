"""Values to tensors: a registry of conversion functions, tried most specific first.

The defaults (constants, variables, lists that hold tensors) are registered from above.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from daskvars.dtypes import DType, as_dtype
from daskvars.graph.tensor import Operation, Tensor

Conversion = Callable[..., Any]
_conversions: list[tuple[int, Any, Conversion]] = []


def register_tensor_conversion_function(
    base_type: type | tuple[type, ...], conversion_func: Conversion, priority: int = 100
) -> None:
    """Use ``conversion_func(value, dtype=None, name=None, as_ref=False)`` for `base_type`.

    Functions of lower `priority` are tried first; one may return NotImplemented.

    Args:
      base_type: a class, or a tuple of classes.
      conversion_func: what makes a Tensor of such an object; it may return NotImplemented.
      priority: functions of lower numbers are tried first.

    >>> class Celsius:
    ...     degrees = 21.5
    >>> def converted(value, dtype=None, name=None, as_ref=False):
    ...     return dv.constant(value.degrees, dtype, name=name)
    >>> register_tensor_conversion_function(Celsius, converted)
    >>> float(dv.add(Celsius(), 273.0))
    294.5
    """
    _conversions.append((priority, base_type, conversion_func))
    _conversions.sort(key=lambda entry: entry[0])


def convert_to_tensor(
    value: Any,
    dtype: Any = None,
    name: str | None = None,
    preferred_dtype: Any = None,
    dtype_hint: Any = None,
) -> Tensor:
    """Return `value` as a Tensor: a constant if it is data, the present value of a variable.

    Args:
      value: a Tensor, Variable, number, bool, string, nested list or array.
      dtype: the dtype wanted; a tensor of another dtype is an error.
      name: name of the constant made.
      preferred_dtype: dtype to try first where `dtype` is not given. `dtype_hint` is the same.

    Returns:
      A tensor of the value's shape, of dtype `dtype`: by default the value's own, float32 and int32
      for Python's numbers.

    Raises:
      TypeError: the value cannot be a tensor of that dtype.
      ValueError: a tensor of another dtype was given, or the value is ragged.

    >>> print(convert_to_tensor([1, 2], dtype=dv.float64))
    [1. 2.]
    """
    wanted: DType | None = None if dtype is None else as_dtype(dtype).base_dtype
    if isinstance(value, Tensor):
        if wanted is not None and value.spec.dtype.base_dtype is not wanted:
            raise ValueError(
                f"Tensor conversion requested dtype {wanted.name} for Tensor with dtype "
                f"{value.dtype.name}: {value!r}"
            )
        return value
    if isinstance(value, Operation):
        raise TypeError(
            f"Can't convert Operation '{value.name}' to Tensor: it has no value, or several; its "
            f"outputs are {list(value.outputs)}"
        )
    hint = preferred_dtype if preferred_dtype is not None else dtype_hint
    for _, base_type, conversion in _conversions:
        if not isinstance(value, base_type):
            continue
        if wanted is None and hint is not None:
            try:
                preferred = conversion(value, dtype=as_dtype(hint).base_dtype, name=name)
            except (TypeError, ValueError):
                preferred = NotImplemented  # the preference is only a preference
            if preferred is not NotImplemented:
                return preferred
        tensor = conversion(value, dtype=wanted, name=name)
        if tensor is not NotImplemented:
            return tensor
    raise TypeError(
        f"Cannot convert {value!r} of type {type(value).__name__} to a Tensor"
        + (f" of dtype {wanted.name}" if wanted else "")
    )
