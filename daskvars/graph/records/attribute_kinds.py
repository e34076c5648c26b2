"""What attributes of operations may be: their names, and the kind of value behind each name.

A program gives attributes through the functions of the library, which check them. A file gives
whatever it likes, so an import asks here first: is this an attribute that the op has, and is it of
the kind that its rules and its kernel take? An attribute has one kind wherever it occurs, unless
the definition of an op says otherwise (`OpDef.attributes`).
"""

from __future__ import annotations

import inspect
import numbers
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy

from daskvars.dtypes import DType, as_dtype
from daskvars.errors import did_you_mean
from daskvars.graph.definitions.opdef import OpDef, Spec
from daskvars.graph.definitions.patterns import Opaque
from daskvars.graph.graph import Graph
from daskvars.graph.records.attribute_json import shortened
from daskvars.graph.tensor import ANNOTATIONS, Operation, Tensor

OF_A_RUN = frozenset({"keyed", "used", "written"})
"""What a kernel with bodies is told when a run is lowered."""

MAX_OUTPUTS = 4096
"""Of an operation in a file that does not give the shapes of the outputs one by one."""


class Kind(NamedTuple):
    """A kind of values.

    Attributes:
      name: what it is called in errors.
      holds: tells whether a value is of it.
    """

    name: str
    holds: Callable[[Any], bool]


def of_types(name: str, *types: type) -> Kind:
    """Return the kind of all instances of some types; True is no number.

    >>> of_types("int", int).holds(True)
    False
    """
    return Kind(name, lambda v: isinstance(v, types) and (bool in types or type(v) is not bool))


def tuple_of(item: Kind) -> Kind:
    """Return the kind of tuples of a kind."""
    return Kind(f"tuple of {item.name}", lambda v: type(v) is tuple and all(map(item.holds, v)))


def either(*kinds: Kind) -> Kind:
    """Return the kind of what is of one of the kinds."""
    return Kind(" or ".join(k.name for k in kinds), lambda v: any(k.holds(v) for k in kinds))


def _is_dtype_name(value: Any) -> bool:
    try:
        return type(value) is str and as_dtype(value).name == value
    except TypeError:
        return False


def _is_layout(value: Any) -> bool:
    return type(value) is tuple and all(
        type(sizes) is tuple and sizes and all(type(n) is int and n >= 0 for n in sizes)
        for sizes in value
    )


NONE = Kind("None", lambda v: v is None)
INT = Kind("int of 64 bits", lambda v: type(v) is int and -(1 << 63) <= v < 1 << 64)
COUNT = Kind("number of outputs", lambda v: type(v) is int and v >= 0)
FLOAT = of_types("float", float, int)
BOOL = of_types("bool", bool)
TEXT = of_types("text", str)
BYTES = of_types("bytes", bytes, str)
DTYPE = of_types("dtype", DType)
DTYPE_OR_NAME = either(DTYPE, Kind("name of one", _is_dtype_name))
SPEC = of_types("dtype and shape", Spec)
INTS = tuple_of(INT)
DIMENSION = Kind("dimension", lambda v: v is None or (INT.holds(v) and v >= 0))
SHAPE = either(NONE, tuple_of(DIMENSION))
SIZES = either(NONE, tuple_of(either(NONE, INT)))  # -1 for what follows from the rest
PAIR = Kind("two ints", lambda v: v is not None and SIZES.holds(v) and len(v) == 2)
VALUE = of_types("number or text", numbers.Number, numpy.generic, bool, str, bytes)
PARTLY: Kind = Kind(  # what is known of an attribute that comes as a tensor
    "partly known value",
    lambda v: v is None or VALUE.holds(v) or (type(v) is tuple and all(map(PARTLY.holds, v))),
)
LAYOUT = Kind("sizes of the blocks of each axis or None", lambda v: v is None or _is_layout(v))
FUNCTION = Kind("function", callable)
ANYTHING = Kind("anything", lambda v: True)

ATTRIBUTES: Mapping[str, Kind] = {
    name: kind
    for kind, names in (
        (
            BOOL,
            "_is_training adds adjoint approximate back compute_uv conjugate descending dynamic "
            "exclusive full_matrices keepdims lower newest reverse right sorted transpose_a "
            "transpose_b unique validate_shape",
        ),
        (
            INT,
            "batch_axis batch_dims begin_mask block_size depth depth_radius diagonal "
            "ellipsis_mask end_mask index k max_outputs new_axis_mask num_classes num_columns "
            "num_grads num_lower num_rows num_sampled num_samples num_segments num_sums "
            "num_upper num_vars range_max seq_axis shrink_axis_mask",
        ),
        (COUNT, "_num num num_partitions num_split num_results"),
        (either(NONE, INT), "_size count maximum maxlen summarize"),
        (FLOAT, "alpha beta bias epsilon rate"),
        (
            VALUE,
            "constant_values delta limit maxval mean minval number off_value on_value start "
            "stddev stop",
        ),
        (
            TEXT,
            "_data_format _stretched base container encoding equation fold key message mode "
            "pattern plugin rewrite stream tag template tensor unit data_format",
        ),
        (BYTES, "separator"),
        (DTYPE, "index_dtype out_type"),
        (DTYPE_OR_NAME, "dtype"),
        (tuple_of(DTYPE_OR_NAME), "dtypes"),
        (either(NONE, INT, INTS), "axis"),
        (either(INT, INTS, NONE), "shift size"),
        (INTS, "block_shape dilations kept ksize"),
        (
            SIZES,
            "begin dims multiples perm strides filter_shape input_shape size_splits batch_shape",
        ),
        (PAIR, "seed _seed"),
        (either(TEXT, SIZES), "end"),
        (SHAPE, "full_shape"),
        (either(SHAPE, SIZES), "shape"),
        (tuple_of(INTS), "crops paddings positions"),
        (either(TEXT, tuple_of(INTS)), "padding"),
        (LAYOUT, "chunks"),
        (tuple_of(TEXT), "pieces shape_and_slices tensor_names"),
        (tuple_of(SHAPE), "shapes"),
        (FUNCTION, "function _rule"),
        (SPEC, "spec _spec"),
        (tuple_of(SPEC), "_specs"),
        (of_types("operation", Operation), "_key_of"),
        (tuple_of(of_types("graph", Graph)), "branches"),
        (of_types("array", numpy.ndarray), "value"),
    )
    for name in names.split()
}


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
      definition: the op.
      attrs: attributes by name.
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
