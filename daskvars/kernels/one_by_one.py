"""Kernels that compute the images of a batch one by one, so that bits do not tell what is beside.

A loop may call one for the images of several turns at once (`remote.regions.stacked_kernels`), and
asks here whether it does: kernels are loaded when something is computed with them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

K = TypeVar("K", bound=Callable[..., Any])
Flops = Callable[..., float | None]
FLOPS_ONE_BY_ONE: dict[Callable[..., Any], Flops] = {}


def one_by_one(flops: Flops) -> Callable[[K], K]:
    """Note of a kernel of images and a filter where it computes each image by itself.

    Args:
        flops: ``flops(shape of the images, shape of the filter, **attributes)``: of all of them;
            None where the images go together.

    >>> @one_by_one(lambda shape, filter_shape, **attrs: 1e6)
    ... def kernel(xp, x, w, **attrs): return x
    >>> FLOPS_ONE_BY_ONE[kernel]((8, 4, 4, 1), (3, 3, 1, 1))
    1000000.0
    """

    def note(kernel: K) -> K:
        FLOPS_ONE_BY_ONE[kernel] = flops
        return kernel

    return note
