"""What workers compute: pure functions on blocks, and the regions that string them together.

A kernel is ``kernel(xp, *arrays, **attrs) -> array | tuple``: `xp` is NumPy or CuPy, attributes are
plain data. It never writes into an input (what it gets may be shared, and Dask may run it twice),
holds on any block, and keeps the dtype of its input. The numerical modules know nothing but
arrays. `region` compiles a list of kernel calls into one function, `tiling` runs elementwise
chains tile by tile, `inplace` splits off the updates of large variables, `tasks` is what a task
does around a region. Nothing here knows graphs, variables or stores.
"""
