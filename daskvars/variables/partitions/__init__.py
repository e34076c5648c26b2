"""One array kept in several variables, as TensorFlow's partitioners do it.

A partitioner is a function of shape and dtype that says into how many parts each axis is cut; at
most one axis may have more than one. Each part is a variable with a key of its own
(``table/part_0``), so that parts can have devices of their own; a checkpoint knows which slice of
the whole each of them is (`SaveSliceInfo`), and puts them together under another cut.

This is how TensorFlow-1 programs cut variables. ``chunks=`` cuts within one variable, which is what
programs written for this package use: one key, and Dask's notation.

- ``partitioners``: the rules; ``partitioned_variable``: what `get_variable` returns then;
- ``slices``: where each part begins.
"""
