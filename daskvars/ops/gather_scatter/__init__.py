"""By index: elements and rows picked, placed, sorted and combined.

``gather`` and ``scatter`` (by coordinates), ``segments`` (folds over rows that share an id),
``partitioning`` (rows into parts and together again), ``sorting``, ``searching``, ``spreading``.
``sparse_gradients``: gradients that are rows of a table, added up, and made dense where something
needs them whole.

The gradient of a gather is a sparse one: rows and their indices. On a cut table only rows travel
(the pattern `Gather`).
"""
