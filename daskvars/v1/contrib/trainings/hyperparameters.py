"""HParams: named settings of a model, from text too."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from typing import Any


class HParams:
    """Named values, each of a type that later ones must have.

    Args:
      **kwargs: the values: numbers, bool, text, or lists of those.

    >>> settings = HParams(rate=0.1, units=[8, 4], name="small")
    >>> settings.parse("rate=0.5,units=[2,3]").rate, settings.units
    (0.5, [2, 3])
    """

    def __init__(self, **kwargs: Any) -> None:
        self._kinds: dict[str, tuple[type, bool]] = {}
        for name, value in kwargs.items():
            self.add_hparam(name, value)

    def add_hparam(self, name: str, value: Any) -> None:
        """Add a value.

        Raises:
          ValueError: there is one of that name, or the list is empty.
        """
        if getattr(self, name, None) is not None:
            raise ValueError(f"Hyperparameter name is reserved: {name}")
        is_list = isinstance(value, list | tuple)
        if is_list and not value:
            raise ValueError(f"Multi-valued hyperparameters cannot be empty: {name}")
        self._kinds[name] = type(value[0] if is_list else value), is_list
        setattr(self, name, list(value) if is_list else value)

    def set_hparam(self, name: str, value: Any) -> None:
        """Give a value that is there another, of its type.

        Raises:
          KeyError: there is none of that name.
          ValueError: it is of another type.
        """
        kind, is_list = self._kinds[name]
        if isinstance(value, list | tuple) != is_list:
            one, many = ("list", "single value") if is_list else ("single value", "list")
            raise ValueError(f"Hyperparameter {name} is a {one}, and was given a {many}: {value!r}")
        setattr(
            self,
            name,
            [_cast(name, kind, v) for v in value] if is_list else _cast(name, kind, value),
        )

    def del_hparam(self, name: str) -> None:
        """Remove a value, if it is there."""
        if name in self._kinds:
            delattr(self, name)
            del self._kinds[name]

    def parse(self, values: str) -> HParams:
        """Set values from text: ``a=1,b=[2,3],c=name,d[0]=5``, and return this object.

        Raises:
          ValueError: a name is unknown, or a value not of its type.
        """
        for name, index, text in _assignments(values):
            if name not in self._kinds:
                raise ValueError(f"Unknown hyperparameter type for {name}")
            kind, is_list = self._kinds[name]
            if index is not None:
                changed = list(getattr(self, name))
                changed[index] = _parsed(name, kind, text)
                setattr(self, name, changed)
            elif text.startswith("["):
                items = [t.strip() for t in text[1:-1].split(",") if t.strip()]
                self.set_hparam(name, [_parsed(name, kind, item) for item in items])
            else:
                value = _parsed(name, kind, text)
                self.set_hparam(name, [value] if is_list else value)
        return self

    def override_from_dict(self, values_dict: Mapping[str, Any]) -> HParams:
        """Set values, and return this object."""
        for name, value in values_dict.items():
            self.set_hparam(name, value)
        return self

    def values(self) -> dict[str, Any]:
        """Return all values by name."""
        return {name: getattr(self, name) for name in self._kinds}

    def get(self, key: str, default: Any = None) -> Any:
        """Return a value, or the default where there is none of that name.

        Raises:
          ValueError: there is one, and the default is of another type.
        """
        if key not in self._kinds:
            return default
        kind, is_list = self._kinds[key]
        items = default if isinstance(default, list) else [default]
        if default is not None and (
            isinstance(default, list) is not is_list or not all(_fits(kind, item) for item in items)
        ):
            wanted = f"list<{kind.__name__}>" if is_list else kind.__name__
            raise ValueError(
                f"Hparam {key!r} of type {wanted!r} is incompatible with default={default!r}"
            )
        return getattr(self, key)

    def to_json(self, **kwargs: Any) -> str:
        """Return the values as JSON; arguments are those of ``json.dumps``."""
        return json.dumps(self.values(), **kwargs)

    def parse_json(self, values_json: str) -> HParams:
        """Set values from JSON, and return this object."""
        return self.override_from_dict(json.loads(values_json))

    def __contains__(self, key: str) -> bool:
        return key in self._kinds

    def __repr__(self) -> str:
        return f"HParams({', '.join(f'{k}={v!r}' for k, v in sorted(self.values().items()))})"


def _cast(name: str, kind: type, value: Any) -> Any:
    is_of_kind = isinstance(value, kind) and isinstance(value, bool) == (kind is bool)
    if kind is type(None) or is_of_kind:
        return value
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if (is_number and kind is float) or (kind is int and is_number and int(value) == value):
        return kind(value)
    raise ValueError(f"Could not cast hparam {name!r} of type {kind.__name__} from value {value!r}")


def _fits(kind: type, value: Any) -> bool:
    """Return whether a value is of a type, or a whole number where floats are."""
    kinds = (int, float) if kind is float else kind
    return kind is type(None) or (
        isinstance(value, kinds) and isinstance(value, bool) == (kind is bool)
    )


def _parsed(name: str, kind: type, text: str) -> Any:
    """Return a value of some type that is written so."""
    try:
        if kind is bool:
            return {"true": True, "1": True, "false": False, "0": False}[text.lower()]
        if kind in (int, float):
            return kind(text)
        return text if kind is str else ast.literal_eval(text)
    except (KeyError, ValueError, SyntaxError):
        raise ValueError(
            f"Could not parse hparam {name!r} of type {kind.__name__} from {text!r}"
        ) from None


def _assignments(text: str) -> list[tuple[str, int | None, str]]:
    """Return (name, index, value) of each ``name=value`` or ``name[index]=value``."""
    found = []
    for part in _split(text):
        left, equals, right = part.partition("=")
        name, bracket, rest = left.strip().partition("[")
        if not equals or not name.isidentifier():
            raise ValueError(f"Malformed hyperparameter value: {part!r} of {text!r}")
        index = int(rest.rstrip("] ")) if bracket else None
        found.append((name, index, right.strip()))
    return found


def _split(text: str) -> list[str]:
    """Return the parts between the commas that are in no brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter == "[") - (letter == "]")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return [part for part in parts if part.strip()]
