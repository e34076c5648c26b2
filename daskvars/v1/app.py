"""The start of a program: `tf.app`.

Flags are absl's. ``absl.app`` is not used: it logs what every library has to say at level INFO by a
handler of its own, and takes names of flags (``verbosity``, ``v``, ``pdb``) from the program.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from daskvars.v1 import flags

__all__ = ["flags", "run"]

_HELP = {"--help", "-help", "--helpfull", "--helpshort"}


def run(main: Callable[[list[str]], Any] | None = None, argv: Sequence[str] | None = None) -> None:
    """Read the flags, call ``main(argv)`` with what was no flag, and exit with what it returns.

    Flags that nobody declared are left in `argv`. A wrong value, or a required one that is missing,
    is told on standard error, and the exit code is 1. With ``--help`` the flags are listed, and the
    exit code is 1, too.

    Args:
      main: the program, by default the function `main` of the script.
      argv: the program's name and arguments, by default the command line.

    Raises:
      SystemExit: always.
      AttributeError: the script has no `main`.

    >>> try:
    ...     tf.app.run(lambda argv: print(argv), ["program", "more"])
    ... except SystemExit as error:
    ...     print("exit code", error.code)
    ['program', 'more']
    exit code None
    """
    try:
        rest = flags.FLAGS(sys.argv if argv is None else argv, known_only=True)
    except flags.Error as error:
        print(f"FATAL Flags parsing error: {error}\nPass --help to see the flags.", file=sys.stderr)
        sys.exit(1)
    if not _HELP.isdisjoint(rest[: rest.index("--")] if "--" in rest else rest):
        about = sys.modules["__main__"].__doc__ or f"USAGE: {rest[0]} [flags]"
        print(f"{about.strip()}\n\nflags:\n{flags.FLAGS.get_help()}")
        sys.exit(1)
    if main is None:
        main = getattr(sys.modules["__main__"], "main", None)
        if main is None:
            raise AttributeError("the script has no function main(argv): pass it, tf.app.run(main)")
    sys.exit(main(rest))
