"""Values in and out of runs, of any nesting.

- ``checked_feeds``: feeds checked against their placeholders before anything runs (along what they
  are cut the planner chooses: `lowering.planner.cut_feeds`); ``lazy_feeds``: dask arrays, which
  are computed in the run; ``rows_arrays``: those of which each worker reads the rows that it needs.
- ``fetches``: nested fetches as a flat list, and values back into their nesting; ``conversions``:
  what stands for several tensors (sparse ones, users' own).
- ``blocks``: from the blocks that tasks give to whole arrays; ``dask_arrays``: values as arrays of
  Dask.

The rule: all that can be refused is refused here, before a run begins, by the name of the
placeholder or fetch; behind it there are only blocks of known dtype and shape. A placeholder that
nothing is fed for is the exception, as only the run knows whether it is needed: its kernel raises
(`kernels.array.placeholders`).
"""
