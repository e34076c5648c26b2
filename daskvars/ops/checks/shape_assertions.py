"""Assertions on ranks, shapes and dtypes: mostly decided while the graph is built."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy

from daskvars import dtypes
from daskvars.dtypes import NUMERIC, DType, DTypeLike, as_dtype
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.static_values import constant_value
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.sparse_tensor import SparseTensor
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.ops.array import constant
from daskvars.ops.checks.assertions import SHOWN, asserted, shown_name
from daskvars.ops.control.dependencies import no_op, with_dependencies
from daskvars.ops.math import comparison
from daskvars.surface.signatures import Argument, Family

RANKS = Family(
    {
        "x": Argument("a tensor."),
        "rank": Argument("scalar int32.", type="Any"),
        "ranks": Argument("scalars, int32."),
        **SHOWN,
    },
    returns="An Operation; it does nothing where the static rank decides.",
    raises="ValueError: the static rank is another, or a rank wanted is not scalar.\n"
    "TypeError: a rank wanted is not int32.\n"
    "InvalidArgumentError: (when run) the rank is another.",
    result="Operation",
)
_SHOWN = "the rank wanted and the shape"


def _checked_rank(
    x: Any,
    ranks: Sequence[Any],
    words: str,
    holds: Callable[[Any, list[Any]], Any],
    data: Sequence[Any] | None,
    summarize: int | None,
    message: str | None,
) -> Operation:
    """Assert ``holds(rank of x, ranks)``, a function of ints that also takes tensors."""
    x = convert_to_tensor(x, name="x")
    wanted = [convert_to_tensor(rank, name="rank") for rank in ranks]
    for rank in wanted:
        assert_type(rank, dtypes.int32)
    known = [constant_value(rank) for rank in wanted]
    if any(value is not None and numpy.ndim(value) for value in known):
        raise ValueError("Rank must be a scalar.")
    if x.shape.ndims is not None and all(value is not None for value in known):
        found = [int(value) for value in known if value is not None]
        if not holds(x.shape.ndims, found):
            shown = found[0] if len(found) == 1 else tuple(found)
            raise ValueError(
                f"{message or ''}.  Tensor {shown_name(x)} must have rank {words}{shown}.  "
                f"Received rank {x.shape.ndims}, shape {x.shape}"
            )
        return no_op(name="static_checks_determined_all_ok")
    if data is None:
        data = [
            message or "",
            f"Tensor {shown_name(x)} must have rank {words}",
            *wanted,
            "Received shape: ",
            constant.shape(x),
        ]
    for i, (rank, value) in enumerate(zip(wanted, known, strict=True)):
        if value is None:
            check = assert_rank(rank, 0, ["Rank must be a scalar. Received rank: ", rank])
            wanted[i] = with_dependencies([check], rank)
    return asserted(holds(constant.rank(x), wanted), data, summarize)


def _rank_assertion(
    name: str, words: str, holds: Callable[[Any, list[Any]], Any]
) -> Callable[..., Operation]:
    def call(given: dict[str, Any]) -> Operation:
        x, rank, data = given["x"], given["rank"], given["data"]
        with name_scope(given["name"], name, [x, rank, *(data or ())]):
            summarize, message = given["summarize"], given["message"]
            return _checked_rank(x, [rank], words, holds, data, summarize, message)

    doc = f"""Return an operation that fails the run unless `x` has rank {words}`rank`.

    >>> _ = {name}([[1, 2]], 2)
    """
    order = "x rank data summarize message name"
    return RANKS.function(__name__, name, order, call, doc, shown=_SHOWN)


def _is_rank(found: Any, ranks: list[Any]) -> Any:
    return found == ranks[0] if isinstance(found, int) else comparison.equal(found, ranks[0])


assert_rank = _rank_assertion("assert_rank", "", _is_rank)
assert_rank_at_least = _rank_assertion(
    "assert_rank_at_least", "at least ", lambda found, ranks: found >= ranks[0]
)


def _is_among(found: Any, ranks: list[Any]) -> Any:
    if isinstance(found, int):
        return found in ranks
    result = constant.constant(False)
    for rank in ranks:
        result = comparison.logical_or(result, comparison.equal(found, rank))
    return result


@RANKS.documents(shown=_SHOWN)
def assert_rank_in(
    x: TensorLike,
    ranks: Sequence[Any],
    data: Sequence[Any] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """Return an operation that fails the run unless `x` has a rank in `ranks`.

    >>> _ = assert_rank_in([[1, 2]], (1, 2))
    """
    with name_scope(name, "assert_rank_in", [x, *ranks, *(data or ())]):
        return _checked_rank(x, ranks, "in ", _is_among, data, summarize, message)


def assert_scalar(
    tensor: TensorLike, name: str | None = None, message: str | None = None
) -> Tensor:
    """Return a tensor that must be a scalar: `tensor` itself, [] of its dtype.

    Args:
      tensor: [] any dtype.
      name: name scope of the conversion of what is no tensor.
      message: what the error says first.

    Raises:
      ValueError: its static shape is another, or of unknown rank.

    >>> float(assert_scalar(1.5))
    1.5
    """
    with name_scope(name, "assert_scalar", [tensor]) as scope:
        tensor = convert_to_tensor(tensor, name=scope)
        if tensor.shape.ndims != 0:
            raise ValueError(
                f"{message or ''}Expected scalar shape for {shown_name(tensor)}, saw shape: "
                f"{tensor.shape}."
            )
        return tensor


# -- dtypes ------------------------------------------------------------------------------------


def assert_type(
    tensor: TensorLike, tf_type: DTypeLike, message: str | None = None, name: str | None = None
) -> Operation:
    """Check that a tensor has a dtype; the operation returned does nothing.

    Args:
      tensor: a tensor or what converts to one.
      tf_type: the dtype wanted.
      message: begins the error.
      name: name scope of the operation, by default "assert_type".

    Raises:
      TypeError: it has another dtype.

    >>> _ = assert_type([1.0], dv.float32)
    """
    with name_scope(name, "assert_type", [tensor]):
        tensor = convert_to_tensor(tensor, name="tensor")
        if tensor.dtype.base_dtype is not as_dtype(tf_type).base_dtype:
            raise TypeError(
                f"{message or ''}  {shown_name(tensor)} must be of type {as_dtype(tf_type)}, but "
                f"is {tensor.dtype.name}. Use cast()."
            )
        return no_op("statically_determined_correct_type")


def assert_integer(x: TensorLike, message: str | None = None, name: str | None = None) -> Operation:
    """Check that a tensor is of integer type; the operation returned does nothing.

    Args:
      x: [...] any dtype.
      message: what the error says first.
      name: name of the operation.

    Raises:
      TypeError: it has another dtype.

    >>> _ = assert_integer([1, 2])
    """
    with name_scope(name, "assert_integer", [x]):
        x = convert_to_tensor(x, name="x")
        if not x.dtype.is_integer:
            raise TypeError(
                f'{message or ""}  Expected "x" to be integer type.  Found: {shown_name(x)} of '
                f"dtype {x.dtype}"
            )
        return no_op("statically_determined_was_integer")


def is_numeric_tensor(tensor: TensorLike) -> bool:
    """Return whether `tensor` is a Tensor of numbers.

    >>> is_numeric_tensor(dv.constant(1.0)), is_numeric_tensor(1.0)
    (True, False)
    """
    return isinstance(tensor, Tensor) and tensor.dtype.base_dtype in NUMERIC


def assert_same_float_dtype(
    tensors: Iterable[Any] | None = None, dtype: DTypeLike | None = None
) -> DType:
    """Return the one floating dtype of all tensors, which is `dtype` if that is given.

    Args:
      tensors: tensors; None among them counts for nothing.
      dtype: the dtype wanted.

    Returns:
      The dtype, float32 where nothing says one.

    Raises:
      ValueError: the dtypes differ, or are not floating.

    >>> assert_same_float_dtype([dv.constant(1.0), dv.constant([2.0])])
    tf.float32
    """
    found = None if dtype is None else as_dtype(dtype).base_dtype
    first = None
    for tensor in tensors or ():
        if tensor is None:
            continue
        kind = as_dtype(tensor.dtype).base_dtype
        if found is not None and kind is not found:
            like = "" if first is None else f" as {first}"
            raise ValueError(
                f"{getattr(tensor, 'name', tensor)}, type={kind}, must be of the same type "
                f"({found}){like}."
            )
        if found is None:
            found, first = kind, getattr(tensor, "name", tensor)
    if found is not None and not found.is_floating:
        raise ValueError(f"Expected floating point type, got {found}.")
    return found or dtypes.float32


def assert_proper_iterable(values: TensorLike) -> None:
    """Check that `values` is a list or the like, not a tensor, array or string.

    Raises:
      TypeError: it is one of those, or cannot be iterated.

    >>> assert_proper_iterable([1, 2])
    """
    if isinstance(values, Tensor | SparseTensor | numpy.ndarray | str | bytes):
        raise TypeError(
            f'Expected argument "values" to be a "proper" iterable.  Found: {type(values)}'
        )
    if not hasattr(values, "__iter__"):
        raise TypeError(f'Expected argument "values" to be iterable.  Found: {type(values)}')
