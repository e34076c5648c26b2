"""Packages that some kernels need and most machines do without."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def needing(extra: str, why: str) -> Iterator[None]:
    """Import packages of one of this package's extras in the block.

    Args:
      extra: its name.
      why: what the packages are for, as a clause.

    Raises:
      ImportError: one is not installed; it says how to install the extra.

    >>> with needing("strings", "hashes are made by packages"):
    ...     raise ImportError("no such module")
    Traceback (most recent call last):
    ImportError: hashes are made by packages: pip install daskvars[strings]
    """
    try:
        yield
    except ImportError as error:
        raise ImportError(f"{why}: pip install daskvars[{extra}]") from error
