"""Files of the project as syntax trees, each parsed once for a module of tests that has `trees`.

All of them are more than a million objects. Rules of what is imported or defined look at statements
alone, which are a tenth of that, and rules of a few names at the files in which these stand.
"""

import ast
import gc
import re
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@cache
def tree(path: Path) -> ast.Module:
    """Return the syntax tree of a file of the project, which is not to be changed."""
    return ast.parse(path.read_text())


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """Return all nodes of a file of the project."""
    return tuple(ast.walk(tree(path)))


@cache
def statements(path: Path) -> tuple[ast.AST, ...]:
    """Return all nodes of a file that are no expressions, nor parts of one."""
    return tuple(statements_in(tree(path)))


def statements_in(node: ast.AST) -> list[ast.AST]:
    """Return a node, and the statements and handlers in it, however deep."""
    found = [node]
    for each in found:
        for field in ("body", "orelse", "finalbody", "handlers", "cases"):
            inner = getattr(each, field, None)
            if isinstance(inner, list):
                found += inner
    return found


def naming(paths: Iterable[Path], names: Iterable[str], as_ends: bool = False) -> Iterator[Path]:
    """Yield the files in which one of some names stands, as itself or as Python reads it.

    With `as_ends`, also those in which it is the last word of another name, as in ``MAX_ROWS``.
    """
    start = r"(?:\b|_)" if as_ends else r"\b"
    of_names = re.compile(rf"{start}({'|'.join(map(re.escape, names))})\b")
    for path in paths:
        text = path.read_text()
        if of_names.search(text if text.isascii() else unicodedata.normalize("NFKC", text)):
            yield path


@contextmanager
def kept() -> Iterator[None]:
    """Keep trees while the block runs: the garbage collector would go through them all the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        for each in (tree, nodes, statements):
            each.cache_clear()
        if was_enabled:
            gc.enable()
