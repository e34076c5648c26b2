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


def num_lines(function):
    """The lines of a function without its docstring, which may say as much as it needs to."""
    docstring = function.body[0] if ast.get_docstring(function) else None
    said = docstring.end_lineno - docstring.lineno + 1 if docstring else 0
    return function.end_lineno - function.lineno + 1 - said


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_functions_are_short(path):
    sizes = {node.name: num_lines(node) for node in functions(path)}
    long = {name: size for name, size in sizes.items() if size > MOST_FUNCTION_LINES}
    assert not long, f"functions of more than {MOST_FUNCTION_LINES} lines: {long}"


def test_most_functions_are_tiny():
    sizes = sorted(num_lines(node) for path in MODULES for node in functions(path))
    median = sizes[len(sizes) // 2]
    print(f"{len(MODULES)} modules, {len(sizes)} functions, median {median} lines")
    assert median <= 12


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_no_error_is_swallowed(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ExceptHandler):
            assert node.type is not None, f"{relative(path)}:{node.lineno} names no exception"
            broad = {"Exception", "BaseException"} & {
                name.id for name in ast.walk(node.type) if isinstance(name, ast.Name)
            }
            silent = broad and len(node.body) == 1 and isinstance(node.body[0], ast.Pass)
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
    text = path.read_text()
    bare = [
        node.name for node in ast.parse(text).body
        if isinstance(node, public) and node.name[0] != "_" and not ast.get_docstring(node)
        and f"\n{node.name}.__doc__ = " not in text
    ]  # fmt: skip
    assert not bare, f"{relative(path)}: no docstring for {bare}"
