"""Samples of the elementwise ops: broadcasting, casting, comparison, arithmetic, division,
transcendental."""

from functools import partial

import numpy as np

import daskvars as dv
from daskvars.ops.array.broadcasting import sum_to_shape
from daskvars.ops.math.arithmetic import nextafter, signbit
from tests.ops.sample import Sample, uniform

RNG = np.random.default_rng(1)
floats = partial(uniform, RNG)


def whole(*shape, low=-9, high=9, dtype=np.int32):
    values = RNG.integers(low, high, shape)
    return np.where(values == 0, 4, values).astype(dtype)


def bools(*shape):
    return RNG.random(shape) < 0.5


def complexes(*shape):
    return floats(*shape) + 1j * floats(*shape)


# x [4, 3], and y broadcast in one way each.
PAIR = (floats(4, 3), floats(4, 3))
ROW = (floats(4, 3), floats(3))
COLUMN = (floats(4, 1), floats(4, 3))
POSITIVE = (floats(4, 3, low=0.5), floats(4, 1, low=0.5))
DIVISION = (floats(4, 3), floats(3, low=0.5))
INTEGERS = (whole(6), whole(6))


def unary(type, function, low=-2.0, high=2.0, **options):
    return Sample(type, function, (floats(4, 3, low=low, high=high),), (0,), **options)


UNARY = [
    unary("Neg", dv.negative),
    unary("Abs", dv.abs),
    unary("Sign", dv.sign, complex=False),
    unary("Square", dv.square),
    unary("Sqrt", dv.sqrt, 0.2),
    unary("Rsqrt", dv.rsqrt, 0.2),
    unary("Reciprocal", dv.reciprocal, 0.3),
    unary("Exp", dv.exp),
    unary("Expm1", dv.expm1),
    unary("Log", dv.log, 0.2),
    unary("Log1p", dv.log1p, -0.7),
    unary("Sin", dv.sin),
    unary("Cos", dv.cos),
    unary("Tan", dv.tan, -1.2, 1.2),
    unary("Asin", dv.asin, -0.9, 0.9),
    unary("Acos", dv.acos, -0.9, 0.9),
    unary("Atan", dv.atan),
    unary("Sinh", dv.sinh),
    unary("Cosh", dv.cosh),
    unary("Tanh", dv.tanh),
    unary("Asinh", dv.asinh),
    unary("Acosh", dv.acosh, 1.2, 3.0),
    unary("Atanh", dv.atanh, -0.9, 0.9),
    unary("Sigmoid", dv.sigmoid),
    unary("Softplus", dv.softplus),
    unary("Softsign", dv.softsign),
    unary("Erf", dv.erf),
    unary("Erfc", dv.erfc),
    unary("Lgamma", dv.lgamma, 0.3, 4.0),
    unary("Digamma", dv.digamma, 0.5, 4.0),
    unary("Neg", dv.log_sigmoid, id="log_sigmoid"),
    Sample("Ceil", dv.ceil, (floats(5),)),
    Sample("Floor", dv.floor, (floats(5),)),
    Sample("Rint", dv.rint, (floats(5),)),
    Sample("Round", dv.round, (floats(5),)),
    Sample("IsNan", dv.is_nan, (np.array([1.0, np.nan, np.inf]),)),
    Sample("IsInf", dv.is_inf, (np.array([1.0, np.nan, np.inf]),)),
    Sample("IsFinite", dv.is_finite, (np.array([1.0, np.nan, np.inf]),)),
    Sample("SignBit", signbit, (np.array([1.0, -0.0, -np.inf, 0.0]),)),
    Sample("LogicalNot", dv.logical_not, (bools(5),)),
]

BINARY = [
    Sample("Add", dv.add, PAIR, (0, 1)),
    Sample("Add", dv.add, ROW, (0, 1), id="row"),
    Sample("Add", dv.add, COLUMN, (0, 1), id="column"),
    Sample("Sub", dv.subtract, ROW, (0, 1)),
    Sample("Mul", dv.multiply, COLUMN, (0, 1)),
    Sample("Mul", dv.multiply, (floats(), floats(2, 3)), (0, 1), id="scalar"),
    Sample("Mul", dv.multiply, (complexes(3), complexes(3)), id="complex"),
    Sample("RealDiv", dv.realdiv, DIVISION, (0, 1)),
    Sample("RealDiv", dv.truediv, INTEGERS, id="of integers"),
    Sample("RealDiv", dv.div, DIVISION, (0, 1), id="div"),
    Sample("FloorDiv", dv.floordiv, INTEGERS),
    Sample("FloorDiv", dv.floordiv, DIVISION, id="float"),
    Sample("FloorDiv", dv.div, INTEGERS, id="div of integers"),
    Sample("TruncateDiv", dv.truncatediv, INTEGERS),
    Sample("FloorMod", dv.floormod, INTEGERS),
    Sample("FloorMod", dv.floormod, DIVISION, (0, 1), id="float"),
    Sample("TruncateMod", dv.truncatemod, INTEGERS),
    Sample("TruncateMod", dv.truncatemod, DIVISION, (0, 1), id="float"),
    Sample("DivNoNan", dv.div_no_nan, DIVISION, (0, 1)),
    Sample("DivNoNan", dv.div_no_nan, (floats(3), np.array([0.0, 1.0, 2.0])), id="zero"),
    Sample("Pow", dv.pow, POSITIVE, (0, 1)),
    Sample("Pow", dv.pow, (whole(4), np.int32(3)), id="integers"),
    Sample("SquaredDifference", dv.squared_difference, ROW, (0, 1)),
    Sample("Maximum", dv.maximum, ROW, (0, 1)),
    Sample("Minimum", dv.minimum, COLUMN, (0, 1)),
    Sample("Atan2", dv.atan2, POSITIVE, (0, 1)),
    Sample("NextAfter", nextafter, COLUMN, (0, 1)),
    Sample("Polygamma", dv.polygamma, (np.array([[1.0], [2.0]]), floats(2, 3, low=0.5)), (1,)),
    Sample("LogicalAnd", dv.logical_and, (bools(5), bools(5))),
    Sample("LogicalOr", dv.logical_or, (bools(5), bools(5))),
    Sample("LogicalXor", dv.logical_xor, (bools(5), bools(1))),
    *[
        Sample(type, function, (whole(4, 3, low=0, high=3), whole(3, low=0, high=3)))
        for type, function in [
            ("Equal", dv.equal),
            ("NotEqual", dv.not_equal),
            ("Less", dv.less),
            ("LessEqual", dv.less_equal),
            ("Greater", dv.greater),
            ("GreaterEqual", dv.greater_equal),
        ]
    ],
    Sample(
        "Equal",
        dv.equal,
        (np.array([b"a", b"bc"], object), np.array([b"a", b"b"], object)),
        id="strings",
    ),
]

OTHERS = [
    Sample("SumToShape", lambda x: sum_to_shape(x, [3]), (floats(4, 3),), (0,)),
    Sample("SumToShape", lambda x: sum_to_shape(x, [4, 1]), (floats(4, 3),), (0,), id="column"),
    Sample("SumToShape", lambda x: sum_to_shape(x, []), (floats(2, 3, 2),), (0,), id="scalar"),
    Sample(
        "SumToShape",
        lambda x, y: sum_to_shape(x, dv.shape(y)),
        (floats(4, 3), floats(1, 3)),
        (0,),
        id="like",
    ),
    Sample("Cast", lambda x: dv.real(dv.cast(x, dv.complex128)), (floats(4, 3),), (0,)),
    Sample("Cast", lambda x: dv.cast(x, dv.float32), (floats(4, 3),), id="to float"),
    Sample("Cast", lambda x: dv.cast(x, dv.int32), (floats(4, 3),), id="to integers"),
    Sample("Cast", lambda x: dv.cast(x, dv.bool), (whole(4) - 4,), id="to bool"),
    Sample("Cast", lambda x: dv.cast(x, dv.float64), (complexes(4),), id="of complex"),
    Sample(
        "Cast",
        lambda x: dv.saturate_cast(x, dv.uint8),
        (floats(9, low=-400, high=400),),
        id="saturate",
    ),
    Sample("Conj", dv.conj, (complexes(4),), (0,)),
    Sample("Real", dv.real, (complexes(4),), (0,), id="part"),
    Sample("Imag", dv.imag, (complexes(4),), (0,), id="part"),
    Sample(
        "Real",
        lambda x, y: dv.real(dv.exp(dv.complex(x, y))),
        (floats(4), floats(4)),
        (0, 1),
        id="chain",
    ),
    Sample(
        "Imag",
        lambda x, y: dv.imag(dv.square(dv.complex(x, y))),
        (floats(4), floats(4)),
        (0, 1),
        id="chain",
    ),
    Sample("Abs", dv.abs, (complexes(4),), (0,), id="size"),
    Sample("Angle", dv.angle, (complexes(4),), (0,), id="argument"),
    Sample("Complex", dv.complex, (floats(4, 1), floats(3))),
    Sample(
        "Abs", lambda x, y: dv.abs(dv.complex(x, y)), (floats(4), floats(4)), (0, 1), id="complex"
    ),
    Sample("Angle", lambda x, y: dv.angle(dv.complex(x, y)), (floats(4), floats(4)), (0, 1)),
    Sample("Select", dv.where, (bools(4, 3), *PAIR), (1, 2)),
    Sample("Select", dv.where, (bools(4), *PAIR), (1, 2), id="rows"),
    Sample("Select", dv.where, (np.bool_(True), *PAIR), (1, 2), id="scalar"),
    Sample("SelectV2", dv.where_v2, (bools(4, 1), floats(3), floats()), (1, 2)),
    Sample("Where", dv.where, (bools(4, 3),)),
    Sample("AddN", lambda *x: dv.add_n(x), (*PAIR, floats(4, 3)), (0, 1, 2)),
    Sample("AddN", lambda *x: dv.accumulate_n(x), PAIR, (0, 1), id="two"),
    Sample(
        "Add",
        lambda x, c: dv.polyval([c, 2.0, 3.0], x),
        (floats(4), floats()),
        (0, 1),
        id="polyval",
    ),
]

SAMPLES = UNARY + BINARY + OTHERS
