"""What stands in a store: one Zarr array for each variable, and a manifest that is written last.

- ``keypath``: a variable's key as the path of a node, and back.
- ``grids``: arithmetic of chunks; ``encoding``: an array as a chunk's bytes;
  ``compression``, ``sharding``: these compressed, or in pieces that are read one by one, where a
  saver was asked to.
- ``manifest``: what is known of each variable, with each chunk's crc32c; ``documents``: Zarr's own
  metadata.
- ``assembly``: blocks to stored chunks, and back; ``chunks``: chunks written, read and verified.
- ``snapshot``: all that as one group, which is there when its manifest is, and not before;
  ``one_file``: as a zip archive, written beside its place and put there when it is complete.

Nothing that is read is trusted: fields are checked one by one, nothing is unpickled, and nothing is
allocated for a size that no object has.
"""
