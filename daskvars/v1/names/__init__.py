"""The names of `daskvars.v1`: which there are, what is under each, and which are missing.

Most are those of `daskvars`, in graph mode; what this room defines itself is little more than a
spelling. What does work of its own has a room beside this one.

- ``graph_mode``: makes them all, and the namespaces (``tf.nn``, ``tf.train``), from its tables;
- ``file_functions``: files under the names of `tf.io.gfile`;
- ``namespaces``: lists of what is elsewhere (``tf.io``, ``tf.queue``); ``text`` has the functions
  of `tf.compat`;
- ``tpu``: what models for TPUs call without them; ``version``: which TensorFlow this is;
- spellings of before: ``old_names``, and ``sparse_functions`` of before ``tf.sparse``;
- ``switches`` that turn on what always is; ``not_here``: what TensorFlow 1 has and this lacks.
"""
