"""Signals, the names of ``tf.signal`` (and, of transforms, of ``tf.spectral``)."""

# fmt: off
from daskvars.ops.signal.frames import (
    frame, inverse_stft, inverse_stft_window_fn, overlap_and_add, stft,
)
from daskvars.ops.signal.spectra import (
    dct, fft, fft2d, fft3d, fftshift, idct, ifft, ifft2d, ifft3d, ifftshift, irfft, irfft2d,
    irfft3d, rfft, rfft2d, rfft3d,
)
from daskvars.ops.signal.windows import (
    hamming_window, hann_window, linear_to_mel_weight_matrix, mfccs_from_log_mel_spectrograms,
)

__all__ = [
    "dct", "fft", "fft2d", "fft3d", "fftshift", "frame", "hamming_window", "hann_window", "idct",
    "ifft", "ifft2d", "ifft3d", "ifftshift", "inverse_stft", "inverse_stft_window_fn", "irfft",
    "irfft2d", "irfft3d",
    "linear_to_mel_weight_matrix", "mfccs_from_log_mel_spectrograms", "overlap_and_add", "rfft",
    "rfft2d", "rfft3d", "stft",
]
