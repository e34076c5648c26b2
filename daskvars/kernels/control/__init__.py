"""Branches, loops, lists, checks, and calls of Python.

- ``flow``: a branch or a loop's body is a compiled region that is called here; so is its gradient.
- ``tensor_lists``: lists of arrays as values, what a TensorArray is made of.
- ``effects``: new values of variables that no other kernel gives.
- ``printing``: arrays as the text that TensorFlow shows of them.

What a body writes to variables comes back among its results: a kernel has no effects of its own but
what a user's function or a print does, which is why those run once and in order.
"""
