"""What a program is: ops and their rules, tensors, operations, graphs.

Vocabulary: an *op* (`opdef.OpDef`) is a kind of step and all rules about it; an *operation* is one
use of it; a *tensor* is one output of an operation. `patterns` says which blocks of its inputs an
op needs, as data. `interpreter.apply` is the only way to make an operation: it goes into a graph,
or to the recorder of the eager program. Nothing here computes, and nothing here knows an op.

Rooms: ``definitions`` (what an op is: `OpDef`, patterns, gradients by name, static values),
``scopes`` (what is in force where an operation is made), ``records`` (graphs as plain data). Files:
``graph``, ``func_graph``, ``tensor`` (operations, and tensors, their outputs), ``indexed_slices``,
``sparse_tensor``; ``interpreter``, ``convert`` (making operations); ``user_line`` (where a program
made one); ``nest``, ``by_identity``, ``show``.
"""
