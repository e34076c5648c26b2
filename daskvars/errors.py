"""Every error the package raises by its own name.

The tree is TensorFlow's (tensorflow/python/framework/errors_impl.py), with our own leaves::

    Exception
    |-- ValueError
    |   `-- LayoutError                 a chunk layout that does not fit
    `-- OpError                         (node_def, op, message, error_code)
        |-- CancelledError              1
        |-- UnknownError                2
        |-- InvalidArgumentError        3
        |   |-- PlacementError          no device can run an operation
        |   `-- MismatchError           a restore meets other shapes, dtypes or names (RestoreError)
        |-- DeadlineExceededError       4
        |-- NotFoundError               5   also LookupError
        |   `-- MissingKeysError        a restore lacks names (RestoreError)
        |-- AlreadyExistsError          6
        |-- PermissionDeniedError       7
        |-- ResourceExhaustedError      8   also MemoryError
        |-- FailedPreconditionError     9
        |-- AbortedError               10
        |-- OutOfRangeError            11
        |-- UnimplementedError         12   also NotImplementedError
        |-- InternalError              13
        |-- UnavailableError           14
        |-- DataLossError              15
        |   `-- StoreError              stored state cannot be read as written
        |       `-- CorruptChunkError   one damaged or absent chunk: names variable and chunk
        |-- UnauthenticatedError       16
        `-- RestoreError                base of MissingKeysError and MismatchError

No `OpError` is a `ValueError` or `TypeError`: those mean a mistake made while building a program,
an `OpError` one met while running it, and TensorFlow programs tell the two apart. None is an
`IndexError`, `StopIteration` or `OSError` either, which loops and file code catch for other ends.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeVar

OK = 0
CANCELLED = 1
UNKNOWN = 2
INVALID_ARGUMENT = 3
DEADLINE_EXCEEDED = 4
NOT_FOUND = 5
ALREADY_EXISTS = 6
PERMISSION_DENIED = 7
RESOURCE_EXHAUSTED = 8
FAILED_PRECONDITION = 9
ABORTED = 10
OUT_OF_RANGE = 11
UNIMPLEMENTED = 12
INTERNAL = 13
UNAVAILABLE = 14
DATA_LOSS = 15
UNAUTHENTICATED = 16

# Pairs of names that a restore may compare when it looks for near matches (about 10 us each).
NEAR_MATCH_PAIRS = 50_000


class OpError(Exception):
    """An operation failed while it ran.

    Args:
        node_def: plain data describing the node, or None.
        op: the `Operation` that failed, its name, or None when it is not known.
        message: what happened; also the error's `str`.
        error_code: one of the codes of this module; a subclass supplies its own.

    Source: `tf.errors.OpError`.

    >>> str(NotFoundError(None, None, "Key w not found in checkpoint"))
    'Key w not found in checkpoint'
    """

    code = UNKNOWN
    is_permanent = False
    """Whether repeating what failed can only fail again; said of errors whose class may pass."""
    is_of_earlier_run = False
    """Whether another run failed, dispatched before the one that raises it."""

    def __init_subclass__(cls, code: int | None = None) -> None:
        if code is not None:
            cls.code = code

    def __init__(self, node_def: Any, op: Any, message: str, error_code: int | None = None) -> None:
        super().__init__(message)
        self.node_def = node_def
        self.op = op
        self.message = message
        self.error_code = self.code if error_code is None else error_code

    @classmethod
    def saying(cls, message: str) -> Self:
        """Make the error of a message alone, where no operation is known.

        >>> NotFoundError.saying("Key w not found in checkpoint").op is None
        True
        """
        return cls(None, None, message)

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> tuple:
        # A graph must not travel with an error from worker to client: only the op's name does.
        op = self.op if self.op is None else str(getattr(self.op, "name", self.op))
        return restored, (type(self), self.args), {**self.__dict__, "op": op}


AnOpError = TypeVar("AnOpError", bound=OpError)


def permanent(error: AnOpError) -> AnOpError:
    """Mark an error as one that comes again however often it is tried; return it."""
    error.is_permanent = True
    return error


def restored(cls: type[OpError], args: tuple) -> OpError:
    """The empty error that unpickling fills: subclasses differ in their constructors."""
    return Exception.__new__(cls, *args)


class CancelledError(OpError, code=CANCELLED):
    """The step or session was cancelled."""


class UnknownError(OpError, code=UNKNOWN):
    """A failure that fits no other class."""


class InvalidArgumentError(OpError, code=INVALID_ARGUMENT):
    """An operation received an input it cannot work on."""


class DeadlineExceededError(OpError, code=DEADLINE_EXCEEDED):
    """A time limit passed before the operation ended."""


class NotFoundError(OpError, LookupError, code=NOT_FOUND):
    """A requested entity (a file, a key of a checkpoint) does not exist."""


class AlreadyExistsError(OpError, code=ALREADY_EXISTS):
    """An entity to be created exists already."""


class PermissionDeniedError(OpError, code=PERMISSION_DENIED):
    """The caller may not do what it asked for."""


class ResourceExhaustedError(OpError, MemoryError, code=RESOURCE_EXHAUSTED):
    """Memory, disk or another limited resource ran out."""


class FailedPreconditionError(OpError, code=FAILED_PRECONDITION):
    """The system is not in the state needed, as when a variable is not initialized."""


class AbortedError(OpError, code=ABORTED):
    """A concurrent action stopped the operation."""


class OutOfRangeError(OpError, code=OUT_OF_RANGE):
    """An iteration went past the end of its input."""


class UnimplementedError(OpError, NotImplementedError, code=UNIMPLEMENTED):
    """The operation exists, this form of it does not."""


class InternalError(OpError, code=INTERNAL):
    """An invariant of the engine is broken."""


class UnavailableError(OpError, code=UNAVAILABLE):
    """The runtime cannot be reached now."""


class DataLossError(OpError, code=DATA_LOSS):
    """Data is lost or corrupt beyond recovery."""


class UnauthenticatedError(OpError, code=UNAUTHENTICATED):
    """The request carries no valid credentials."""


class LayoutError(ValueError):
    """A chunk layout does not fit its shape, or two layouts do not line up."""


class PlacementError(InvalidArgumentError):
    """No device present can run an operation where it was placed."""


class StoreError(DataLossError):
    """Stored state cannot be read as it was written."""


class CorruptChunkError(StoreError):
    """One chunk of a stored variable is absent, truncated or altered.

    Args:
        variable: key of the variable.
        chunk: index of the chunk in the variable's grid.
        reason: what is wrong with it, for example "crc32c differs".
        source: where it was read from: a path or store name, or "".

    >>> print(CorruptChunkError("dense/kernel", (0, 2), "the chunk is missing", "ckpt/model-10"))
    Chunk (0, 2) of variable 'dense/kernel' in ckpt/model-10 cannot be used: the chunk is missing.
    """

    def __init__(self, variable: str, chunk: Sequence[int], reason: str, source: str = "") -> None:
        self.variable = variable
        self.chunk = tuple(chunk)
        self.reason = reason
        self.source = source
        place = f" in {source}" if source else ""
        super().__init__(
            None,
            None,
            f"Chunk {self.chunk} of variable {variable!r}{place} cannot "
            f"be used: {reason.rstrip('.')}.",
        )


class RestoreError(OpError):
    """A strict restore found names, shapes or dtypes that differ; build it with `restore_error`."""

    def __init__(
        self,
        node_def: Any,
        op: Any,
        message: str,
        *,
        missing: Iterable[str] = (),
        unexpected: Iterable[str] = (),
        shapes: Iterable[tuple] = (),
        dtypes: Iterable[tuple] = (),
        source: str = "",
    ) -> None:
        super().__init__(node_def, op, message)
        self.missing = tuple(missing)
        self.unexpected = tuple(unexpected)
        self.shapes = tuple(shapes)
        self.dtypes = tuple(dtypes)
        self.source = source


class MissingKeysError(RestoreError, NotFoundError):
    """A restore asked for names that the source does not hold (and lists what else differs)."""


class MismatchError(RestoreError, InvalidArgumentError):
    """A restore found every name, but with other shapes or dtypes, or with unexpected names."""


def invalid(message: str) -> InvalidArgumentError:
    """Make an `InvalidArgumentError` of a message alone, where no operation is known."""
    return InvalidArgumentError.saying(message)


def near_matches(name: str, candidates: Collection[str]) -> list[str]:
    """Up to three others that resemble a name, best first, then those that have it in theirs.

    >>> near_matches("dense/kernal", ["dense/bias", "dense/kernel", "step"])
    ['dense/kernel', 'dense/bias']
    >>> near_matches("Adam", ["AdamOptimizer", "NadamOptimizer", "Saver"])
    ['AdamOptimizer', 'NadamOptimizer']
    """
    close = difflib.get_close_matches(name, candidates, n=4, cutoff=0.6)
    part = name.lower()
    longer = [each for each in candidates if part in each.lower()] if len(part) > 2 else []
    found = dict.fromkeys([*close, *sorted(longer, key=len)])
    return [match for match in found if match != name][:3]


def did_you_mean(name: str, candidates: Collection[str]) -> str:
    """The ending of an error message about an unknown name.

    Args:
        name: the name that was not found.
        candidates: the names there are.

    Returns:
        A parenthesis that starts with a blank, or "" when nothing resembles the name.

    >>> did_you_mean("chunk_byte", ["chunk_bytes", "scratch"])
    " (did you mean 'chunk_bytes'?)"
    """
    if name.startswith("__"):  # Python's own: each import from a module asks it for `__path__`
        return ""
    close = near_matches(name, candidates)
    return f" (did you mean {' or '.join(map(repr, close))}?)" if close else ""


def enumerated(names: Sequence[str], most: int = 10) -> str:
    """Return names for an error message, with how many there are besides the first.

    Args:
        names: what to name, in order; any texts.

    >>> enumerated(["a", "b", "c"], most=2), enumerated([])
    ('a, b and 1 more', '')
    """
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")


def restore_error(
    missing: Sequence[str],
    unexpected: Sequence[str],
    shapes: Sequence[tuple[str, Any, Any]],
    dtypes: Sequence[tuple[str, Any, Any]],
    available: Collection[str],
    source: str,
) -> RestoreError:
    """The one error of a strict restore, listing all that differs at once.

    Args:
        missing: names wanted that the source lacks.
        unexpected: names of the source that nobody wants.
        shapes: (name, wanted shape, stored shape) for each name stored with another shape.
        dtypes: (name, wanted dtype, stored dtype) for each name stored with another dtype.
        available: every name of the source; near matches are taken from it.
        source: path or name of what is restored.

    Returns:
        `MissingKeysError` (a `NotFoundError`) when a name is missing, else `MismatchError`
        (an `InvalidArgumentError`), as `tf.train.Saver.restore` raises for the first difference.

    Raises:
        ValueError: nothing differs.

    >>> print(restore_error(["kernal"], [], [("b", (3,), (4,))], [], ["kernel", "b"], "model-1"))
    Cannot restore from model-1; nothing was assigned.
      1 missing:
        kernal: Key kernal not found in checkpoint (did you mean 'kernel'?)
      1 with another shape (Assign requires shapes of both tensors to match.):
        b: wanted (3,), stored (4,)
    """
    if not (missing or unexpected or shapes or dtypes):
        raise ValueError("restore_error() needs at least one difference to report; found none")
    # Names already wanted elsewhere are poor suggestions, so leftovers come first.
    candidates = list(unexpected) or list(available)
    suggested = NEAR_MATCH_PAIRS // max(1, len(candidates))
    lines = [f"Cannot restore from {source}; nothing was assigned."]
    lines += section(
        "missing",
        [
            f"{name}: Key {name} not found in checkpoint"
            + (did_you_mean(name, candidates) if position < suggested else "")
            for position, name in enumerate(missing)
        ],
    )
    lines += section("unexpected", list(unexpected))
    titles = (
        "with another shape (Assign requires shapes of both tensors to match.)",
        "with another dtype (expected dtype does not equal original dtype)",
    )
    for title, rows in zip(titles, (shapes, dtypes), strict=True):
        lines += section(title, [f"{name}: wanted {a}, stored {b}" for name, a, b in rows])
    kind = MissingKeysError if missing else MismatchError
    return kind(
        None,
        None,
        "\n".join(lines),
        missing=missing,
        unexpected=unexpected,
        shapes=shapes,
        dtypes=dtypes,
        source=source,
    )


def section(title: str, rows: Sequence[str]) -> list[str]:
    """The lines of one indented part of a message; none when there are no rows."""
    return [f"  {len(rows)} {title}:", *(f"    {row}" for row in rows)] if rows else []


_BY_CODE: dict[int, type[OpError]] = {
    cls.code: cls
    for cls in (
        CancelledError,
        UnknownError,
        InvalidArgumentError,
        DeadlineExceededError,
        NotFoundError,
        AlreadyExistsError,
        PermissionDeniedError,
        ResourceExhaustedError,
        FailedPreconditionError,
        AbortedError,
        OutOfRangeError,
        UnimplementedError,
        InternalError,
        UnavailableError,
        DataLossError,
        UnauthenticatedError,
    )
}


_RAISED: dict[type[Exception], type[OpError]] = {
    ValueError: InvalidArgumentError,
    TypeError: InvalidArgumentError,
    StopIteration: OutOfRangeError,
    MemoryError: ResourceExhaustedError,
    NotImplementedError: UnimplementedError,
}


def kind_of(error: Exception) -> type[OpError]:
    """The error class that stands for what a user's function raised, as TensorFlow chooses it.

    >>> kind_of(MemoryError()).__name__, kind_of(OSError()).__name__
    ('ResourceExhaustedError', 'UnknownError')
    """
    return next((k for raised, k in _RAISED.items() if isinstance(error, raised)), UnknownError)


def exception_type_from_error_code(error_code: int) -> type[OpError]:
    """The error class of a code.

    Args:
        error_code: one of the codes of this module other than `OK`.

    Returns:
        A subclass of `OpError`.

    Raises:
        KeyError: no class has that code.

    Source: `tf.errors.exception_type_from_error_code`.

    >>> exception_type_from_error_code(NOT_FOUND).__name__
    'NotFoundError'
    """
    return _BY_CODE[error_code]


def error_code_from_exception_type(cls: type[OpError]) -> int:
    """The code of an error class.

    Args:
        cls: a subclass of `OpError`.

    Returns:
        The class's code.

    Source: `tf.errors.error_code_from_exception_type`.

    >>> error_code_from_exception_type(DataLossError)
    15
    """
    return cls.code


_INSTEAD = {
    "raise_exception_on_not_ok_status": ": leave it out, operations raise errors themselves"
}


def _missing(name: str) -> NoReturn:
    """Say what there is instead of a name that is not here."""
    hint = _INSTEAD.get(name) or did_you_mean(name, [n for n in globals() if n[0] != "_"])
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")


if not TYPE_CHECKING:
    __getattr__ = _missing
