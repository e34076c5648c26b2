"""`tf.contrib` where programs mean the core: its names, under which they are looked for.

Most of what programs take from ``tf.contrib`` was moved to the core, or is a layer or two of it
with other defaults. ``tables`` says which name is what, and what to use where there is no
counterpart.
What is more than a name is here:

- ``arg_scopes``: defaults of functions' arguments, for a block of code;
- ``variables`` of models: found by name, given values, restored, counted;
- ``nets``: whole networks for images; ``networks``: layers; ``sequences``: decoders, attention,
  beam search; ``trainings``: training steps, loops around them, losses, summaries;
- ``datasets`` of slim: files of records, and the items in them;
- ``random_fields``: likelihoods of sequences of tags; ``transformations`` of datasets;
- ``old_summaries``: summaries whose tags are given;
- ``all_reduce``: sums over towers;
- ``sparse_probabilities``: of which most are zero;
- ``images``: turned, moved and projected;
- ``texts``: documents as numbers of words;
- ``compiling``: a scope for operations that are compiled, as all are;
- ``known_predicates``: branches of which one is left out where the predicate is known;
- ``projections``: what TensorBoard's projector is to show;
- ``streaming_metrics``: correlations, the best F1, hits among the best;
- ``predictors``: a saved model as a function.

`daskvars.v1` fills this package with namespaces such as ``tf.contrib.slim``, in graph mode.
"""

from __future__ import annotations

from typing import Any

from daskvars.v1.contrib.tables import why_missing as _why_missing


def __getattr__(name: str) -> Any:
    """Say what to use instead."""
    raise AttributeError(_why_missing("", name))
