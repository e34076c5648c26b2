"""The command line for checkpoints, stores, Zarr groups: ``daskvars inspect | verify | diff``, and
``restore-to`` for stores."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence

import daskvars
from daskvars.errors import OpError
from daskvars.inspect_checkpoint import damages, differences, not_checked, table
from daskvars.state import ZarrStore
from daskvars.train.checkpoints.reader import load_variable

SAME, DIFFERENT, TROUBLE = 0, 1, 2
PATH = "a checkpoint, the directory of a Saver, a session's store or any Zarr group: path or URL"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit status.

    Args:
      arguments: what follows the program's name; by default the process's own.

    Returns:
      0; 1 where `verify` finds damage or `diff` a difference; 2 where the state cannot be read as
      asked, the reason being on stderr.
    """
    options = parser().parse_args(arguments)
    try:
        return options.run(options)
    except (OpError, ValueError) as error:
        print(f"daskvars: {error}", file=sys.stderr)
        return TROUBLE


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    found = argparse.ArgumentParser(prog="daskvars", description=__doc__)
    found.add_argument("--version", action="version", version=f"daskvars {daskvars.__version__}")
    commands = found.add_subparsers(dest="command", required=True)
    inspect = commands.add_parser("inspect", help="list variables, or print the value of one")
    inspect.add_argument("path", help=PATH)
    inspect.add_argument("--values", metavar="KEY", help="print this variable's value")
    inspect.set_defaults(run=run_inspect)
    verify = commands.add_parser("verify", help="read every chunk, compare its checksum")
    verify.add_argument("path", help=PATH)
    verify.set_defaults(run=run_verify)
    diff = commands.add_parser("diff", help="compare the variables of two checkpoints")
    diff.add_argument("first", help=PATH)
    diff.add_argument("second", help=PATH)
    diff.set_defaults(run=run_diff)
    back = commands.add_parser(
        "restore-to", help="make an older version of a session's store its head"
    )
    back.add_argument("store", help="path or URL of a session's store")
    back.add_argument("version", type=int, help="its number; later versions are removed")
    back.set_defaults(run=run_restore_to)
    return found


def run_inspect(options: argparse.Namespace) -> int:
    """Print the variables at a path, or the value of one."""
    if options.values:
        print(load_variable(options.path, options.values))
    else:
        print("\n".join(table(options.path)))
    return SAME


def run_verify(options: argparse.Namespace) -> int:
    """Print what is damaged at a path, and what could not be checked."""
    notes = list(not_checked(options.path))
    for note in notes:
        print(f"not checked: {note}")
    whole = "what is there can be read" if notes else "every chunk is there and intact"
    return report(damages(options.path), f"{options.path}: {whole}")


def run_diff(options: argparse.Namespace) -> int:
    """Print how two paths differ: ``-`` only in the first, ``+`` only in the second, ``!`` both."""
    found = differences(options.first, options.second)
    return report(found, f"{options.first} and {options.second} hold the same variables")


def run_restore_to(options: argparse.Namespace) -> int:
    """Make an older version of a store its head."""
    ZarrStore(options.store).roll_back_to(options.version)
    print(f"{options.store}: version {options.version} is the head; later ones are removed")
    return SAME


def report(lines: Iterable[str], nothing: str) -> int:
    """Print lines, or else that there are none."""
    count = 0
    for line in lines:
        count += 1
        print(line)
    if not count:
        print(nothing)
    return DIFFERENT if count else SAME
