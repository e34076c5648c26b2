"""Fourier and cosine transforms under the names that they had before ``tf.signal``."""

# fmt: off
from daskvars.ops.signal.spectra import (
    dct,
    fft,
    fft2d,
    fft3d,
    idct,
    ifft,
    ifft2d,
    ifft3d,
    irfft,
    irfft2d,
    irfft3d,
    rfft,
    rfft2d,
    rfft3d,
)

__all__ = [
    "dct", "fft", "fft2d", "fft3d", "idct", "ifft", "ifft2d", "ifft3d", "irfft", "irfft2d",
    "irfft3d", "rfft", "rfft2d", "rfft3d",
]
