"""Variables: handles to state, the scopes that name them, and how they get their first value.

A `Variable` holds no value. It is a handle: an op whose attributes name the key, dtype, shape and
chunk layout of an array that a store keeps. Reading and assigning are ops on the handle, so a
variable means the same in a graph, in the body of a function, and in the eager program; what
differs is only when the initial value is assigned (by running ``initializer``, or at once).

Three things give a variable its full name, and two of them look alike:

- *name scopes* prefix every op, and so what the `Variable` constructor makes;
- *variable scopes* prefix what `get_variable` makes, whatever name scope is open. Opening one
  opens a name scope of the same last name as well, made unique, which is why a scope opened twice
  holds the variables ``a/v`` but ops ``a/add`` and ``a_1/add``;
- *the store* of a graph maps full names to the variables that `get_variable` made, and to no
  others. Sharing is a look-up there, under a scope whose ``reuse`` says so.

The current variable scope belongs to a graph and a thread; the store belongs to the graph (the
eager program counts as one). Both live in the graph's ``notes``. A variable made in the body of a
function, branch or loop is made in the program around it: state outlives a call.

Names, argument orders and errors are TensorFlow 1.15's. Deliberate differences: a dtype in the
second place of `Variable` is the dtype; an initial value that reads other variables is safe over
any number of steps; a scope's constraint is inherited; an empty segment of a name is dropped
(``outer/v``, not ``outer//v``: it is a key); messages say where a name was first made.

What `get_variable` makes has the same key in a graph and in the eager program. So has what the
constructor makes, unless its scope was opened before: the eager program does not number name scopes
(a training loop would never stop counting), so the name is made unique within the one scope.

Rooms: ``scopes`` and ``partitions``. Files: ``variable``, its ``arguments``, the ``variable_def``
by which a graph's is found again, ``chunks`` (as asked, or by default: at most
``config.chunk_bytes``), ``updates`` and ``reading``; ``initializers``, ``convolution_initializers``
and ``initial_value``; ``regularizers``; ``collections``, ``colocation``; ``tracking``: objects that
checkpoints know by their attributes; ``synchronization``, which is accepted.
"""
