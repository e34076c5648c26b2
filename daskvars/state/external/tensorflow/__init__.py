"""TensorFlow's checkpoints (V2, "tensor bundles"), read and written without TensorFlow.

One is several files under a common prefix. ``<prefix>.index`` is a sorted table of LevelDB's kind
(``tables``): the empty key has a header, each other key a tensor's entry (``messages``): dtype,
shape, and where its bytes are in ``<prefix>.data-0000n-of-0000m``. An array that was partitioned
has an entry without bytes, and one more for each of its slices.

- ``reading``: its tensors as variables. They are read by ranges, so memory holds a chunk at a time
  and not a tensor; and no byte is given to anybody before a crc32c of the file has vouched for it.
- ``writing``: variables as such files.
- ``object_graph``: the objects of a checkpoint that knows variables by them, a message in it.

Nothing is trusted: every number in an index is compared with what is there before memory is taken
for it, and names of files are made here, of the prefix and two numbers.

The three messages are parsed by a reader of our own, some sixty lines. The package ``protobuf``
would need descriptions of them built at run time (no package but TensorFlow has them) and would be
one more thing to install for reading a checkpoint.
"""
