"""Files for TensorBoard's projector: tables of a model as points, with what each row stands for.

TensorBoard reads a checkpoint's tables only where TensorFlow is installed, so they are written as
its other form, a file of numbers for each. They are small text and plain float32; nothing is needed
to write them.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

import numpy as np

from daskvars import state
from daskvars.errors import InvalidArgumentError, invalid

CONFIG = "projector_config.pbtxt"
MAX_POINTS = 100_000  # a browser draws no more

Labels = Sequence[Any] | Mapping[str, Sequence[Any]]


def projector(
    logdir: Any,
    tables: Any,
    labels: Mapping[str, Labels] | None = None,
    names: Sequence[str] | None = None,
) -> str:
    """Write what TensorBoard's projector shows of some tables, in place of what it showed before.

    Args:
      logdir: the directory that TensorBoard looks into, or the `FileWriter` of it.
      tables: path of a checkpoint; or name -> a table, a variable, an eager tensor or an array
        [rows, columns] of numbers, of 100,000 rows at most.
      labels: name -> what its rows are called, a list; or column -> list, for several columns.
      names: of a checkpoint, which tables; by default those of `labels`.

    Returns:
      The path of the file that says which tables there are, ``projector_config.pbtxt``.

    Raises:
      NotFoundError: there is no such checkpoint or variable.
      InvalidArgumentError: no table is named, one is no [rows, columns] or too large, or it has
        other rows than labels.

    Source: TensorBoard, ``tensorboard.plugins.projector.visualize_embeddings``.

    >>> import os, tempfile
    >>> words = dv.Variable([[0.0, 1.0], [2.0, 3.0]], name="words")
    >>> with tempfile.TemporaryDirectory() as logdir:
    ...     _ = dv.summary.projector(logdir, {"words": words}, labels={"words": ["one", "two"]})
    ...     print(sorted(os.listdir(logdir)), sorted(os.listdir(f"{logdir}/projector")))
    ['projector', 'projector_config.pbtxt'] ['words.bytes', 'words.tsv']
    """
    folder = os.fspath(getattr(logdir, "get_logdir", lambda: logdir)())
    labels = labels or {}
    if not isinstance(tables, Mapping):
        path = os.fspath(tables)
        tables = {name: state.load_variable(path, name) for name in names or labels}
    if not tables or not labels.keys() <= tables.keys():
        lacking = ", ".join(map(repr, labels.keys() - tables.keys()))
        raise refusal(f"there are labels of {lacking} and no such table" if lacking else "no table")
    checked = {name: checked_table(name, table) for name, table in tables.items()}
    texts = {name: label_lines(name, labels[name], len(checked[name])) for name in labels}
    os.makedirs(os.path.join(folder, "projector"), exist_ok=True)
    entries = []
    for name, table in checked.items():
        stem = os.path.join("projector", quote(name, safe=""))
        table.tofile(os.path.join(folder, f"{stem}.bytes"))
        fields = {"tensor_name": quoted(name), "tensor_path": quoted(f"{stem}.bytes")}
        if name in texts:
            with open(os.path.join(folder, f"{stem}.tsv"), "w", encoding="utf-8") as file:
                file.write(texts[name])
            fields["metadata_path"] = quoted(f"{stem}.tsv")
        lines = [f"  {field}: {value}\n" for field, value in fields.items()]
        lines += [f"  tensor_shape: {size}\n" for size in table.shape]
        entries.append("embeddings {\n" + "".join(lines) + "}\n")
    path = os.path.join(folder, CONFIG)
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(entries)
    return path


def checked_table(name: str, table: Any) -> np.ndarray:
    """Return a table as float32."""
    found = np.asarray(table)
    if found.ndim != 2 or not 0 < len(found) <= MAX_POINTS or not math.prod(found.shape):
        raise refusal(
            f"table {name!r} is [rows, columns] with at most {MAX_POINTS:,} rows, found "
            f"{list(found.shape)}; give some of its rows"
        )
    return np.ascontiguousarray(found, "<f4")


def label_lines(name: str, labels: Labels, rows: int) -> str:
    """Return labels as lines with tabs; several columns have a line of headings."""
    columns = labels if isinstance(labels, Mapping) else {"": labels}
    for column, found in columns.items():
        if len(found) != rows:
            what = f"column {column!r} of its labels" if column else "its labels"
            raise refusal(f"table {name!r} has {rows} rows, {what} {len(found)}")
    lines = [*zip(*columns.values(), strict=True)]
    if len(columns) > 1:
        lines.insert(0, tuple(columns))
    return "".join("\t".join(map(cell, line)) + "\n" for line in lines)


def cell(value: Any) -> str:
    """Return text without what ends a cell or a line."""
    text = value.decode() if isinstance(value, bytes) else str(value)
    return " ".join(text.split())


def quoted(text: str) -> str:
    """Return text as protocol buffers have it in their text form.

    >>> print(quoted('a"b'))
    "a\\"b"
    """
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def refusal(what: str) -> InvalidArgumentError:
    """Return the error of a call that cannot be."""
    return invalid(f"projector(): {what}")
