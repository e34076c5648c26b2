"""The array API standard's protocols for eager values: their namespace, and DLPack."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy

from daskvars.ops.protocols import array_api


class ArrayProtocols:
    """Base of values that NumPy can make an array of, and that other libraries may ask for one."""

    __slots__ = ()

    def __array_namespace__(self, *, api_version: str | None = None) -> ModuleType:
        """Return `daskvars.ops.protocols.array_api`, the functions of the array API standard.

        Raises:
          ValueError: another version of the standard is asked for.
        """
        if api_version not in (None, array_api.__array_api_version__):
            raise ValueError(
                f"the namespace of {type(self).__name__} is of version "
                f"{array_api.__array_api_version__} of the array API standard, not {api_version!r}"
            )
        return array_api

    def copy(self) -> numpy.ndarray:
        """Return the present value as an array of one's own, as the `copy` of NumPy's arrays does.

        ``dask.array.from_array`` takes it of whatever has it, and then NumPy's word for all else.

        >>> v = dv.Variable([1.0, 2.0])
        >>> before, _ = v.copy(), v.assign([3.0, 4.0])
        >>> before.tolist()
        [1.0, 2.0]
        """
        return numpy.array(self)

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """Give the value to another library: a copy, as whoever gets it might write into it.

        Args:
          stream, max_version, dl_device: as NumPy's arrays take them.
          copy: False is refused.

        Raises:
          BufferError: ``copy=False``, or the dtype is none of DLPack's.

        >>> numpy.from_dlpack(dv.constant([1.0, 2.0])).tolist()
        [1.0, 2.0]
        """
        if copy is False:
            raise BufferError("a value of daskvars never changes, so it is given away as a copy")
        return numpy.array(self).__dlpack__(
            stream=stream, max_version=max_version, dl_device=dl_device
        )

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return DLPack's name of this process's memory."""
        return numpy.empty(0).__dlpack_device__()
