"""Products, decompositions and parts of matrices, and of batches of them.

- ``products``: matrix products, inverses, solutions, factors.
- ``einsum``: sums of products by an equation, as matrix products on views where they have that
  form.
- ``matrix_parts``: diagonals and bands.
- ``matrix_functions``: exponentials and other functions of whole matrices, on the host by SciPy.

BLAS runs on one thread within a task: the parallelism is that of tasks, and two would wait for each
other. Half precision is computed in single precision.
"""
