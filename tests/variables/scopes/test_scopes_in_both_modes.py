"""Scopes give the same names in a graph and in the eager program, and in every thread."""

import itertools
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import pytest

import daskvars as dv

_numbers = itertools.count()


def get(name="v"):
    return dv.get_variable(name, [1])


def nested():
    with dv.variable_scope("foo"), dv.variable_scope("bar"):
        return [get(), dv.Variable(1.0, name="v")]


def name_scopes():
    with dv.name_scope("n"):
        made = [get(), dv.Variable(1.0, name="u")]
    with dv.name_scope("m"), dv.variable_scope("s"):
        return [*made, get(), dv.Variable(1.0, name="u")]


def opened_twice():
    made = []
    for _ in range(2):
        with dv.variable_scope("twice", reuse=dv.AUTO_REUSE):
            made += [get(), get("w")]
    return made


def jump():
    with dv.variable_scope("foo") as foo:
        first = get()
    with dv.variable_scope("a"), dv.variable_scope("b"), dv.variable_scope(foo, reuse=True):
        return [first, get(), dv.Variable(1.0, name="u")]


def default_names():
    made = []
    for _ in range(3):
        with dv.variable_scope(None, "dense"):
            made.append(get("kernel"))
    return made


def templates():
    layer, other = dv.make_template("t", get), dv.make_template("t", get)
    return [layer(), layer(), other()]


def partitioned():
    with dv.variable_scope("p", partitioner=dv.fixed_size_partitioner(2)):
        return [*dv.get_variable("w", [4]), *dv.create_partitioned_variables([2], [2], dv.ones)]


def getters():
    def renamed(getter, name, *args, **kwargs):
        assert kwargs["synchronization"] is dv.VariableSynchronization.AUTO
        return getter(f"{name}_renamed", *args, **kwargs)

    with dv.variable_scope("g", custom_getter=renamed):
        return [get(), dv.get_local_variable("l", [2], dv.int32, None, None, True)]


PROGRAMS = [nested, name_scopes, opened_twice, jump, default_names, templates, partitioned, getters]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_the_keys_are_the_same(program):
    outer = f"both_{next(_numbers)}"  # the eager program is one for all tests
    keys = {}
    for mode, entered in (("graph", dv.Graph().as_default()), ("eager", nullcontext())):
        with entered, dv.variable_scope(outer):
            keys[mode] = [(v.key, v.name) for v in program()]
    assert keys["graph"] == keys["eager"]


def cell(reuse=None):
    with dv.variable_scope("cell", reuse=reuse):
        return get("w").name


@pytest.mark.parametrize("mode", ["graph", "eager"])
def test_a_cell_run_again(mode):
    entered = dv.Graph().as_default() if mode == "graph" else nullcontext()
    with entered, dv.variable_scope(f"notebook_{next(_numbers)}"):
        first = cell(dv.AUTO_REUSE)
        assert cell(dv.AUTO_REUSE) == first
        with pytest.raises(ValueError) as error:
            cell()
    text = str(error.value)
    line = get.__code__.co_firstlineno + 1
    assert f"first created at {__file__}:{line}" in text
    ways = ["reuse=True", "reuse=AUTO_REUSE", "another name or scope"]
    assert all(way in text for way in ways)
    assert ("reset_default_graph()" in text) == (mode == "graph")


def test_threads_share_the_variables_but_not_the_scope():
    graph = dv.Graph()
    started = threading.Barrier(4)

    def work(i):
        with graph.as_default():
            names = [dv.get_variable_scope().name]
            with dv.variable_scope(f"thread{i}"):
                started.wait()
                names += [get(f"v{j}").name for j in range(20)]
                names += [dv.Variable(1.0, name=f"u{j}").name for j in range(20)]
            with dv.variable_scope("outer", reuse=True):
                return [*names, get().name]

    with graph.as_default(), dv.variable_scope("outer"):
        get()
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(work, range(4)))
        assert dv.get_variable_scope().name == "outer" and graph.get_name_scope() == "outer"
    for i, names in enumerate(found):
        made = [f"thread{i}/{letter}{j}:0" for letter in "vu" for j in range(20)]
        assert names == ["", *made, "outer/v:0"]
