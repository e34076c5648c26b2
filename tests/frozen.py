"""What processes are forked from: imported, and frozen, so that no garbage collector looks at it.

A process that ends looks through all that it has, which takes one that has imported the package and
what that builds on half a second, and makes it copies of the pages that it shares.
"""

import gc

import pytest

import daskvars.v1

__all__ = ["daskvars", "pytest"]

gc.collect()
gc.freeze()
gc.set_threshold(10_000)  # as in the processes that run tests: see tests/conftest.py
