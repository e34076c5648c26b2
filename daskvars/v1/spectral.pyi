"""The names of ``tf.spectral``. Made by tests/typed/stubs.py; a test compares them."""

from daskvars.v1.names.spectral import dct as dct
from daskvars.v1.names.spectral import fft as fft
from daskvars.v1.names.spectral import fft2d as fft2d
from daskvars.v1.names.spectral import fft3d as fft3d
from daskvars.v1.names.spectral import idct as idct
from daskvars.v1.names.spectral import ifft as ifft
from daskvars.v1.names.spectral import ifft2d as ifft2d
from daskvars.v1.names.spectral import ifft3d as ifft3d
from daskvars.v1.names.spectral import irfft as irfft
from daskvars.v1.names.spectral import irfft2d as irfft2d
from daskvars.v1.names.spectral import irfft3d as irfft3d
from daskvars.v1.names.spectral import rfft as rfft
from daskvars.v1.names.spectral import rfft2d as rfft2d
from daskvars.v1.names.spectral import rfft3d as rfft3d
