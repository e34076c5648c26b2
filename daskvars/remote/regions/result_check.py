"""Whether kernels give what their ops said they would: dtype and shape of each result.

Everything that is planned (chunks, memory that is written over, what a variable holds) rests on
what `infer` says. So the first run of each compiled call compares; later ones cost nothing, for
the kernel itself has then taken the place of what compares. In tests every run does
(`config.check_every_run`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy

from daskvars import config
from daskvars.errors import invalid
from daskvars.shape_arithmetic import compatible

Promise = tuple[Any, Any]
"""NumPy dtype and shape of a result: None for what is not known, in the shape too."""


def checked(
    kernel: Callable[..., Any],
    promised: Sequence[Promise],
    multiple: bool,
    scope: dict[str, Any],
    key: str,
) -> Callable[..., Any]:
    """Return a kernel whose first result is compared with what its op promised.

    Args:
      kernel: called as it will be in the scope; with ``out`` it may be given memory.
      promised: for each result.
      multiple: it returns several results.
      scope, key: where the kernel itself is put once it has kept its promise.

    Raises:
      InvalidArgumentError: (when called) names what was wanted and found.
    """

    def first(*args: Any, out: Any = None, **attrs: Any) -> Any:
        if out is not None and isinstance(kernel, numpy.ufunc) and len(promised) == 1:
            _check_ufunc(kernel, args, promised[0])
            result = kernel(*args, out=out)
        else:
            result = kernel(*args, **attrs)
            check_results(result if multiple else (result,), promised)
            if out is not None:
                out[...] = result
                result = out
        if not config.get().check_every_run:
            scope[key] = kernel
        return result

    return first


def check_results(results: Sequence[Any], promised: Sequence[Promise]) -> None:
    """Raise InvalidArgumentError unless results are what was promised of each."""
    for value, promise in zip(results, promised, strict=False):
        _check(value, promise)


def _check_ufunc(kernel: numpy.ufunc, args: Sequence[Any], promise: Promise) -> None:
    """Check what a ufunc gives where it would convert that to the dtype of the memory given."""
    (*_, dtype) = kernel.resolve_dtypes((*[value.dtype for value in args], None))
    shapes = {value.shape for value in args}
    _compare(dtype, shapes.pop() if len(shapes) == 1 else numpy.broadcast_shapes(*shapes), promise)


def _check(value: Any, promise: Promise) -> None:
    dtype = getattr(value, "dtype", None)
    if isinstance(dtype, numpy.dtype):
        _compare(dtype, value.shape, promise)
    elif not _is_anything(promise[0]):
        _refuse(f"a {type(value).__name__}, no array", promise)


def _is_anything(dtype: Any) -> bool:
    """Return whether a dtype promises nothing: of texts and lists arrays hold objects."""
    return dtype is None or numpy.dtype(dtype).hasobject


def _compare(dtype: numpy.dtype, shape: tuple[int, ...], promise: Promise) -> None:
    wanted, sizes = promise
    if not ((dtype == wanted or _is_anything(wanted)) and compatible(sizes, shape)):
        _refuse(_shown(dtype, shape), promise)


def _shown(dtype: Any, shape: Any) -> str:
    sizes = (
        "of any shape"
        if shape is None
        else "[" + ", ".join("?" if size is None else str(size) for size in shape) + "]"
    )
    return f"{dtype} {sizes}"


def _refuse(found: str, promise: Promise) -> NoReturn:
    raise invalid(
        f"its kernel gave {found}, but its infer promised {_shown(*promise)}: let one "
        "of them say what the other does"
    )
