"""The size of functions, and habits that hide mistakes."""

import ast
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

import daskvars
from tests import sources

ROOT = Path(__file__).resolve().parent.parent
MODULES = sorted((ROOT / "daskvars").rglob("*.py"))
FILES = sorted(
    [*MODULES, *(p for d in ("tests", "examples", "benchmarks") for p in (ROOT / d).rglob("*.py"))]
)
FORBIDDEN_NAMES = {"utils", "common", "base", "helpers", "misc", "impl", "core"}
MAX_FUNCTION_LINES = 60
pytestmark = pytest.mark.usefixtures("trees")
MARKS = ("TO" + "DO", "FIX" + "ME", "XX" + "X")


class Facts(NamedTuple):
    """What the tests look at in a file, so that it is parsed once.

    Attributes:
      text: all of it.
      docstring: the module's, None without one.
      function_lines: (name, lines without the docstring) of each function.
      bare: public functions and classes without a docstring.
      bare_excepts: lines of ``except`` without a type.
      silent_excepts: lines where any error at all is dropped.
    """

    text: str
    docstring: str | None
    function_lines: list[tuple[str, int]]
    bare: list[str]
    bare_excepts: list[int]
    silent_excepts: list[int]


@cache
def facts(path):
    text = path.read_text()
    tree = ast.parse(text)
    nodes = [node for node in sources.statements_in(tree) if not is_overload(node)]
    handlers = [node for node in nodes if isinstance(node, ast.ExceptHandler)]
    functions = ast.FunctionDef | ast.AsyncFunctionDef
    return Facts(
        text,
        ast.get_docstring(tree),
        [(node.name, num_lines(node)) for node in nodes if isinstance(node, functions)],
        [
            node.name
            for node in tree.body
            if isinstance(node, functions | ast.ClassDef)
            and not is_overload(node)
            and node.name[0] != "_"
            and not ast.get_docstring(node)
            and f"\n{node.name}.__doc__ = " not in text
        ],
        [node.lineno for node in handlers if node.type is None],
        [node.lineno for node in handlers if is_silent(node)],
    )


def is_overload(node):
    """Whether a definition is a signature for type checkers only."""
    decorators = getattr(node, "decorator_list", ())
    return any(isinstance(d, ast.Name) and d.id == "overload" for d in decorators)


def num_lines(function):
    """The lines of a function without its docstring, which may say as much as it needs to."""
    docstring = function.body[0] if ast.get_docstring(function) else None
    said = docstring.end_lineno - docstring.lineno + 1 if docstring else 0
    return function.end_lineno - function.lineno + 1 - said


def is_silent(handler):
    """Whether an ``except`` block drops errors of every kind."""
    caught = {node.id for node in ast.walk(handler) if isinstance(node, ast.Name)}
    is_broad = handler.type is None or {"Exception", "BaseException"} & caught
    return bool(is_broad and len(handler.body) == 1 and isinstance(handler.body[0], ast.Pass))


def offenders(paths, problems):
    """Return file -> what `problems` finds in its facts, of those where it finds something."""
    found = {str(path.relative_to(ROOT)): problems(facts(path)) for path in paths}
    return {name: problem for name, problem in found.items() if problem}


def test_functions_are_short():
    assert not offenders(
        FILES, lambda file: [f for f in file.function_lines if f[1] > MAX_FUNCTION_LINES]
    )


def test_most_functions_are_tiny():
    sizes = sorted(size for path in MODULES for _, size in facts(path).function_lines)
    median = sizes[len(sizes) // 2]
    print(f"{len(MODULES)} modules, {len(sizes)} functions, median {median} lines")
    assert median <= 12


def test_no_error_is_swallowed():
    assert not offenders(FILES, lambda file: file.bare_excepts)
    assert not offenders(FILES, lambda file: file.silent_excepts)


def test_a_dropped_error_is_seen():
    dropped, handled = ast.parse(
        "try: f()\nexcept Exception: pass\ntry: f()\nexcept KeyError: pass"
    ).body
    assert is_silent(dropped.handlers[0])
    assert not is_silent(handled.handlers[0])


def test_nothing_is_left_to_do():
    assert not offenders(FILES, lambda file: [mark for mark in MARKS if mark in file.text])


def test_nothing_depends_on_how_many_references_there_are():
    """They differ between versions of Python: who may write into what is said (`Values.lease`)."""
    counts = ("getref" + "count", "get_ref" + "errers")
    assert not offenders(FILES, lambda file: [name for name in counts if name in file.text])


def test_modules_say_what_they_are():
    assert not offenders(MODULES, lambda file: not file.docstring)
    names = {path.stem for path in MODULES}
    assert not names & FORBIDDEN_NAMES, "such a name says nothing"
    assert not [name for name in names if name.startswith("_") and not name.startswith("__")]


def unnamed(folder):
    """Return the files and folders of a room that its note leaves out, if it names most of them."""
    note = facts(folder / "__init__.py").docstring or ""
    here = [p for p in folder.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()]
    names = {p.stem for p in here} - {"__init__"}
    left_out = {name for name in names if not re.search(rf"`{name}`", note)}
    return sorted(left_out) if 2 * len(left_out) < len(names) else []


def test_a_note_that_names_the_files_of_a_room_names_all():
    folders = {path.parent for path in MODULES}
    assert not {str(f.relative_to(ROOT)): names for f in folders if (names := unnamed(f))}


def test_public_functions_and_classes_have_docstrings():
    assert not offenders(MODULES, lambda file: file.bare)


def test_the_changelog_begins_with_this_version():
    entries = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(), re.M)
    versions = [
        re.fullmatch(r"\[(\d+\.\d+\.\d+)\] - (unreleased|\d{4}-\d\d-\d\d)", e) for e in entries
    ]
    assert all(versions), entries
    assert versions[0][1] == daskvars.__version__
    dates = [found[2] for found in versions[1:]]
    assert dates == sorted(dates, reverse=True) and "unreleased" not in dates
