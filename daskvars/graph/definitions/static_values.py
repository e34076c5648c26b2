"""Values that are known before a run: constants, and what shapes are computed with.

A partly known value is a nested tuple in which None stands for an unknown number, as the shape of
a batch of unknown size.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping
from typing import Any

import numpy

from daskvars.graph.by_identity import ByIdentity
from daskvars.graph.definitions.opdef import OpDef, Spec
from daskvars.graph.definitions.patterns import Effect, Opaque
from daskvars.graph.tensor import Operation, Tensor
from daskvars.shapes import is_known

MAX_STATIC_ELEMENTS = 1024  # larger values are data, not shapes

Search = Generator[Any, Any, Any]  # yields the searches whose results it needs, returns its own


def compute(opdef: OpDef, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    """Run the kernel of an op once on NumPy values."""
    attrs = {k: v for k, v in attrs.items() if k[0] != "_"}
    names = attrs.pop("operands", ())
    if names:
        attrs.update(zip(names, map(as_attr, inputs[-len(names) :]), strict=True))
        inputs = inputs[: -len(names)]
    if opdef.kernel is None:
        return inputs[0]
    with numpy.errstate(all="ignore"):  # a run does not warn of inf and nan either
        if isinstance(opdef.kernel, str):
            return getattr(numpy, opdef.kernel)(*inputs, **attrs)
        return opdef.kernel(numpy, *inputs, **attrs)


def as_attr(value: Any) -> Any:
    """Return an array as the plain data that attributes hold: a number or nested tuples."""

    def frozen(item: Any) -> Any:
        return tuple(map(frozen, item)) if isinstance(item, list) else item

    return frozen(value.tolist()) if hasattr(value, "tolist") else value


def can_fold(opdef: OpDef, attrs: Mapping[str, Any]) -> bool:
    """Return whether the kernel may be run before the run, on known inputs.

    That is so where it is a function of its inputs and of attributes that are plain data: bodies
    become functions when a run is lowered, and a user's function is called in runs alone.
    """
    pattern = opdef.pattern
    if not isinstance(pattern, Opaque):
        return not opdef.seeded and not isinstance(pattern, Effect)
    return (
        pattern.pure
        and not pattern.branches
        and not opdef.seeded
        and not any(callable(v) for k, v in attrs.items() if k[0] != "_")
    )


def partial_value(tensor: Tensor) -> Any:
    """Return what is known of the value: a number, nested tuples with None, or None."""
    return _found(_partial(tensor, ByIdentity(), ByIdentity()))


def _found(search: Search) -> Any:
    """Return what a search finds: what computes a value may be deeper than Python's stack."""
    waiting, found = [search], None
    while waiting:
        try:
            waiting.append(waiting[-1].send(found))
            found = None
        except StopIteration as end:
            waiting.pop()
            found = end.value
    return found


def _partial(tensor: Tensor, seen: ByIdentity[Any], parts: ByIdentity[Any]) -> Search:
    """Search it; `seen` and `parts` are the values and what is known of others, each found once."""
    if tensor in parts:
        return parts[tensor]
    op, known = tensor.op, None
    if not _small(tensor.spec):
        return None
    if op.opdef.static is not None and _has_history(op):
        known = yield _of_rule(op, seen, parts)
    else:
        value = yield _constant(tensor, seen, parts)
        known = None if value is None else as_attr(value)
    parts[tensor] = known
    return known


def _of_rule(op: Operation, seen: ByIdentity[Any], parts: ByIdentity[Any]) -> Search:
    of_inputs = []
    for t in op.inputs:
        of_inputs.append(None if op.opdef.static_of_specs else (yield _partial(t, seen, parts)))
    assert op.opdef.static is not None  # else there is no rule to ask
    return op.opdef.static(of_inputs, [t.spec for t in op.inputs], op.attrs)


def _has_history(op: Operation) -> bool:
    """Return whether an operation has its inputs still: a computed one of eager code has not."""
    return bool(op.inputs) or not op.opdef.signature


def constant_value(tensor: Tensor) -> numpy.ndarray | None:
    """Return the value of `tensor` when the graph alone determines it, else None.

    Only small values are looked into: shapes, axes, sizes and the like.
    """
    return _found(_constant(tensor, ByIdentity(), ByIdentity()))


def _constant(tensor: Tensor, seen: ByIdentity[Any], parts: ByIdentity[Any]) -> Search:
    if tensor in seen:
        return seen[tensor]
    op = tensor.op
    value = None
    if "value" in op.attrs and not op.inputs:
        value = op.attrs["value"]
    elif op.opdef.static is not None and _has_history(op):
        value = full_value((yield _of_rule(op, seen, parts)), tensor.spec)
    elif op.inputs and op.opdef.kernel is None and can_fold(op.opdef, op.attrs):
        value = yield _constant(op.inputs[tensor.index], seen, parts)
    elif op.inputs and op.opdef.trusted and can_fold(op.opdef, op.attrs) and _small(tensor.spec):
        inputs = []
        for t in op.inputs:
            inputs.append((yield _constant(t, seen, parts)))
            if inputs[-1] is None:
                break
        else:
            try:
                result = compute(op.opdef, inputs, op.attrs)
            except (ValueError, TypeError, IndexError):
                return None  # it fails in the run, which names the operation
            value = result[tensor.index] if op.multiple else result
    seen[tensor] = value
    return value


def full_value(known: Any, spec: Spec) -> numpy.ndarray | None:
    """Return a partly known value as an array when nothing of it is unknown."""

    def complete(item: Any) -> bool:
        return all(map(complete, item)) if isinstance(item, tuple) else item is not None

    if not complete(known):
        return None
    value = numpy.asarray(known, dtype=spec.dtype.base_dtype.np)
    # Nested tuples do not tell (0, 3) from (0,).
    return value.reshape(spec.shape) if value.size == 0 and is_known(spec.shape) else value


def _small(spec: Spec) -> bool:
    shape = spec.shape
    return shape is not None and math.prod(n or 0 for n in shape) <= MAX_STATIC_ELEMENTS
