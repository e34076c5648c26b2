"""Zarr groups that others wrote, read as if they were checkpoints.

- ``reading``: arrays of any Zarr v2 or v3 group as variables.
- ``codecs``: those that are read: what is not on the list is refused by name, before a byte is
  decoded.
- ``decompressed_size``: sizes are known before memory is taken, so a few bytes cannot become a
  terabyte.

Others' arrays carry no checksums of ours: what could not be checked is said, by ``inspect``
and ``verify``.
"""
