"""Values that are on workers: results that nobody has looked at yet, blocks, dask arrays.

- ``futures``: results of runs that were not waited for; they are fetched when they are looked at,
  all that are there at once.
- ``remote_blocks``: blocks that live on workers, as the engine sees blocks.
- ``dask_arrays``: a value as an array of Dask, whose blocks stay where they are.

The rule: what one of these stands for is kept as long as somebody has it, and no longer, and what
is changed meanwhile is changed elsewhere; none of them names a worker, as Dask may move it.
"""
