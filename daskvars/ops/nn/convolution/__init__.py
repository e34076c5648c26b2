"""Convolutions: in two and three dimensions as ops, all other forms made of these.

Each op shares a file with its adjoints, as a convolution's input gradient is a transposed
convolution and the other way round. The batch may be cut in all of them.

- ``conv2d``: two dimensions, and what families of convolutions are; ``conv3d``: three;
- ``adjoints``: gradients of depthwise convolution, transposes of dilated and 1-D ones;
- ``forms``: separable, dilated, in one dimension, and by rank: made of the ops above.
"""
