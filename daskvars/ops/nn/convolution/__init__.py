"""Convolutions: in two and three dimensions as ops, all others made of these.

Each op shares a file with its adjoints, as a convolution's input gradient is a transposed
convolution and the other way round. The batch may be cut in all of them.

- ``families``: a convolution with its gradients, as ops, in two and three dimensions;
- ``functions``: these as functions, declared with what their arguments mean;
- ``adjoints``: transposes of dilated and 1-D convolutions;
- ``quantized``: of integers that stand for numbers;
- ``composed``: separable, dilated, in one dimension, and by rank: made of the ops above.
"""
