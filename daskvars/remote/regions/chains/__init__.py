"""Chains: elementwise calls that follow one another, gone through together.

Bound by memory, not by arithmetic: so a chain of a region reads each input once, writes each output
once, and keeps what is between them where it is quick to reach. Which calls are a chain is found in
`daskvars.lowering`; `daskvars.remote.regions.compilation` brings them through here:

- ``tiling``: tile by tile in a CPU's cache, and what folds them at its end (how large a tile is:
  ``config.tile_elements``, ``config.tile_min_elements``).
- ``device_chains``: as one kernel on a GPU.
- ``ufunc_steps``, ``broadcasts``: kernels of a chain that are a few ufuncs are called as these, and
  what is broadcast for a chain alone is not written.
- ``recomputation``: what a chain would keep for a later one is made again there, if that is less.
- ``chain_groups``: chains that need nothing of one another (updates of several variables) side by
  side, for threads that are idle (`daskvars.idle_threads`).

An element's value depends on that element alone: none of this changes a bit of a result, but in a
sum's last bits, which depend on how large tiles are.
"""
