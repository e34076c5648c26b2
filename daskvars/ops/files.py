"""Files as ops: read, written and found in a run."""

from __future__ import annotations

from daskvars.dtypes import string
from daskvars.graph.definitions.opdef import Spec, without_gradient
from daskvars.graph.definitions.patterns import Opaque
from daskvars.graph.interpreter import apply, apply_op
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.kernels import files as kernels
from daskvars.ops.rules.shapes import no_results

_ON_DISK = Opaque(pure=False)

READ_FILE = without_gradient(
    "ReadFile", "filename:S", lambda inputs: Spec(string, ()), kernels.read, _ON_DISK, attributes={}
)


def read_file(filename: TensorLike, name: str | None = None) -> Tensor:
    """Return what is in a file.

    Args:
      filename: [] string: a path, or a URL. On a cluster it is read by a worker.
      name: name of the operation, by default "ReadFile".

    Returns:
      [] string.

    Raises:
      NotFoundError: (when run) there is no such file.

    Source: TensorFlow 1.15, ``tf.read_file``.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "note")
    >>> _ = path.write_text("text")
    >>> read_file(str(path)).numpy()
    b'text'
    """
    return apply(READ_FILE, filename, name=name)


WRITE_FILE = without_gradient(
    "WriteFile", "filename:S, contents:S", no_results, kernels.write, _ON_DISK, attributes={}
)


def write_file(filename: TensorLike, contents: TensorLike, name: str | None = None) -> Operation:
    """Write a file, and the folders that it is in; one that is there is replaced.

    Args:
      filename: [] string: a path, or a URL. On a cluster it is written by a worker, again if the
        run is done again.
      contents: [] string.
      name: name of the operation, by default "WriteFile".

    Returns:
      The operation that does it; in eager code it is done at once.

    Source: TensorFlow 1.15, ``tf.write_file``.

    >>> import tempfile
    >>> place = tempfile.TemporaryDirectory()
    >>> _ = dv.write_file(place.name + "/in/a.txt", "two words")
    >>> dv.read_file(place.name + "/in/a.txt").numpy()
    b'two words'
    >>> place.cleanup()
    """
    return apply_op(WRITE_FILE, filename, contents, name=name)


MATCHING_FILES = without_gradient(
    "MatchingFiles",
    "pattern:S",
    infer=lambda inputs: Spec(string, (None,)),
    kernel=kernels.matching,
    pattern=_ON_DISK,
    attributes={},
)


def matching_files(pattern: TensorLike, name: str | None = None) -> Tensor:
    """Return the names of the files that match a pattern, in the order of the alphabet.

    Args:
      pattern: [] or [n] string, such as "/data/part-*.csv".
      name: name of the operation, by default "MatchingFiles".

    Returns:
      [files] string.

    Source: TensorFlow 1.15, ``tf.matching_files``.

    >>> import tempfile
    >>> place = tempfile.TemporaryDirectory()
    >>> for name in ("b.csv", "a.csv", "a.txt"):
    ...     _ = dv.write_file(f"{place.name}/{name}", "x")
    >>> [path.decode()[-5:] for path in dv.matching_files(place.name + "/*.csv").numpy()]
    ['a.csv', 'b.csv']
    >>> place.cleanup()
    """
    return apply(MATCHING_FILES, pattern, name=name)
