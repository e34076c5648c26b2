"""What goes through a dataset: an iterator, and its position.

- ``cursor``: the next element, and the position as a few numbers, from which an iterator of the
  same dataset goes on in any process.
- ``eager``: what ``for element in dataset`` makes; ``graph``: kept by a session, which takes the
  next element before it runs anything, as it takes feeds; ``single``: the only element as tensors,
  for which each run goes through the dataset anew.

The rule: a position is all that is ever stored; buffers and caches are made again. So an iterator
in a graph is as transactional as a variable: a run that fails gives its element back, and one whose
position is in a checkpoint goes on where the variables do.
"""
