"""Tensors made of numbers, and elements in another arrangement.

``constant``, ``placeholders``, ``ranges``, ``one_hot`` make tensors. ``reshaping``,
``transposing``, ``repeating``, ``padding``, ``slicing``, ``joining``, ``rearranging`` move
elements: their pattern is a movement, so layouts go through them and little or nothing is copied.
``broadcasting`` is the adjoint of broadcasting: a gradient summed back; ``shard_constraint``: the
user says how a tensor is to be cut.

An op and its adjoint share a file: concat and split, pad and slice, tile and its sum.
"""
