"""Any field of any record that is read may hold anything: nothing runs, and a refusal says where.

`mutations` changes fields, seeded by the number of the case; `fuzzed_records` reads the results in
a process of its own, with an audit hook and bounded memory. Some 500 cases are tried here, 20,000
with ``DASKVARS_ALL_CASES=1`` in the environment.
"""

from __future__ import annotations

import json
import os

import pytest

from tests import fresh
from tests.state.mutations import mutated, paths

pytestmark = pytest.mark.slow

NUM_CASES = {
    "graph": 130,
    "meta": 60,
    "plan": 120,
    "checkpoint": 60,
    "store": 40,
    "version": 50,
    "array": 30,
    "events": 30,
}
TIMES = 40 if os.environ.get("DASKVARS_ALL_CASES") else 1


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """Try all cases; give for each kind what is wrong, and how many were refused and taken."""
    place = tmp_path_factory.mktemp("fuzz")
    asked = [str(part) for kind, n in NUM_CASES.items() for part in (kind, 0, n * TIMES)]
    printed = fresh.printed("-m", "tests.state.fuzzed_records", place, *asked, after=fresh.PACKAGE)
    lines = [json.loads(line) for line in printed.splitlines()]
    return {
        kind: (
            [line for line in lines if isinstance(line, list) and line[0] == kind],
            next(line for line in lines if isinstance(line, dict) and line["kind"] == kind),
        )
        for kind in NUM_CASES
    }


@pytest.mark.timeout(200 * (1 + TIMES))
@pytest.mark.parametrize("kind", NUM_CASES)
def test_every_case_is_taken_or_refused_with_its_place(found, kind):
    problems, counts = found[kind]
    assert problems == []
    assert counts["refused"] + counts["taken"] == NUM_CASES[kind] * TIMES
    assert counts["refused"] > counts["taken"] / 3, "the cases should be hostile"
    assert counts["taken"], "and not all alike"


def test_there_are_as_many_as_were_asked_for():
    assert sum(NUM_CASES.values()) >= 500
    assert sum(NUM_CASES.values()) * 40 >= 20_000


def test_a_case_is_the_same_each_time_and_changes_a_field():
    data = {"a": [1, {"b": "x"}], "c": 2.0}
    for number in range(50):
        one, touched = mutated(data, f"seed {number}")
        again, _ = mutated(data, f"seed {number}")
        assert repr(one) == repr(again)
        assert touched
    assert data == {"a": [1, {"b": "x"}], "c": 2.0}
    reached = {mutated(data, f"seed {n}")[1][0] for n in range(200)}
    assert reached == set(paths(data))


def test_what_runs_code_is_noticed(tmp_path):
    text = f"""
import sys
from pathlib import Path
from tests.state import fuzzed_records as f, hostile_readers as h
from daskvars.remote.regions.codegen import defined
sys.addaudithook(f.listen)
f.tracemalloc.start()
for act in (
    lambda p, s: exec("1"), lambda p, s: defined("f", ["def f(x): getattr(x, '_')"], {{}}),
    lambda p, s: f.sys.modules["os"].system("true"),
    lambda p, s: open({str(tmp_path / "x")!r}, "w").close(), lambda p, s: [0] * 10**8,
):
    found = h.outcome(act, "", "")
    print(f.problem_of("graph", found, Path("."), []))
"""
    lines = fresh.printed("-c", text, after=fresh.PACKAGE).splitlines()
    assert [line.split()[0] for line in lines] == ["did", "did", "did", "did", "took"]
