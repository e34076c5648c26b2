"""Kernels of signals: `spectra` (Fourier transforms) and `frames` (parts of a signal, and back)."""
