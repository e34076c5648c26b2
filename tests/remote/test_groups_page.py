"""The page of task groups is given an order in which it can draw any groups."""

import random
from itertools import pairwise
from types import SimpleNamespace

import pytest
from dask.order import order

from daskvars.remote.groups_page import dependencies_first, patched


def groups_of(before):
    """Task groups as the scheduler has them; names without a group of their own are dead ones."""
    names = {*before, *(d for found in before.values() for d in found)}
    groups = {name: SimpleNamespace(name=name, dependencies=[]) for name in names}
    for name, found in before.items():
        groups[name].dependencies = [groups[d] for d in found]
    return {name: groups[name] for name in before}


def as_dask_does(page):
    """What `TaskGroupGraph.update_layout` does, without the positions."""
    groups = page.scheduler.task_groups
    before = {n: {d.name for d in g.dependencies if d.name != n} for n, g in groups.items()}
    ranks = order({g.name: 1 for g in groups.values()}, before)
    x = {}
    for name in sorted(groups, key=ranks.get):
        x[name] = max((x[d] for d in before[name]), default=-1) + 1
    arrows = {n: {"nstart": found, "nend": [n] * len(found)} for n, found in before.items()}
    return {n: {"x": found} for n, found in x.items()}, arrows


def laid_out(before):
    page = SimpleNamespace(scheduler=SimpleNamespace(task_groups=groups_of(before)))
    kept = page.scheduler
    nodes, arrows = patched(as_dask_does)(page)
    assert page.scheduler is kept
    return {n: node["x"] for n, node in nodes.items()}, {
        (start, end)
        for ends in arrows.values()
        for start, end in zip(ends["nstart"], ends["nend"], strict=True)
    }


def test_dask_does_not_order_groups_by_itself():
    """If this fails, Dask draws groups without circles now, and less has to be mended."""
    with pytest.raises(KeyError):
        as_dask_does(
            SimpleNamespace(
                scheduler=SimpleNamespace(
                    task_groups=groups_of({"add": ["random"], "transpose": ["add"], "random": []})
                )
            )
        )


def test_groups_are_drawn_after_what_they_depend_on():
    x, arrows = laid_out({"add": ["random"], "transpose": ["add"], "random": []})
    assert x == {"random": 0, "add": 1, "transpose": 2}
    assert arrows == {("random", "add"), ("add", "transpose")}


def test_the_dependency_on_the_step_before_is_not_drawn():
    x, arrows = laid_out(
        {
            "update": ["backward", "update"],
            "backward": ["forward"],
            "forward": ["update", "feed"],
            "feed": [],
        }
    )
    assert x == {"feed": 0, "forward": 1, "backward": 2, "update": 3}
    assert ("update", "forward") not in arrows and len(arrows) == 3


def test_groups_that_are_gone_are_not_drawn():
    assert laid_out({"step": ["initializer"]}) == ({"step": 0}, set())
    assert laid_out({}) == ({}, set())


def test_any_groups_are_drawn():
    rng = random.Random(0)
    for _ in range(200):
        names = [f"g{i}" for i in range(rng.randint(1, 12))]
        rng.shuffle(names)
        before = {n: rng.sample([*names, "gone"], rng.randint(0, len(names))) for n in names}
        x, arrows = laid_out(before)
        assert set(x) == set(names)
        assert all(x[start] < x[end] for start, end in arrows)


def test_a_long_chain_of_groups_is_put_in_order():
    names = [f"g{i}" for i in range(5000)]
    before = {b: [a] for a, b in pairwise(names)} | {"g0": []}
    assert dependencies_first(before) == names
