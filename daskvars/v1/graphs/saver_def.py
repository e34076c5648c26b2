"""SaverDef: what a `Saver` is, as plain data, and which operations of its graph are its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, ClassVar, Self

from daskvars.graph.records.attribute_json import shortened
from daskvars.graph.records.json_record import JsonRecord
from daskvars.train.checkpoints.ops import SaverOps


@dataclass
class SaverDef(JsonRecord):
    """What a `Saver` is, as plain data.

    Attributes:
      filename_tensor_name: name of the tensor that is fed with the path.
      save_tensor_name: name of the tensor that saves and gives the path.
      restore_op_name: name of the operation that restores.
      max_to_keep: how many checkpoints are kept; 0 for all.
      sharded: accepted; every chunk of a variable is a file of its own.
      keep_checkpoint_every_n_hours: how often one is kept for ever.
      version: accepted; there is one format.

    Source: TensorFlow 1.15, ``tf.train.SaverDef``.

    >>> with tf.Graph().as_default():
    ...     w = tf.get_variable("w", [2])
    ...     tf.train.Saver(max_to_keep=3).as_saver_def().max_to_keep
    3
    """

    what: ClassVar[str] = "a saver"
    LEGACY: ClassVar[int] = 0
    V1: ClassVar[int] = 1
    V2: ClassVar[int] = 2

    filename_tensor_name: str = ""
    save_tensor_name: str = ""
    restore_op_name: str = ""
    max_to_keep: int = 0
    sharded: bool = False
    keep_checkpoint_every_n_hours: float = 0.0
    version: int = V2

    @property
    def ops(self) -> SaverOps:
        """The names of its operations."""
        return SaverOps(self.filename_tensor_name, self.save_tensor_name, self.restore_op_name)

    def of_ops(self, ops: SaverOps) -> SaverDef:
        """Return a copy for other operations."""
        return replace(
            self,
            filename_tensor_name=ops.filename,
            save_tensor_name=ops.save,
            restore_op_name=ops.restore,
        )

    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON data."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """Return what JSON data describes. Raises ValueError where it is no such thing."""
        kinds = {field.name: type(field.default) for field in fields(cls)}
        if not isinstance(data, dict) or data.keys() != kinds.keys():
            raise ValueError(f"{shortened(data)} where a saver belongs")
        for name, kind in kinds.items():
            if type(data[name]) is not kind and not (kind is float and type(data[name]) is int):
                raise ValueError(f"saver: {name!r} is {shortened(data[name])}")
        return cls(**data)

    def within(self, scope: str) -> SaverDef:
        """Return a copy whose operations are under a name scope."""
        prefix = f"{scope.rstrip('/')}/" if scope else ""
        return self._renamed(lambda name: prefix + name)

    def outside(self, scope: str) -> SaverDef | None:
        """Return a copy without a name scope before its names; None where one lacks it."""
        prefix = f"{scope.rstrip('/')}/" if scope else ""
        if not all(name.startswith(prefix) for name in self.ops):
            return None
        return self._renamed(lambda name: name.removeprefix(prefix))

    def _renamed(self, rename: Callable[[str], str]) -> SaverDef:
        return self.of_ops(SaverOps(*map(rename, self.ops)))
