"""The size of files and functions, and habits that hide mistakes."""

import ast
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
MODULES = sorted((ROOT / "daskvars").rglob("*.py"))
FILES = sorted(
    [*MODULES, *(p for d in ("tests", "examples", "benchmarks") for p in (ROOT / d).rglob("*.py"))]
)
FORBIDDEN_NAMES = {"utils", "common", "base", "helpers", "misc", "impl", "core"}
MOST_LINES, MOST_FUNCTION_LINES, MOST_COLUMNS = 400, 60, 100


def relative(path):
    return str(path.relative_to(ROOT))


def functions(path):
    return [
        node for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]  # fmt: skip


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_a_file_is_short(path):
    count = len(path.read_text().splitlines())
    assert count <= MOST_LINES, f"{relative(path)} has {count} lines; split it"


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_functions_are_short(path):
    long = {
        node.name: size for node in functions(path)
        if (size := node.end_lineno - node.lineno + 1) > MOST_FUNCTION_LINES
    }  # fmt: skip
    assert not long, f"functions of more than {MOST_FUNCTION_LINES} lines: {long}"


def test_most_functions_are_tiny():
    sizes = sorted(n.end_lineno - n.lineno + 1 for path in MODULES for n in functions(path))
    median = sizes[len(sizes) // 2]
    print(f"{len(MODULES)} modules, {len(sizes)} functions, median {median} lines")
    assert median <= 12


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_no_error_is_swallowed(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ExceptHandler):
            assert node.type is not None, f"{relative(path)}:{node.lineno} names no exception"
            silent = len(node.body) == 1 and isinstance(node.body[0], ast.Pass)
            assert not silent, (
                f"{relative(path)}:{node.lineno} drops an error; say why or handle it"
            )


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_nothing_is_left_to_do(path):
    marks = ("TO" + "DO", "FIX" + "ME", "XX" + "X")
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type in (tokenize.COMMENT, tokenize.STRING):
                found = [mark for mark in marks if mark in token.string]
                assert not found, f"{relative(path)}:{token.start[0]} has {found}"


@pytest.mark.parametrize("path", MODULES, ids=relative)
def test_a_module_says_what_it_is(path):
    tree = ast.parse(path.read_text())
    assert ast.get_docstring(tree), f"{relative(path)} has no docstring"
    name = path.stem
    assert name not in FORBIDDEN_NAMES, f"{relative(path)}: the name says nothing"
    assert name.startswith("__") or not name.startswith("_"), f"{relative(path)}: underscore"


@pytest.mark.parametrize("path", MODULES, ids=relative)
def test_public_functions_and_classes_have_docstrings(path):
    public = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    bare = [
        node.name for node in ast.parse(path.read_text()).body
        if isinstance(node, public) and node.name[0] != "_" and not ast.get_docstring(node)
    ]  # fmt: skip
    assert not bare, f"{relative(path)}: no docstring for {bare}"
