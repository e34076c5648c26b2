"""Passes that change what a program computes with, not where: the first ten, and one more.

- ``prune`` (pass 1): the operations that the fetches need, in the order of their effects.
- ``functionalize`` (2): operations to a `Program`; variables become plain values.
- ``specialize`` (3): concrete shapes, and everything that follows from them.
- ``compute_once`` (4): what is computed twice is computed once.
- ``align_rows`` (5): what is picked by the number of its own row is picked row by row.
- ``keep_values`` (6): what a loop computes and its gradient needs is kept, and not made again.
- ``split_branches`` (7): a branch whose results share no work becomes several operations.
- ``split_rows`` (8): a large sum over rows that are put together is made piece by piece.
- ``join_products`` (9): products that are added up are one operation, as most gradients by
  weights of networks that are written out step after step.
- ``route_updates`` (10): updates of rows are computed where the rows are, on their owners. Lookups
  in a cut table are decided in `lowering.planner.propagate` (``_looks_up``), and done by
  `kernels.gather_scatter.row_shards`.
- ``split_update``: in asynchronous training the update is apart from the gradients.

The rule: each takes a program and gives one that computes the same numbers. Layouts, devices and
tasks are no business of this room; after it each node has all that ``planner`` chooses by: shapes,
access patterns, and attributes as plain data.
"""
