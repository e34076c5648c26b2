"""Functions made from a declaration: they look, pickle and are documented as if written out."""

import doctest
import importlib
import inspect
import pickle
import pkgutil

import pytest

import daskvars as dv
from daskvars.signatures import Argument, Family


def modules():
    for found in pkgutil.walk_packages(dv.__path__, "daskvars."):
        if not found.name.endswith("__main__"):
            yield importlib.import_module(found.name)


def made_functions():
    """Yield (module, function) for each function whose code stands elsewhere than the function."""
    for module in modules():
        for name, value in vars(module).items():
            own = inspect.isfunction(value) and value.__module__ == module.__name__
            if own and name[0] != "_" and value.__globals__ is not vars(module):
                yield pytest.param(module, value, id=f"{module.__name__}.{name}")


MADE = list(made_functions())


@pytest.mark.parametrize("module, function", MADE)
def test_examples_of_made_functions_run(module, function):
    """Only of functions written in a module does doctest find the examples itself."""
    test = doctest.DocTestParser().get_doctest(
        function.__doc__ or "", dict(vars(module)), function.__name__, module.__file__, 0
    )
    flags = doctest.REPORT_ONLY_FIRST_FAILURE
    said = []
    result = doctest.DocTestRunner(optionflags=flags).run(test, out=said.append)
    assert not result.failed, "".join(said)


@pytest.mark.parametrize("module, function", MADE)
def test_made_functions_are_found_under_their_names(module, function):
    assert function.__name__ == function.__qualname__
    assert getattr(module, function.__name__).__doc__ == function.__doc__
    if getattr(module, function.__name__) is function:
        assert pickle.loads(pickle.dumps(function)) is function


MEMBERS = [param for param in MADE if hasattr(param.values[1], "__family__")]


@pytest.mark.parametrize("module, function", MEMBERS)
def test_the_docstring_says_what_each_argument_is(module, function):
    section = function.__doc__.partition("Args:\n")[2].partition("\n\n")[0]
    said = [line.partition(":")[0].strip() for line in section.splitlines() if line[2] != " "]
    names = [name for entry in said for name in entry.split(", ")]
    assert names == list(inspect.signature(function).parameters)
    assert "Returns:\n" in function.__doc__
    assert max(map(len, function.__doc__.splitlines())) <= 100


FAMILY = Family(
    {"x": Argument("[] float."), "name": Argument("by default {default!r}.", None, "str | None")},
    returns="[] float, the {word}.",
)


def scaled(x, factor=2):
    """Return a multiple.

    Args:
      factor: by how much.

    >>> 1 + 1
    2
    """
    return x * factor


def member(order=""):
    return FAMILY.member(
        scaled, lambda a: (a.pop("name"), scaled(**a)), order, default="Scaled", word="multiple"
    )


def test_a_member_has_its_own_arguments_and_the_familys():
    function = member()
    assert str(inspect.signature(function)) == "(x, factor=2, name: 'str | None' = None)"
    assert function(3) == (None, 6)
    assert function(3, name="n", factor=5) == ("n", 15)
    assert function(1, 2, "n") == ("n", 2)
    assert list(inspect.signature(member("x name factor")).parameters) == ["x", "name", "factor"]
    assert inspect.cleandoc(function.__doc__) == (
        "Return a multiple.\n\nArgs:\n  x: [] float.\n  factor: by how much.\n"
        "  name: by default 'Scaled'.\n\nReturns:\n  [] float, the multiple.\n\n>>> 1 + 1\n2"
    )


@pytest.mark.parametrize(
    "args, kwargs, message",
    [
        ((), {}, r"scaled\(\) missing a required argument: 'x'"),
        ((1, 2, 3, 4), {}, r"scaled\(\) too many positional arguments"),
        ((1,), {"x": 2}, r"scaled\(\) multiple values for argument 'x'"),
        ((1,), {"y": 2}, r"scaled\(\) got an unexpected keyword argument 'y'"),
        ((), {"y": 2}, r"scaled\(\) missing a required argument: 'x'"),
    ],
)
def test_a_wrong_call_is_a_type_error(args, kwargs, message):
    with pytest.raises(TypeError, match=message):
        member()(*args, **kwargs)
