"""QueueRunnerDef: what a `QueueRunner` is, as plain data, by the names of its operations."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Any, ClassVar, Self

from daskvars.graph.records.attribute_json import shortened
from daskvars.graph.records.json_record import JsonRecord


@dataclass
class QueueRunnerDef(JsonRecord):
    """What a `QueueRunner` is, as plain data.

    Attributes:
      queue_name: name of the queue's operation.
      enqueue_op_name: names of the operations that fill it, one for each thread.
      close_op_name: name of the operation that closes it.
      cancel_op_name: name of the one that also cancels what waits.
      queue_closed_exception_types: the codes of the errors that mean the end.
    """

    what: ClassVar[str] = "a queue runner"

    queue_name: str = ""
    enqueue_op_name: list[str] = field(default_factory=list)
    close_op_name: str = ""
    cancel_op_name: str = ""
    queue_closed_exception_types: list[int] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON data."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """Return what JSON data describes. Raises ValueError where it is no such thing."""
        names = [found.name for found in fields(cls)]
        if not isinstance(data, dict) or data.keys() != set(names):
            raise ValueError(f"{shortened(data)} where a queue runner belongs")
        for name in names:
            value, kind = data[name], int if name.endswith("types") else str
            items = value if isinstance(value, list) else [value]
            is_list = name in ("enqueue_op_name", "queue_closed_exception_types")
            if isinstance(value, list) is not is_list or any(type(i) is not kind for i in items):
                raise ValueError(f"queue runner: {name!r} is {shortened(value)}")
        return cls(**data)
