"""The rules of scopes as one table: how a scope is opened x its reuse flag x what is called."""

import pytest

from daskvars.dtypes import int32
from daskvars.variables.scopes.variable_scope import (
    AUTO_REUSE,
    get_variable,
    get_variable_scope,
    variable_scope,
)
from daskvars.variables.variable import Variable

EXISTS = "already exists, disallowed"
MISSING = "does not exist, or was not created with tf.get_variable()"
SHAPES = r"specified shape (3,) and found shape (2,)"
DTYPES = "specified dtype int32 and found dtype float32_ref"

CALLS = {
    "same": lambda: get_variable("v", [2]),
    "no shape": lambda: get_variable("v"),
    "other shape": lambda: get_variable("v", [3]),
    "other dtype": lambda: get_variable("v", [2], int32),
    "other name": lambda: get_variable("w", [2]),
    "constructor": lambda: Variable([1.0, 2.0], name="v"),
}

# reuse in effect -> call -> "shared", the name of a new variable, or the error. The graph has
# foo/v of shape (2,), made in a first block of scope "foo", so a name scope foo is taken.
OUTCOMES = {
    False: {
        "same": EXISTS,
        "no shape": EXISTS,
        "other shape": EXISTS,
        "other dtype": EXISTS,
        "other name": "foo/w:0",
        "constructor": "foo_1/v:0",
    },
    True: {
        "same": "shared",
        "no shape": "shared",
        "other shape": SHAPES,
        "other dtype": DTYPES,
        "other name": MISSING,
        "constructor": "foo_1/v:0",
    },
    AUTO_REUSE: {
        "same": "shared",
        "no shape": "shared",
        "other shape": SHAPES,
        "other dtype": DTYPES,
        "other name": "foo/w:0",
        "constructor": "foo_1/v:0",
    },
}

# (how it is opened, flag given) -> reuse in effect inside.
OPENINGS = {
    ("name", None): False,
    ("name", False): False,
    ("name", True): True,
    ("name", AUTO_REUSE): AUTO_REUSE,
    ("captured", None): False,
    ("captured", False): False,
    ("captured", True): True,
    ("captured", AUTO_REUSE): AUTO_REUSE,
    ("captured reusing", None): True,
    ("captured reusing", False): True,
    ("captured reusing", AUTO_REUSE): AUTO_REUSE,
    ("in a reusing root", None): True,
    ("in a reusing root", False): True,
    ("in a reusing root", True): True,
    ("in an AUTO_REUSE root", None): AUTO_REUSE,
    ("in an AUTO_REUSE root", True): True,
    ("captured in a reusing root", None): False,
}


def _opened(how, flag, captured):
    root = get_variable_scope()
    if "reusing root" in how:
        root.reuse_variables()
    if "AUTO_REUSE root" in how:
        root._reuse = AUTO_REUSE
    if how == "captured reusing":
        captured.reuse_variables()
    return variable_scope(captured if how.startswith("captured") else "foo", reuse=flag)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(("how", "flag"), OPENINGS)
def test_table(graph, how, flag, call):
    with variable_scope("foo") as captured:
        first = get_variable("v", [2])
    reuse = OPENINGS[how, flag]
    with _opened(how, flag, captured):
        assert get_variable_scope().reuse is reuse
        assert get_variable_scope().name == "foo"
        wanted = OUTCOMES[reuse][call]
        if " " in wanted:
            with pytest.raises(ValueError) as error:
                CALLS[call]()
            assert wanted in str(error.value)
        else:
            found = CALLS[call]()
            assert (found is first) == (wanted == "shared")
            assert wanted in ("shared", found.name)


@pytest.mark.parametrize("reuse", [None, False, True, AUTO_REUSE])
@pytest.mark.parametrize("outer", [None, True, AUTO_REUSE])
def test_reuse_is_inherited_and_cannot_be_switched_off(graph, outer, reuse):
    with variable_scope("a", reuse=outer), variable_scope("b", reuse=reuse):
        assert get_variable_scope().reuse is (reuse or outer or False)
    assert get_variable_scope().reuse is False


@pytest.mark.parametrize(
    ("opening", "variable", "constructor", "op"),
    [
        # what is open                        get_variable   Variable        op
        ([], "v:0", "u:0", "c:0"),
        (["name n"], "v:0", "n/u:0", "n/c:0"),
        (["scope a"], "a/v:0", "a/u:0", "a/c:0"),
        (["scope a", "name n"], "a/v:0", "a/n/u:0", "a/n/c:0"),
        (["name n", "scope a"], "a/v:0", "n/a/u:0", "n/a/c:0"),
        (["scope a", "scope b"], "a/b/v:0", "a/b/u:0", "a/b/c:0"),
        (["scope a", "name "], "a/v:0", "u:0", "c:0"),
        (["scope a", "bare b"], "a/b/v:0", "a/u:0", "a/c:0"),
        (["default d"], "d/v:0", "d/u:0", "d/c:0"),
        (["scope a/b"], "a/b/v:0", "a/b/u:0", "a/b/c:0"),
    ],
)
def test_names(graph, opening, variable, constructor, op):
    from contextlib import ExitStack

    from daskvars.graph.scopes.name_scope import name_scope
    from daskvars.ops.control.dependencies import no_op

    openers = {
        "name": name_scope,
        "scope": variable_scope,
        "bare": lambda name: variable_scope(name, auxiliary_name_scope=False),
        "default": lambda name: variable_scope(None, name),
    }
    with ExitStack() as stack:
        for entry in opening:
            kind, _, name = entry.partition(" ")
            stack.enter_context(openers[kind](name or None))
        assert get_variable("v", [1]).name == variable
        assert Variable([1.0], name="u").name == constructor
        assert no_op(name="c").name + ":0" == op
