"""Bars that say how far long work is: tqdm's, in a terminal or a notebook.

They are shown where somebody looks: standard error is a terminal, or the program a notebook;
`config.progress` is true; and ``tqdm`` is installed (the extra ``progress``), which is imported by
the first bar that is shown. Where none is shown, work costs what it costs without.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from typing import Any, Generic, Self, SupportsIndex, TypeVar

from daskvars import config

logger = logging.getLogger("daskvars")
Item = TypeVar("Item")

DELAY_S = 1.0
"""Seconds that saving, restoring and initializing take before a bar is shown for them."""
FIELDS_EVERY_S = 0.1
"""Least seconds between two looks at the fields of a bar: a value may first have to be computed."""


def is_shown() -> bool:
    """Return whether bars are shown now."""
    if not config.get().progress or not (_is_terminal() or in_notebook()):
        return False
    if find_spec("tqdm") is None:
        _tell_once()
        return False
    return True


def _is_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


def in_notebook() -> bool:
    """Return whether what is printed goes to a notebook."""
    return type(sys.stdout).__module__.startswith("ipykernel")


@cache
def _tell_once() -> None:
    logger.warning("no progress bars without tqdm: pip install 'daskvars[progress]'")


def _new_bar(**options: Any) -> Any:
    if in_notebook():
        from tqdm.auto import tqdm  # noqa: PLC0415 - optional
    else:
        from tqdm import tqdm  # noqa: PLC0415 - optional
    return tqdm(dynamic_ncols=True, **options)


class Progress(Generic[Item]):
    """How far something is, as a bar; made by `progress`.

    Iterating it gives the items and counts them. It is also a context manager that ends the bar.
    """

    def __init__(self, iterable: Iterable[Item] | None, **options: Any) -> None:
        self._iterable = iterable
        self._bar: Any = _new_bar(**options) if is_shown() else None
        self._fields: dict[str, Any] = {}
        self._next_s = 0.0

    def __iter__(self) -> Iterator[Item]:
        if self._iterable is None:
            raise TypeError("progress() of nothing is not iterated: give it an iterable, or update")
        with self:
            for item in self._iterable:
                yield item
                self.update()

    def __len__(self) -> int:
        if not isinstance(self._iterable, Sized):
            raise TypeError("progress() of what has no length")
        return len(self._iterable)

    def update(self, n: int = 1) -> None:
        """Count `n` more."""
        if self._bar is not None:
            self._bar.update(n)

    def set(self, **fields: Any) -> None:
        """Show values beside the bar, such as the loss: numbers, text, arrays of one element.

        They are looked at ten times a second at most, and not at all where no bar is shown: a loss
        that nobody sees is not waited for.
        """
        if self._bar is None:
            return
        self._fields.update(fields)
        if time.monotonic() >= self._next_s:
            self._show_fields()

    def _show_fields(self) -> None:
        shown = {
            name: value if isinstance(value, str | int) else float(value)
            for name, value in self._fields.items()
        }
        self._bar.set_postfix(shown, refresh=False)
        self._next_s = time.monotonic() + FIELDS_EVERY_S

    def close(self) -> None:
        """End the bar, with the last values of its fields."""
        if self._bar is not None:
            if self._fields:
                self._show_fields()
            self._bar.close()
            self._bar = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if error[0] is not None:
            self._fields.clear()  # a value may be what failed
        self.close()


def progress(
    iterable: Iterable[Item] | None = None,
    desc: str | None = None,
    total: int | None = None,
    unit: str = "step",
    leave: bool = True,
) -> Progress[Item]:
    """Show how far a loop is, as a bar in a terminal or a notebook.

    It is silent where standard error is neither, where ``config.set(progress=False)`` says so, and
    without tqdm (the extra ``progress``).

    Args:
      iterable: what is iterated; None where `Progress.update` counts.
      desc: stands before the bar.
      total: how many items there are, by default ``len(iterable)`` where it has one.
      unit: what is counted.
      leave: whether the bar stays when it is done.

    Returns:
      A `Progress`: iterate it, and `set` fields such as the loss.

    Raises:
      TypeError: `iterable` is none, a number for instance, or `total` is none.

    >>> bar = progress(range(3), desc="training")
    >>> for step in bar:
    ...     bar.set(loss=1.0 / (step + 1.0))
    >>> len(bar)
    3
    """
    if not (iterable is None or hasattr(iterable, "__iter__") or hasattr(iterable, "__getitem__")):
        raise TypeError(
            f"progress() goes through an iterable, got {iterable!r}: give range(n), or total=n and "
            "call update()"
        )
    if total is not None and not isinstance(total, SupportsIndex):
        raise TypeError(f"progress(total=...) is a number of items, got {total!r}")
    if total is None and isinstance(iterable, Sized):
        total = len(iterable)
    return Progress(iterable, desc=desc, total=total, unit=unit, leave=leave)


@contextmanager
def long_work(desc: str, total: int, unit: str = "chunk") -> Iterator[Callable[..., object]]:
    """Show how far work is once it takes longer than `DELAY_S`; give what counts items, one or n.

    That may be called from several threads. The bar vanishes at the end.

    Args:
      desc: what is done; "" where nobody is told.
      total: how many items it has.
      unit: what they are.
    """
    if not desc or total < 2 or not is_shown():
        yield _nothing
        return
    lock = threading.Lock()
    with _new_bar(desc=desc, total=total, unit=unit, leave=False, delay=DELAY_S) as bar:

        def advance(n: int = 1) -> None:
            with lock:
                bar.update(n)

        yield advance


def _nothing(n: int = 1) -> None:
    pass
