"""Static names of `daskvars.v1`, whose names are made when it is imported: its stubs.

``python -m tests.typed.stubs`` writes them. A name is imported in them from where type checkers see
its signature, which is that of the function or class that it was made of.
"""

from __future__ import annotations

import textwrap
import types
from collections.abc import Iterable, Iterator
from pathlib import Path

import daskvars
import daskvars.v1 as tf
from daskvars.v1.inner.inner_modules import InnerModule
from daskvars.v1.names import graph_mode, text

FOLDER = Path(tf.__file__).parent
MADE = "Made by tests/typed/stubs.py; a test compares them."


def texts() -> dict[str, str]:
    """Return the name of each stub file and what belongs into it."""
    found = {"__init__.pyi": _stub("The names of TensorFlow 1.", _names())}
    for name, parts in namespaces():
        lines = [line for part in parts for line in _of_module(part)]
        lines += _inner(name)
        last = {line.rpartition(" ")[2]: line for line in lines}  # v1's own of the package's
        found[f"{name}.pyi"] = _stub(f"The names of ``tf.{name}``.", last.values())
    dimensions = [f"from daskvars import {name} as {name}" for name in graph_mode.COMPAT_TOO]
    compat = [*_of_module(text), *dimensions, "from daskvars import v1 as v1"]
    return found | {"compat.pyi": _stub("The names of ``tf.compat``.", compat)}


def _stub(title: str, lines: Iterable[str]) -> str:
    """Return the text of a stub, in which a line imports as many names of a module as it holds."""
    others, names = [], dict[str, list[str]]()
    for line in lines:
        module, _, name = line.removeprefix("from ").partition(" import ")
        names.setdefault(module, []).append(name) if name else others.append(line)
    imports = [line for module, found in names.items() for line in _imported(module, found)]
    return "\n".join([f'"""{title} {MADE}"""', "", *imports, *others, ""])


def _imported(module: str, names: list[str]) -> list[str]:
    tied = [name.replace(" as ", "=as=") for name in names]  # so that none is cut in two
    start = f"from {module} import "
    lines = textwrap.wrap(", ".join(tied), 100 - len(start), break_long_words=False)
    return [start + line.removesuffix(",").replace("=as=", " as ") for line in lines]


def namespaces() -> Iterator[tuple[str, tuple[types.ModuleType, ...]]]:
    """Give each namespace that no module has as a whole, and what it is made of."""
    for parts in graph_mode.MADE_OF:
        yield parts[0].__name__.rpartition(".")[2].removesuffix("_names"), parts


def _of_module(module: types.ModuleType) -> list[str]:
    names = sorted(module.__all__)
    return [f"from {module.__name__} import {name} as {name}" for name in names]


def _inner(name: str) -> list[str]:
    """Return the modules in a namespace that have the namespace's own names again."""
    found = vars(getattr(tf, name)).items()
    inner = sorted(n for n, value in found if isinstance(value, InnerModule))
    return [f"from daskvars.v1 import {name} as {n}" for n in inner]


def _names() -> Iterator[str]:
    own = {name for name, _ in namespaces()} | {"compat"}
    rooms = {"contrib", "estimator", "feature_column", "lookup", "saved_model", "test"}
    own |= {path.stem for path in FOLDER.glob("*.py")} | rooms
    yield "__version__: str"
    yield "__all__: list[str]"
    for name in tf.__all__:
        value = getattr(tf, name)
        if isinstance(value, str):
            yield f"{name}: str"
        elif isinstance(value, types.ModuleType) and name in own:
            yield f"from daskvars.v1 import {name} as {name}"
        elif name in daskvars.__all__:
            yield f"from daskvars import {name} as {name}"
        else:
            yield f"from {value.__module__} import {value.__name__} as {name}"


if __name__ == "__main__":
    for stale in FOLDER.glob("*.pyi"):
        stale.unlink()
    for file, text in texts().items():
        (FOLDER / file).write_text(text)
