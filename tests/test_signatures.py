"""Functions made from a declaration: they look, pickle and are documented as if written out."""

import doctest
import importlib
import inspect
import linecache
import pickle
import pkgutil
import types

import pytest

import daskvars as dv
import daskvars.v1 as tf
from daskvars.conftest import OF_EXAMPLES
from daskvars.surface.signatures import Argument, Family
from tests import case
from tests.test_public_surface import MODULES


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
                yield module, value


def made_methods():
    """Yield (module, method) for each method with an example, of a class of its own, likewise."""
    for module in modules():
        own = [v for v in vars(module).values() if inspect.isclass(v)]
        for owner in [v for v in own if v.__module__ == module.__name__]:
            for method in filter(inspect.isfunction, vars(owner).values()):
                is_own = method.__qualname__ == f"{owner.__qualname__}.{method.__name__}"
                is_made = method.__globals__ is not vars(module)
                if is_own and is_made and ">>>" in (method.__doc__ or ""):
                    yield module, method


MADE = list(made_functions())
EXAMPLES = [*MADE, *made_methods()]


@pytest.mark.parametrize(
    "module, function", EXAMPLES, ids=[f"{m.__name__}.{f.__qualname__}" for m, f in EXAMPLES]
)
def test_examples_of_made_functions_run(module, function):
    """Only of functions written in a module does doctest find the examples itself."""
    test = doctest.DocTestParser().get_doctest(
        function.__doc__ or "", vars(module) | OF_EXAMPLES, function.__name__, module.__file__, 0
    )
    flags = doctest.REPORT_ONLY_FIRST_FAILURE
    said = []
    linecache.clearcache()  # the runner asks of each file in it whether it has changed
    result = doctest.DocTestRunner(optionflags=flags).run(test, out=said.append)
    assert not result.failed, "".join(said)


def test_made_functions_are_found_under_their_names():
    for module, function in MADE:
        with case.of(f"{module.__name__}.{function.__name__}"):
            assert function.__name__ == function.__qualname__
            assert getattr(module, function.__name__).__doc__ == function.__doc__
            if getattr(module, function.__name__) is function:
                assert pickle.loads(pickle.dumps(function)) is function


def test_the_docstring_says_what_each_argument_is():
    members = [(m, function) for m, function in MADE if hasattr(function, "__family__")]
    assert members
    for module, function in members:
        with case.of(f"{module.__name__}.{function.__name__}"):
            section = function.__doc__.partition("Args:\n")[2].partition("\n\n")[0]
            lines = [line for line in section.splitlines() if line[2] != " "]
            said = [line.partition(":")[0].strip() for line in lines]
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
    said = "(x: 'TensorLike', factor=2, name: 'str | None' = None)"
    assert str(inspect.signature(function)) == said, "what is shared is typed by the family"
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
        ((), {"factors": 2}, r"keyword argument 'factors' \(did you mean 'factor'\?\)"),
    ],
)
def test_a_wrong_call_is_a_type_error(args, kwargs, message):
    with pytest.raises(TypeError, match=message):
        member()(*args, **kwargs)


# -- annotations -------------------------------------------------------------------------------


def public_functions():
    """Yield (name, function) for each public function, and each public method of a class."""
    seen = set()
    namespaces = [value for value in vars(tf).values() if isinstance(value, types.ModuleType)]
    for module in [*MODULES, *namespaces]:
        for name in getattr(module, "__all__", vars(module)):
            value = getattr(module, name)
            if name[0] == "_" or not str(getattr(value, "__module__", "")).startswith("daskvars"):
                continue
            members = vars(value).items() if inspect.isclass(value) else [("", value)]
            for member, function in members:
                function = getattr(function, "__func__", getattr(function, "fget", function))
                is_public = member[:1] != "_" or member in ("__init__", "__call__")
                is_own = str(getattr(function, "__module__", "")).startswith("daskvars")
                if is_public and inspect.isfunction(function) and is_own and function not in seen:
                    seen.add(function)
                    yield f"{module.__name__}.{name}.{member}".rstrip("."), function


def unannotated(function):
    """Return the parameters of a function that have no type, "return" where its result has none."""
    signature = inspect.signature(function)
    found = [n for n, p in signature.parameters.items() if p.annotation is p.empty]
    found = [name for name in found if name not in ("self", "cls", "metaclass")]
    return found + ["return"] * (signature.return_annotation is signature.empty)


def test_every_public_signature_says_its_types():
    found = {name: unannotated(function) for name, function in public_functions()}
    assert len(found) > 1000
    assert {name: missing for name, missing in found.items() if missing} == {}


def test_a_signature_without_types_is_found():
    assert unannotated(lambda x, *, y=1: None) == ["x", "y", "return"]
