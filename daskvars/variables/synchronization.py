"""Accepted for TensorFlow's sake: how replicas of a variable would be kept in step."""

from __future__ import annotations

import enum
from typing import Any


class VariableSynchronization(enum.Enum):
    """When copies of a variable are brought together. A variable here has no copies.

    The one value with an effect is `ON_READ`, which makes a variable untrainable.
    """

    AUTO = 0
    NONE = 1
    ON_WRITE = 2
    ON_READ = 3


class VariableAggregation(enum.Enum):
    """How copies of a variable would be merged. Accepted; there are no copies."""

    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3


def resolved_trainable(trainable: bool | None, synchronization: Any) -> bool:
    """Return whether a variable is trainable: yes by default, not where it is `ON_READ`.

    Raises:
      ValueError: both ``trainable=True`` and `ON_READ` are asked for.
    """
    if synchronization is VariableSynchronization.ON_READ:
        if trainable:
            raise ValueError(
                "Synchronization value can be set to VariableSynchronization.ON_READ only for "
                "non-trainable variables. You have specified trainable=True and "
                "synchronization=VariableSynchronization.ON_READ."
            )
        return False
    return trainable is None or bool(trainable)
