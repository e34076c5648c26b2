"""Collections of a graph: lists of anything under names, and the standard names."""

from __future__ import annotations

import re
from typing import Any


class GraphKeys:
    """Names of collections that the library itself uses, as TensorFlow's.

    >>> with dv.Graph().as_default():
    ...     w = dv.get_variable("w", [2])
    ...     dv.get_collection(dv.GraphKeys.TRAINABLE_VARIABLES) == [w]
    True
    """

    GLOBAL_VARIABLES = "variables"
    VARIABLES = "variables"
    LOCAL_VARIABLES = "local_variables"
    METRIC_VARIABLES = "metric_variables"
    MODEL_VARIABLES = "model_variables"
    TRAINABLE_VARIABLES = "trainable_variables"
    TRAINABLE_RESOURCE_VARIABLES = "trainable_resource_variables"
    MOVING_AVERAGE_VARIABLES = "moving_average_variables"
    SUMMARIES = "summaries"
    QUEUE_RUNNERS = "queue_runners"
    TABLE_INITIALIZERS = "table_initializer"
    ASSET_FILEPATHS = "asset_filepaths"
    REGULARIZATION_LOSSES = "regularization_losses"
    CONCATENATED_VARIABLES = "concatenated_variables"
    SAVERS = "savers"
    WEIGHTS = "weights"
    BIASES = "biases"
    ACTIVATIONS = "activations"
    UPDATE_OPS = "update_ops"
    LOSSES = "losses"
    SAVEABLE_OBJECTS = "saveable_objects"
    RESOURCES = "resources"
    LOCAL_RESOURCES = "local_resources"
    INIT_OP = "init_op"
    LOCAL_INIT_OP = "local_init_op"
    READY_OP = "ready_op"
    READY_FOR_LOCAL_INIT_OP = "ready_for_local_init_op"
    SUMMARY_OP = "summary_op"
    GLOBAL_STEP = "global_step"
    EVAL_STEP = "eval_step"
    TRAIN_OP = "train_op"
    COND_CONTEXT = "cond_context"
    WHILE_CONTEXT = "while_context"


class Collections:
    """The part of a graph that keeps its collections."""

    def __init__(self) -> None:
        super().__init__()
        self._collections: dict[Any, list[Any]] = {}

    def check_not_finalized(self) -> None:
        """Raise RuntimeError where the graph may not be changed any more."""
        raise NotImplementedError

    def add_to_collection(self, name: Any, value: Any) -> None:
        """Append `value` to the collection `name`."""
        self.add_to_collections((name,), value)

    def add_to_collections(self, names: Any, value: Any) -> None:
        """Append `value` to each collection named (a string counts as one name)."""
        self.check_not_finalized()
        collections = self._collections
        for name in (names,) if isinstance(names, str) else dict.fromkeys(names):
            collections.setdefault(name, []).append(value)

    def get_collection(self, name: Any, scope: str | None = None) -> list[Any]:
        """Return a copy of the collection, of items whose name matches `scope` at its start."""
        items = self.get_collection_ref(name) if name in self._collections else []
        if scope is None:
            return list(items)
        match = re.compile(scope).match
        return [item for item in items if hasattr(item, "name") and match(item.name)]

    def get_collection_ref(self, name: Any) -> list[Any]:
        """Return the collection itself, made if need be; changes to it are seen by all."""
        return self._collections.setdefault(name, [])

    def get_all_collection_keys(self) -> list[Any]:
        """Return the names of all collections."""
        return list(self._collections)

    @property
    def collections(self) -> list[Any]:
        """The names of all collections."""
        return list(self._collections)

    def clear_collection(self, name: Any) -> None:
        """Empty the collection `name`."""
        self.check_not_finalized()
        self._collections.pop(name, None)

    @property
    def trainable_variables(self) -> list[Any]:
        """The variables that optimizers train by default."""
        return self.get_collection(GraphKeys.TRAINABLE_VARIABLES)
