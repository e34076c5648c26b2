"""Errors of v1 are caught by their public names: each is the class that is raised."""

import sys
import types

import daskvars.v1 as tf


def found(module, seen):
    """Yield the public names and values of a module, and those of the namespaces in it."""
    seen.add(id(module))
    for name in getattr(module, "__all__", None) or [n for n in vars(module) if n[0] != "_"]:
        value = getattr(module, name)
        is_own = isinstance(value, types.ModuleType) and value.__name__.startswith("daskvars")
        if is_own and id(value) not in seen:
            yield from found(value, seen)
        yield f"{module.__name__}.{name}", value


def test_an_error_is_the_same_class_under_every_name():
    errors = {
        name: value
        for name, value in found(tf, set())
        if isinstance(value, type) and issubclass(value, BaseException)
    }
    assert {"NanLossDuringTrainingError", "OutOfRangeError"} <= {
        v.__name__ for v in errors.values()
    }
    others = [
        name
        for name, value in errors.items()
        if getattr(sys.modules[value.__module__], value.__name__, value) is not value
    ]
    assert others == []
