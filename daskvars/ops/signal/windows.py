"""Weights of the samples of a frame, and of frequencies as people hear them."""

from __future__ import annotations

import math
from typing import Any

import numpy

from daskvars.dtypes import DType, DTypeLike, as_dtype, float32
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.ops.array.constant import constant, ones, size_along
from daskvars.ops.array.ranges import range as range_of
from daskvars.ops.array.reshaping import identity
from daskvars.ops.math.arithmetic import multiply
from daskvars.ops.math.casting import cast
from daskvars.ops.math.transcendental import cos, rsqrt
from daskvars.ops.rules import axes
from daskvars.ops.signal.spectra import dct
from daskvars.surface.signatures import with_arguments_of

MEL_BREAK, MEL_Q = 700.0, 1127.0  # of the scale of pitches


def _raised_cosine(
    scope_name: str, a: float, window_length: Any, periodic: Any, dtype: DTypeLike, name: str | None
) -> Tensor:
    kind = as_dtype(dtype).base_dtype
    if not kind.is_floating:
        raise ValueError(f"dtype must be a floating point type. Found {kind.name}")
    with name_scope(name, scope_name, [window_length, periodic]) as scope:
        if axes.is_symbolic((window_length, periodic)):
            count = convert_to_tensor(window_length)
            whole = cast(periodic, count.dtype)
            even = 1 - count % 2
            period = cast(count + whole * even - 1, kind)
            one = cast(count < 2, kind)
            angle = cast(range_of(count), kind) * (2 * math.pi) / (period + one)
            return identity((a - (1 - a) * cos(angle)) * (1 - one) + one, name=scope)
        window_length = axes.as_operand(window_length)
        if window_length == 1:
            return ones([1], kind, name=scope)
        period = int(window_length) + (1 if periodic and window_length % 2 == 0 else 0) - 1
        angles = 2 * math.pi * numpy.arange(window_length) / max(period, 1)
        return constant(a - (1 - a) * numpy.cos(angles), kind, name=scope)


def hann_window(
    window_length: TensorLike,
    periodic: TensorLike = True,
    dtype: DTypeLike = float32,
    name: str | None = None,
) -> Tensor:
    """Return the weights of a Hann window.

    Args:
      window_length: scalar integer, how many.
      periodic: for a transform: the first weight follows the last; else the window is symmetric. As
        in TensorFlow 1, a window of odd length is symmetric either way.
      dtype: a float dtype.
      name: name scope of the operations, by default "hann_window".

    Returns:
      [window_length] `dtype`.

    Raises:
      ValueError: `dtype` is not floating.

    Source: TensorFlow 1.15, ``tf.signal.hann_window``.

    >>> hann_window(4).numpy().tolist()
    [0.0, 0.5, 1.0, 0.5]
    """
    return _raised_cosine("hann_window", 0.5, window_length, periodic, dtype, name)


@with_arguments_of(hann_window)
def hamming_window(**arguments: Any) -> Tensor:
    """Return the weights of a Hamming window. See `hann_window`.

    Args:
      name: name scope of the operations, by default "hamming_window".

    Source: TensorFlow 1.15, ``tf.signal.hamming_window``.

    >>> [round(x, 2) for x in hamming_window(4).numpy().tolist()]
    [0.08, 0.54, 1.0, 0.54]
    """
    return _raised_cosine("hamming_window", 0.54, **arguments)


def _mel(hertz: Any) -> Any:
    return MEL_Q * numpy.log1p(hertz / MEL_BREAK)


def linear_to_mel_weight_matrix(
    num_mel_bins: int = 20,
    num_spectrogram_bins: int = 129,
    sample_rate: float = 8000,
    lower_edge_hertz: float = 125.0,
    upper_edge_hertz: float = 3800.0,
    dtype: DTypeLike = float32,
    name: str | None = None,
) -> Tensor:
    """Return how much each frequency of a spectrogram counts in bands as wide as people hear them.

    Args:
      num_mel_bins: how many bands.
      num_spectrogram_bins: how many frequencies, from 0 to half of `sample_rate`.
      sample_rate: samples a second.
      lower_edge_hertz: where the first band begins.
      upper_edge_hertz: where the last one ends.
      dtype: a float dtype.
      name: name of the operation, by default "linear_to_mel_weight_matrix".

    Returns:
      [num_spectrogram_bins, num_mel_bins] `dtype`.

    Raises:
      ValueError: a number is not positive, or the edges are not in order.

    Source: TensorFlow 1.15, ``tf.signal.linear_to_mel_weight_matrix``.

    >>> weights = linear_to_mel_weight_matrix(2, 5, 8000.0, 0.0, 4000.0)
    >>> for frequency in weights.numpy().tolist():
    ...     print(*(f"{weight:.2f}" for weight in frequency))
    0.00 0.00
    0.60 0.40
    0.00 0.87
    0.00 0.38
    0.00 0.00
    """
    kind = _checked_mel(
        num_mel_bins, sample_rate, lower_edge_hertz, upper_edge_hertz, as_dtype(dtype).base_dtype
    )
    frequencies = numpy.linspace(0.0, sample_rate / 2.0, num_spectrogram_bins)[1:]
    pitches = _mel(frequencies)[:, None]
    edges = numpy.linspace(_mel(lower_edge_hertz), _mel(upper_edge_hertz), num_mel_bins + 2)
    lower, centre, upper = edges[:-2], edges[1:-1], edges[2:]
    rising, falling = (pitches - lower) / (centre - lower), (upper - pitches) / (upper - centre)
    weights = numpy.maximum(0.0, numpy.minimum(rising, falling))
    whole = numpy.concatenate([numpy.zeros((1, num_mel_bins)), weights])
    return constant(whole, kind, name=name or "linear_to_mel_weight_matrix")


def _checked_mel(bins: int, rate: float, lower: float, upper: float, kind: DType) -> DType:
    if bins <= 0:
        raise ValueError(f"num_mel_bins must be positive. Got: {bins}")
    if rate <= 0.0:
        raise ValueError(f"sample_rate must be positive. Got: {rate}")
    if lower < 0.0:
        raise ValueError(f"lower_edge_hertz must be non-negative. Got: {lower}")
    if lower >= upper:
        raise ValueError(f"lower_edge_hertz {lower:.1f} >= upper_edge_hertz {upper:.1f}")
    if upper > rate / 2:
        raise ValueError(
            f"upper_edge_hertz must not be larger than the Nyquist frequency "
            f"(sample_rate / 2). Got {upper} for sample_rate: {rate}"
        )
    if not kind.is_floating:
        raise ValueError(f"dtype must be a floating point type. Got: {kind.name}")
    return kind


def mfccs_from_log_mel_spectrograms(
    log_mel_spectrograms: TensorLike, name: str | None = None
) -> Tensor:
    """Return the cepstral coefficients of logarithms of what `linear_to_mel_weight_matrix` weighs.

    Args:
      log_mel_spectrograms: [..., bands] float32.
      name: name scope of the operations, by default "mfccs_from_log_mel_spectrograms".

    Returns:
      [..., bands] float32.

    Raises:
      ValueError: there are no bands.

    Source: TensorFlow 1.15, ``tf.signal.mfccs_from_log_mel_spectrograms``.

    >>> flat = mfccs_from_log_mel_spectrograms([3.0, 3.0, 3.0, 3.0]).numpy()
    >>> round(float(flat[0]), 4), bool(abs(flat[1:]).max() < 1e-5)
    (8.4853, True)
    """
    with name_scope(name, "mfccs_from_log_mel_spectrograms", [log_mel_spectrograms]) as scope:
        x = convert_to_tensor(log_mel_spectrograms, dtype_hint=float32)
        known = x.spec.shape[-1] if x.spec.shape else None
        if known == 0:
            raise ValueError("num_mel_bins must be positive. Got: 0")
        scale = rsqrt(cast(size_along(x, -1), x.dtype) * 2.0)
        return multiply(dct(x, type=2), scale, name=scope)
