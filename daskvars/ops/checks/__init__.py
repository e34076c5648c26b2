"""Assertions: on values in the run, on ranks and shapes while the graph is built where they are
known.

``assertions`` (comparisons that must hold for every element), ``shape_assertions``,
``symbolic_shapes`` (several tensors at once), ``numerics`` (numbers that must be finite).
"""
