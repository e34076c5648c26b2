"""The errors of reading and writing state, made from a message alone: no operation takes part."""

from __future__ import annotations

from daskvars.errors import AbortedError, AlreadyExistsError, NotFoundError, StoreError


class ConflictError(AbortedError):
    """Somebody else committed first: read the new head and do the work again."""


def not_found(message: str) -> NotFoundError:
    """Make the error of something that is not there."""
    return NotFoundError.saying(message)


def already_exists(message: str) -> AlreadyExistsError:
    """Make the error of something that is there already."""
    return AlreadyExistsError.saying(message)


def conflict(message: str) -> ConflictError:
    """Make the error of a lost race."""
    return ConflictError.saying(message)


def store_failure(message: str) -> StoreError:
    """Make the error of a store that does not do or hold what it should."""
    return StoreError.saying(message)
