"""A Python that has TensorFlow, for tests that ask TensorFlow itself."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys

import pytest


def printed_by_tensorflow(code: str, *arguments: object) -> str:
    """Return what code prints, run by ``DASKVARS_TENSORFLOW_PYTHON``, or this Python if it can.

    Where neither has TensorFlow, the test is skipped.

    Raises:
      AssertionError: it failed; the message is what it said.
    """
    python = os.environ.get("DASKVARS_TENSORFLOW_PYTHON")
    if not python and importlib.util.find_spec("tensorflow") is None:
        pytest.skip("TensorFlow is not installed; name a Python in DASKVARS_TENSORFLOW_PYTHON")
    found = subprocess.run(
        [python or sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert found.returncode == 0, found.stderr
    return found.stdout.strip()
