"""Whether an op has the attributes that a file gives it, and whether they are of their kinds.

A program gives attributes through the functions of the library, which check them. A file gives
whatever it likes, so an import asks here first.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy

from daskvars.errors import did_you_mean
from daskvars.graph.definitions.opdef import OpDef
from daskvars.graph.definitions.patterns import Opaque
from daskvars.graph.records.attribute_json import shortened
from daskvars.graph.records.attribute_kinds import ANYTHING, ATTRIBUTES, COUNT, PARTLY
from daskvars.graph.tensor import ANNOTATIONS, Tensor

OF_A_RUN = frozenset({"keyed", "used", "written"})
"""What a kernel with bodies is told when a run is lowered."""

MAX_OUTPUTS = 4096
"""Of an operation in a file that does not give the shapes of the outputs one by one."""


class _Names(NamedTuple):
    """The attributes that a rule or a kernel takes; `any_more` says that it takes others too."""

    taken: frozenset[str]
    required: frozenset[str]
    any_more: bool


def _names_of(function: Callable[..., Any], first: int) -> _Names:
    """Return the attributes that a function takes, after `first` positional arguments."""
    found = list(inspect.signature(function).parameters.values())
    named = [
        p
        for i, p in enumerate(found)
        if p.kind is p.KEYWORD_ONLY or (p.kind is p.POSITIONAL_OR_KEYWORD and i >= first)
    ]
    return _Names(
        frozenset(p.name for p in named),
        frozenset(p.name for p in named if p.default is p.empty),
        any(p.kind is p.VAR_KEYWORD for p in found),
    )


@lru_cache(maxsize=4096)
def _rule_names(definition: OpDef) -> _Names:
    return _names_of(definition.infer, 1)


@lru_cache(maxsize=4096)
def _kernel_names(definition: OpDef) -> _Names:
    kernel = definition.kernel
    if kernel is None:
        return _Names(frozenset(), frozenset(), True)
    if not isinstance(kernel, str):
        found = _names_of(kernel, 1 << 30)
        return found._replace(required=found.required - OF_A_RUN)
    function = getattr(numpy, kernel)
    if isinstance(function, numpy.ufunc):
        return _Names(frozenset(), frozenset(), False)
    return _names_of(function, 0)._replace(required=frozenset())


def has_subgraphs(definition: OpDef) -> bool:
    """Return whether operations of an op have branches or loop bodies."""
    return isinstance(definition.pattern, Opaque) and definition.pattern.branches


def check_attributes(
    definition: OpDef, attrs: Mapping[str, Any], inputs: Sequence[Tensor], num_outputs: int
) -> None:
    """Raise ValueError, naming the attribute, unless an op can have these attributes.

    Args:
      inputs: its inputs, those that are given for attributes last.
      num_outputs: how many outputs there are said to be; 0 where that is not said.
    """
    names = attrs.get("operands", ())
    _check_operands(definition, names, len(inputs))
    _check_names(definition, attrs)
    kinds = ATTRIBUTES if definition.attributes is None else definition.attributes
    for name, value in attrs.items():
        kind = PARTLY if name in names else kinds.get(name, ANYTHING)
        if name not in ANNOTATIONS and not kind.holds(value):
            raise ValueError(f"attribute {name!r} is {shortened(value)}, not {kind.name}")
        if kind is COUNT and value > (num_outputs or MAX_OUTPUTS):
            raise ValueError(f"attribute {name!r} is {value}, but there are {num_outputs} outputs")
    if has_subgraphs(definition):
        _check_branches(attrs, inputs)
    if definition.valid is not None:
        definition.valid(inputs, attrs)


def _check_operands(definition: OpDef, names: Any, num_inputs: int) -> None:
    """Check which attributes come as tensors: some of those that may, in their order."""
    if "operands" in definition.operands or type(names) is not tuple:
        raise ValueError(f"attribute 'operands' is {shortened(names)}")
    for name in names:
        if name not in definition.operands:
            allowed = ", ".join(definition.operands) or "none"
            raise ValueError(
                f"attribute 'operands' names {shortened(name)}, which {definition.type} does not "
                f"take as a tensor; it takes so: {allowed}"
            )
    if names != tuple([name for name in definition.operands if name in names]):
        raise ValueError(f"attribute 'operands' is {shortened(names)}, out of order")
    if len(names) > num_inputs:
        raise ValueError(f"attribute 'operands' names {len(names)} of {num_inputs} inputs")


def _check_names(definition: OpDef, attrs: Mapping[str, Any]) -> None:
    rule, kernel = _rule_names(definition), _kernel_names(definition)
    given = attrs.keys() - ANNOTATIONS - {"operands"}
    missing = (rule.required | kernel.required | set(attrs.get("operands", ()))) - given
    if missing:
        raise ValueError(f"attribute {min(missing)!r} is missing")
    allowed = rule.taken | kernel.taken
    if definition.attributes is None:
        if rule.any_more or kernel.any_more:
            allowed |= ATTRIBUTES.keys()
    elif rule.any_more:
        allowed |= given
    is_free = has_subgraphs(definition) or kernel.any_more
    for name in sorted(given):
        if name not in allowed or not (is_free or name[0] == "_" or name in kernel.taken):
            raise ValueError(
                f"{definition.type} has no attribute {shortened(name)}"
                f"{did_you_mean(name, sorted(allowed))}"
            )


def _check_branches(attrs: Mapping[str, Any], inputs: Sequence[Tensor]) -> None:
    """Check that the inputs of each body are among the operation's, and of their dtypes."""
    for name in ("branches", "positions"):
        if name not in attrs:
            raise ValueError(f"attribute {name!r} is missing")
    branches, positions = attrs["branches"], attrs["positions"]
    if len(branches) != len(positions):
        raise ValueError(f"attribute 'positions' is for {len(positions)} of {len(branches)} bodies")
    for body, places in zip(branches, positions, strict=True):
        if len(body.inputs) != len(places):
            raise ValueError(
                f"attribute 'positions' has {len(places)} for the {len(body.inputs)} inputs of "
                f"{body.name!r}"
            )
        for tensor, place in zip(body.inputs, places, strict=True):
            if not 0 <= place < len(inputs):
                raise ValueError(f"attribute 'positions' has {place} for {len(inputs)} inputs")
            wanted, found = tensor.spec.dtype, inputs[place].spec.dtype.base_dtype
            if wanted is not found:
                raise ValueError(
                    f"attribute 'positions': input {tensor.name!r} of {body.name!r} is "
                    f"{wanted.name}, and what is passed in is {found.name}"
                )
