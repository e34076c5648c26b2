"""Object-based checkpoints: variables by where they are in a program's objects, not by their names.

A `Checkpoint` is given the objects of a program. What it saves goes by the path of attributes, such
as ``model/kernel/.ATTRIBUTES/VARIABLE_VALUE``, and beside the values stands the *object graph*: who
has whom under which name (`daskvars.state.external.tensorflow.object_graph`). The format is
TensorFlow's in all but the files: it is written and read as any checkpoint here is, and what
TensorFlow wrote is read as well.

A restore begins at the root and goes along names that both graphs have. An object that is met is
*bound* to its saved counterpart, and a variable set. What has no counterpart yet, as the weights of
a layer that was not called, comes later: the restore is kept by bound objects, which have it go on
when they make variables (`daskvars.variables.tracking`).

``walking``: objects and paths; ``restoring``: a restore; ``statuses``: what it says of itself;
``checkpoint``, ``manager``: what users hold.
"""
