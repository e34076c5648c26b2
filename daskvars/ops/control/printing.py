"""`print`: writes tensors in the midst of any text and structure when it runs."""

from __future__ import annotations

import pprint
import re
import sys
from typing import Any

from daskvars.graph import nest
from daskvars.graph.definitions.opdef import without_gradient
from daskvars.graph.definitions.patterns import Opaque
from daskvars.graph.interpreter import apply_op
from daskvars.graph.tensor import Operation, TensorLike, is_tensor_like
from daskvars.kernels.control import printing as print_kernels
from daskvars.ops.rules.shapes import no_results

PRINT_V2 = without_gradient(
    "PrintV2", "*data:A", no_results, print_kernels.write, pattern=Opaque(pure=False)
)
_MARK = re.compile("\0")


def print_(
    *inputs: TensorLike,
    output_stream: Any = None,
    summarize: int | None = 3,
    sep: str = " ",
    end: str | None = "\n",
    name: str | None = None,
) -> Operation:
    """Return an operation that prints its arguments, on the worker that runs it.

    In a graph it prints only in runs that need it: fetch it, or use `control_dependencies`.

    Args:
      *inputs: tensors, and anything that Python prints, with tensors in lists, tuples and dicts.
      output_stream: ``sys.stderr`` (the default), ``sys.stdout``, or "file://" and a path, to which
        is appended.
      summarize: how many items at each end of a dimension are shown; -1 or None for all.
      sep: what is between the arguments.
      end: what is after them.
      name: name of the operation.

    Raises:
      ValueError: `output_stream` is another one.

    Source: TensorFlow 1.15, ``tf.print``.

    >>> import sys
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     sess.run(tf.print("x:", tf.range(10), output_stream=sys.stdout))
    x: [0 1 2 ... 7 8 9]
    """
    if output_stream in (None, sys.stderr, sys.__stderr__):
        stream = "stderr"
    elif output_stream in (sys.stdout, sys.__stdout__):
        stream = "stdout"
    elif isinstance(output_stream, str) and output_stream.startswith("file://"):
        stream = output_stream
    else:
        raise ValueError(
            "Output stream must be sys.stderr, sys.stdout or 'file://<path>', but got "
            f"{output_stream!r}"
        )
    data = [leaf for leaf in nest.flatten(list(inputs)) if is_tensor_like(leaf)]
    text = sep.join(map(_template, inputs))
    return apply_op(
        PRINT_V2,
        *data,
        name=name or "PrintV2",
        pieces=tuple(_MARK.split(text)),
        summarize=-1 if summarize is None else summarize,
        end="" if end is None else end,
        stream=stream,
    )


class _Field:
    """Stands for a tensor in a structure that is printed."""

    def __repr__(self) -> str:
        return "\0"


def _template(value: Any) -> str:
    """Return the text of an argument, with a mark for each tensor in it."""
    if isinstance(value, str):
        return value.replace("\0", "")
    marked = nest.map_structure(lambda leaf: _Field() if is_tensor_like(leaf) else leaf, value)
    return pprint.pformat(marked)
