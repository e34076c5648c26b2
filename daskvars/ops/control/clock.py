"""`timestamp`: what the time is when an operation runs."""

from __future__ import annotations

from daskvars.dtypes import float64
from daskvars.graph.definitions.opdef import Spec, without_gradient
from daskvars.graph.definitions.patterns import Opaque
from daskvars.graph.interpreter import apply
from daskvars.graph.tensor import Tensor
from daskvars.kernels.control import clock as kernels

TIMESTAMP = without_gradient(
    "Timestamp",
    "",
    infer=lambda inputs: Spec(float64, ()),
    kernel=kernels.timestamp,
    pattern=Opaque(pure=False),
    attributes={},
)


def timestamp(name: str | None = None) -> Tensor:
    """Return the time of the operation's run, on the clock of the worker that runs it.

    Args:
      name: name of the operation, by default "Timestamp".

    Returns:
      [] float64, seconds since 1970.

    Source: TensorFlow 1.15, ``tf.timestamp``.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     before = tf.timestamp()
    ...     with tf.control_dependencies([before]):
    ...         passed = tf.timestamp() - before
    ...     bool(0 <= sess.run(passed) < 10)
    True
    """
    return apply(TIMESTAMP, name=name)
