"""Signals: along the last dimension, or the last two or three; the others are a batch, and are cut.

Files: `spectra` (Fourier transforms, and cosine transforms made of them), `frames` (parts of a
signal that overlap, their sum, transforms of them) and `windows` (weights of a frame, and of bands
of frequencies as people hear them).
"""
