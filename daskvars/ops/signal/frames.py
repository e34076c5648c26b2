"""Parts of a signal that may overlap, their sum, and the spectra of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from daskvars import dtypes, shapes
from daskvars.dtypes import DTypeLike, as_dtype
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import OpDef, Spec
from daskvars.graph.definitions.patterns import Contraction
from daskvars.graph.interpreter import apply
from daskvars.graph.records import attribute_kinds as kinds_of
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.kernels.signal import frames as kernels
from daskvars.ops.array.constant import shape as shape_of, size_along
from daskvars.ops.array.padding import pad
from daskvars.ops.array.reshaping import identity
from daskvars.ops.array.transposing import transpose
from daskvars.ops.linalg.products import matvec
from daskvars.ops.math.arithmetic import multiply
from daskvars.ops.math.division import div_no_nan
from daskvars.ops.rules import axes
from daskvars.ops.signal.spectra import irfft, rfft
from daskvars.ops.signal.windows import hann_window

WindowFunction = Callable[..., Tensor]


def _framed(inputs: Sequence[Spec], *, frame_length: int, frame_step: int) -> Spec:
    dtype, shape = inputs[0]
    if shape is None:
        return Spec(dtype, None)
    if not shape:
        raise ValueError("signal must be of rank 1 or more, got a scalar")
    last = shape[-1]
    count = None if last is None else kernels.num_frames(last, frame_length, frame_step)
    return Spec(dtype, (*shape[:-1], count, frame_length))


FRAME = OpDef(
    "Frame",
    "signal:N",
    infer=_framed,
    pattern=Contraction("..._->...__", None),
    kernel=kernels.frame,
    gradient=lambda op, dy: apply(
        OVERLAP_AND_ADD, dy, frame_step=op.attrs["frame_step"], samples=size_along(op.inputs[0], -1)
    ),
    attributes={"frame_length": kinds_of.INT, "frame_step": kinds_of.INT},
)


def _summed(inputs: Sequence[Spec], *, frame_step: int, samples: Any, **attrs: Any) -> Spec:
    dtype, shape = inputs[0].dtype, _of_frames(inputs[0])
    return Spec(dtype, None if shape is None else (*shape[:-2], samples))


def _of_frames(spec: Spec) -> shapes.Shape:
    """Return a shape. Raises ValueError unless it is of frames."""
    if spec.shape is not None and len(spec.shape) < 2:
        raise ValueError(
            f"signal must be of rank 2 or more, frames by samples; got {shapes.show(spec.shape)}"
        )
    return spec.shape


def _overlap_gradient(op: Operation, dy: Tensor) -> Tensor:
    shape = op.inputs[0].spec.shape
    if shape is None or shape[-1] is None:
        raise ValueError("the gradient of overlap_and_add() needs a known frame_length")
    return apply(FRAME, dy, frame_length=shape[-1], frame_step=op.attrs["frame_step"])


OVERLAP_AND_ADD: OpDef = OpDef(
    "OverlapAndAdd",
    "signal:N",
    infer=_summed,
    pattern=Contraction("...__->..._", None),
    kernel=kernels.overlap_and_add,
    gradient=_overlap_gradient,
    operands=("samples",),
    attributes={
        "frame_step": kinds_of.INT,
        "samples": kinds_of.either(kinds_of.NONE, kinds_of.INT),
    },
)


def _length(value: TensorLike, name: str) -> int:
    """Return a number of samples.

    Raises:
      ValueError: it is not positive, or only the run can tell.
    """
    known = axes.as_known(value)
    if not isinstance(known, int) or known < 1:
        raise ValueError(f"{name} must be a positive int, known now; got {value!r}")
    return known


def frame(
    signal: TensorLike,
    frame_length: int,
    frame_step: int,
    pad_end: bool = False,
    pad_value: TensorLike = 0,
    axis: int = -1,
    name: str | None = None,
) -> Tensor:
    """Return the parts of signals that windows see.

    Args:
      signal: [..., samples, ...] number.
      frame_length: how many samples a part has.
      frame_step: how much further the next part begins.
      pad_end: have parts begin as long as there are samples, and fill the last ones up.
      pad_value: scalar, what with.
      axis: the dimension of the samples.
      name: name scope of the operations, by default "frame".

    Returns:
      [..., frames, frame_length, ...] of the dtype of `signal`, in place of the samples.

    Raises:
      ValueError: there is no such dimension, or a length is not a positive int.

    Source: TensorFlow 1.15, ``tf.signal.frame``.

    >>> frame([1, 2, 3, 4, 5], 3, 2).numpy().tolist()
    [[1, 2, 3], [3, 4, 5]]
    """
    with name_scope(name, "frame", [signal]) as scope:
        x = convert_to_tensor(signal, name="signal")
        length, step = _length(frame_length, "frame_length"), _length(frame_step, "frame_step")
        rank = x.shape.ndims
        if rank is None and axis == -1 and not pad_end:
            return apply(FRAME, x, name=scope, frame_length=length, frame_step=step)
        if rank is None:
            raise ValueError("frame() needs a signal of known rank")
        place = shapes.normalize_axis(axis, rank)
        last = place == rank - 1
        if not last:
            x = transpose(x, [*[d for d in range(rank) if d != place], place])
        if pad_end:
            count = size_along(x, -1)
            whole = (-(-count // step) - 1) * step + length
            missing = whole - count
            if not axes.is_symbolic(missing):
                missing = max(0, missing)
            pads: Any = [[0, 0]] * (rank - 1) + [[0, missing]]
            x = pad(x, pads, constant_values=pad_value)
        y = apply(FRAME, x, frame_length=length, frame_step=step)
        if not last:
            y = transpose(y, [*range(place), rank - 1, rank, *range(place, rank - 1)])
        return identity(y, name=scope)


def overlap_and_add(signal: TensorLike, frame_step: int, name: str | None = None) -> Tensor:
    """Return the sum of frames, each of which begins a step after the one before.

    Args:
      signal: [..., frames, frame_length] number.
      frame_step: how many samples a step has.
      name: name scope of the operations, by default "overlap_and_add".

    Returns:
      [..., (frames - 1) * frame_step + frame_length] of the dtype of `signal`.

    Raises:
      ValueError: the rank is below 2, or the step is not a positive int.

    Source: TensorFlow 1.15, ``tf.signal.overlap_and_add``.

    >>> overlap_and_add([[1, 2, 3], [10, 20, 30]], 2).numpy().tolist()
    [1, 2, 13, 20, 30]
    """
    with name_scope(name, "overlap_and_add", [signal]) as scope:
        x = convert_to_tensor(signal, name="signal")
        step = _length(frame_step, "frame_step")
        shape = _of_frames(x.spec)
        if shape is not None and shape[-2] is not None and shape[-1] is not None:
            samples: Any = (shape[-2] - 1) * step + shape[-1] if shape[-2] else 0
        else:
            sizes = shape_of(x)
            samples = (sizes[-2] - 1) * step + sizes[-1]
        return apply(OVERLAP_AND_ADD, x, name=scope, frame_step=step, samples=samples)


# -- spectra of frames -------------------------------------------------------------------------


def _enclosing_power(length: int) -> int:
    return 1 << max(0, length - 1).bit_length()


def stft(
    signals: TensorLike,
    frame_length: int,
    frame_step: int,
    fft_length: int | None = None,
    window_fn: WindowFunction | None = hann_window,
    pad_end: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return the spectra of signals' frames.

    Args:
      signals: [..., samples] float32 or float64.
      frame_length: how many samples a frame has.
      frame_step: how much further the next frame begins.
      fft_length: how many numbers are transformed, by default the next power of two.
      window_fn: called with the length and ``dtype=``; gives the weights of a frame. None for ones.
      pad_end: see `frame`.
      name: name scope of the operations, by default "stft".

    Returns:
      [..., frames, fft_length // 2 + 1] complex64 or complex128.

    Raises:
      ValueError: a length is not a positive int.

    Source: TensorFlow 1.15, ``tf.signal.stft``.

    >>> stft([0.0] * 16, 4, 2).shape.as_list()
    [7, 3]
    """
    with name_scope(name, "stft", [signals]) as scope:
        x = convert_to_tensor(signals, dtype_hint=dtypes.float32, name="signals")
        length = _length(frame_length, "frame_length")
        wide = _enclosing_power(length) if fft_length is None else _length(fft_length, "fft_length")
        parts = frame(x, length, frame_step, pad_end)
        if window_fn is not None:
            parts = multiply(parts, window_fn(length, dtype=parts.dtype))
        return rfft(parts, [wide], name=scope)


def inverse_stft(
    stfts: TensorLike,
    frame_length: int,
    frame_step: int,
    fft_length: int | None = None,
    window_fn: WindowFunction | None = hann_window,
    name: str | None = None,
) -> Tensor:
    """Return the signals whose frames have some spectra.

    For the signals that `stft` took, `window_fn` is what `inverse_stft_window_fn` gives.

    Args:
      stfts: [..., frames, fft_length // 2 + 1] complex64 or complex128.
      frame_length: see `stft`, also for the arguments after it.
      name: name scope of the operations, by default "inverse_stft".

    Returns:
      [..., samples] float32 or float64.

    Raises:
      ValueError: a length is not a positive int.

    Source: TensorFlow 1.15, ``tf.signal.inverse_stft``.

    >>> signal = dv.cos(dv.range(32.0))
    >>> window = inverse_stft_window_fn(4)
    >>> again = inverse_stft(stft(signal, 8, 4), 8, 4, window_fn=window)
    >>> bool(dv.reduce_max(dv.abs(again - signal)[4:-4]) < 1e-5)
    True
    """
    with name_scope(name, "inverse_stft", [stfts]) as scope:
        x = convert_to_tensor(stfts, dtype_hint=dtypes.complex64, name="stfts")
        length = _length(frame_length, "frame_length")
        wide = _enclosing_power(length) if fft_length is None else _length(fft_length, "fft_length")
        parts = irfft(x, [wide])
        if wide > length:
            parts = parts[..., :length]
        elif wide < length:
            rank = parts.shape.ndims
            if rank is None:
                raise ValueError("inverse_stft() needs spectra of known rank")
            parts = pad(parts, [[0, 0]] * (rank - 1) + [[0, length - wide]])
        if window_fn is not None:
            parts = multiply(parts, window_fn(length, dtype=parts.dtype))
        return overlap_and_add(parts, frame_step, name=scope)


def inverse_stft_window_fn(
    frame_step: int, forward_window_fn: WindowFunction = hann_window, name: str | None = None
) -> WindowFunction:
    """Return the window function with which `inverse_stft` gives what `stft` took.

    Args:
      frame_step: how much further the next frame begins.
      forward_window_fn: the window function of `stft`.
      name: name scope of the operations, by default "inverse_stft_window_fn".

    Returns:
      A function of a length and a dtype: the weights by the sum of the squares of all weights that
      a sample is given; 0 for a sample to which every frame gives none.

    Raises:
      ValueError: `frame_step` is no positive int.

    Source: TensorFlow 1.15, ``tf.signal.inverse_stft_window_fn``.

    >>> weights = inverse_stft_window_fn(2, dv.signal.hann_window)(4, dv.float32)
    >>> weights.numpy().round(4).tolist()
    [0.0, 1.0, 1.0, 1.0]
    """
    step = _length(frame_step, "frame_step")

    def inverse_window(frame_length: int, dtype: DTypeLike) -> Tensor:
        length, kind = _length(frame_length, "frame_length"), as_dtype(dtype).base_dtype
        with name_scope(name, "inverse_stft_window_fn", []):
            window = forward_window_fn(length, dtype=kind)
            # Whose weights a sample is given: those of the samples whole steps away from it.
            places = numpy.arange(length)
            together = (places[:, None] - places) % step == 0
            sums = matvec(convert_to_tensor(together.astype(kind.np)), multiply(window, window))
            return div_no_nan(window, sums)

    return inverse_window
