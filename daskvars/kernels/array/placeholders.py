"""What runs in place of a placeholder that nothing was fed for."""

from __future__ import annotations

from typing import NoReturn

from daskvars.backend import ArrayModule
from daskvars.dtypes import DType
from daskvars.errors import InvalidArgumentError

_TYPE_NAMES = {"float32": "float", "float64": "double", "float16": "half"}


def missing_feed(
    xp: ArrayModule, *, dtype: DType, shape: tuple[int, ...] | None, tensor: str
) -> NoReturn:
    """Raise InvalidArgumentError: a placeholder was needed that nothing was fed for."""
    sizes = ",".join("?" if n is None else str(n) for n in shape or ())
    raise InvalidArgumentError(
        None,
        tensor,
        f"You must feed a value for placeholder tensor '{tensor}' with dtype "
        f"{_TYPE_NAMES.get(dtype.name, dtype.name)}"
        + (f" and shape [{sizes}]" if sizes else "")
        + f". Give it to run: feed_dict={{{tensor + ':0'!r}: value}}",
    )
