"""Options of a program: `tf.flags`, also known as `tf.app.flags`.

``DEFINE_integer("steps", 100, "How many.")`` declares an option; ``FLAGS.steps`` is its value. The
command line is read by `tf.app.run`, or when a value is first asked for.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from daskvars.v1.flag_values import (
    DuplicateFlagError,
    Error,
    Flag,
    FlagValues,
    IllegalFlagValueError,
    UnrecognizedFlagError,
    ValidationError,
)

__all__ = [
    "FLAGS",
    "DEFINE_bool",
    "DEFINE_boolean",
    "DEFINE_enum",
    "DEFINE_float",
    "DEFINE_integer",
    "DEFINE_list",
    "DEFINE_multi_enum",
    "DEFINE_multi_float",
    "DEFINE_multi_integer",
    "DEFINE_multi_string",
    "DEFINE_spaceseplist",
    "DEFINE_string",
    "DuplicateFlagError",
    "Error",
    "Flag",
    "FlagValues",
    "IllegalFlagValueError",
    "UnrecognizedFlagError",
    "ValidationError",
    "mark_flag_as_required",
    "mark_flags_as_required",
    "register_validator",
]

FLAGS = FlagValues()
# What the arguments were called before TensorFlow 1.5.
_OLD_NAMES = {"flag_name": "name", "default_value": "default", "docstring": "help"}

DECLARATION = """Declare a flag {what}.

Args:
  name: its name; ``FLAGS.name`` is its value, ``--name`` sets it.
  default: its value where the command line has none; may be None.{more}
  help: what it is for.
  flag_values: the flags that it is added to.
  short_name: another name for the command line.

Raises:
  DuplicateFlagError: the name is taken.
  IllegalFlagValueError: the default does not fit.
"""


def _declaration(
    name: str, what: str, define: Callable[..., None], more: str = ""
) -> Callable[..., None]:
    """Return `define` under its public name, taking the old names of its arguments too."""

    @functools.wraps(define)
    def declare(*args: Any, **kwargs: Any) -> None:
        define(*args, **{_OLD_NAMES.get(key, key): value for key, value in kwargs.items()})

    declare.__name__ = declare.__qualname__ = name
    declare.__doc__ = DECLARATION.format(what=what, more=more)
    return declare


def _integer(given: Any) -> int:
    if isinstance(given, str):
        return int(given, 16 if given.lower().lstrip("+-").startswith("0x") else 10)
    if int(given) != given:
        raise ValueError(f"{given!r} is not an integer")
    return int(given)


def _boolean(given: Any) -> bool:
    text = given.lower() if isinstance(given, str) else given
    if text in ("true", "t", "1", 1):
        return True
    if text in ("false", "f", "0", 0):
        return False
    raise ValueError("a boolean is true or false")


def _bounded(parse: Callable[[Any], Any], lower: Any, upper: Any) -> Callable[[Any], Any]:
    def parsed(given: Any) -> Any:
        value = parse(given)
        if (lower is not None and value < lower) or (upper is not None and value > upper):
            raise ValueError(f"not in [{lower}, {upper}]")
        return value

    return parsed


def _one_of(values: Sequence[str], case_sensitive: bool = True) -> Callable[[Any], Any]:
    def parsed(given: Any) -> Any:
        for value in values:
            if given == value or (not case_sensitive and given.upper() == value.upper()):
                return value
        raise ValueError(f"value should be one of <{'|'.join(values)}>")

    return parsed


def _split(separator: str | None, given: Any) -> list[str]:
    items = given.split(separator) if isinstance(given, str) else given
    return [item.strip() for item in items] if given else []


def _declares(public_name: str, what: str, parse: Any, many: bool = False) -> Callable[..., None]:
    def define(
        name: str,
        default: Any,
        help: str | None,
        flag_values: FlagValues = FLAGS,
        short_name: str | None = None,
    ) -> None:
        flag_values.add(Flag(name, default, help, parse, parse is _boolean, many), short_name)

    return _declaration(public_name, what, define)


def _declares_number(
    public_name: str, what: str, parse: Any, many: bool = False
) -> Callable[..., None]:
    def define(
        name: str,
        default: Any,
        help: str | None,
        lower_bound: Any = None,
        upper_bound: Any = None,
        flag_values: FlagValues = FLAGS,
        short_name: str | None = None,
    ) -> None:
        bounded = _bounded(parse, lower_bound, upper_bound)
        flag_values.add(Flag(name, default, help, bounded, False, many), short_name)

    bounds = "\n  lower_bound, upper_bound: the least and the greatest value, if there are any."
    return _declaration(public_name, what, define, bounds)


def _declares_enum(public_name: str, what: str, many: bool = False) -> Callable[..., None]:
    def define(
        name: str,
        default: Any,
        enum_values: Sequence[str],
        help: str | None,
        flag_values: FlagValues = FLAGS,
        short_name: str | None = None,
        case_sensitive: bool = True,
    ) -> None:
        parse = _one_of(list(enum_values), case_sensitive)
        flag_values.add(Flag(name, default, help, parse, False, many), short_name)

    return _declaration(public_name, what, define, "\n  enum_values: the values it may have.")


DEFINE_string = _declares("DEFINE_string", "that is a string", str)
DEFINE_boolean = _declares("DEFINE_boolean", "that is True or False", _boolean)
DEFINE_bool = DEFINE_boolean
DEFINE_list = _declares(
    "DEFINE_list", "that is a list of strings between commas", functools.partial(_split, ",")
)
DEFINE_spaceseplist = _declares(
    "DEFINE_spaceseplist",
    "that is a list of strings between blanks",
    functools.partial(_split, None),
)
DEFINE_multi_string = _declares("DEFINE_multi_string", "that may be repeated", str, many=True)
DEFINE_integer = _declares_number("DEFINE_integer", "that is an integer", _integer)
DEFINE_float = _declares_number("DEFINE_float", "that is a number", float)
DEFINE_multi_integer = _declares_number(
    "DEFINE_multi_integer", "that is an integer and may be repeated", _integer, many=True
)
DEFINE_multi_float = _declares_number(
    "DEFINE_multi_float", "that is a number and may be repeated", float, many=True
)
DEFINE_enum = _declares_enum("DEFINE_enum", "that is one of some strings")
DEFINE_multi_enum = _declares_enum(
    "DEFINE_multi_enum", "that is one of some strings and may be repeated", many=True
)


def register_validator(
    flag_name: str,
    checker: Callable[[Any], bool],
    message: str = "Flag validation failed",
    flag_values: FlagValues = FLAGS,
) -> None:
    """Raise ValidationError with `message` where ``checker(value)`` of a flag is not true."""
    flag_values[flag_name]  # there is one of that name
    flag_values._validators.append((flag_name, checker, message))


def mark_flag_as_required(flag_name: str, flag_values: FlagValues = FLAGS) -> None:
    """Raise ValidationError where a flag has no value, which is None, when flags are read."""
    register_validator(
        flag_name,
        lambda value: value is not None,
        "Flag must have a value other than None.",
        flag_values,
    )


def mark_flags_as_required(flag_names: Iterable[str], flag_values: FlagValues = FLAGS) -> None:
    """Require values for several flags. See `mark_flag_as_required`."""
    for name in flag_names:
        mark_flag_as_required(name, flag_values)
