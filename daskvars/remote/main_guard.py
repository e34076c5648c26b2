"""A program without ``if __name__ == "__main__":`` that starts a cluster, told so.

The processes of a local cluster import the program that starts it, to know its functions. Where
nothing guards it, each would start a cluster of its own; the system refuses that, and Dask shows
hundreds of lines in which the one word that matters is hard to find.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

from distributed import SpecCluster

MESSAGE = (
    'Put what the program does under `if __name__ == "__main__":`. A process of its cluster has '
    "imported {path}, to know its functions, and comes upon a cluster to start once more. So:\n\n"
    '    if __name__ == "__main__":\n'
    "        client = Client(...)\n"
    "        ...  # everything that is to be done once\n"
)


def imports_main() -> bool:
    """Return whether this process was started by another, and imports that one's program now."""
    imported = sys.modules.get("__mp_main__")  # becomes `__main__` at the end of its import
    return imported is not None and imported is not sys.modules.get("__main__")


def refuse_clusters_of_imports() -> None:
    """Make starting a cluster an error that says what to do, while the program is imported."""
    if not imports_main():
        return
    start = SpecCluster.__init__

    @functools.wraps(start)
    def guarded(self: Any, *args: Any, **kwargs: Any) -> None:
        if imports_main():
            path = getattr(sys.modules["__mp_main__"], "__file__", "the program")
            raise RuntimeError(MESSAGE.format(path=path))
        start(self, *args, **kwargs)

    SpecCluster.__init__ = guarded  # type: ignore[method-assign]
