"""What was left when the package was imported, loaded when it is missed.

`import daskvars` loads no ops and no eager code. The package registers here how they are loaded;
who misses some of them, and may not import what is above, has them loaded from here: the registry
an op that a file names, the interpreter what records eager code.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module

_loaders: list[Callable[[], object]] = []


def load_with(load: Callable[[], object]) -> None:
    """Have `load` called when something is missed, after those that were registered before.

    It may be called again.
    """
    _loaders.append(load)


def load_until(is_there: Callable[[], object]) -> None:
    """Load more and more, until what is missed is there or nothing is left to load."""
    for load in _loaders:
        if is_there():
            break
        load()


@contextmanager
def paused_collector() -> Iterator[None]:
    """Have Python collect no garbage within; if it did not before, it does not after.

    Each time that their number has grown by a quarter, Python looks through all objects of the
    process, Dask's and Zarr's too: that took half as long again as the import of this package, and
    was a third of the time of lowering. Both make some hundred thousand objects, most of which
    stay, and no garbage that only the collector finds.

    It is paused for the whole process. Where several threads are in here at once, the first to end
    has it go on.

    >>> import gc
    >>> with paused_collector():
    ...     gc.isenabled()
    False
    >>> gc.isenabled()
    True
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def importing() -> Iterator[None]:
    """Have Python collect no garbage within, nor look through what was imported right after it.

    Modules stay for good, so what they made becomes old at once: `gc.unfreeze` puts into the oldest
    generation what `gc.freeze` took out of all. To look through it once is a tenth of importing
    this package (m, 20 of 190 ms). A program that keeps frozen objects of its own keeps them so.

    Dask's arrays are imported before: a function of theirs pauses the collector too, and leaves it
    as it was when that function was imported.
    """
    import_module("dask.array")
    with paused_collector():
        yield
        if not gc.get_freeze_count():
            gc.freeze()
            gc.unfreeze()
