"""What a cluster's failures mean to the program: an operation failed, or data was lost.

An operation's error arrives as the worker raised it, with the worker's traceback. What Dask says
when it cannot rebuild data becomes an `UnavailableError` that names variables and the last
version from which they can be had.
"""

from __future__ import annotations

import copy
from collections.abc import Collection

from distributed import CancelledError, Future

from daskvars.errors import OpError, UnavailableError, permanent
from daskvars.remote.dask_internals import KilledWorker, NoValidWorkerError
from daskvars.remote.versions.commit_order import LostKeysError
from daskvars.state.format.manifest import VersionId

GONE = (KilledWorker, CancelledError, NoValidWorkerError, LostKeysError)


class LostError(UnavailableError):
    """Data is gone that Dask cannot compute again; running the program again may bring it back."""


def is_gone(error: BaseException) -> bool:
    """Return whether an error says that data is gone, rather than that an operation failed."""
    return isinstance(error, GONE)


def error_of(future: Future) -> Exception:
    """Return the error of a failed future, with the worker's traceback.

    It is a copy. Dask keeps what it has as long as there are futures of that key, and whatever is
    raised refers to the calls that it came through, which know the future: none would ever end.
    """
    if future.status == "cancelled":
        return CancelledError(f"{future.key} is lost")
    return copy.copy(future.exception()).with_traceback(future.traceback())


def unavailable(
    error: BaseException,
    what: str,
    keys: Collection[str],
    durable: VersionId | int | None,
    why: str = "",
) -> UnavailableError:
    """Return the error of something (such as "run 7") whose data was lost.

    Args:
      error: what Dask says of it.
      what: what cannot be finished.
      keys: the variables concerned.
      durable: the last version from which they can be had, if any.
      why: the data may be lost, if something is known of that.
    """
    names = ", ".join(keys) or "its values"
    last = (
        "no version was durable yet: run the initializers again"
        if durable is None
        else f"the last durable version is {durable}: recover() goes back to it"
    )
    why = f". {why}" if why else ""
    if isinstance(error, KilledWorker):  # what has killed several workers kills the next
        workers = "the worker" if error.allowed_failures < 1 else "every worker"
        message = (
            f"{what} cannot be finished: {workers} that ran its task {error.task!r} died, the last "
            f"one {error.last_worker.address}. Logs of workers say of what: their memory was too "
            "small for it, or a Python function or library has ended the process. It has changed "
            f"nothing; should {names} be lost, {last}{why}"
        )
        return permanent(UnavailableError.saying(message))
    reason = " ".join(str(error).split())[:300]
    return LostError.saying(
        f"{what} cannot be finished: {names} cannot be rebuilt ({reason}); {last}{why}"
    )


def with_run_note(error: Exception, run: int) -> Exception:
    """Return the error of a run that was dispatched before, as it surfaces later."""
    note = f"(in run {run}, dispatched before; variables are as they were before that run)"
    if isinstance(error, OpError):
        named = copy.copy(error)
        named.message = f"{error.message} {note}"
        named.is_of_earlier_run = True
        return named
    error.add_note(note)
    return error
