"""The array API standard's functions for eager values: ``xp = x.__array_namespace__()``.

Names, arguments and promotion of dtypes are the standard's (https://data-apis.org/array-api/); what
they do is done by our ops, so it is recorded, chunked and differentiated as all else. Those whose
result's shape depends on values (`nonzero`, ``unique_...``) look at them, as only eager code can.

Functions promote dtypes; operators (``x + y``) do not: they are TensorFlow's, for which two dtypes
are a mistake. Tensors never change, so that there is no ``x[i] = y``.

Of the standard's own tests (array-api-tests, 1,380 with 25 examples each) 1,324 pass, 42 fail and
14 are skipped; ``tests/ops/protocols/test_array_api_tests.py`` runs them. What fails is of these
kinds:

- operators of two dtypes, such as ``int32 + int64``: a mistake, as in TensorFlow; `add` promotes;
- assignment to elements, and copies that are refused (``copy=False`` of `from_dlpack` and DLPack);
- the mask of a scalar, which has no axis to keep; the shape of a slice whose bounds are tensors,
  which is a tuple of numbers only once it is computed;
- special values of `expm1` and `tanh` of complex infinities, which are NumPy's.

>>> import daskvars as dv
>>> x = dv.constant([1.0, 4.0])
>>> xp = x.__array_namespace__()
>>> xp.sqrt(xp.add(x, xp.asarray([0, 0]))).numpy().tolist()
[1.0, 2.0]
"""

from __future__ import annotations

from typing import Any

from numpy import e as e
from numpy import inf as inf
from numpy import nan as nan
from numpy import newaxis as newaxis
from numpy import pi as pi

from daskvars.dtypes import DType
from daskvars.dtypes import bool as bool
from daskvars.dtypes import complex64 as complex64
from daskvars.dtypes import complex128 as complex128
from daskvars.dtypes import float32 as float32
from daskvars.dtypes import float64 as float64
from daskvars.dtypes import int8 as int8
from daskvars.dtypes import int16 as int16
from daskvars.dtypes import int32 as int32
from daskvars.dtypes import int64 as int64
from daskvars.dtypes import uint8 as uint8
from daskvars.dtypes import uint16 as uint16
from daskvars.dtypes import uint32 as uint32
from daskvars.dtypes import uint64 as uint64
from daskvars.ops.protocols.array_api import fft as fft
from daskvars.ops.protocols.array_api import linalg as linalg
from daskvars.ops.protocols.array_api.creation import (
    arange as arange,
)
from daskvars.ops.protocols.array_api.creation import (
    asarray as asarray,
)
from daskvars.ops.protocols.array_api.creation import (
    empty as empty,
)
from daskvars.ops.protocols.array_api.creation import (
    empty_like as empty_like,
)
from daskvars.ops.protocols.array_api.creation import (
    eye as eye,
)
from daskvars.ops.protocols.array_api.creation import (
    from_dlpack as from_dlpack,
)
from daskvars.ops.protocols.array_api.creation import (
    full as full,
)
from daskvars.ops.protocols.array_api.creation import (
    full_like as full_like,
)
from daskvars.ops.protocols.array_api.creation import (
    linspace as linspace,
)
from daskvars.ops.protocols.array_api.creation import (
    meshgrid as meshgrid,
)
from daskvars.ops.protocols.array_api.creation import (
    ones as ones,
)
from daskvars.ops.protocols.array_api.creation import (
    ones_like as ones_like,
)
from daskvars.ops.protocols.array_api.creation import (
    tril as tril,
)
from daskvars.ops.protocols.array_api.creation import (
    triu as triu,
)
from daskvars.ops.protocols.array_api.creation import (
    zeros as zeros,
)
from daskvars.ops.protocols.array_api.creation import (
    zeros_like as zeros_like,
)
from daskvars.ops.protocols.array_api.elementwise import FUNCTIONS
from daskvars.ops.protocols.array_api.elementwise import (
    clip as clip,
)
from daskvars.ops.protocols.array_api.elementwise import (
    copysign as copysign,
)
from daskvars.ops.protocols.array_api.elementwise import (
    hypot as hypot,
)
from daskvars.ops.protocols.array_api.elementwise import (
    logaddexp as logaddexp,
)
from daskvars.ops.protocols.array_api.elementwise import (
    nextafter as nextafter,
)
from daskvars.ops.protocols.array_api.elementwise import (
    signbit as signbit,
)
from daskvars.ops.protocols.array_api.elementwise import (
    trunc as trunc,
)
from daskvars.ops.protocols.array_api.elementwise import (
    where as where,
)
from daskvars.ops.protocols.array_api.linalg import (
    tensordot as tensordot,
)
from daskvars.ops.protocols.array_api.linalg import (
    vecdot as vecdot,
)
from daskvars.ops.protocols.array_api.movement import (
    broadcast_arrays as broadcast_arrays,
)
from daskvars.ops.protocols.array_api.movement import (
    broadcast_to as broadcast_to,
)
from daskvars.ops.protocols.array_api.movement import (
    concat as concat,
)
from daskvars.ops.protocols.array_api.movement import (
    expand_dims as expand_dims,
)
from daskvars.ops.protocols.array_api.movement import (
    flip as flip,
)
from daskvars.ops.protocols.array_api.movement import (
    matrix_transpose as matrix_transpose,
)
from daskvars.ops.protocols.array_api.movement import (
    moveaxis as moveaxis,
)
from daskvars.ops.protocols.array_api.movement import (
    permute_dims as permute_dims,
)
from daskvars.ops.protocols.array_api.movement import (
    repeat as repeat,
)
from daskvars.ops.protocols.array_api.movement import (
    reshape as reshape,
)
from daskvars.ops.protocols.array_api.movement import (
    roll as roll,
)
from daskvars.ops.protocols.array_api.movement import (
    squeeze as squeeze,
)
from daskvars.ops.protocols.array_api.movement import (
    stack as stack,
)
from daskvars.ops.protocols.array_api.movement import (
    take as take,
)
from daskvars.ops.protocols.array_api.movement import (
    take_along_axis as take_along_axis,
)
from daskvars.ops.protocols.array_api.movement import (
    tile as tile,
)
from daskvars.ops.protocols.array_api.movement import (
    unstack as unstack,
)
from daskvars.ops.protocols.array_api.promotion import DEVICE, check_device
from daskvars.ops.protocols.array_api.promotion import (
    astype as astype,
)
from daskvars.ops.protocols.array_api.promotion import (
    can_cast as can_cast,
)
from daskvars.ops.protocols.array_api.promotion import (
    finfo as finfo,
)
from daskvars.ops.protocols.array_api.promotion import (
    iinfo as iinfo,
)
from daskvars.ops.protocols.array_api.promotion import (
    isdtype as isdtype,
)
from daskvars.ops.protocols.array_api.promotion import (
    result_type as result_type,
)
from daskvars.ops.protocols.array_api.statistics import (
    all as all,
)
from daskvars.ops.protocols.array_api.statistics import (
    any as any,
)
from daskvars.ops.protocols.array_api.statistics import (
    argmax as argmax,
)
from daskvars.ops.protocols.array_api.statistics import (
    argmin as argmin,
)
from daskvars.ops.protocols.array_api.statistics import (
    argsort as argsort,
)
from daskvars.ops.protocols.array_api.statistics import (
    count_nonzero as count_nonzero,
)
from daskvars.ops.protocols.array_api.statistics import (
    cumulative_prod as cumulative_prod,
)
from daskvars.ops.protocols.array_api.statistics import (
    cumulative_sum as cumulative_sum,
)
from daskvars.ops.protocols.array_api.statistics import (
    diff as diff,
)
from daskvars.ops.protocols.array_api.statistics import (
    max as max,
)
from daskvars.ops.protocols.array_api.statistics import (
    mean as mean,
)
from daskvars.ops.protocols.array_api.statistics import (
    min as min,
)
from daskvars.ops.protocols.array_api.statistics import (
    nonzero as nonzero,
)
from daskvars.ops.protocols.array_api.statistics import (
    prod as prod,
)
from daskvars.ops.protocols.array_api.statistics import (
    searchsorted as searchsorted,
)
from daskvars.ops.protocols.array_api.statistics import (
    sort as sort,
)
from daskvars.ops.protocols.array_api.statistics import (
    std as std,
)
from daskvars.ops.protocols.array_api.statistics import (
    sum as sum,
)
from daskvars.ops.protocols.array_api.statistics import (
    unique_all as unique_all,
)
from daskvars.ops.protocols.array_api.statistics import (
    unique_counts as unique_counts,
)
from daskvars.ops.protocols.array_api.statistics import (
    unique_inverse as unique_inverse,
)
from daskvars.ops.protocols.array_api.statistics import (
    unique_values as unique_values,
)
from daskvars.ops.protocols.array_api.statistics import (
    var as var,
)

__array_api_version__ = "2024.12"

globals().update(FUNCTIONS)


class NamespaceInfo:
    """What the standard lets programs ask of a namespace."""

    def capabilities(self) -> dict[str, Any]:
        """Return what may depend on the library."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": None}

    def default_device(self) -> str:
        """Return where arrays are made."""
        return DEVICE

    def devices(self) -> list[str]:
        """Return where arrays may be made by name."""
        return [DEVICE]

    def default_dtypes(self, *, device: str | None = None) -> dict[str, DType]:
        """Return what Python's numbers become."""
        check_device(device)
        return {
            "real floating": float64,
            "complex floating": complex128,
            "integral": int64,
            "indexing": int64,
        }

    def dtypes(self, *, device: str | None = None, kind: Any = None) -> dict[str, DType]:
        """Return the dtypes of a kind by name, all of the standard's with None."""
        check_device(device)
        listed = (bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64)
        found = (*listed, float32, float64, complex64, complex128)
        return {d.name: d for d in found if kind is None or isdtype(d, kind)}


def __array_namespace_info__() -> NamespaceInfo:
    """Return what there is in this namespace."""
    return NamespaceInfo()
