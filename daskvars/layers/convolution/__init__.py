"""Layers that slide windows over space: convolutions and poolings in one, two and three dimensions.

A shape is [batch, space..., channels] (``channels_last``) or [batch, channels, space...]; ``sizes``
reads strides, paddings and formats, once for all of them.

- ``convolutional``: convolutions and their transposes; ``separable``: by channel, then across;
- ``pooling``: the largest or the mean of each window.
"""
