"""Checkpoints: variables to Zarr under a name of their own, and back.

``saver`` with its operations in a graph (``ops``), the arrays that it saves (``saved_tensors``) and
the checkpoints that it keeps (``kept_checkpoints``; a manager of objects' checkpoints has a rule of
its own); ``paths``: what their files are called; ``checkpoint_state``: the file that names them;
``reader``, ``iterator``: read without a graph, waited for; ``initializers``, ``warm_starting``,
``vocabularies``: variables that begin with another model's values, row by row where their words
have changed places; ``interchange``: files of TensorFlow, safetensors and NumPy. TensorFlow 1's
saver writes graphs besides. The room ``objects`` has checkpoints that go by objects' attributes
instead of names.

Restoring is strict: one error lists all that is missing, unexpected, or of another shape or dtype,
and nothing is assigned."""
