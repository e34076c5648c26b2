"""Plans run on this process's threads, on values held in memory.

``executor``: a run takes a lease of what it reads, computes region by region, block by block, and
commits; where nobody else has a lease of a block it is updated in its own memory. ``devices``: a
CPU, and a GPU where CuPy finds one. ``leased_blocks``: what a dask array keeps of variables.

A small step is one call on one thread: there is nothing to schedule.
"""
