"""Documents whose blocks of code are run: the README and the guides.

A document is one program. Its ``python`` blocks run in one process, as at a prompt, its ``sh``
blocks between them in the same folder; a ``text`` block is what the block before it prints (with
``...`` for what differs from run to run), and a block without one prints nothing.

    python -m tests.documents examples/guides/start.md  # what is printed now, into its text blocks
"""

from __future__ import annotations

import doctest
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from tests import fresh
from tests.sources import ROOT

README = ROOT / "README.md"
GUIDES = sorted((ROOT / "examples" / "guides").glob("*.md"))
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

# Runs blocks in one namespace, so that lines of errors are those of the document.
RUN_BLOCKS = """
import contextlib, io, json, os, subprocess, sys

folder = os.path.dirname(sys.executable)
os.environ["PATH"] = os.pathsep.join([folder, os.environ["PATH"]])
name, blocks, answer = sys.argv[1:]
printed, namespace = [], {"__name__": "document"}
for line, kind, code in json.load(open(blocks)):
    output = io.StringIO()
    if kind == "sh":
        done = subprocess.run(code, shell=True, capture_output=True, text=True)
        assert done.returncode == 0, f"{name}, line {line}: {done.stdout}{done.stderr}"
        output.write(done.stdout)
    else:
        with contextlib.redirect_stdout(output):
            exec(compile("\\n" * line + code, name, "exec"), namespace)
    printed.append(output.getvalue())
json.dump(printed, open(answer, "w"))
"""


class Block(NamedTuple):
    """A fenced block: its line, kind, what it holds, and what it should print."""

    line: int
    kind: str
    code: str
    expected: str


def blocks_of(text: str) -> list[Block]:
    """Return a document's blocks that are run, each with the text block after it."""
    found: list[Block] = []
    for match in FENCE.finditer(text):
        line, kind = text[: match.start()].count("\n") + 1, match[1]
        if kind == "text":
            assert found and not found[-1].expected, f"line {line}: the text of no block"
            found[-1] = found[-1]._replace(expected=match[2])
        else:
            assert kind in ("python", "sh"), f"line {line}: a block of {kind!r} is not run"
            found.append(Block(line, kind, match[2], ""))
    return found


def starts_workers(blocks: list[Block]) -> bool:
    """Return whether the program starts workers, which may import its main module anew."""
    return any("Client(" in block.code for block in blocks)


def run(name: str, blocks: list[Block], folder: Path, python: str = sys.executable) -> list[str]:
    """Run blocks in a fresh process, in a folder, and return what each prints."""
    (folder / "blocks.json").write_text(json.dumps([block[:3] for block in blocks]))
    arguments = [name, "blocks.json", "printed.json"]
    if python == sys.executable:
        fresh.printed("-c", RUN_BLOCKS, *arguments, here=folder, after=fresh.PACKAGE)
    else:
        command = [python, "-c", RUN_BLOCKS, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=110, cwd=folder)
        assert done.returncode == 0, done.stderr
    printed = json.loads((folder / "printed.json").read_text())
    return [re.sub(r" +$", "", text, flags=re.M).rstrip() + "\n" * bool(text) for text in printed]


def check(name: str, blocks: list[Block], printed: list[str]) -> None:
    """Compare what blocks print with what the document says."""
    for block, found in zip(blocks, printed, strict=True):
        wanted = block.expected
        if not doctest.OutputChecker().check_output(wanted, found, doctest.ELLIPSIS):
            assert found == wanted, f"{name}, line {block.line}"


def links_of(text: str) -> list[str]:
    """Return where the links and pictures of a document lead within the checkout."""
    prose = FENCE.sub("", text)
    found = re.findall(r"\]\(([^)\s]+)\)", prose)
    return [link.partition("#")[0] for link in found if not re.match(r"https?:|#", link)]


def main(paths: list[str]) -> None:
    """Run documents and write what they print into them."""
    for path in map(Path, paths):
        text = path.read_text()
        blocks = blocks_of(text)
        with tempfile.TemporaryDirectory() as folder:
            printed = run(path.name, blocks, Path(folder))
        changed = iter(zip(blocks, printed, strict=True))
        last = ""

        def filled(match: re.Match[str]) -> str:
            nonlocal last
            if match[1] != "text":
                last = next(changed)[1]  # noqa: B023
                return match[0]
            same = doctest.OutputChecker().check_output(match[2], last, doctest.ELLIPSIS)
            return match[0] if same else f"```text\n{last}```"

        path.write_text(FENCE.sub(filled, text))
        again = zip(blocks_of(path.read_text()), printed, strict=True)
        silent = [block.line for block, said in again if said and not block.expected]
        print(f"{path}: {len(blocks)} blocks; of these print without a text block: {silent}")


if __name__ == "__main__":
    main(sys.argv[1:])
