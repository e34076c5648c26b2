"""What attributes of operations may be: their names, and the kind of value behind each name.

An attribute has one kind wherever it occurs, unless the definition of an op says otherwise
(`OpDef.attributes`): so the kinds are here, where ops are defined. It is an import that asks for
them, of what a file gives (`daskvars.v1.graphs`).
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy

from daskvars.dtypes import DType, as_dtype
from daskvars.graph.definitions.opdef import Spec
from daskvars.graph.graph import Graph
from daskvars.graph.tensor import Operation


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
            "_data_format _stretched array base container data_format encoding equation fold key "
            "message metadata mode pattern rewrite stream tag template tensor unit",
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
