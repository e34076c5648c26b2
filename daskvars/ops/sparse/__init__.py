"""Sparse tensors: functions of ``tf.sparse``.

A `SparseTensor` is three tensors, and nothing here is more: what changes where elements are
computes with their indices (``indices``), and values follow by gather and segments, the ops of
dense tensors. So values keep their gradients, and the rows of tables that they meet stay where they
are. Products with matrices that were computed are an op of their own (``products``).

Files: ``indices`` (order, groups, reshape), ``dense`` (from and to dense tensors, placeholders),
``arranging`` (slices, joins, transposes), ``arithmetic`` (sums, extremes, softmax), ``products``
(with matrices), ``segments`` (rows picked and folded), ``splitting`` (strings in pieces), ``sets``
and ``crossing`` (of rows), ``serializing`` (tensors as strings).
"""
