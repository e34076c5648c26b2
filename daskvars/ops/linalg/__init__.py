"""Matrices: products, equations of sums, decompositions, diagonals.

``products`` and ``einsum`` are contractions: what may be cut, and over what is summed, is in their
pattern. ``decompositions`` need whole matrices; batches of them may be cut. ``matrix_parts`` are
diagonals and bands; ``norms`` and ``matrix_forms`` are made of the others. ``matrix_functions`` are
exponentials, factors and inverses of any matrix; ``tridiagonal`` has what is beside a diagonal.
``linear_operators`` are matrices that know what they are.
"""
