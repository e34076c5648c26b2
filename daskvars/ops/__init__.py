"""The catalogue of ops: each in one place, with its shape rule, pattern, kernel and gradient.

An *op* is one `OpDef` expression, which requires all four; where there is no gradient it says so.
Its public function, with the docstring, stands behind it. An op shares its file with its adjoint,
so gradients are made of public op functions of the same file or of one before it. Engines (shape
inference, gradients, lowering, eager code) are loops that look rules up; none names an op.

Rooms, as people look for them:

- ``rules``: what ops are written with: shape rules, axes, families that differ by a formula.
- ``array``: constants, placeholders, and elements in another arrangement.
- ``math``: elementwise functions, comparisons, reductions, running sums, counts.
- ``gather_scatter``: by index: gather, scatter, segments, sorting, partitions.
- ``sparse``: tensors of which few elements are there.
- ``image``: resized, cropped, coloured, compared; files of images.
- ``linalg``, ``nn``, ``random``, ``strings``, ``parsing`` (numbers out of strings),
  ``string_hashes`` (numbers of buckets), ``string_coding`` (base64, templates), ``signal``,
  ``files`` (read and written in a run).
- ``control``: dependencies, branches, loops, functions over rows, lists of tensors, printing, calls
  of Python, gradients of one's own.
- ``checks``: assertions on values, ranks and shapes.
- ``state``: variables read and assigned; checkpoints within a run.
- ``protocols``: what Python's operators, ``t[...]`` and NumPy's functions mean for tensors.

Numbers are computed in `daskvars.kernels`, in the room of the same name and a file of the same
name; here it stands which kernel an op has, what its shape is, and which op is its gradient. So
the sums of max-pool's gradient are in ``kernels/nn/windows/pooling.py``, and that it is max-pool's
gradient is in ``ops/nn/windows/pooling.py``.

To add an op, write one `OpDef` and its function in the file of its family, its kernel under the
same name in `daskvars.kernels`, and a sample in ``tests/ops/samples``; no engine needs to be told.
"""
