"""Shape and dtype rules that many ops share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from daskvars import dtypes, shapes
from daskvars.graph.definitions.opdef import Spec


def like_first(inputs: Sequence[Spec], **attrs: Any) -> Spec:
    """The result is shaped and typed as the first input."""
    return inputs[0]


def broadcasted(inputs: Sequence[Spec], **attrs: Any) -> Spec:
    """The result has the dtype of the first input and the inputs' broadcast shape."""
    return Spec(inputs[0].dtype, shapes.broadcast(*[spec.shape for spec in inputs]))


def compared(inputs: Sequence[Spec], **attrs: Any) -> Spec:
    """The result is bool, of the inputs' broadcast shape."""
    return Spec(dtypes.bool, shapes.broadcast(*[spec.shape for spec in inputs]))
