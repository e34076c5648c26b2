"""The array API standard's own tests, array-api-tests, against eager values.

They are on no package index: ``DASKVARS_ARRAY_API_TESTS`` names a folder with their repository and
its submodule; the extra "array-api-tests" has what they import. What is known to fail, and why, is
in ``tests/data/array_api_xfails.txt``; anything else that fails, fails here.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from daskvars.ops.protocols import array_api

FOLDER = os.environ.get("DASKVARS_ARRAY_API_TESTS", "")
KNOWN = Path(__file__).parents[2] / "data" / "array_api_xfails.txt"
EXAMPLES = 25  # of each test


def known_failures():
    return [line for line in KNOWN.read_text().splitlines() if line and line[0] != "#"]


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.skipif(not FOLDER, reason="DASKVARS_ARRAY_API_TESTS names no array-api-tests")
def test_what_fails_of_array_api_tests_is_known():
    command = [
        *(sys.executable, "-m", "pytest", "array_api_tests", "-q", "-p", "no:cacheprovider"),
        *("--max-examples", str(EXAMPLES), "--disable-deadline", "--derandomize"),
        *("--xfails-file", str(KNOWN)),
    ]
    environment = {
        **os.environ,
        "ARRAY_API_TESTS_MODULE": array_api.__name__,
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    run = subprocess.run(
        command, cwd=FOLDER, env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout[-8000:] + run.stderr[-2000:]
    found = {word: int(n) for n, word in re.findall(r"(\d+) (passed|xfailed)", run.stdout)}
    assert found["passed"] > 1_300, found


def test_the_docstring_says_how_many_fail():
    assert f"{len(known_failures())} fail" in " ".join(array_api.__doc__.split())
