"""What a saver saves: arrays by name, each a variable or the parts of a partitioned one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from daskvars.dtypes import DType
from daskvars.execution.engine.engine import Engine
from daskvars.graph import nest
from daskvars.graph.tensor import Operation, Tensor
from daskvars.shapes import Shape, is_known
from daskvars.state.shards import Shard
from daskvars.state.tensor_slices import parse_slice
from daskvars.variables.partitions.partitioned_variable import PartitionedVariable
from daskvars.variables.partitions.slices import SaveSliceInfo
from daskvars.variables.variable import Variable


@runtime_checkable
class SavedByMirrors(Protocol):
    """What a session keeps beside the variables, and variables mirror when it is saved: a table."""

    name: str

    def saved_mirrors(self) -> Mapping[str, Variable]:
        """Return the variables by what follows its name and a hyphen in a checkpoint."""


@dataclass(frozen=True)
class SavedTensor:
    """One variable under the name that it is saved by, or one part of an array of that name.

    Attributes:
      slice: which part it is, in TensorFlow's notation; "" for the whole.
    """

    name: str
    handle: Tensor
    slice: str = ""

    @property
    def key(self) -> str:
        """The variable's key in the state."""
        return self.handle.op.attrs["key"]

    @property
    def dtype(self) -> DType:
        """The variable's dtype."""
        return self.handle.spec.dtype.base_dtype

    @property
    def shape(self) -> Shape:
        """The shape of the array that it is, or is a part of, as far as it is known."""
        found = parse_slice(self.slice)
        return self.handle.spec.shape if found is None else found[0]

    @property
    def shard(self) -> Shard:
        """The variable as a part of what is saved."""
        found = parse_slice(self.slice)
        if found is None:
            return Shard(self.key)
        return Shard(self.key, tuple(axis.start for axis in found[1]), found[0])

    @property
    def wanted(self) -> tuple[DType, Any, Tensor]:
        """What must be in a checkpoint, and the variable that is set to it; its shape is known."""
        assert is_known(self.handle.spec.shape), f"{self.name} is restored by an operation"
        return self.dtype, self.shape, self.handle

    @property
    def has_known_shape(self) -> bool:
        """Whether the static shape is known in full."""
        return is_known(self.handle.spec.shape)


def saved_tensors(var_list: Any) -> list[SavedTensor]:
    """Return what a list or dict of variables means to a saver, sorted by name.

    Args:
      var_list: variables, partitioned variables and parts of them, tables; or names -> these.

    Raises:
      TypeError: something in it is no variable, or a name is no string.
      ValueError: two have one name, or one is there twice.
    """
    if isinstance(var_list, Mapping):
        pairs = list(var_list.items())
        for name, _ in pairs:
            if not isinstance(name, str):
                raise TypeError(f"Names to save variables under are strings, got {name!r}")
    elif isinstance(var_list, list | tuple | set):
        pairs = [("", value) for value in nest.flatten(list(var_list))]
    else:
        raise TypeError(f"Variables to save should be passed in a dict or a list: {var_list!r}")
    found: dict[str, list[SavedTensor]] = {}
    for name, value in pairs:
        for tensor in _parts(name, value):
            found.setdefault(tensor.name, []).append(tensor)
    for name, group in found.items():
        if len({bool(tensor.slice) for tensor in group}) > 1:
            raise ValueError(f"Mixing slices and non-slices with the same name: {name}")
        if len({tensor.slice for tensor in group}) < len(group):
            raise ValueError(f"At least two variables have the same name: {name}")
    listed = [tensor for name in sorted(found) for tensor in found[name]]
    seen: dict[str, str] = {}
    for tensor in listed:
        other = seen.setdefault(tensor.key, tensor.name)
        if other is not tensor.name:
            raise ValueError(
                f"The same saveable will be restored with two names: {other} and {tensor.name}"
            )
    return listed


def _parts(name: str, value: Any) -> list[SavedTensor]:
    """Return one entry of a variable list: `name` is "" where it goes by its own."""
    if isinstance(value, PartitionedVariable | list | tuple):
        parts = list(value)
        infos: list[SaveSliceInfo] = []
        for shard in parts:
            info = _slice_info(shard)
            if info is None:
                raise TypeError(f"Variable to save is not a Variable: {value!r}")
            infos.append(info)
            if info.full_name != infos[0].full_name:
                raise ValueError(
                    "Slices must all be from the same tensor: "
                    f"{infos[0].full_name} != {info.full_name}"
                )
        label = name or (value.name if isinstance(value, PartitionedVariable) else "")
        return [
            SavedTensor(label or info.full_name, shard.handle, info.spec)
            for shard, info in zip(parts, infos, strict=True)
        ]
    if isinstance(value, SavedByMirrors):
        return [
            SavedTensor(f"{name or value.name}-{what}", variable.handle)
            for what, variable in value.saved_mirrors().items()
        ]
    info = _slice_info(value)
    if info is not None:
        return [SavedTensor(name or info.full_name, value.handle, info.spec)]
    handle = _handle_of(value)
    return [SavedTensor(name or handle.op.name, handle)]


def _slice_info(value: Any) -> SaveSliceInfo | None:
    if not isinstance(value, Variable):
        return None
    return value._get_save_slice_info()


def _handle_of(value: Any) -> Tensor:
    if isinstance(value, Variable):
        return value.handle
    if isinstance(value, Operation) and len(value.outputs) == 1:
        value = value.outputs[0]
    if isinstance(value, Tensor) and value.spec.dtype.is_ref:
        return value.op.inputs[0] if value.op.inputs else value
    raise TypeError(f"Variable to save is not a Variable: {value!r}")


def tensors_of_op(op: Operation) -> list[SavedTensor]:
    """Return what an operation made by `save_v2` saves."""
    attrs = op.attrs
    return [
        SavedTensor(name, handle, text)
        for name, text, handle in zip(
            attrs["tensor_names"], attrs["shape_and_slices"], op.inputs[1:], strict=True
        )
    ]


def restore(engine: Engine, tensors: Sequence[SavedTensor], path: str) -> None:
    """Set variables of known shapes to what a checkpoint has under their names, all or none."""
    engine.restore(
        {tensor.key: tensor.wanted for tensor in tensors},
        path,
        {tensor.key: tensor.name for tensor in tensors},
        {t.key: t.shard.offset for t in tensors if t.shard.offset is not None},
        {tensor.key: tensor.handle.op.device for tensor in tensors},
    )


def shards_by_name(tensors: Iterable[SavedTensor]) -> dict[str, list[Shard]]:
    """Return name -> the variables that are saved together under it."""
    found: dict[str, list[Shard]] = {}
    for tensor in tensors:
        found.setdefault(tensor.name, []).append(tensor.shard)
    return found
