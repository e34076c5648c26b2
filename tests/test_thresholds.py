"""The table of thresholds knows all there are, and setting them back leaves nothing."""

import ast
import importlib
from pathlib import Path

import pytest

from daskvars import config, versioned
from daskvars.config.defaults import KNOBS
from daskvars.remote.tasks import region_tasks as worker_tasks
from tests import sources, thresholds

ROOT = Path(__file__).resolve().parent.parent / "daskvars"
SIZES = {
    "BYTES",
    "ELEMENTS",
    "ROW",
    "ROWS",
    "TILE",
    "BLOCK",
    "STEP",
    "WORDS",
    "ROUNDS",
    "DRAW",
    "KEPT",
    "KNOWN",
    "ITEMS",
}


def constants():
    """Yield (module, name) of each constant that is named like a size."""
    for path in sources.naming(sorted(ROOT.rglob("*.py")), SIZES, as_ends=True):
        module = ".".join(path.relative_to(ROOT.parent).with_suffix("").parts)
        for node in sources.tree(path).body:
            if not isinstance(node, ast.Assign):
                continue
            for target in node.targets:
                for name in target.elts if isinstance(target, ast.Tuple) else [target]:
                    is_size = isinstance(name, ast.Name) and name.id.split("_")[-1] in SIZES
                    if is_size:
                        yield module, name.id


@pytest.mark.usefixtures("trees")
def test_every_size_is_a_threshold_or_is_said_to_be_none():
    known = {(m, name) for m, values in thresholds.LOWEST.items() for name in values}
    others = set().union(*thresholds.NO_PATHS.values())
    found = [
        (module, name)
        for module, name in constants()
        if isinstance(getattr(importlib.import_module(module), name), int | float)
    ]
    assert not [pair for pair in found if pair not in known and pair[1] not in others]
    assert not others - {name for _, name in found}, "constants that are gone"
    assert set(thresholds.KNOBS) <= set(KNOBS)


def test_thresholds_are_lowered_wherever_they_are_used_and_set_back():
    before, before_config = versioned.VERSIONED_BYTES, config.get()
    back = thresholds.lower()
    try:
        assert versioned.VERSIONED_BYTES == worker_tasks.VERSIONED_BYTES == 1
        assert config.get().tile_min_elements == 1
    finally:
        back()
    assert versioned.VERSIONED_BYTES == worker_tasks.VERSIONED_BYTES == before
    assert config.get() == before_config
