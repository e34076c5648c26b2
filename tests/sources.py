"""Files of the project as syntax trees, each parsed once in a process of tests."""

import ast
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
