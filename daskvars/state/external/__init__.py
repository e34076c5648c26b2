"""What others write and read: Zarr groups, checkpoints of TensorFlow, safetensors, NumPy's npz.

An external format is a reader, which describes what is there as variables and loads them chunk by
chunk, and mostly a writer, which takes the same. Zarr groups and TensorFlow's checkpoints are read
wherever a checkpoint is; ``formats`` lists those that have files of their own, which are exported
and imported.

- ``tensorflow``: its checkpoints; ``safetensors_files``, ``numpy_files``: those; what these two
  share is in ``whole_arrays``.
- ``reading``: arrays of any Zarr v2 or v3 group as variables.
- ``codecs``: those that are read: what is not on the list is refused by name, before a byte is
  decoded.
- ``decompressed_size``: sizes are known before memory is taken, so a few bytes cannot become a
  terabyte.

Others' Zarr arrays carry no checksums of ours: what could not be checked is said, by ``inspect``
and ``verify``. TensorFlow has its own for each tensor, and they are compared as ours are.
"""
