"""Elements and rows picked, placed and combined by index.

- ``segments``: rows by index: gather, scatter, segment reductions; ``rows`` is how they move.
- ``gather``: the same for elements and coordinates.
- ``row_shards``: rows on their way between the parts of a cut table and those who use them.
- ``part_writes``: slices of a variable that are assigned.
- ``partitioning``: the distinct values of a vector.
- ``searching``: where a value stands in a sorted sequence.

Every index is checked before it is used: NumPy would count a negative one from the end, a GPU would
clip it. Duplicates combine in the order given, so that results repeat bit by bit.
"""
