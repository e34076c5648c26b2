"""The command line: ``daskvars inspect PATH`` shows what a checkpoint or any Zarr group holds."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from daskvars.errors import OpError
from daskvars.state import load_variable, open_zarr_store
from daskvars.state.checkpoint import open_source


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit status.

    Args:
      arguments: what follows the program's name; by default the process's own.

    Returns:
      0, or 1 where the state cannot be read as asked; the reason is on stderr.
    """
    parser = argparse.ArgumentParser(prog="daskvars", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    inspect = commands.add_parser("inspect", help="list variables, or print the value of one")
    inspect.add_argument("path", help="path or URL of a checkpoint or of any Zarr group")
    inspect.add_argument("--values", metavar="KEY", help="print this variable's value")
    options = parser.parse_args(arguments)
    try:
        if options.values:
            print(load_variable(options.path, options.values))
        else:
            show(options.path)
    except OpError as error:
        print(f"daskvars: {error}", file=sys.stderr)
        return 1
    return 0


def show(path: str) -> None:
    """Print name, dtype, shape and bytes of each variable at a path."""
    records = open_source(*open_zarr_store(path, "r")).records
    rows = [
        (key, record.dtype, str(list(record.shape)), f"{record.nbytes:,}")
        for key, record in sorted(records.items())
    ]
    total = sum(record.nbytes for record in records.values())
    rows.append((f"{len(records)} variables", "", "", f"{total:,}"))
    name, dtype, shape, size = (max(map(len, column)) for column in zip(*rows, strict=True))
    for row in rows:
        print(f"{row[0]:{name}}  {row[1]:{dtype}}  {row[2]:{shape}}  {row[3]:>{size}}")
