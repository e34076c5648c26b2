"""Types of elements and what converts them: `tf.dtypes`."""

from daskvars.dtypes import (
    DType,
    as_dtype,
    bfloat16,
    bool,
    complex64,
    complex128,
    double,
    float16,
    float32,
    float64,
    half,
    int8,
    int16,
    int32,
    int64,
    qint8,
    qint16,
    qint32,
    quint8,
    quint16,
    resource,
    string,
    uint8,
    uint16,
    uint32,
    uint64,
    variant,
)
from daskvars.ops.math.arithmetic import saturate_cast
from daskvars.ops.math.casting import cast, complex
from daskvars.ops.strings import as_string

__all__ = [
    "DType", "as_dtype", "as_string", "bfloat16", "bool", "cast", "complex", "complex64",
    "complex128", "double", "float16", "float32", "float64", "half", "int8", "int16", "int32",
    "int64", "qint8", "qint16", "qint32", "quint8", "quint16", "resource", "saturate_cast",
    "string", "uint8", "uint16", "uint32", "uint64", "variant",
]  # fmt: skip
