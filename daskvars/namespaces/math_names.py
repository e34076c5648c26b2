"""Functions of numbers, the names of ``tf.math``."""

# fmt: off
from daskvars.ops.array.transposing import invert_permutation
from daskvars.ops.checks.assertions import is_non_decreasing, is_strictly_increasing
from daskvars.ops.gather_scatter.segments import (
    segment_max, segment_mean, segment_min, segment_prod, segment_sum, unsorted_segment_max,
    unsorted_segment_mean, unsorted_segment_min, unsorted_segment_prod, unsorted_segment_sqrt_n,
    unsorted_segment_sum,
)
from daskvars.ops.math.arithmetic import (
    abs, accumulate_n, add, add_n, ceil, floor, maximum, minimum, multiply, multiply_no_nan,
    negative, nextafter, polyval, rint, round, scalar_mul, sign, square, squared_difference,
    subtract,
)
from daskvars.ops.math.casting import conj, imag, real
from daskvars.ops.math.comparison import (
    equal, greater, greater_equal, is_finite, is_inf, is_nan, less, less_equal, logical_and,
    logical_not, logical_or, logical_xor, not_equal,
)
from daskvars.ops.math.counting import bincount, confusion_matrix, count_nonzero, zero_fraction
from daskvars.ops.math.division import div_no_nan as divide_no_nan
from daskvars.ops.math.division import divide, floordiv, floormod, mod, truediv
from daskvars.ops.math.gamma_functions import (
    betainc, igamma, igammac, lbeta, reciprocal_no_nan, xdivy, xlogy, zeta,
)
from daskvars.ops.math.moments import reduce_euclidean_norm, reduce_std, reduce_variance
from daskvars.ops.math.quantiles_and_bessel import (
    bessel_i0, bessel_i0e, bessel_i1, bessel_i1e, erfcinv, erfinv, ndtri,
)
from daskvars.ops.math.reduce import (
    argmax, argmin, reduce_all, reduce_any, reduce_logsumexp, reduce_max, reduce_mean, reduce_min,
    reduce_prod, reduce_sum,
)
from daskvars.ops.math.scans import cumprod, cumsum
from daskvars.ops.math.transcendental import (
    acos, acosh, angle, asin, asinh, atan, atan2, atanh, cos, cosh, digamma, erf, erfc, exp, expm1,
    lgamma, log, log1p, log_sigmoid, polygamma, pow, reciprocal, rsqrt, sigmoid, sin, sinh,
    softplus, softsign, sqrt, tan, tanh,
)
from daskvars.ops.nn.normalization.moments import l2_normalize
from daskvars.ops.nn.ranking import in_top_k, top_k
from daskvars.ops.nn.softmax import log_softmax, softmax

__all__ = [
    "abs", "accumulate_n", "acos", "acosh", "add", "add_n", "angle", "argmax", "argmin", "asin",
    "asinh", "atan", "atan2", "atanh", "bessel_i0", "bessel_i0e", "bessel_i1", "bessel_i1e",
    "betainc", "bincount", "ceil", "confusion_matrix", "conj", "cos", "cosh", "count_nonzero",
    "cumprod", "cumsum", "digamma", "divide", "divide_no_nan", "equal", "erf", "erfc", "erfcinv",
    "erfinv", "exp", "expm1", "floor", "floordiv", "floormod", "greater", "greater_equal", "igamma",
    "igammac", "imag", "in_top_k", "invert_permutation", "is_finite", "is_inf", "is_nan",
    "is_non_decreasing", "is_strictly_increasing", "l2_normalize", "lbeta", "less", "less_equal",
    "lgamma", "log", "log1p", "log_sigmoid", "log_softmax", "logical_and", "logical_not",
    "logical_or", "logical_xor", "maximum", "minimum", "mod", "multiply", "multiply_no_nan",
    "ndtri", "negative", "nextafter", "not_equal", "polygamma", "polyval", "pow", "real",
    "reciprocal", "reciprocal_no_nan", "reduce_all", "reduce_any", "reduce_euclidean_norm",
    "reduce_logsumexp", "reduce_max", "reduce_mean", "reduce_min", "reduce_prod", "reduce_std",
    "reduce_sum", "reduce_variance", "rint", "round", "rsqrt", "scalar_mul", "segment_max",
    "segment_mean", "segment_min", "segment_prod", "segment_sum", "sigmoid", "sign", "sin", "sinh",
    "softmax", "softplus", "softsign", "sqrt", "square", "squared_difference", "subtract", "tan",
    "tanh", "top_k", "truediv", "unsorted_segment_max", "unsorted_segment_mean",
    "unsorted_segment_min", "unsorted_segment_prod", "unsorted_segment_sqrt_n",
    "unsorted_segment_sum", "xdivy", "xlogy", "zero_fraction", "zeta",
]
