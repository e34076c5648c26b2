"""The names of ``tf.spectral``. Made by tests/typed/stubs.py; a test compares them."""

from daskvars.v1.names.namespaces.spectral import dct as dct, fft as fft, fft2d as fft2d
from daskvars.v1.names.namespaces.spectral import fft3d as fft3d, idct as idct, ifft as ifft
from daskvars.v1.names.namespaces.spectral import ifft2d as ifft2d, ifft3d as ifft3d
from daskvars.v1.names.namespaces.spectral import irfft as irfft, irfft2d as irfft2d
from daskvars.v1.names.namespaces.spectral import irfft3d as irfft3d, rfft as rfft
from daskvars.v1.names.namespaces.spectral import rfft2d as rfft2d, rfft3d as rfft3d
