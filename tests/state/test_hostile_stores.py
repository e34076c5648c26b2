"""Hundreds of hostile and damaged stores: each is refused by every reader, which does nothing else.

The cases are in `hostile_manifests`, `hostile_groups` and `hostile_graphs`; `hostile_readers` lets
the readers loose on them in a process of its own. Every sixth case is tried here, all of them with
``DASKVARS_ALL_CASES=1`` in the environment.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import zarr

from daskvars.errors import StoreError
from daskvars.state import list_variables, load_variable
from tests import fresh
from tests.state import hostile_graphs, hostile_groups, hostile_manifests
from tests.state.hostile_stores import LOOT, Case, build, outside, sound

SOUND = {
    "graph": hostile_graphs.sound_graph,
    "events": hostile_graphs.sound_events,
    **{
        kind: lambda place, kind=kind: sound(kind, place)
        for kind in ("checkpoint", "store", "group", "group2", "record")
    },
}
ALL = [
    *hostile_manifests.checkpoint_cases(),
    *hostile_groups.group_cases(),
    *hostile_manifests.store_cases(),
    *hostile_manifests.record_cases(),
    *hostile_graphs.graph_cases(),
    *hostile_graphs.event_cases(),
]
CASES = ALL if os.environ.get("DASKVARS_ALL_CASES") else ALL[::6]
MAX_BYTES, MAX_S = 64 << 20, 10


def digest(place: Path) -> str:
    """Give a digest of all that lies in a directory, links unfollowed."""
    found = hashlib.sha256()
    for directory, names, files in sorted(os.walk(place)):
        for name in sorted(names + files):
            path = Path(directory, name)
            status = path.lstat()
            found.update(f"{path} {status.st_mode} {status.st_size} {status.st_mtime_ns}".encode())
    return found.hexdigest()


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory) -> dict[Case, tuple[Path, dict]]:
    """Make all cases, let the readers loose, and give what came of each."""
    base = tmp_path_factory.mktemp("hostile")
    templates = {kind: base / f"sound_{kind}" for kind in SOUND}
    for kind, make in SOUND.items():
        make(templates[kind])
    places = {
        case: build(case, base / str(n), templates[case.kind]) for n, case in enumerate(CASES)
    }
    before = {case: (digest(place), digest(outside(place))) for case, place in places.items()}
    tasks = [
        json.dumps(
            {
                "kind": case.kind,
                "in_values": case.in_values,
                "unseen": case.unseen,
                "place": str(place),
                "sound": str(templates[case.kind]),
            }
        )
        for case, place in places.items()
    ]
    done = subprocess.run(
        [
            fresh.executable(*fresh.PACKAGE),
            "-m",
            "tests.state.hostile_readers",
            json.dumps({kind: str(place) for kind, place in templates.items()}),
        ],
        input="\n".join(tasks),
        capture_output=True,
        text=True,
        timeout=400,
        cwd=Path.cwd(),
    )
    assert done.returncode == 0, done.stderr
    found = {}
    for case, line in zip(CASES, done.stdout.splitlines(), strict=True):
        place = places[case]
        found[case] = (place, json.loads(line))
        assert (digest(place), digest(outside(place))) == before[case], f"{case} was written to"
        assert not (place / LOOT).exists()
    return found


def test_there_are_hundreds() -> None:
    assert len(ALL) > 600
    assert len({(case.kind, case.name) for case in ALL}) == len(ALL)
    assert len(CASES) > 100


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.kind}: {case.name}")
def test_each_is_refused(outcomes, case: Case) -> None:
    place, readers = outcomes[case]
    assert readers or case.unseen
    for reader, found in readers.items():
        error, text = found["error"], found["text"]
        assert error, f"{reader} takes it"
        documented = {"OpError", "Refused"}
        if case.kind in ("record", "graph", "events") or reader == "restore":
            documented |= {"ValueError", "TypeError", "OSError"}
        assert documented.intersection(error), f"{reader} raises {error}: {text}"
        if "FailedPreconditionError" not in error:
            assert str(place) in text, f"{reader} does not say where: {text}"
        assert not found["done"], f"{reader} did {found['done']}"
        assert found["peak"] < MAX_BYTES, f"{reader} took {found['peak']} bytes"
        assert found["s"] < MAX_S, f"{reader} took {found['s']} seconds"


NOT_KNOWN = {
    "storage transformers": {"storage_transformers": [{"name": "mirror", "configuration": {}}]},
    "a codec": {"codecs": [{"name": "bytes"}, {"name": "mirror", "must_understand": False}]},
    "a codec in shards": {
        "codecs": [
            {
                "name": "sharding_indexed",
                "configuration": {
                    "chunk_shape": [2],
                    "codecs": [{"name": "bytes"}, {"name": "mirror"}],
                    "index_codecs": [{"name": "bytes"}],
                },
            }
        ]
    },
    "a chunk grid": {"chunk_grid": {"name": "mirror", "configuration": {}}},
    "names of chunks": {"chunk_key_encoding": {"name": "mirror"}},
    "a field that must be understood": {"mirror": {"must_understand": True}},
}


@pytest.mark.parametrize("what", NOT_KNOWN)
def test_an_array_with_what_is_not_known_is_refused(tmp_path, what):
    array = zarr.open_group(tmp_path).create_array("a", shape=(4,), chunks=(2,), dtype="int8")
    array[:] = np.arange(4)
    path = tmp_path / "a" / "zarr.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **NOT_KNOWN[what]}))
    for read in list_variables, partial(load_variable, key="a"):
        with pytest.raises(StoreError, match=r"cannot be read.*mirror"):
            read(tmp_path)
