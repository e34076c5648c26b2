"""TensorFlow 1's names: ``import daskvars.v1 as tf`` runs graph-mode code unchanged.

These are the functions and classes of `daskvars`; the only difference is that outside of
``with graph.as_default():`` they build into the default graph instead of running eagerly.

Besides, here is what only TensorFlow-1 programs call; an eager program, or one that builds a graph
with `daskvars.Graph` and runs it, needs none of it. The rule decides where a new name goes. Rooms:
``graphs`` (in files, and from them), ``sessions`` (monitored, with hooks), ``servers`` (clusters of
named tasks), ``saved_model`` (graphs with values, to be asked), ``optimizers`` (FTRL, proximal,
synchronized replicas), ``sampling`` (candidates out of very many classes), ``queues`` (input
pipelines of them), ``lookup`` (tables from keys to values), ``feature_column`` (features as a
model's input), ``estimator``, ``contrib``, ``test``, ``names`` (all of them and how they are made,
what is old, what is missing), ``inner`` (TensorFlow's own modules). Files: ``raw_rnn``,
``switching``, ``summary_writers``, ``logging``, ``app`` and ``flags``, ``gfile``, ``nest``,
``module``, ``nn_functions``, ``handwritten_digits``.

Nothing else in the package imports this room, and ``import daskvars`` does not load it; which names
are here alone stands in `daskvars.surface.names_of_v1`, for the error of who looks for them
elsewhere.
"""

from __future__ import annotations

import sys
import types
from typing import Any

from daskvars.surface.loading import importing as _importing

with _importing():
    from daskvars.v1.inner import inner_modules
    from daskvars.v1.names import graph_mode

__version__ = graph_mode.VERSION
__all__ = list(graph_mode.NAMES)
globals().update(graph_mode.NAMES)
# ``from daskvars.v1.train import Saver`` finds a namespace as it finds a module.
for _name, _value in graph_mode.NAMES.items():
    if isinstance(_value, types.ModuleType):
        sys.modules.setdefault(f"{__name__}.{_name}", _value)
sys.modules.setdefault(f"{__name__}.compat.v1", sys.modules[__name__])
inner_modules.put_modules(sys.modules[__name__])


def __getattr__(name: str) -> Any:
    """Say what is missing."""
    raise AttributeError(graph_mode.why_missing(name))
