"""Runs the tests of one of TensorFlow's files, and prints what became of each, a line of JSON.

python -m tests.tensorflow_tests.one_file ROOT FILE SECONDS [PART_OF_A_NAME]
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import signal
import sys
import types
import unittest
from pathlib import Path
from typing import Any

from tests.tensorflow_tests.left_out import Source
from tests.tensorflow_tests.shim import Finder, StandIn

MEMORY_BYTES = 6 << 30  # more than that is a test that fails
PREFIX = "@@ "  # of the lines that count; tests print others


class TooLongError(BaseException):
    """A test took longer than it may."""


def say(test: str, outcome: str, reason: str = "") -> None:
    """Print a line about a test: "passed", "failed" or "left out"."""
    text = PREFIX + json.dumps([test, outcome, " ".join(reason.split())[:300]])
    sys.__stdout__.write(f"\n{text}\n")
    sys.__stdout__.flush()


def out_of_time(*_: Any) -> None:
    """End a test."""
    raise TooLongError("out of time")


class Told(unittest.TestResult):
    """Says what became of each test."""

    def __init__(self, seconds: int) -> None:
        super().__init__()
        self._seconds = seconds
        self.seen: set[str] = set()
        self._failure: str | None = None
        self._skipped: str | None = None

    def startTest(self, test: unittest.TestCase) -> None:
        self._failure = self._skipped = None
        signal.alarm(self._seconds)
        super().startTest(test)

    def stopTest(self, test: unittest.TestCase) -> None:
        signal.alarm(0)
        super().stopTest(test)
        name = name_of(test)
        self.seen.add(name)
        if self._failure is not None:
            say(name, "failed", self._failure)
        elif self._skipped is not None:
            say(name, "left out", f"skips itself: {self._skipped}")
        else:
            say(name, "passed")

    def _failed(self, error: Any) -> None:
        if self._failure is None:
            self._failure = f"{error[0].__name__}: {error[1]}"

    def addError(self, test: Any, err: Any) -> None:
        super().addError(test, err)
        self._failed(err)

    def addFailure(self, test: Any, err: Any) -> None:
        super().addFailure(test, err)
        self._failed(err)

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._failed(err)

    def addSkip(self, test: Any, reason: str) -> None:
        super().addSkip(test, reason)
        self._skipped = reason


def name_of(test: unittest.TestCase) -> str:
    """Return the name of a test: class and method."""
    return f"{type(test).__name__}.{test._testMethodName}"


def tests_of(module: types.ModuleType) -> list[unittest.TestCase]:
    """Return the tests of a file, in its order of classes."""
    loader = unittest.TestLoader()
    kinds = (value for value in vars(module).values() if isinstance(value, type))
    found = [kind for kind in dict.fromkeys(kinds) if issubclass(kind, unittest.TestCase)]
    return [
        kind(name)
        for kind in found
        for name in loader.getTestCaseNames(kind)
        if kind.__module__ == module.__name__ and name not in ("test_session", "testSkipEager")
    ]


def run(root: Path, file: Path, seconds: int, part: str) -> None:
    """Run the tests of a file of the checkout whose names have a part."""
    os.environ["TEST_SRCDIR"] = str(root / "tensorflow")  # what tests name their files from
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
    Finder.install(root)
    StandIn.is_loading = True
    module = importlib.import_module(".".join(file.relative_to(root).with_suffix("").parts))
    StandIn.is_loading = False
    source = Source(file, root)
    signal.signal(signal.SIGALRM, out_of_time)
    told, counted = Told(seconds), []
    for test in tests_of(module):
        if part not in name_of(test):
            continue
        reason = source.reason(type(test).__name__, test._testMethodName)
        if reason is None:
            counted.append(test)
        else:
            say(name_of(test), "left out", reason)
    names = [name_of(test) for test in counted]
    unittest.TestSuite(counted).run(told)
    for name in names:
        if name not in told.seen:
            say(name, "failed", "its class could not be set up")


if __name__ == "__main__":
    run(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), "".join(sys.argv[4:]))
    say("", "ended")
    os._exit(0)  # threads that a test left behind end here
