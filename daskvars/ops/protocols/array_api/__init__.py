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

>>> x = dv.constant([1.0, 4.0])
>>> xp = x.__array_namespace__()
>>> xp.sqrt(xp.add(x, xp.asarray([0, 0]))).numpy().tolist()
[1.0, 2.0]
"""

from __future__ import annotations

from typing import Any

# fmt: off
from numpy import e as e, inf as inf, nan as nan, newaxis as newaxis, pi as pi

from daskvars.dtypes import (
    DType, bool as bool, complex64 as complex64, complex128 as complex128, float32 as float32,
    float64 as float64, int8 as int8, int16 as int16, int32 as int32, int64 as int64,
    uint8 as uint8, uint16 as uint16, uint32 as uint32, uint64 as uint64,
)
from daskvars.ops.protocols.array_api import fft as fft, linalg as linalg
from daskvars.ops.protocols.array_api.creation import (
    arange as arange, asarray as asarray, empty as empty, empty_like as empty_like, eye as eye,
    from_dlpack as from_dlpack, full as full, full_like as full_like, linspace as linspace,
    meshgrid as meshgrid, ones as ones, ones_like as ones_like, tril as tril, triu as triu,
    zeros as zeros, zeros_like as zeros_like,
)
from daskvars.ops.protocols.array_api.elementwise import (
    FUNCTIONS, clip as clip, copysign as copysign, hypot as hypot, logaddexp as logaddexp,
    nextafter as nextafter, signbit as signbit, trunc as trunc, where as where,
)
from daskvars.ops.protocols.array_api.linalg import tensordot as tensordot, vecdot as vecdot
from daskvars.ops.protocols.array_api.movement import (
    broadcast_arrays as broadcast_arrays, broadcast_to as broadcast_to, concat as concat,
    expand_dims as expand_dims, flip as flip, matrix_transpose as matrix_transpose,
    moveaxis as moveaxis, permute_dims as permute_dims, repeat as repeat, reshape as reshape,
    roll as roll, squeeze as squeeze, stack as stack, take as take,
    take_along_axis as take_along_axis, tile as tile, unstack as unstack,
)
from daskvars.ops.protocols.array_api.promotion import (
    DEVICE, astype as astype, can_cast as can_cast, check_device, finfo as finfo, iinfo as iinfo,
    isdtype as isdtype, result_type as result_type,
)
from daskvars.ops.protocols.array_api.statistics import (
    all as all, any as any, argmax as argmax, argmin as argmin, argsort as argsort,
    count_nonzero as count_nonzero, cumulative_prod as cumulative_prod,
    cumulative_sum as cumulative_sum, diff as diff, max as max, mean as mean, min as min,
    nonzero as nonzero, prod as prod, searchsorted as searchsorted, sort as sort, std as std,
    sum as sum, unique_all as unique_all, unique_counts as unique_counts,
    unique_inverse as unique_inverse, unique_values as unique_values, var as var,
)
# fmt: on

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
