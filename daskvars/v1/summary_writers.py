"""The writers of event files that hooks share: one per directory."""

from __future__ import annotations

import os
import threading
from os import PathLike
from typing import Any, ClassVar

from daskvars.summary.file_writer import FileWriter

__all__ = ["FileWriterCache"]


class FileWriterCache:
    """The writers of this process, one per directory.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as logdir:
    ...     FileWriterCache.get(logdir) is FileWriterCache.get(logdir)
    ...     FileWriterCache.clear()
    True
    """

    _cache: ClassVar[dict[str, FileWriter]] = {}
    _lock: ClassVar[Any] = threading.RLock()

    @staticmethod
    def get(logdir: str | PathLike[str]) -> FileWriter:
        """Return the writer of a directory, made on first use."""
        key = os.fspath(logdir)
        with FileWriterCache._lock:
            if key not in FileWriterCache._cache:
                FileWriterCache._cache[key] = FileWriter(key)
            return FileWriterCache._cache[key]

    @staticmethod
    def clear() -> None:
        """Close all writers and forget them."""
        with FileWriterCache._lock:
            for writer in FileWriterCache._cache.values():
                writer.close()
            FileWriterCache._cache.clear()
