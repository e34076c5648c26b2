"""Kernels of frames: parts of a signal that may overlap, and their sum."""

from __future__ import annotations

from daskvars.backend import Array, ArrayModule


def frame(xp: ArrayModule, x: Array, *, frame_length: int, frame_step: int) -> Array:
    """Give the parts of signals [..., samples] as [..., frames, frame_length]."""
    count = num_frames(x.shape[-1], frame_length, frame_step)
    starts = xp.arange(count).reshape(-1, 1) * frame_step
    return x[..., starts + xp.arange(frame_length)]


def num_frames(samples: int, frame_length: int, frame_step: int) -> int:
    """Return how many whole frames there are.

    >>> num_frames(7, 3, 2)
    3
    """
    return max(0, 1 + (samples - frame_length) // frame_step)


def overlap_and_add(xp: ArrayModule, x: Array, *, frame_step: int, samples: int) -> Array:
    """Give the sums [..., samples] of frames [..., frames, frame_length], each a step further."""
    *batch, frames, length = x.shape
    pieces = -(-length // frame_step) if frame_step else 0
    whole = xp.zeros((*batch, frames + max(pieces - 1, 0), frame_step), x.dtype)
    for piece in range(pieces if frames else 0):
        part = x[..., piece * frame_step : (piece + 1) * frame_step]
        whole[..., piece : piece + frames, : part.shape[-1]] += part
    flat = whole.reshape(*batch, whole.shape[-2] * frame_step)
    if samples <= flat.shape[-1]:
        return flat[..., :samples].copy()
    rest = xp.zeros((*batch, samples - flat.shape[-1]), x.dtype)
    return xp.concatenate([flat, rest], axis=-1)
