"""Arguments without effect: all are declared, documented in the declared words, and warn once."""

import ast
import inspect
import textwrap
import types
import warnings

import pytest

import daskvars as dv
import daskvars.v1 as tf
from daskvars.surface import accepted as module
from daskvars.surface.accepted import ACCEPTED, accepted, accepts

# What callers give to all implementations of an interface, whether one of them needs it or not.
INTERFACES = {
    "Exporter.export": {"eval_result", "is_the_final_export"},
    "Layer.build": {"input_shape"},
    "Pattern": {"access", "attrs", "inputs", "outputs"},
    "Initializer.__call__": {"partition_info"},
    "SessionRunHook": {"run_context", "coord", "session"},
    "Timer": {"step"},
}
IMPLEMENTED = {name for names in INTERFACES.values() for name in names}


def namespaces():
    """Yield the public modules."""
    for root in (dv, tf):
        yield root
        for found in modules_of(root):
            yield found
            yield from modules_of(found)


def modules_of(root):
    """Yield the modules among the public names of a module."""
    names = getattr(root, "__all__", ())
    yield from (v for n in names if isinstance(v := getattr(root, n), types.ModuleType))


def functions_in(value):
    """Yield the functions of a public name: itself, or a class's methods."""
    if inspect.isfunction(value):
        yield value
    elif inspect.isclass(value):
        for kind in value.__mro__:
            for key, member in vars(kind).items():
                member = getattr(member, "__func__", member)
                if inspect.isfunction(member) and (
                    key[0] != "_" or key in ("__init__", "__call__")
                ):
                    yield member


def public_functions():
    """Return the source functions of all public names, by where they are defined."""
    found = {}
    for namespace in namespaces():
        for key in getattr(namespace, "__all__", None) or dir(namespace):
            value = getattr(namespace, key, None) if key[0] != "_" else None
            for function in functions_in(value):
                source = inspect.unwrap(function)
                if source.__module__.startswith("daskvars"):
                    found[f"{source.__module__}.{source.__qualname__}"] = source
    return found


FUNCTIONS = public_functions()
# The arguments of a family are read by what its members have in common.
FAMILIES = {
    f"{value.__module__}.{value.__qualname__}": value.__family__
    for namespace in namespaces()
    for value in vars(namespace).values()
    if hasattr(value, "__family__")
}


def unread(function):
    """Return the parameters that a function's body does not name.

    Bodies that are a docstring, or only raise, are those of an interface.
    """
    try:
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    except (OSError, SyntaxError):  # made by dataclasses, or a lambda
        return []
    if not isinstance(tree, ast.FunctionDef):
        return []
    body = [s for s in tree.body if not isinstance(getattr(s, "value", None), ast.Constant)]
    if not body or all(isinstance(statement, ast.Raise) for statement in body):
        return []
    read = {n.id for s in body for n in ast.walk(s) if isinstance(n, ast.Name)}
    arguments = tree.args
    names = [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    return [name for name in names if name not in read and name not in ("self", "cls")]


def is_declared(function, name):
    family = FAMILIES.get(f"{function.__module__}.{function.__qualname__}")
    return (
        name in IMPLEMENTED
        or accepted(function.__qualname__.rpartition(".__init__")[0] or function.__qualname__, name)
        or (family is not None and name in family.arguments)
    )


def test_many_functions_are_looked_at():
    assert len(FUNCTIONS) > 1000
    assert any(unread(function) for function in FUNCTIONS.values())


def test_no_argument_is_ignored_in_silence():
    silent = {
        place: names
        for place, function in FUNCTIONS.items()
        if (names := [n for n in unread(function) if not is_declared(function, n)])
    }
    assert not silent, "read them, or say in daskvars.surface.accepted why they change nothing"


def test_a_silent_argument_is_found():
    def f(x, given, *, other=1):
        """Return x."""
        return x

    assert unread(f) == ["given", "other"]
    assert not is_declared(f, "given")


DOCUMENTED = {
    (name, argument): value
    for root in (dv, tf, dv.train, tf.train, dv.nn)
    for name in dir(root)
    if name[0] != "_"
    and (inspect.isfunction(value := getattr(root, name)) or inspect.isclass(value))
    and value.__module__.startswith("daskvars")
    for argument in inspect.signature(
        value.__init__ if inspect.isclass(value) else value
    ).parameters
    if accepted(value.__qualname__, argument)
}


@pytest.mark.parametrize("name, argument", DOCUMENTED)
def test_docstrings_say_why(name, argument):
    value = DOCUMENTED[name, argument]
    doc = " ".join((value.__doc__ or "").split())
    reason = accepted(value.__qualname__, argument).text
    assert f"{argument}: {reason}" in doc or "See `" in doc or "see `" in doc


def test_what_is_declared_is_there():
    arguments = {n for f in FUNCTIONS.values() for n in inspect.signature(f).parameters}
    assert {key.rpartition(".")[2] for key in ACCEPTED} <= arguments


@pytest.fixture
def nothing_said(monkeypatch):
    monkeypatch.setattr(module, "_warned", set())


def test_what_mattered_warns_once(nothing_said):
    def loop(**options):
        return dv.while_loop(lambda i: i < 3, lambda i: i + 1, [dv.constant(0)], **options)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert int(loop(parallel_iterations=10, swap_memory=False)) == 3
    with pytest.warns(
        UserWarning, match="swap_memory=True has no effect: nothing is moved"
    ) as said:
        loop(swap_memory=True)
        loop(swap_memory=True)
    assert len(said) == 1
    assert said[0].filename == __file__
    with pytest.warns(UserWarning, match="while_loop: parallel_iterations=3 has no effect"):
        loop(parallel_iterations=3)


def test_a_class_warns_as_its_constructor(nothing_said):
    with pytest.warns(UserWarning, match="EvalSpec: start_delay_secs=7 has no effect"):
        tf.estimator.EvalSpec(lambda: None, start_delay_secs=7)


def test_positions_count(nothing_said):
    a = dv.ones([2, 2])
    with pytest.warns(UserWarning, match="matmul: a_is_sparse=True"):
        dv.matmul(a, a, False, False, False, False, True)


def test_what_holds_anyway_is_no_warning():
    v = dv.Variable([1, 2], name="accepted/v")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dv.scatter_add(v, [0], [5], use_locking=True)
        dv.gather([1, 2], [0], validate_indices=False)


def test_only_what_is_declared_can_be_accepted():
    with pytest.raises(ValueError, match=r"f accepts .*say why in ACCEPTED"):

        @accepts("anything")
        def f(anything=1):
            return 0
