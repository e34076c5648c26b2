"""Branches, loops, lists, checks, and calls of Python.

- ``flow``: a branch or a loop's body is a compiled region that is called here; so is its gradient.
- ``summed_products``: products of which a loop's gradient needs the sum alone.
- ``tensor_lists``: lists of arrays as values, what a TensorArray is made of.
- ``checks``: what fails a run: an assertion that does not hold (its error's text), numbers that are
  not finite, weights whose shape does not fit, an op that should have been replaced by a value.
- ``count_up_to``: a variable that counts, up to a limit.
- ``clock``: the time.
- ``printing``: arrays as the text that TensorFlow shows of them.

What a body writes to variables comes back among its results: a kernel has no effects of its own but
what a user's function or a print does, which is why those run once and in order.
"""
