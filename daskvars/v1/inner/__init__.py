"""TensorFlow's own modules, ``tensorflow.python`` and those of ``tensorflow.contrib``.

Programs import from them what is public, and a few things that are not. What is public is under
the names of before; what this room defines itself is what only an inner module has.

- ``inner_modules``: which modules there are, and what is in each;
- ``function_utils``: what some of them tell of functions; ``defun``: functions of a graph that are
  called as operations (``Defun``); ``inplace_ops``: rows that are updated, as values;
- ``freezing``: a graph with its variables' values, from files to a file.
"""
