"""The errors of reading and writing state, made from a message alone: no operation takes part."""

from __future__ import annotations

from daskvars.errors import AbortedError, AlreadyExistsError, NotFoundError, StoreError


class ConflictError(AbortedError):
    """Somebody else committed first: read the new head and do the work again."""


class RefusedError(StoreError):
    """A disk, or a store of a library, did not do what it was asked to.

    Permissions or the network are in the way, so that nothing is known of what is there.
    """


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


def refused(message: str) -> RefusedError:
    """Make the error of a store that cannot be asked what is there."""
    return RefusedError.saying(message)


def reason_of(error: BaseException) -> str:
    """Say in words why a store of a library failed, without what only its authors read.

    >>> reason_of(OSError(28, "No space left on device")), reason_of(KeyError())
    ('No space left on device', 'KeyError')
    """
    text = getattr(error, "strerror", None) or str(error)
    return text.partition("\n\nDebug source:")[0] or type(error).__name__
