"""The command line for checkpoints (TensorFlow's too), stores, Zarr groups: ``daskvars inspect |
verify | diff``, ``export`` and ``import`` for files of other libraries, ``history``, ``restore-to``
for stores, ``dashboard`` for clusters."""

from __future__ import annotations

import argparse
import os
import sys
import webbrowser
from collections.abc import Iterable, Sequence

import daskvars
from daskvars.errors import OpError
from daskvars.inspect_checkpoint import (
    as_json,
    damages,
    description,
    differences,
    history,
    not_checked,
    table,
    versions,
)
from daskvars.observe.dashboard import dashboard_page, dashboard_root, dashboard_state
from daskvars.state import ZarrStore
from daskvars.state.external.formats import FORMATS
from daskvars.surface.one_line import counted
from daskvars.train.checkpoints.interchange import export_checkpoint, import_checkpoint
from daskvars.train.checkpoints.reader import list_variables, load_variable

SAME, DIFFERENT, TROUBLE = 0, 1, 2
PATH = (
    "a checkpoint (.zip: in one file), the directory of a Saver, a session's store, any Zarr"
    " group or the prefix of a checkpoint of TensorFlow: path or URL"
)
FILE = "a file that ends in .safetensors or .npz, or the prefix of a checkpoint of TensorFlow"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit status.

    Args:
      arguments: what follows the program's name; by default the process's own.

    Returns:
      0; 1 where `verify` or `history` finds damage or `diff` a difference; 2 where the state cannot
      be read as asked, the reason being on stderr, or nobody reads what is printed.
    """
    options = parser().parse_args(arguments)
    try:
        status: int = options.run(options)
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # whoever reads has enough, as `head` has
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return TROUBLE
    except (OpError, ValueError, ImportError) as error:
        print(f"daskvars: {error}", file=sys.stderr)
        return TROUBLE


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    found = argparse.ArgumentParser(prog="daskvars", description=__doc__)
    found.add_argument("--version", action="version", version=f"daskvars {daskvars.__version__}")
    commands = found.add_subparsers(dest="command", required=True)
    inspect = commands.add_parser("inspect", help="list variables, or print the value of one")
    inspect.add_argument("path", help=PATH)
    what = inspect.add_mutually_exclusive_group()
    what.add_argument("--value", metavar="KEY", help="print this variable's value")
    what.add_argument("--stats", action="store_true", help="read all values; add their statistics")
    inspect.add_argument("--json", action="store_true", help="print JSON")
    inspect.set_defaults(run=run_inspect)
    verify = commands.add_parser("verify", help="read every chunk, compare its checksum")
    verify.add_argument("path", help=PATH)
    verify.set_defaults(run=run_verify)
    diff = commands.add_parser("diff", help="compare the variables of two checkpoints")
    diff.add_argument("first", help=PATH)
    diff.add_argument("second", help=PATH)
    diff.set_defaults(run=run_diff)
    out = commands.add_parser("export", help="write variables into a file of another library")
    out.add_argument("path", help=PATH)
    out.add_argument("file", help=f"{FILE}; replaced if it is there")
    out.add_argument("--format", choices=list(FORMATS), help="where its name does not tell")
    out.set_defaults(run=run_export)
    into = commands.add_parser("import", help="make a checkpoint of a file of another library")
    into.add_argument("file", help=FILE)
    into.add_argument("path", help="path or URL of the checkpoint; replaced if it is there")
    into.add_argument("--format", choices=list(FORMATS), help="where its name does not tell")
    into.add_argument("--step", type=int, help="the step to note in it")
    into.set_defaults(run=run_import)
    past = commands.add_parser("history", help="list the versions of a session's store")
    past.add_argument("store", help="path or URL of a session's store")
    past.set_defaults(run=run_history)
    back = commands.add_parser(
        "restore-to", help="make an older version of a session's store its head"
    )
    back.add_argument("store", help="path or URL of a session's store")
    back.add_argument("version", type=int, help="its number; later versions are removed")
    back.set_defaults(run=run_restore_to)
    page = commands.add_parser("dashboard", help="say where a cluster's page of variables is")
    page.add_argument("address", help="of the scheduler (tcp://host:8786), or of its dashboard")
    how = page.add_mutually_exclusive_group()
    how.add_argument("--open", action="store_true", help="open it in a browser, too")
    how.add_argument("--json", action="store_true", help="print what it says, as JSON")
    page.set_defaults(run=run_dashboard)
    return found


def run_inspect(options: argparse.Namespace) -> int:
    """Print the variables at a path, or the value of one."""
    if options.value:
        found = load_variable(options.path, options.value)
        print(as_json(found.tolist()) if options.json else found)
    elif options.json:
        print(as_json(description(options.path, options.stats)))
    else:
        print("\n".join(table(options.path, options.stats)))
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


def run_export(options: argparse.Namespace) -> int:
    """Write the variables at a path into a file of another library."""
    export_checkpoint(options.path, options.file, options.format)
    found = _number_of_variables(options.path)
    print(f"{options.file}: {found}; their chunks and the step are not in it")
    return SAME


def run_import(options: argparse.Namespace) -> int:
    """Make a checkpoint of a file of another library."""
    path = import_checkpoint(options.file, options.path, options.step, options.format)
    print(f"{path}: {_number_of_variables(path)}")
    return SAME


def _number_of_variables(path: str) -> str:
    return counted(len(list_variables(path)), "variable")


def run_history(options: argparse.Namespace) -> int:
    """Print the versions of a session's store."""
    print("\n".join(history(options.store)))
    return DIFFERENT if any(version.problem for version in versions(options.store)) else SAME


def run_restore_to(options: argparse.Namespace) -> int:
    """Make an older version of a store its head."""
    ZarrStore(options.store).roll_back_to(options.version)
    print(f"{options.store}: version {options.version} is the head; later ones are removed")
    return SAME


def run_dashboard(options: argparse.Namespace) -> int:
    """Print where the page of a cluster's variables is, or what it says."""
    root = dashboard_root(options.address)
    if options.json:
        print(as_json(dashboard_state(root)))
        return SAME
    page = dashboard_page(root)
    print(page)
    if options.open and not webbrowser.open(page):
        print("daskvars: there is no browser here to open it in", file=sys.stderr)
        return TROUBLE
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


if __name__ == "__main__":
    sys.exit(main())
