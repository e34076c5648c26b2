"""Elementwise functions and reductions.

- ``without_ufunc``: elementwise functions that no ufunc computes (what one computes has no kernel:
  its op in `daskvars.ops.math` names the ufunc; what is composed of ops, as log2, is there, too).
- ``special``: gamma, beta, zeta, the error function and their kin: SciPy's, or CuPy's on a GPU.
- ``nonlinearities``: activation functions and their gradients.
- ``bounds``: the larger or the smaller of each element and a number.
- ``scans``: running sums and products.
- ``reduce``, ``row_sums``: folds along axes; rows and columns of matrices as products with ones.
- ``ordered_keys``: integers that sort as numbers and their places do.
- ``fake_quantization``: numbers rounded as if they were integers of a few bits.
- ``precision``: the dtypes to compute in, and the ends of their ranges.

A function is written for a whole block; where it makes many temporaries it goes through the block
in pieces itself (``fill_``), so that these stay in the cache.
"""
