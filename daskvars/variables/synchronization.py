"""Accepted for TensorFlow's sake: how replicas of a variable would be kept in step."""

from __future__ import annotations

import enum
from typing import Any


class VariableSynchronization(enum.Enum):
    """When copies of a variable are brought together. A variable here has no copies.

    The one value with an effect is `ON_READ`: such a variable is by default not trainable.

    >>> v = dv.Variable(1.0, synchronization=VariableSynchronization.ON_READ)
    >>> v.trainable
    False
    """

    AUTO = 0
    NONE = 1
    ON_WRITE = 2
    ON_READ = 3


class VariableAggregation(enum.Enum):
    """How copies of a variable would be merged. Accepted; there are no copies.

    >>> v = dv.Variable(1.0, aggregation=VariableAggregation.MEAN)
    >>> float(v.assign_add(1.0))
    2.0
    """

    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3
    ONLY_FIRST_TOWER = ONLY_FIRST_REPLICA


def resolved_trainable(trainable: bool | None, synchronization: Any) -> bool:
    """Return whether a variable is trainable: by default yes, but not where it is `ON_READ`."""
    if trainable is None:
        return synchronization is not VariableSynchronization.ON_READ
    return bool(trainable)
