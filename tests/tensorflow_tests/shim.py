"""TensorFlow's modules, as modules whose names are those of `daskvars.v1`."""

from __future__ import annotations

import functools
import importlib.abc
import importlib.machinery
import importlib.util
import re
import sys
import types
from pathlib import Path
from typing import Any

import daskvars.v1
from daskvars.execution import config_proto
from daskvars.graph.scopes.default_graph import in_graph
from daskvars.train.checkpoints import kept_checkpoints
from daskvars.v1.graphs import importer, meta_graph
from tests.tensorflow_tests.given import GIVEN
from tests.tensorflow_tests.of_their_day import Loader

# Words of TensorFlow's module names, and the namespace that has their names first.
NAMESPACES = {
    "cell": "nn.rnn_cell",
    "client": "summary",
    "googletest": "test",
    "gradient": "test",
    "init": "initializers",
    "input": "train",
    "lookup": "contrib.lookup",
    "readers": "data",
    "rnn": "nn",
    "string": "strings",
    "training": "train",
}
# Where a name is looked for last, in this order.
ELSEWHERE = (
    *("nn", "train", "math", "linalg", "strings", "data", "image", "sparse", "random"),
    *("nn.rnn_cell", "layers", "initializers", "losses", "test", "summary", "io", "saved_model"),
    *("errors", "lookup", "contrib.lookup", "contrib.nn", "contrib.staging", "contrib.deprecated"),
)


# TensorFlow 1.8's names of what is called otherwise in 1.15, where both are public.
RENAMED = {"batch_norm": "batch_normalization", "MakeNdarray": "make_ndarray"}
# Where TensorFlow's modules are that others name as their own (``variables.dtypes``).
SHARED = ("framework", "ops", "training", "platform")


def in_graph_mode(module: types.ModuleType) -> types.ModuleType:
    """Return a module whose functions build into the default graph."""
    made = types.ModuleType(module.__name__)
    for name, value in vars(module).items():
        setattr(made, name, in_graph(value) if isinstance(value, types.FunctionType) else value)
    return made


# Modules here that are called as TensorFlow's, and are under no public name.
MODULES = {
    **dict.fromkeys(("config_pb2", "debug_pb2", "rewriter_config_pb2"), config_proto),
    "importer": in_graph_mode(importer),
    "meta_graph": in_graph_mode(meta_graph),
}


# What tests replace in a module of TensorFlow is replaced in ours that does its work.
REPLACED = {("saver", "time"): kept_checkpoints}


class Lacking(AttributeError, NotImplementedError):
    """A test used what has no counterpart here."""


class StandIn:
    """A name that has no counterpart: whatever is done with it fails, except in loading a file."""

    is_loading = False  # a decorator, a base class: the tests with it fail, and not the file

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if StandIn.is_loading:
            return self
        raise Lacking(f"daskvars.v1 has no {self._name}")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if StandIn.is_loading:
            return StandIn(f"{self._name}.{name}")
        raise Lacking(f"daskvars.v1 has no {self._name}.{name}")

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        return (type(self._name, (), {"__init__": self.__call__}),)

    def __iter__(self) -> Any:
        return iter(()) if StandIn.is_loading else self()


def namespace(dotted: str) -> Any:
    """Return a namespace of `daskvars.v1` by its path, None where there is none."""
    found: Any = daskvars.v1
    for part in dotted.split("."):
        found = getattr(found, part, None)
    return found if isinstance(found, types.ModuleType) else None


def namespaces_of(module: str) -> list[Any]:
    """Return where the names of a module of TensorFlow are looked for, the likeliest first."""
    parts = module.split(".")[:0:-1]
    words = [word for part in parts for word in dict.fromkeys([part, *part.split("_")[::-1]])]
    own = [namespace(NAMESPACES.get(word, word)) for word in words]
    contrib = re.match(r"tensorflow\.contrib\.(\w+)", module)
    if contrib:
        own.insert(0, namespace(f"contrib.{contrib[1]}"))
    own.insert(0, MODULES.get(words[0]) if words else None)
    found = [*own, daskvars.v1, *map(namespace, ELSEWHERE)]
    return [n for n in found if n is not None]


def counterpart(module: str, name: str) -> Any:
    """Return what a name of a module of TensorFlow is here, or a stand-in."""
    given = GIVEN.get(module.rpartition(".")[2], {})
    if name in given:
        return given[name]
    for spelling in (name, re.sub(r"_?[vV]\d$", "", name), RENAMED.get(name)):
        for place in namespaces_of(module):
            if spelling in names_of(place):
                return vars(place)[spelling]
    for folder in SHARED:
        if Finder.of_tensorflow(f"tensorflow.python.{folder}.{name}"):
            return importlib.import_module(f"tensorflow.python.{folder}.{name}")
    return StandIn(f"{module}.{name}")


@functools.cache
def names_of(place: types.ModuleType) -> frozenset[str]:
    """Return the public names of a namespace, without what it imports."""
    listed = () if place in MODULES.values() else getattr(place, "__all__", ())
    return frozenset(listed or (name for name in vars(place) if name[0] != "_"))


class Module(types.ModuleType):
    """A module of TensorFlow: its modules are modules, its names are looked up."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        place = REPLACED.get((self.__name__.rpartition(".")[2], name))
        if place is not None:
            setattr(place, name, value)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        dotted = f"{self.__name__}.{name}"
        if Finder.of_tensorflow(dotted):
            return importlib.import_module(dotted)
        value = counterpart(self.__name__, name)
        setattr(self, name, value)
        return value


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds TensorFlow's modules. Those of tests, and what they share, are the checkout's own."""

    root: Path

    @classmethod
    def install(cls, root: Path) -> None:
        """Make TensorFlow importable, with the tests of a checkout."""
        cls.root = root
        # TensorBoard takes TensorFlow where it finds one, and does without it if this is there.
        sys.modules["tensorboard.compat.notf"] = types.ModuleType("tensorboard.compat.notf")
        sys.meta_path.insert(0, cls())

    @classmethod
    def of_tensorflow(cls, dotted: str) -> bool:
        """Return whether a dotted name is a module of TensorFlow."""
        path = cls.root.joinpath(*dotted.split("."))
        last = path.name
        is_made = last.endswith("_pb2") or re.fullmatch(r"gen_\w+_ops|pywrap_tensorflow", last)
        is_core = dotted.startswith("tensorflow.core") and last.islower() and "pb2" not in dotted
        return bool(is_made or is_core) or path.is_dir() or path.with_suffix(".py").is_file()

    @classmethod
    def file_of_tests(cls, dotted: str) -> Path | None:
        """Return the file of a module that is tests, or what only tests use."""
        path = cls.root.joinpath(*dotted.split(".")).with_suffix(".py")
        if path.stem in GIVEN:
            return None
        is_of_tests = re.search(r"_test(_utils?|_base)?$|\.kernel_tests\.|\.testing\.", dotted)
        return path if is_of_tests and path.is_file() else None

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        """Return how a module of TensorFlow is made, None for any other module."""
        if fullname.partition(".")[0] != "tensorflow" or not self.of_tensorflow(fullname):
            return None
        file = self.file_of_tests(fullname)
        if file is not None:
            return importlib.util.spec_from_loader(fullname, Loader(fullname, str(file)))
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: Any) -> types.ModuleType:
        """Return a module whose names are looked up."""
        return Module(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """Leave it: names come when they are asked for."""
