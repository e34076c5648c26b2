"""Assertions and checks, the names of ``tf.debugging``."""

# fmt: off
from daskvars.ops.checks.assertions import (
    assert_equal, assert_greater, assert_greater_equal, assert_less, assert_less_equal, assert_near,
    assert_negative, assert_non_negative, assert_non_positive, assert_none_equal, assert_positive,
    is_non_decreasing, is_strictly_increasing,
)
from daskvars.ops.checks.numerics import verify_tensor_all_finite as assert_all_finite
from daskvars.ops.checks.shape_assertions import (
    assert_integer, assert_proper_iterable, assert_rank, assert_rank_at_least, assert_rank_in,
    assert_same_float_dtype, assert_scalar, assert_type, is_numeric_tensor,
)
from daskvars.ops.checks.symbolic_shapes import assert_shapes
from daskvars.ops.control.dependencies import Assert, check_numerics
from daskvars.ops.math.comparison import is_finite, is_inf, is_nan

__all__ = [
    "Assert", "assert_all_finite", "assert_equal", "assert_greater", "assert_greater_equal",
    "assert_integer",
    "assert_less", "assert_less_equal", "assert_near", "assert_negative", "assert_non_negative",
    "assert_non_positive", "assert_none_equal", "assert_positive", "assert_proper_iterable",
    "assert_rank", "assert_rank_at_least", "assert_rank_in", "assert_same_float_dtype",
    "assert_scalar", "assert_shapes", "assert_type", "check_numerics", "is_finite", "is_inf",
    "is_nan", "is_non_decreasing", "is_numeric_tensor", "is_strictly_increasing",
]
