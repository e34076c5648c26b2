"""A newcomer's walk: the README from its top, each block pasted, then the notebook.

    python -m tests.newcomer

It takes some minutes and installs from the package index, so the suite leaves it to you, and CI,
which installs the package and runs its tests itself. What is committed is taken to an empty folder,
where the README's commands make a virtual environment and run in it; the whole of the tests, which
one of them runs, is put in by those of the house alone.
"""

from __future__ import annotations

import os
import re
import subprocess
import tarfile
import tempfile
import time
from pathlib import Path

from tests import documents
from tests.documents import README, ROOT

COMMANDS = re.compile(r"(?:^    \S.*\n)+", re.MULTILINE)  # blocks that are indented
TESTS = "-n 3 --dist loadfile"
HOUSE = "-n 2 --dist loadfile tests/test_structure.py tests/test_layers.py"
NOTEBOOK = """
import nbformat, sys
from nbclient import NotebookClient

notebook = nbformat.read(sys.argv[1], 4)
NotebookClient(notebook, timeout=300).execute()
print(sum(cell.cell_type == "code" for cell in notebook.cells), "cells")
"""


def shell(command: str, folder: Path) -> None:
    """Run a command as it would be pasted, and say how long it took.

    Raises:
      AssertionError: it failed.
    """
    print(f"$ {command}", flush=True)
    began = time.perf_counter()
    done = subprocess.run(["bash", "-ec", command], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    for line in done.stdout.splitlines()[-3:]:
        print(f"    {line}")
    print(f"    ({time.perf_counter() - began:.0f} s)", flush=True)


def checkout(folder: Path) -> Path:
    """Return a folder with what is committed."""
    archive = folder / "checkout.tar"
    subprocess.run(["git", "archive", "-o", archive, "HEAD"], cwd=ROOT, check=True)
    with tarfile.open(archive) as files:
        files.extractall(folder / "checkout", filter="data")
    return folder / "checkout"


def walk(folder: Path) -> None:
    """Do all that the README says."""
    text = README.read_text()
    before, _, rest = text.partition("\n## One minute\n")
    here = checkout(folder)
    for block in COMMANDS.findall(before):
        for line in block.splitlines():
            shell(line.strip().replace(TESTS, HOUSE), here)
    blocks = documents.blocks_of(rest)
    python = str(here / ".venv/bin/python")
    documents.check(README.name, blocks, documents.run(README.name, blocks, here, python))
    print(f"{len(blocks)} blocks of the README do what they say", flush=True)
    (here / "notebook.py").write_text(NOTEBOOK)
    shell(".venv/bin/python notebook.py examples/first_steps.ipynb", here)


if __name__ == "__main__":
    os.environ.pop("PYTHONPATH", None)  # of whoever is no newcomer
    with tempfile.TemporaryDirectory() as place:
        walk(Path(place))
