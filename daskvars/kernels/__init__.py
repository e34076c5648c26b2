"""What workers compute: pure functions on blocks, and nothing else.

A *kernel* is ``kernel(xp, *arrays, **attributes) -> array | tuple``: ``xp`` is NumPy or CuPy, and
attributes are plain data. The rules, and why:

- It never writes into an input: what it gets may be shared, and Dask may run any task twice. A
  function that does, since its memory was leased to it, ends in ``_into``.
- It holds on any block, whatever the chunks of the array that the block is of. Where a block must
  know its place (random numbers, ranges), the place is an argument.
- It keeps the dtype of its input, and computes in the precision that `math.precision` says. What
  shapes and dtypes it takes and gives, its op says; its docstring has what that leaves open.
- An elementwise one may have ``out=None`` among its keyword arguments: told where, it writes its
  result there, even over an argument, as a ufunc does. So in a chain it makes no array of its own.
- It knows arrays and numbers, and no op, graph, variable, store or Dask: it can be tried at once.

A kernel that is one function of NumPy's has no place here: an op names it (``"exp"``).

Rooms are those of `ops`, and a file has the name that its ops have there: ``math`` (elementwise,
reductions), ``array`` (elements in another arrangement), ``gather_scatter`` (by index), ``linalg``,
``image``, ``nn``, ``random``, ``sparse``, ``control`` (branches, loops, lists, checks, what is
printed), ``signal``, ``strings``, ``string_hashes``, ``string_coding``, ``tensor_protos``,
``parsing`` and the ``example_protos`` that it reads, ``files`` and ``opened_files``, by which all
are opened, ``summaries``; ``one_by_one`` notes which go image by image; ``optional_packages`` are
those that some of them need. They are strung together into one function for each task in
`daskvars.remote.regions`.
"""
