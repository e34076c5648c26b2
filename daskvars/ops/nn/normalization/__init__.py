"""Normalization of activations: by the batch's moments, by a row's, or by given ones.

- ``batch_norm``: one op for training (moments of the batch, kept for the gradient) and one for
  inference; ``layer_norm``: each row on its own, one pass over memory;
- ``moments``: by moments that are given, by neighbouring channels, to unit length.
"""
