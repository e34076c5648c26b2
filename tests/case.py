"""Small cases, thousands of one kind, in one test: a test of its own takes pytest 3 ms for each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def of(name: object) -> Iterator[None]:
    """Have what fails in the block say which case it is."""
    try:
        yield
    except BaseException as error:  # also what pytest fails with
        error.add_note(f"the case: {name}")
        raise
