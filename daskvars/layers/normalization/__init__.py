"""Layers that bring activations to mean 0 and variance 1.

Batch normalization takes moments over the batch, and keeps moving averages of them for inference;
layer normalization takes them over each row, and keeps nothing. Where the batch is cut, moments are
those of the whole batch: a mean of parts is an exchange like any other sum.

- ``batch_normalization``; ``moving_moments``: its averages, and batch renormalization;
- ``layer_normalization``.
"""
