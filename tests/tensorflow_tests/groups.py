"""Which of TensorFlow's files are a group, and how many of its tests are to pass."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple


class Group(NamedTuple):
    """Files of tests.

    Attributes:
      files: patterns, from ``tensorflow/python``.
      goal: the part of its tests that is to pass, in percent.
    """

    files: tuple[str, ...]
    goal: float


GROUPS = {
    "sparse": Group(("kernel_tests/sparse*_test.py",), 90),
    "data": Group(("data/kernel_tests/*_test.py",), 85),
    "input": Group(("training/input_test.py",), 80),
    "supervisor": Group(("training/supervisor_test.py",), 80),
    "ops": Group(("ops/*_test.py",), 97),
    "layers": Group(("layers/*_test.py",), 97),
    "training": Group(("training/*_test.py",), 97),
    "kernel_tests": Group(("kernel_tests/*_test.py",), 97),
}


def files_of(group: str, root: Path) -> list[Path]:
    """Return the files of a group in a checkout, in the order of their names."""
    python = root / "tensorflow" / "python"
    found = sorted(path for pattern in GROUPS[group].files for path in python.glob(pattern))
    if not found:
        raise FileNotFoundError(f"{python} has no {' '.join(GROUPS[group].files)}")
    return found
