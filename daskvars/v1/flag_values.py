"""Flags, their values, and how a command line is read into them.

The grammar is that of TensorFlow's flags, which `argparse` cannot be brought to read:
``--name=value``, ``--name value`` or the same with one dash; ``--name`` and ``--noname`` for
booleans, which take a value only after "="; ``--`` ends the options; what is no option may stand
between them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from daskvars.errors import did_you_mean

_HELP = ("help", "helpfull", "helpshort")


class Error(Exception):
    """The command line, or the declaration of a flag, is wrong."""


class DuplicateFlagError(Error):
    """Two flags have one name."""


class IllegalFlagValueError(Error):
    """A flag cannot have that value."""


class UnrecognizedFlagError(Error):
    """There is no flag of that name."""


class ValidationError(IllegalFlagValueError):
    """A flag's value does not satisfy its validator."""


class Flag:
    """One declared option.

    Attributes:
      name: its name.
      default, value: its default and present value.
      help: what it is for.
      boolean: whether ``--name`` alone means True.
      present: how often the command line has it.
    """

    def __init__(
        self,
        name: str,
        default: Any,
        help: str | None,
        parse: Callable[[Any], Any],
        boolean: bool = False,
        many: bool = False,
    ) -> None:
        self.name = name
        self.help = help
        self.boolean = boolean
        self.present = 0
        self._parse = parse
        self._many = many
        self.value = self.default = self._default(default)

    def _default(self, given: Any) -> Any:
        if given is None:
            return None
        if self._many:
            items = given if isinstance(given, list | tuple) else [given]
            return [self.parsed(item) for item in items]
        return self.parsed(given)

    def parsed(self, given: Any) -> Any:
        """Return the value that `given`, a string or a value, stands for.

        Raises:
          IllegalFlagValueError: it stands for none.
        """
        try:
            return self._parse(given)
        except (TypeError, ValueError) as error:
            raise IllegalFlagValueError(f"flag --{self.name}={given}: {error}") from None

    def read(self, text: str) -> None:
        """Take a value from the command line; a flag that may be repeated collects them."""
        value = self.parsed(text)
        if self._many:
            self.value = [*self.value, value] if self.present else [value]
        else:
            self.value = value
        self.present += 1

    def unparse(self) -> None:
        """Go back to the default."""
        self.value, self.present = self.default, 0


class FlagValues:
    """The flags of a program: values are attributes, ``FLAGS["name"]`` is the `Flag` itself.

    >>> flags = FlagValues()
    >>> flags.add(Flag("rate", 0.1, "Learning rate.", float))
    >>> flags(["train.py", "--rate", "0.5", "data"])
    ['train.py', 'data']
    >>> flags.rate
    0.5
    """

    _flags: dict[str, Flag]
    _short: dict[str, str]
    _validators: list[tuple[str, Callable[[Any], bool], str]]
    _is_parsed: bool

    def __init__(self) -> None:
        vars(self).update(_flags={}, _short={}, _validators=[], _is_parsed=False)

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
        if isinstance(argv, str | bytes) or not argv:
            raise TypeError("argv is a list: the program's name, then its arguments")
        rest = [argv[0]]
        unknown: list[str] = []
        arguments = iter(argv[1:])
        for argument in arguments:
            if argument == "--":
                rest += ["--", *arguments] if known_only else arguments
                break
            if not argument.startswith("-") or not argument.strip("-"):
                rest.append(argument)
            elif not self._read(argument, arguments):
                (rest if known_only else unknown).append(argument)
        if unknown:
            raise self._unrecognized(unknown[0].lstrip("-").partition("=")[0])
        vars(self)["_is_parsed"] = True
        self._validate(self._flags)
        return rest

    def _read(self, argument: str, following: Iterator[str]) -> bool:
        """Read one flag, with its value if that follows. Return whether it was declared."""
        name, equals, text = argument[2 if argument.startswith("--") else 1 :].partition("=")
        flag = self._find(name)
        if flag is None:
            flag = self._find(name.removeprefix("no")) if name.startswith("no") else None
            if flag is None or not flag.boolean:
                if name in _HELP:
                    print(self.get_help())
                    sys.exit(1)
                return False
            if equals:
                raise IllegalFlagValueError(f"{argument} does not take an argument")
            text = "false"
        elif not equals:
            text = "true" if flag.boolean else next(following, None)
            if text is None:
                raise Error(f"Missing value for flag {argument}")
        flag.read(text)
        return True

    def _find(self, name: str) -> Flag | None:
        return self._flags.get(self._short.get(name, name))

    def _unrecognized(self, name: str) -> UnrecognizedFlagError:
        return UnrecognizedFlagError(
            f"Unknown command line flag '{name}'{did_you_mean(name, self._flags)}. tf.app.run() "
            "leaves flags that nobody declared to main(argv); to read no command line at all, call "
            "tf.flags.FLAGS(sys.argv[:1]) first."
        )

    def _validate(self, names: Iterable[str]) -> None:
        for name, is_right, message in self._validators:
            if name in names and not is_right(self._flags[name].value):
                raise ValidationError(f"flag --{name}={self._flags[name].value}: {message}")

    def add(self, flag: Flag, short_name: str | None = None) -> None:
        """Declare a flag. Raises DuplicateFlagError where its name is taken."""
        for name in filter(None, (flag.name, short_name)):
            if name in self._flags or name in self._short:
                raise DuplicateFlagError(
                    f"The flag '{name}' is defined twice. Use another name, or `del FLAGS.{name}` "
                    "before it is defined again."
                )
        self._flags[flag.name] = flag
        if short_name:
            self._short[short_name] = flag.name

    # -- values -------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        if name == "__flags":  # as programs of TensorFlow 1 list them
            return self._flags
        flag = self._find(name)
        if flag is None:
            raise AttributeError(f"there is no flag {name!r}{did_you_mean(name, self._flags)}")
        if not self._is_parsed:
            self(sys.argv)
        return flag.value

    def __setattr__(self, name: str, value: Any) -> None:
        flag = self._find(name)
        if flag is None:
            raise UnrecognizedFlagError(
                f"there is no flag {name!r} to set{did_you_mean(name, self._flags)}: declare it "
                "first, with DEFINE_string or one of its kin"
            )
        flag.value = value
        self._validate([flag.name])

    def __delattr__(self, name: str) -> None:
        if name not in self._flags:
            raise AttributeError(f"there is no flag {name!r}")
        del self._flags[name]
        self._validators[:] = [entry for entry in self._validators if entry[0] != name]

    def __getitem__(self, name: str) -> Flag:
        return self._flags[name]

    def __contains__(self, name: str) -> bool:
        return name in self._flags

    def __iter__(self) -> Iterator[str]:
        return iter(self._flags)

    def __len__(self) -> int:
        return len(self._flags)

    def __dir__(self) -> list[str]:
        return sorted(self._flags)

    def flag_values_dict(self) -> dict[str, Any]:
        """Return name -> value of all flags."""
        return {name: flag.value for name, flag in self._flags.items()}

    def set_default(self, name: str, value: Any) -> None:
        """Give a flag another default, and that as its value unless the command line has one."""
        flag = self._flags[name]
        flag.default = flag._default(value)
        if not flag.present:
            flag.value = flag.default

    def is_parsed(self) -> bool:
        """Return whether the command line has been read."""
        return self._is_parsed

    def mark_as_parsed(self) -> None:
        """Read no command line when a value is asked for."""
        vars(self)["_is_parsed"] = True

    def unparse_flags(self) -> None:
        """Give all flags their defaults; the command line is read again when a value is wanted."""
        for flag in self._flags.values():
            flag.unparse()
        vars(self)["_is_parsed"] = False

    def _parse_flags(self, args: Sequence[str] | None = None) -> list[str]:
        """Read `args`, by default the command line, as programs for TensorFlow 1.4 do."""
        return self(sys.argv if args is None else [sys.argv[0], *args], known_only=True)[1:]

    def get_help(self) -> str:
        """Return what ``--help`` prints."""
        about = getattr(sys.modules.get("__main__"), "__doc__", None) or f"USAGE: {sys.argv[0]}"
        lines = [about.strip(), "", "flags:"]
        for name in sorted(self._flags):
            flag = self._flags[name]
            lines.append(f"  --{'[no]' if flag.boolean else ''}{name}: {flag.help or ''}")
            if flag.default is not None:
                lines.append(f"    (default: {flag.default!r})")
        return "\n".join(lines)
