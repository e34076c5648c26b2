"""The layers of the package: a module imports only from levels below its own package."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent / "daskvars"
FOUNDATION = [
    "errors", "messages", "dtypes", "shape_arithmetic", "chunk_grid", "shapes", "config", "backend",
    "device_array", "versioned", "logging",
]  # fmt: skip
LEVELS = {
    "graph": 1, "kernels": 1, "state": 1, "scripting": 1,
    "ops": 2,
    "gradients": 3, "variables": 3, "lowering": 3,
    "execution": 4,
    "data": 5, "train": 5, "layers": 5, "losses": 5, "metrics": 5, "summary": 3,
    "initializers": 4, "namespaces": 3,
    "nn": 6,  # names only: ops, and recurrent cells, which are layers
    "observe": 6,
    "inspect_checkpoint": 6,
    "__init__": 7, "v1": 8, "cli": 9, "__main__": 10,
}  # fmt: skip
MODULES = sorted(ROOT.rglob("*.py"))


def home(parts):
    """The package (or top-level module) that a dotted name below `daskvars` belongs to."""
    return parts[0] if parts else "__init__"


def level(name):
    """The level of a package: foundation modules are 0.x in their order."""
    if name in FOUNDATION:
        return FOUNDATION.index(name) / 100
    return LEVELS[name]


def imported(tree):
    """Yield (node, parts below daskvars) for each import of our own."""
    for node in ast.walk(tree):
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


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_go_down(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    own = home(parts)
    for node, target in imported(ast.parse(path.read_text())):
        other = home(target)
        if other not in LEVELS and other not in FOUNDATION:
            other = "__init__"  # a public name, not a module
        if other == own and len(parts) > 1:
            continue  # within a package the order is checked by Python itself
        assert level(other) < level(own), (
            f"{path.name}:{node.lineno} imports daskvars.{'.'.join(target)}, which is not below it"
        )


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_import_inside_functions(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            local = [f"{path.name}:{n.lineno}" for n, _ in imported(node)]
            assert not local, f"imports of our own inside {node.name}: {local}"


def test_only_backend_imports_cupy():
    for path in MODULES:
        names = {
            alias.name.split(".")[0]
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Import)
            for alias in node.names
        }
        asks = '"cupy"' in path.read_text() or names & {"cupy", "cupyx"}
        assert not asks or path.name == "backend.py", path
        assert "xp.cudnn" not in path.read_text(), "newer CuPy has it no more"
