"""What was left when the package was imported, loaded when it is missed.

`import daskvars` loads no ops and no eager code. The package registers here how they are loaded;
who misses some of them, and may not import what is above, has them loaded from here: the registry
an op that a file names, the interpreter what records eager code.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

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
def without_collecting() -> Iterator[None]:
    """Have no garbage collected meanwhile.

    Modules are no garbage. But so many objects come with those of this package that the collector
    would go through all of Dask's and Zarr's, which takes half as long again as the import.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
