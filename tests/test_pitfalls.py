"""Each check of a pitfall is there, and a run of tests that does not come to it fails."""

import ast

import pytest

from tests.pitfalls import PITFALLS, REQUIRED, Watch, problems
from tests.sources import ROOT, tree

CHECKS = {
    (file, f"test_{name}")
    for _, files in PITFALLS.values()
    for file, names in files.items()
    for name in names
}


def test_those_required_are_here():
    assert REQUIRED.issubset(PITFALLS)
    assert [*PITFALLS] == sorted(PITFALLS)


@pytest.mark.usefixtures("trees")
def test_each_names_checks_that_are_run():
    for _, files in PITFALLS.values():
        assert files
        assert all(files.values())
    for file, name in CHECKS:
        functions = [n for n in tree(ROOT / "tests" / file).body if isinstance(n, ast.FunctionDef)]
        (function,) = (function for function in functions if function.name == name)
        marks = [ast.unparse(mark) for mark in function.decorator_list]
        assert not [mark for mark in marks if "skip" in mark or "xfail" in mark], name


def test_this_run_watches(request):
    assert request.config.pluginmanager.has_plugin("pitfalls")


def test_a_check_that_is_gone_skipped_or_fails_is_named():
    files = {file for file, _ in CHECKS}
    sound = {check: {"passed"} for check in CHECKS}
    assert problems(sound, files) == []
    assert problems({}, set()) == []
    for file, name in CHECKS:
        others = {key: seen for key, seen in sound.items() if key != (file, name)}
        (found, *_) = problems(others, files)
        assert found.endswith(f"tests/{file}::{name} is gone")
        assert problems(others, files, is_selective=True) == []
        assert problems(others, files - {file}) == []
        (found, *_) = problems({**others, (file, name): {"skipped"}}, files, is_selective=True)
        assert found.endswith("was skipped")
    assert problems({**sound, (file, name): {"skipped", "passed"}}, files) == []  # of some cases


def test_a_run_without_a_check_fails(pytester):
    file, name = sorted(check for check in CHECKS if check[0].startswith("test_errors"))[0]
    pytester.makepyfile(**{f"tests/{file.removesuffix('.py')}": f"def {name}(): pass\n"})
    run = pytester.inline_run("tests", plugins=[Watch()])
    assert run.ret == pytest.ExitCode.TESTS_FAILED
    run.assertoutcome(passed=1)
