"""Sparse tensors: where elements are. Their values go through the kernels of dense tensors."""
