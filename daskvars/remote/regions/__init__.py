"""Regions: kernel calls as data, compiled into one Python function.

A *region* is a part of a plan that becomes one task for each block. It comes as a `RegionProgram`:
calls of kernels on numbered *registers*, constants, and which registers are inputs and results.
What happens to it:

- ``region_check``: what comes as data is checked before anything is made of it.
- ``codegen``: the only place where source is made: from register numbers and nothing else.
- ``region_program``: the data; ``compilation``: straight-line Python made of it: one line for each
  call, registers freed as soon as they are done.
- ``aliasing``: which call may write over the memory of an argument that dies there.
- ``chains``: elementwise calls that follow one another, and folds of them, tile by tile in a CPU's
  cache, or as one kernel on a GPU.
- ``pieces``: large products, piece by piece, for threads that are idle (`daskvars.idle_threads`).
- ``region_split``, ``row_updates``: updates of large variables in their own memory, after all that
  may fail.
- ``several``, ``stacked_kernels``: a region of one element of a dataset called for several at once;
  ``turns``: the body of a loop for several turns, where these do not need one another.
- ``result_check``: a kernel that gives what its op did not say.

Compiled once in a process: an interpreting loop would cost as much as a small kernel, each time.
"""
