"""What is more than a function of its inputs: order, branches, loops, lists, effects.

``dependencies`` groups, orders, checks and calls Python; ``cond``, ``while_loop`` and ``map_fn``
hold ``subgraphs``, which are traced once and built again for their gradients; ``tensor_array`` is
made of ``tensor_lists``; ``custom_gradient``; ``printing``; the ``clock``.

Effects happen in the order of the program, each once a run.
"""
