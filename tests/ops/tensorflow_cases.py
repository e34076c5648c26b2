"""Programs that TensorFlow has run: their results stand beside them, and ours are as near.

A Python that has TensorFlow writes them, at the top of a checkout:
``python -m tests.ops.image.cases > tests/ops/image/tensorflow.json``.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any


class Cases(dict[str, Callable[[Any], Any]]):
    """Programs by name: functions of the module of TensorFlow that return what is fetched."""

    def case(self, function: Any) -> Any:
        """Add a program under its own name."""
        self[function.__name__] = function
        return function

    def result(self, name: str, tf: Any) -> Any:
        """Return what a program gives."""
        with tf.Graph().as_default(), tf.Session() as session:
            fetches = self[name](tf)
            session.run(tf.global_variables_initializer())
            return session.run(fetches)

    def write(self, plain: Callable[[Any], Any], indent: int | None = None) -> None:
        """Print the results that TensorFlow gives, as JSON of plain data."""
        import tensorflow.compat.v1 as tensorflow

        tensorflow.disable_v2_behavior()
        found = {name: plain(self.result(name, tensorflow)) for name in self}
        print(json.dumps(found, indent=indent))
