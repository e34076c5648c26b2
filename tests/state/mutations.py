"""Seeded mutations of plain data: any field of a record becomes something else."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any

Path = tuple[Any, ...]

CODE = "__import__('os').system('touch loot')"
NASTY: list[Any] = [
    None,
    True,
    False,
    0,
    -1,
    1,
    2,
    3,
    7,
    10**6,
    10**12,
    10**18,
    -(10**18),
    1 << 63,
    1 << 64,
    0.0,
    -0.5,
    1e300,
    "",
    " ",
    "x",
    "axis",
    "../x",
    "/etc/passwd",
    "\0",
    "\ud800",
    "os.system",
    CODE,
    f"axis={CODE},keepdims",
    "float32",
    "int32",
    "string",
    "resource",
    "variant",
    "object",
    "NaN",
    "f" * 300,
    [],
    [[]],
    [None],
    [1],
    [-1],
    [10**18],
    ["x"],
    [CODE],
    [0] * 40,
    {},
    {"x": 1},
    {"dtype": "float64"},
    {"dtype": "string"},
    {"list": [1, 2]},
    {"function": "os.system"},
    {"array": {"dtype": "float32", "shape": [10**9, 10**9], "data": ""}},
    {"array": {"dtype": "string", "shape": [10**9], "data": []}},
    {"graph": {"name": "g", "node": [], "input": [], "result": [], "effect": []}},
    {"operation": "x"},
    {"spec": ["float32", [10**18]]},
    {"bytes": "eA=="},
    {"float": "inf"},
]


def paths(data: Any, path: Path = ()) -> Iterator[Path]:
    """Give the path of each field, of those within fields too."""
    items = data.items() if isinstance(data, dict) else ()
    if isinstance(data, list | tuple):
        items = enumerate(data)
    for key, value in items:
        yield (*path, key)
        yield from paths(value, (*path, key))


def at(data: Any, path: Path) -> Any:
    """Give the value at a path."""
    for key in path:
        data = data[key]
    return data


def changed(value: Any, alike: list[Any], others: list[Any], draw: random.Random) -> Any:
    """Give something else than a value: of fields of its name, of others, or from the list."""
    how = draw.randrange(10)
    if how == 0 and type(value) in (int, float):
        return draw.choice([value + 1, value - 1, -value, value * 1000, float(value), str(value)])
    if how == 1 and isinstance(value, str):
        return draw.choice(
            [
                value + "x",
                value[:-1],
                value.upper(),
                [value],
                value + ":1",
                "^" + value,
                "<" + value,
            ]
        )
    if how == 2 and isinstance(value, list) and value:
        return draw.choice([value[:-1], value + value[:1], value[::-1], value * 30, value[0]])
    if how == 3 and isinstance(value, dict) and value:
        key = draw.choice(list(value))
        return draw.choice(
            [{k: v for k, v in value.items() if k != key}, {**value, "y": value[key]}, value[key]]
        )
    if how in (4, 5, 6):
        return copy.deepcopy(draw.choice(alike))
    if how == 7:
        return copy.deepcopy(draw.choice(others))
    return copy.deepcopy(draw.choice(NASTY))


def mutated(data: Any, seed: str) -> tuple[Any, list[Path]]:
    """Give a copy of data with one field changed, sometimes two, and the paths of these fields."""
    draw = random.Random(seed)
    found, touched = copy.deepcopy(data), []
    for _ in range(draw.choice((1, 1, 1, 2))):
        fields = list(paths(found))
        if not fields:
            break
        path = draw.choice(fields)
        parent = at(found, path[:-1])
        alike = [at(found, other) for other in fields if other[-1] == path[-1]]
        others = [at(found, draw.choice(fields))]
        new = changed(parent[path[-1]], alike, others, draw)
        if draw.randrange(10) == 0:
            del parent[path[-1]]
        else:
            parent[path[-1]] = new
        touched.append(path)
    return found, touched
