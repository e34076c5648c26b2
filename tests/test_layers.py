"""The layers of the package: a module imports only from levels below its own package."""

import ast
import graphlib
import itertools
import re
from pathlib import Path

import pytest

from tests.sources import naming, nodes, statements, statements_in

ROOT = Path(__file__).resolve().parent.parent / "daskvars"
FOUNDATION = [
    "errors",
    "config",
    "surface",
    "dtypes",
    "shape_arithmetic",
    "chunk_grid",
    "connected_parts",
    "idle_threads",
    "shapes",
    "backend",
    "device_array",
    "versioned",
]
LEVELS = {
    "graph": 1,
    "kernels": 1,
    "state": 1,
    "ops": 2,
    "remote": 2,
    "backpropagation": 3,
    "variables": 3,
    "lowering": 3,
    "execution": 4,
    "data": 5,
    "train": 5,
    "layers": 5,
    "losses": 5,
    "distributions": 4,
    "metrics": 5,
    "summary": 3,
    "initializers": 4,
    "namespaces": 3,
    "nn": 6,  # names only: ops, and recurrent cells, which are layers
    "observe": 6,
    "inspect_checkpoint": 6,
    "names": 7,
    "__init__": 8,
    "v1": 9,
    "__main__": 10,
}
MODULES = sorted(set(ROOT.rglob("*.py")) - {ROOT / "conftest.py"})  # which is pytest's
pytestmark = pytest.mark.usefixtures("trees")


def home(parts):
    """The package (or top-level module) that a dotted name below `daskvars` belongs to."""
    return parts[0] if parts else "__init__"


def level(name):
    """The level of a package: foundation modules are 0.x in their order."""
    if name in FOUNDATION:
        return FOUNDATION.index(name) / 100
    return LEVELS[name]


def imported(among):
    """Yield (node, parts below daskvars) for each import of our own among nodes."""
    for node in among:
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide the layer; write daskvars.x"
            if (node.module or "").split(".")[0] == "daskvars":
                parts = node.module.split(".")[1:]
                if parts:
                    yield node, parts
                else:
                    for alias in node.names:
                        yield node, [alias.name]
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "daskvars":
                    yield node, alias.name.split(".")[1:]


def uphill(path):
    """Yield in words each import of what is not below a module."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    own = home(parts)
    for node, target in imported(statements(path)):
        other = home(target)
        if other not in LEVELS and other not in FOUNDATION:
            other = "__init__"  # a public name, not a module
        if other == own and len(parts) > 1:
            continue  # within a package the order is checked by Python itself
        if level(other) >= level(own):
            name = ".".join(["daskvars", *target])
            yield f"{path.relative_to(ROOT)}:{node.lineno} imports {name}, which is not below it"


def test_imports_go_down():
    assert not [problem for path in MODULES for problem in uphill(path)]


def test_the_guide_has_every_package_in_its_place():
    guide = (ROOT.parent / "examples" / "guides" / "how_it_works.md").read_text()
    rows = [line.split("|")[2] for line in guide.splitlines() if re.match(r"\| \d", line)]
    names = [re.findall(r"`(\w+)`", row) for row in rows]
    assert {path.parent.name for path in ROOT.glob("*/__init__.py")} <= set().union(*names)
    levels = [[*map(level, row)] for row in names]
    assert all(max(below) < min(above) for below, above in itertools.pairwise(levels)), names


def imports_of_modules(paths):
    """Return module -> our modules that it imports, under TYPE_CHECKING or not."""
    names = {}
    for path in paths:
        parts = path.relative_to(ROOT.parent).with_suffix("").parts
        names[".".join(parts).removesuffix(".__init__")] = path
    found = {}
    for name, path in names.items():
        targets = found[name] = set()
        for node in statements(path):
            if isinstance(node, ast.ImportFrom):
                asked = [(f"{node.module}.{alias.name}", node.module) for alias in node.names]
            elif isinstance(node, ast.Import):
                asked = [(alias.name,) for alias in node.names]
            else:
                continue
            targets.update(next((n for n in each if n in names), name) for each in asked)
        targets.discard(name)
    return found


def test_no_circle_of_imports():
    order = [*graphlib.TopologicalSorter(imports_of_modules(MODULES)).static_order()]
    assert len(order) == len(MODULES)


def test_a_circle_for_types_is_found(tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "ROOT", tmp_path / "daskvars")
    (tmp_path / "daskvars").mkdir()
    above, below = (tmp_path / "daskvars" / name for name in ("above.py", "below.py"))
    above.write_text("from daskvars.below import x\n")
    below.write_text(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from daskvars import above\n"
    )
    with pytest.raises(graphlib.CycleError):
        graphlib.TopologicalSorter(imports_of_modules([above, below])).prepare()


def test_nothing_but_programs_imports_v1():
    for path in MODULES:
        if path.relative_to(ROOT).parts[0] != "v1":
            homes = {home(target) for _, target in imported(statements(path))}
            assert "v1" not in homes, path


def hidden(path):
    """Yield where functions import what is our own."""
    for node in statements(path):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for found, _ in imported(statements_in(node)):
                yield f"{path.relative_to(ROOT)}:{found.lineno}, inside {node.name}"


def test_no_import_inside_functions():
    assert not [place for path in MODULES for place in hidden(path)]


def test_imports_uphill_and_hidden_are_found(tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    (tmp_path / "graph").mkdir()
    bad = tmp_path / "graph" / "bad.py"
    bad.write_text("import daskvars.train\ndef f():\n    from daskvars.graph import graph\n")
    assert [*uphill(bad)] == ["graph/bad.py:1 imports daskvars.train, which is not below it"]
    assert [*hidden(bad)] == ["graph/bad.py:3, inside f"]


ADAPTER = "remote/dask_internals.py"
# Modules of Dask's that have nothing for others to use, and what objects of theirs are used for
# there: the names are of no attribute of ours.
INTERNAL_MODULES = {
    "distributed.dashboard",
    "distributed.protocol",
    "distributed.worker_state_machine",
}
INTERNAL_NAMES = {"thread_state", "context_meter", "NoValidWorkerError", "KilledWorker"}
INTERNAL_ATTRIBUTES = {
    "client_desires_keys",
    "client_releases_keys",
    "client_send",
    "loose_restrictions",
    "run_spec",
    "task_counter",
    "transitions",
    "unrunnable",
    "waiters",
    "who_wants",
    "worker_restrictions",
}
INTERNAL_DEFINITIONS = {"_layer", "__dask_annotations__"}


def internals(path):
    """Yield (line, name) of what a file uses of Dask that is not documented."""
    for node in nodes(path):
        if isinstance(node, ast.ImportFrom | ast.Import):
            module = getattr(node, "module", None) or ""
            for alias in node.names:
                name = f"{module}.{alias.name}".lstrip(".")
                parts = name.split(".")
                if parts[0] in ("dask", "distributed") and (
                    any(part.startswith("_") for part in parts)
                    or parts[-1] in INTERNAL_NAMES
                    or any(name.startswith(m) for m in INTERNAL_MODULES)
                ):
                    yield node.lineno, name
        elif isinstance(node, ast.Attribute):
            root = ast.unparse(node).split(".")[0]
            if node.attr in INTERNAL_ATTRIBUTES or (
                root in ("dask", "distributed") and node.attr.startswith("_")
            ):
                yield node.lineno, node.attr
        elif isinstance(node, ast.FunctionDef) and node.name in INTERNAL_DEFINITIONS:
            yield node.lineno, node.name


def test_only_the_adapter_knows_dasks_internals():
    names = INTERNAL_ATTRIBUTES | INTERNAL_NAMES | INTERNAL_DEFINITIONS | {"dask", "distributed"}
    found = {path: [*internals(path)] for path in naming(MODULES, names) if path != ROOT / ADAPTER}
    assert not {k: v for k, v in found.items() if v}, f"use or extend daskvars/{ADAPTER}"


def test_internals_are_found(tmp_path):
    bad = tmp_path / "bad.py"
    bad.write_text(
        "from dask._task_spec import Task\nimport dask._expr\nimport distributed.protocol.pickle\n"
        "from distributed.client import _get_global_client\nfrom distributed.worker import Worker\n"
        "task.run_spec = 1\ndistributed.client._global_clients\nfrom dask import _expr\n"
    )
    assert [line for line, _ in internals(bad)] == [1, 2, 3, 4, 8, 6, 7]
    assert list(internals(ROOT / ADAPTER))


def test_only_backend_imports_cupy():
    for path in MODULES:
        names = {
            alias.name.split(".")[0]
            for node in statements(path)
            if isinstance(node, ast.Import)
            for alias in node.names
        }
        asks = '"cupy"' in path.read_text() or names & {"cupy", "cupyx"}
        assert not asks or path.name == "backend.py", path
        assert "xp.cudnn" not in path.read_text(), "newer CuPy has it no more"
