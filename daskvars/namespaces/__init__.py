"""TensorFlow's names by subject: ``math``, ``linalg``, ``random``, ``debugging`` and others.

Each module is a list of names of functions that live in `daskvars.ops`; `daskvars` gives it without
the ``_names`` of its file.
"""
