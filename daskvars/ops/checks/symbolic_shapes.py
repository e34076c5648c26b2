"""Assertions on the shapes of several tensors at once, by symbols for their sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Operation, Tensor
from daskvars.ops.array import constant
from daskvars.ops.checks.assertions import SHOWN, asserted, shown_name
from daskvars.ops.checks.shape_assertions import assert_rank, assert_rank_at_least, assert_rank_in
from daskvars.ops.control.cond import cond
from daskvars.ops.control.dependencies import group
from daskvars.ops.math import comparison
from daskvars.surface.signatures import Family


@Family(SHOWN).documents(shown="the size wanted and the shape")
def assert_shapes(
    shapes: Mapping[Any, Any] | Sequence[tuple[Any, Any]],
    data: Sequence[Any] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """Assert the shapes of tensors, and which of their dimensions are equal.

    Args:
      shapes: pairs (tensor, shape), a dict or a list. A shape is a sequence of sizes: a number; a
        symbol, equal wherever it stands; None or "." for any. "..." or "*" as the first entry
        stands for any number of dimensions. A shape of None is not checked.

    Raises:
      ValueError: static shapes differ, or a shape is malformed.
      InvalidArgumentError: (when run) the shapes differ.

    >>> x, y = dv.ones([3, 2]), dv.ones([2, 5])
    >>> _ = assert_shapes([(x, ("n", "m")), (y, ("m", 5))])
    """
    pairs = shapes.items() if isinstance(shapes, Mapping) else shapes
    with name_scope(name, "assert_shapes", list(data or ())):
        checks: list[Operation] = []
        known: dict[Any, tuple[Any, str]] = {}
        for tensor, wanted in pairs:
            if wanted is None:
                continue
            tensor = convert_to_tensor(tensor)
            symbols, open_ended = _symbols(tensor, wanted, message)
            options: Any = {"data": data, "summarize": summarize, "message": message}
            if len(symbols) > 1:
                assertion = assert_rank_at_least if open_ended else assert_rank
                checks.append(assertion(tensor, len(symbols), **options))
            elif not open_ended:  # a scalar passes for one element
                checks.append(assert_rank_in(tensor, [0, 1], **options))
            first = -len(symbols) if open_ended else 0
            checks += _checked_sizes(tensor, symbols, first, known, **options)
        return group(*checks)


def _symbols(tensor: Tensor, wanted: Any, message: str | None) -> tuple[tuple, bool]:
    if not hasattr(wanted, "__iter__") and not hasattr(wanted, "__getitem__"):
        raise ValueError(
            f"{message or ''}.  Tensor {shown_name(tensor)}.  Specified shape must be an "
            "iterable.  An iterable has the attribute `__iter__` or `__getitem__`.  Received "
            f"specified shape: {wanted}"
        )
    symbols = tuple(wanted)
    anywhere = [i for i, symbol in enumerate(symbols) if symbol in (Ellipsis, "*")]
    if anywhere and anywhere != [0]:
        raise ValueError(
            f"{message or ''}.  Tensor {shown_name(tensor)} specified shape index {anywhere[-1]}.  "
            "Symbol `...` or `*` for a variable number of unspecified dimensions is only allowed "
            "as the first entry"
        )
    return (symbols[1:] if anywhere else symbols) or (1,), bool(anywhere)


def _number(symbol: Any) -> int | None:
    """Return the size that a symbol says, as 2, Dimension(2) and "2" do."""
    try:
        return int(symbol)
    except (TypeError, ValueError):
        return None


def _sizes(tensor: Tensor) -> Any:
    """Return the sizes when run, of a scalar [1]."""
    sizes = constant.shape(tensor)
    if tensor.spec.shape is not None:
        return sizes if tensor.spec.shape else constant.constant([1])
    scalar = comparison.equal(constant.rank(tensor), 0)
    return cond(scalar, lambda: constant.constant([1]), lambda: sizes)


def _checked_sizes(
    tensor: Tensor,
    symbols: tuple,
    first: int,
    known: dict[Any, tuple[Any, str]],
    *,
    data: Sequence[Any] | None,
    summarize: int | None,
    message: str | None,
) -> list[Operation]:
    """Return assertions on one tensor's sizes; the first meeting of a symbol notes its size."""
    checks = []
    shape = tensor.spec.shape
    static = shape if shape or shape is None else (1,)
    for position, symbol in enumerate(symbols, first):
        if symbol is None or symbol == ".":
            continue
        size = None if static is None else static[position]
        size = _sizes(tensor)[position] if size is None else size
        number = _number(symbol)
        if number is None and symbol not in known:
            why = f"Specified by tensor {shown_name(tensor)} dimension {position}"
            known[symbol] = size, why
            continue
        wanted, why = known[symbol] if number is None else (number, "Specified explicitly")
        if isinstance(size, int) and isinstance(wanted, int):
            if size != wanted:
                raise ValueError(
                    f"{message or ''}.  {why}.  Tensor {shown_name(tensor)} dimension {position} "
                    f"must have size {wanted}.  Received size {size}, shape {tensor.shape}"
                )
            continue
        shown = data or [
            message or "",
            why,
            f"Tensor {shown_name(tensor)} dimension",
            position,
            "must have size",
            wanted,
            "Received shape: ",
            constant.shape(tensor),
        ]
        checks.append(asserted(comparison.equal(size, wanted), shown, summarize))
    return checks
