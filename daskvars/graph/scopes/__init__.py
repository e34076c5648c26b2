"""What is in force where an operation is made: graph, name, device, control dependencies.

TensorFlow 1's context managers each push on a stack and pop from it. The stacks of a thread
(``stacks``) say which graph is built and which session runs; those of a graph say what its new
operations get. An operation copies what it needs when it is made, so that closing a scope changes
nothing that is there.

- ``default_graph``: the graph of code that names none, and how one function serves graph and eager
  code; ``context``: functions on the graph being built;
- ``name_scope``: prefixes of names; ``building_blocks``: the blocks a graph opens for them, and
  control dependencies;
- ``device``: device specifications; ``device_scopes``: a graph's stack of them, and colocation;
- ``collections``: lists under names, `GraphKeys`.
"""
