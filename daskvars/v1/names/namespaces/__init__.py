"""TensorFlow 1's names by subject, as `daskvars.namespaces` has those of the package.

Each module is a list of names of what lives elsewhere, and has the namespace's own name. Those of
``dtypes``, ``initializers``, ``random`` and ``sparse`` come to the package's names of that subject;
``io``, ``manip``, ``python_io``, ``queue``, ``raw_ops`` and ``spectral`` are TensorFlow 1's alone.
"""
