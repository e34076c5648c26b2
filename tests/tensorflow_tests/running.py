"""Runs files of TensorFlow's tests, each in a process of its own, and counts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.tensorflow_tests.groups import GROUPS, files_of
from tests.tensorflow_tests.one_file import PREFIX

SECONDS_OF_A_TEST = 120
SECONDS_OF_A_FILE = 900


class Outcome(NamedTuple):
    """What became of a test.

    Attributes:
      test: its file from ``tensorflow/python``, class and name.
      what: "passed", "failed" or "left out".
      reason: why, in a line.
    """

    test: str
    what: str
    reason: str


def rate(group: str, outcomes: Sequence[Outcome]) -> str:
    """Return how many tests of a group passed, in a line."""
    counts = Counter(outcome.what for outcome in outcomes)
    passed, counted = counts["passed"], counts["passed"] + counts["failed"]
    percent, goal = 100 * passed / max(counted, 1), GROUPS[group].goal
    return f"{group}: {passed}/{counted} = {percent:.1f} % (goal {goal} %)"


def run_group(group: str, root: Path, part: str = "") -> Iterator[Outcome]:
    """Give what becomes of each test of a group whose name has a part."""
    for file in files_of(group, root):
        yield from run_file(file, root, part)


def run_file(file: Path, root: Path, part: str = "") -> list[Outcome]:
    """Return what becomes of each test of a file. What it did not come to has failed."""
    name = file.relative_to(root / "tensorflow" / "python").as_posix()
    command = [sys.executable, "-m", f"{__package__}.one_file"]
    command += [str(root), str(file), str(SECONDS_OF_A_TEST), part]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, [os.getcwd(), *sys.path])),
    }
    with tempfile.TemporaryDirectory() as folder:
        environment["TEST_TMPDIR"] = folder
        try:
            process = subprocess.run(
                command,
                cwd=root,
                env=environment,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=SECONDS_OF_A_FILE,
                check=False,
            )
            said, ended = process.stdout, process.stderr
        except subprocess.TimeoutExpired as error:
            said, ended = (error.stdout or b"").decode(errors="replace"), "out of time"
    told = [
        json.loads(line[len(PREFIX) :]) for line in said.splitlines() if line.startswith(PREFIX)
    ]
    outcomes = [Outcome(f"{name}::{test}", what, reason) for test, what, reason in told if test]
    if not any(what == "ended" for _, what, _ in told):
        last = [line for line in ended.splitlines() if line.strip()][-1:]
        outcomes.append(Outcome(f"{name}::the file", "failed", "".join(last)))
    return outcomes
