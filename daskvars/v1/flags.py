"""Options of a program: `tf.flags`, also known as `tf.app.flags`: those of absl.

``DEFINE_integer("steps", 100, "How many.")`` declares an option; ``FLAGS.steps`` is its value.
`FLAGS` has the flags of ``absl.flags.FLAGS``, whoever declares them. As in TensorFlow 1, the
command line is read by `tf.app.run`, or when a value is first asked for: an error in absl.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any

from absl import flags as absl
from absl.flags import (
    DEFINE,
    DEFINE_alias,
    DEFINE_enum,
    DEFINE_enum_class,
    DEFINE_flag,
    DEFINE_list,
    DEFINE_multi,
    DEFINE_multi_enum,
    DEFINE_multi_enum_class,
    DEFINE_multi_float,
    DEFINE_multi_integer,
    DEFINE_multi_string,
    DEFINE_spaceseplist,
    DuplicateFlagError,
    Error,
    Flag,
    FlagHolder,
    IllegalFlagValueError,
    UnparsedFlagAccessError,
    UnrecognizedFlagError,
    ValidationError,
    adopt_module_key_flags,
    declare_key_flag,
    mark_bool_flags_as_mutual_exclusive,
    mark_flag_as_required,
    mark_flags_as_mutual_exclusive,
    mark_flags_as_required,
    multi_flags_validator,
    register_multi_flags_validator,
    register_validator,
    validator,
)

from daskvars.errors import did_you_mean

__all__ = [
    "DEFINE", "FLAGS", "DEFINE_alias", "DEFINE_bool", "DEFINE_boolean", "DEFINE_enum",
    "DEFINE_enum_class", "DEFINE_flag", "DEFINE_float", "DEFINE_integer", "DEFINE_list",
    "DEFINE_multi", "DEFINE_multi_enum", "DEFINE_multi_enum_class", "DEFINE_multi_float",
    "DEFINE_multi_integer", "DEFINE_multi_string", "DEFINE_spaceseplist", "DEFINE_string",
    "DuplicateFlagError", "Error", "Flag", "FlagHolder", "FlagValues", "IllegalFlagValueError",
    "UnparsedFlagAccessError", "UnrecognizedFlagError", "ValidationError", "adopt_module_key_flags",
    "declare_key_flag", "mark_bool_flags_as_mutual_exclusive", "mark_flag_as_required",
    "mark_flags_as_mutual_exclusive", "mark_flags_as_required", "multi_flags_validator",
    "register_multi_flags_validator", "register_validator", "validator",
]  # fmt: skip

# Flags that are declared through this module belong to the module that calls it.
absl.disclaim_key_flags()

# What the arguments were called before TensorFlow 1.5.
_OLD_NAMES = {"flag_name": "name", "default_value": "default", "docstring": "help"}


class FlagValues(absl.FlagValues):
    """The flags of a program: values are attributes, ``FLAGS["name"]`` is the `Flag` itself.

    >>> flags = FlagValues()
    >>> _ = DEFINE_float("rate", 0.1, "Learning rate.", flag_values=flags)
    >>> flags(["train.py", "--rate", "0.5", "data"])
    ['train.py', 'data']
    >>> flags.rate
    0.5
    """

    def __call__(self, argv: Sequence[str], known_only: bool = False) -> list[str]:
        """Read the values from `argv` and return what was no flag, the program's name first.

        Args:
          argv: the program's name, then its arguments.
          known_only: leave flags that nobody declared in what is returned.

        Raises:
          UnrecognizedFlagError: nobody declared a flag, and `known_only` is not set.
          IllegalFlagValueError: a value does not fit its flag.
          Error: a value is missing.
        """
        try:
            return super().__call__(argv, known_only)
        except UnrecognizedFlagError as error:
            error.args = (
                f"{error}. tf.app.run() leaves flags that nobody declared to main(argv); to read "
                "no command line at all, call tf.flags.FLAGS(sys.argv[:1]) first.",
            )
            raise

    def __getattr__(self, name: str) -> Any:
        """Return a flag's value; the command line is read first if it has not been."""
        if name not in self:
            raise AttributeError(f"there is no flag {name!r}{did_you_mean(name, list(self))}")
        if not self.is_parsed():
            self(sys.argv)
        return super().__getattr__(name)

    def _set_unknown_flag(self, name: str, value: Any) -> Any:
        try:
            return super()._set_unknown_flag(name, value)
        except UnrecognizedFlagError as error:
            error.args = (
                f"there is no flag {name!r} to set{did_you_mean(name, list(self))}: declare it "
                "first, with DEFINE_string or one of its kin",
            )
            raise

    def _parse_flags(self, args: Sequence[str] | None = None) -> list[str]:
        """Read `args`, by default the command line, as programs for TensorFlow 1.4 do."""
        return self(sys.argv if args is None else [sys.argv[0], *args], known_only=True)[1:]


FLAGS = FlagValues()
object.__setattr__(FLAGS, "__dict__", absl.FLAGS.__dict__)  # one set of flags, in both modules


def _with_old_names(define: Callable[..., Any]) -> Callable[..., Any]:
    """Return a DEFINE function that takes the old names of its arguments too."""

    @functools.wraps(define)
    def declare(*args: Any, **kwargs: Any) -> Any:
        return define(*args, **{_OLD_NAMES.get(key, key): value for key, value in kwargs.items()})

    return declare


DEFINE_boolean = _with_old_names(absl.DEFINE_boolean)
DEFINE_bool = DEFINE_boolean
DEFINE_float = _with_old_names(absl.DEFINE_float)
DEFINE_integer = _with_old_names(absl.DEFINE_integer)
DEFINE_string = _with_old_names(absl.DEFINE_string)
