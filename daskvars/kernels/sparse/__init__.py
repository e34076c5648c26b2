"""Sparse tensors: where elements are, and products of matrices.

All else that is done to values goes through the kernels of dense tensors.
"""
