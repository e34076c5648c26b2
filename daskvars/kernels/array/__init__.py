"""Elements given on in another arrangement, and what is made by counting.

- ``movement``: reshapes, transposes, repeats, joins and splits: views where NumPy gives one.
- ``slicing``: slices with TensorFlow's masks, and padding, the adjoint of slicing.
- ``rearranging``: reversed, rolled, and moved between space, depth and batch.
- ``ranges``: any block of a range or identity matrix can be made alone.
- ``one_hot``: rows of which one element is set.
- ``placeholders``: the error of one that nothing was fed for.

A view is a result like any other: that it shares its argument's memory is known to the engine
(`daskvars.remote.regions.aliasing`), not to the kernel.
"""
