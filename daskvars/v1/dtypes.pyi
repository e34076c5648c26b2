"""The names of ``tf.dtypes``. Made by tests/typed/stubs.py; a test compares them."""

from daskvars.v1.names.namespaces.dtypes import DType as DType, as_dtype as as_dtype
from daskvars.v1.names.namespaces.dtypes import as_string as as_string, bfloat16 as bfloat16
from daskvars.v1.names.namespaces.dtypes import bool as bool, cast as cast, complex as complex
from daskvars.v1.names.namespaces.dtypes import complex128 as complex128, complex64 as complex64
from daskvars.v1.names.namespaces.dtypes import double as double, float16 as float16
from daskvars.v1.names.namespaces.dtypes import float32 as float32, float64 as float64
from daskvars.v1.names.namespaces.dtypes import half as half, int16 as int16, int32 as int32
from daskvars.v1.names.namespaces.dtypes import int64 as int64, int8 as int8, qint16 as qint16
from daskvars.v1.names.namespaces.dtypes import qint32 as qint32, qint8 as qint8
from daskvars.v1.names.namespaces.dtypes import quint16 as quint16, quint8 as quint8
from daskvars.v1.names.namespaces.dtypes import resource as resource
from daskvars.v1.names.namespaces.dtypes import saturate_cast as saturate_cast, string as string
from daskvars.v1.names.namespaces.dtypes import uint16 as uint16, uint32 as uint32
from daskvars.v1.names.namespaces.dtypes import uint64 as uint64, uint8 as uint8, variant as variant
