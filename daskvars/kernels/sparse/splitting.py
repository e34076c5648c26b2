"""Strings cut into pieces, as the values of a sparse tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from daskvars.backend import ArrayModule
from daskvars.device_array import host_kernel

Parts = tuple[numpy.ndarray, numpy.ndarray, numpy.ndarray]


def _sparse(texts: numpy.ndarray, split: Callable[[bytes], list[bytes]]) -> Parts:
    """Give places, values and shape of the pieces of all texts, along one more dimension."""
    pieces = [split(text) for text in texts.reshape(-1).tolist()]
    counts = numpy.array([len(found) for found in pieces], numpy.int64)
    owner = numpy.repeat(numpy.arange(len(pieces)), counts)
    number = numpy.arange(len(owner)) - numpy.repeat(numpy.cumsum(counts) - counts, counts)
    axes = numpy.unravel_index(owner, texts.shape) if texts.ndim else ()
    places = numpy.stack([*axes, number], axis=-1).astype(numpy.int64)
    values = numpy.array([piece for found in pieces for piece in found], object)
    shape = numpy.array([*texts.shape, counts.max(initial=0)], numpy.int64)
    return places, values, shape


@host_kernel
def split_at_characters(
    xp: ArrayModule, texts: numpy.ndarray, delimiters: Any, *, skip_empty: bool
) -> Parts:
    """Give the pieces between any of some characters; single bytes where there are none of these.

    >>> texts = np.array([b"a,b;c", b""], object)
    >>> found = split_at_characters(np, texts, b",;", skip_empty=True)
    >>> found[1].tolist(), found[2].tolist()
    ([b'a', b'b', b'c'], [2, 3])
    """
    characters = delimiters if isinstance(delimiters, bytes) else delimiters.item()
    first, others = characters[:1], [bytes([other]) for other in characters[1:]]

    def split(text: bytes) -> list[bytes]:
        if not characters:
            return [bytes([one]) for one in text]
        for other in others:
            text = text.replace(other, first)
        found = text.split(first) if text else []
        return [piece for piece in found if piece] if skip_empty else found

    return _sparse(texts, split)


@host_kernel
def split(xp: ArrayModule, texts: numpy.ndarray, *, separator: bytes, maxsplit: int) -> Parts:
    """Give the pieces between separators, or between runs of white space where there is none.

    >>> found = split(np, np.array([b"a b  c"], object), separator=b"", maxsplit=1)
    >>> found[1].tolist()
    [b'a', b'b  c']
    """
    return _sparse(texts, lambda text: text.split(separator or None, maxsplit))
