"""Slices with strides and masks, padding, and the adjoints of both."""
from __future__ import annotations

from typing import Any

from daskvars.errors import InvalidArgumentError


def slice_index(
    begin: tuple, end: tuple, strides: tuple, *, begin_mask: int = 0, end_mask: int = 0,
    ellipsis_mask: int = 0, new_axis_mask: int = 0, shrink_axis_mask: int = 0,
) -> tuple:
    """Return the Python index that ``tf.strided_slice``'s attributes stand for.

    Example:
        >>> slice_index((0, 1), (0, 3), (1, 1), begin_mask=1, end_mask=1)
        (slice(None, None, 1), slice(1, 3, 1))
    """
    index: list = []
    for position, (first, last, step) in enumerate(zip(begin, end, strides, strict=True)):
        bit = 1 << position
        if ellipsis_mask & bit:
            index.append(Ellipsis)
        elif new_axis_mask & bit:
            index.append(None)
        elif shrink_axis_mask & bit:
            index.append(int(first))
        else:
            index.append(slice(
                None if begin_mask & bit else int(first),
                None if end_mask & bit else int(last),
                int(step),
            ))
    return tuple(index)


def strided_slice(
    xp: Any, x: Any, *, begin: tuple, end: tuple, strides: tuple, **masks: int
) -> Any:
    """Return a slice of ``x``: a view of it, not to be written into.

    Args:
        x: [...] any dtype.
        begin, end, strides: one int per dimension of the specification.
        masks: ``begin_mask``, ``end_mask``, ``ellipsis_mask``, ``new_axis_mask`` and
            ``shrink_axis_mask``, as for ``tf.strided_slice``.

    Returns:
        The slice, dtype of ``x``.

    Raises:
        InvalidArgumentError: a single index is out of range.
    """
    try:
        return x[slice_index(begin, end, strides, **masks)]
    except IndexError as error:
        raise InvalidArgumentError(
            None, None, f"slice of shape {list(x.shape)}: {error}; begin={list(begin)}"
        ) from error


def strided_slice_grad(
    xp: Any, dy: Any, *, shape: tuple, begin: tuple, end: tuple, strides: tuple, **masks: int
) -> Any:
    """Return zeros of ``shape`` with ``dy`` where ``strided_slice`` took its values.

    Args:
        dy: the gradient of the slice.
        shape: extents of the sliced array.
        begin, end, strides, masks: as for ``strided_slice``.

    Returns:
        [*shape], dtype of ``dy``.
    """
    dx = xp.zeros(shape, dy.dtype)
    dx[slice_index(begin, end, strides, **masks)] = dy
    return dx


def reverse(xp: Any, x: Any, *, axis: tuple) -> Any:
    """Return ``x`` turned around along the dimensions ``axis``: a view of it."""
    return xp.flip(x, axis=tuple(axis))


def pad(xp: Any, x: Any, *, paddings: tuple, mode: str = "CONSTANT", constant: Any = 0) -> Any:
    """Return ``x`` with entries added around it.

    Args:
        x: [...] any dtype.
        paddings: one (before, after) pair per dimension.
        mode: "CONSTANT", "REFLECT" (the edge is not repeated) or "SYMMETRIC" (it is).
        constant: what "CONSTANT" pads with.

    Returns:
        The padded array, dtype of ``x``.

    Raises:
        InvalidArgumentError: a mirror needs more entries than there are.

    Example:
        >>> import numpy as np
        >>> pad(np, np.array([1, 2, 3]), paddings=((2, 1),), mode="REFLECT")
        array([3, 2, 1, 2, 3, 2])
    """
    shape = padded_shape(x.shape, paddings)
    if mode != "CONSTANT":
        check_mirror(x.shape, paddings, mode)
    out = xp.empty(shape, x.dtype)
    if mode == "CONSTANT":
        out[...] = constant
    out[interior(x.shape, paddings)] = x
    if mode != "CONSTANT":
        for target, source in mirror_edges(x.shape, paddings, mode):
            out[target] = out[source]
    return out


def pad_grad(xp: Any, dy: Any, *, paddings: tuple, mode: str = "CONSTANT") -> Any:
    """Return the gradient of ``pad``: what was padded, plus what its mirror images got.

    Args:
        dy: the gradient of the padded array.
        paddings, mode: as for ``pad``.

    Returns:
        The shape before padding, dtype of ``dy``.
    """
    shape = tuple(
        extent - before - after for extent, (before, after) in zip(dy.shape, paddings, strict=True)
    )
    if mode == "CONSTANT":
        return dy[interior(shape, paddings)]
    folded = dy.copy()
    for target, source in reversed(mirror_edges(shape, paddings, mode)):
        folded[source] += folded[target]
    return folded[interior(shape, paddings)]


def padded_shape(shape: tuple, paddings: tuple) -> tuple:
    """Return the extents after padding."""
    return tuple(
        extent + before + after for extent, (before, after) in zip(shape, paddings, strict=True)
    )


def interior(shape: tuple, paddings: tuple) -> tuple:
    """Return the index of the original inside the padded array."""
    return tuple(
        slice(before, before + extent) for extent, (before, _) in zip(shape, paddings, strict=True)
    )


def mirror_edges(shape: tuple, paddings: tuple, mode: str) -> list[tuple[tuple, tuple]]:
    """Return (edge, what it mirrors) as indices of the padded array, in the order of filling."""
    skip = 1 if mode == "REFLECT" else 0
    edges = []
    for axis, (extent, (before, after)) in enumerate(zip(shape, paddings, strict=True)):
        along = (slice(None),) * axis
        stop = before + extent
        if before:
            source = slice(before + skip, 2 * before + skip)
            edges.append(((*along, slice(before - 1, None, -1)), (*along, source)))
        if after:
            source = slice(stop - skip - after, stop - skip)
            target = slice(stop + after - 1, stop - 1 if stop else None, -1)
            edges.append(((*along, target), (*along, source)))
    return edges


def check_mirror(shape: tuple, paddings: tuple, mode: str) -> None:
    """Raise where a mirror would need more entries than the array has."""
    if mode not in ("REFLECT", "SYMMETRIC"):
        raise InvalidArgumentError(
            None, None, f"mode must be CONSTANT, REFLECT or SYMMETRIC, got {mode!r}"
        )
    for axis, (extent, pair) in enumerate(zip(shape, paddings, strict=True)):
        limit = extent - 1 if mode == "REFLECT" else extent
        if max(pair) > limit:
            raise InvalidArgumentError(
                None, None,
                f"paddings {tuple(pair)} of dimension {axis} must be at most {limit} for {mode} "
                f"padding of {extent} entries: pad less",
            )
