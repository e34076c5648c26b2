"""Hostile and damaged state: what is sound, and the ways to damage any file of it.

A case takes a sound directory and does one thing to it; `build` makes one. What would run if it
were unpickled touches a file, `LOOT`, and what a link leads to is `outside`.
"""

from __future__ import annotations

import json
import os
import pickle
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import zarr

from daskvars.state import VariableRecord, ZarrStore, save
from tests.state.samples import variable

LOOT = "loot"
HUGE = 10**18

VALUES = {
    "w": np.arange(24, dtype=np.float32).reshape(6, 4),
    "w/Adam": np.ones((6, 4), np.float32),
    "layer/k": np.arange(4, dtype=np.float32),
    "b": np.int64(7) * np.ones((), np.int64),
    "s": np.array([b"one", b"two", b"three"], object),
}
CHUNKS = {"w": ((3, 3), (4,)), "w/Adam": ((3, 3), (4,))}


@dataclass(frozen=True)
class Case:
    """One thing that is wrong.

    Attributes:
        kind: what it is done to: "checkpoint", "store", "group", "group2", "record".
        name: says what is done.
        damage: does it, in the directory.
        in_values: whether only those who read values can see it.
        unseen: names of readers to which it makes no difference.
    """

    kind: str
    name: str
    damage: Callable[[Path], None]
    in_values: bool = False
    unseen: tuple[str, ...] = ()


class Loot:
    """Runs a command when it is unpickled."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __reduce__(self) -> tuple:
        return os.system, (f"touch {self.place / LOOT}",)


def outside(place: Path) -> Path:
    """Give the directory beside a case that is none of its business."""
    return place.parent / f"{place.name}.outside"


# -- what is sound ------------------------------------------------------------------------------


def state() -> dict[str, tuple[VariableRecord, Any]]:
    """Give the variables to store."""
    return {key: variable(key, array, CHUNKS.get(key)) for key, array in VALUES.items()}


def sound(kind: str, place: Path) -> None:
    """Make what is not damaged yet."""
    if kind in ("checkpoint", "record"):
        save(state(), place / "model" if kind == "record" else place, global_step=3)
        if kind == "record":
            (place / "checkpoint").write_text('model_checkpoint_path: "model"\n')
    elif kind == "store":
        writer = ZarrStore(place).begin(record for record, _ in state().values())
        writer.write_values({key: blocks for key, (_, blocks) in state().items()})
        writer.commit(global_step=3)
    else:
        group = zarr.open_group(place, mode="w", zarr_format=2 if kind == "group2" else 3)
        for key in ("w", "layer/k"):
            array = VALUES[key]
            made = group.create_array(
                key, shape=array.shape, chunks=(3, 4)[: array.ndim], dtype=array.dtype
            )
            made[...] = array


# -- ways to damage a file ----------------------------------------------------------------------


def replaced(name: str, content: bytes) -> Callable[[Path], None]:
    """Give the damage of a file with another content."""

    def damage(place: Path) -> None:
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    return damage


def changed(name: str, change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    """Give the damage of a file with a changed content."""

    def damage(place: Path) -> None:
        (place / name).write_bytes(change((place / name).read_bytes()))

    return damage


def flipped(at: float) -> Callable[[bytes], bytes]:
    """Give the change of one bit, at a part of the length."""

    def change(data: bytes) -> bytes:
        position = min(int(len(data) * at), len(data) - 1)
        return data[:position] + bytes([data[position] ^ 4]) + data[position + 1 :]

    return change


def linked(name: str, target: str) -> Callable[[Path], None]:
    """Give the damage of a link in the place of a file or directory, which goes outside."""

    def damage(place: Path) -> None:
        path, kept = place / name, outside(place)
        kept.mkdir(exist_ok=True)
        if path.exists():
            shutil.move(path, kept / "kept")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(str(kept / "kept") if target == "outside" else target)

    return damage


def piped(name: str) -> Callable[[Path], None]:
    """Give the damage of a named pipe in the place of a file."""

    def damage(place: Path) -> None:
        (place / name).unlink(missing_ok=True)
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(place / name)

    return damage


def sparse(name: str, size: int = 1 << 40) -> Callable[[Path], None]:
    """Give the damage of a file with a terabyte of nothing after it."""

    def damage(place: Path) -> None:
        os.truncate(place / name, size)

    return damage


def directory(name: str) -> Callable[[Path], None]:
    """Give the damage of a directory in the place of a file."""

    def damage(place: Path) -> None:
        (place / name).unlink()
        (place / name).mkdir()

    return damage


def pickled(name: str) -> Callable[[Path], None]:
    """Give the damage of a pickle in the place of a file."""
    return lambda place: replaced(name, pickle.dumps(Loot(place)))(place)


def json_edited(name: str, edit: Callable[[Any], Any]) -> Callable[[Path], None]:
    """Give the damage of a changed JSON document."""

    def damage(place: Path) -> None:
        document = json.loads((place / name).read_text())
        edit(document)
        text = json.dumps(document)
        (place / name).write_text(text.replace('"<', "").replace('>"', ""))  # for raw numbers

    return damage


TRUNCATIONS: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "half": lambda data: data[: len(data) // 2],
    "without its last byte": lambda data: data[:-1],
}
TEXTS: dict[str, bytes] = {
    "noise": bytes(range(256)) * 4,
    "zeros": bytes(1000),
    "UTF-16": '{"zarr_format": 3}'.encode("utf-16"),
    "a number": b"3",
    "a list": b"[]",
    "null": b"null",
    "NaN": b"NaN",
    "100,000 brackets": b"[" * 100_000,
    "100,000 objects": b'{"a":' * 100_000,
    "half a surrogate": b'{"zarr_format": 3, "attributes": "\\ud800"}',
    "a number of 10,000 digits": b'{"zarr_format": ' + b"9" * 10_000 + b"}",
}
FILES: dict[str, Callable[[str], Callable[[Path], None]]] = {
    "a link outside": lambda name: linked(name, "outside"),
    "a link to itself": lambda name: linked(name, name.rpartition("/")[2]),
    "a link to endless zeros": lambda name: linked(name, "/dev/zero"),
    "a pipe": piped,
    "a terabyte": sparse,
    "a directory": directory,
    "a pickle": pickled,
}


def file_cases(kind: str, name: str, what: str, in_values: bool) -> Iterator[Case]:
    """Give what can be wrong with any file."""
    for how, change in TRUNCATIONS.items():
        yield Case(kind, f"{what} {how}", changed(name, change), in_values)
    for how, make in FILES.items():
        yield Case(kind, f"{what} {how}", make(name), in_values)


def document_cases(kind: str, name: str, what: str) -> Iterator[Case]:
    """Give what can be wrong with any JSON document."""
    yield from file_cases(kind, name, what, False)
    for how, text in TEXTS.items():
        yield Case(kind, f"{what} is {how}", replaced(name, text))


def set_field(where: Callable[[Any], Any], name: str, value: Any) -> Callable[[Any], None]:
    """Give the change of one field."""

    def edit(document: Any) -> None:
        where(document)[name] = value

    return edit


def shown(value: Any) -> str:
    """Print a value, in short."""
    text = repr(value)
    return text if len(text) <= 90 else f"{text[:60]} ... {text[-20:]}"


def build(case: Case, place: Path, template: Path) -> Path:
    """Make a case at a place that is not there yet; return it."""
    shutil.copytree(template, place)
    case.damage(place)
    return place
