"""Variables, read and assigned.

``assign``: the handle, reading, assigning, scattering; ``slice_assign``: a slice of a variable;
``checkpoints``: what a Saver puts into a graph.

A write is an effect on a key: the run commits all of them or none.
"""
