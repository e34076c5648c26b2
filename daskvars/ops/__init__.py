"""The catalogue of ops: each in one place, with its shape rule, pattern, kernel and gradient.

An op shares its file with its adjoint, so that gradients are made of public op functions of the
same file or of one before it: ``rules``, ``families`` < ``constant``, ``placeholders`` < movement
(``reshaping``, ``transposing``, ``slicing`` ...) < elementwise (``arithmetic``, ``transcendental``,
``comparison`` ...) < ``reduce`` < ``linalg`` < ``gather`` < ``nn_*`` < ``random`` < ``control``,
``branching`` < ``assign`` < ``overloads``. To add an op, write one `OpDef` and its function in the
file of its family, and a sample in ``tests/ops``; no engine needs to be told.
"""
