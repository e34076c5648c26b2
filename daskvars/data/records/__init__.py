"""Files of records, and what is in them as a rule.

- ``tfrecords``: TFRecord files, plain or compressed: bytes with their lengths and checksums, which
  are written here, and read, here and on workers, by `remote.tasks.tfrecord_reader`.
- ``examples``: `Example` and its like: named features as protocol buffers.

The rule: what TensorFlow writes is read, and what is written here TensorFlow reads. Nobody vouches
for a file: what does not match its checksum is an error that names the file and the place in it.
"""
