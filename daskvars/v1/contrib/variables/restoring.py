"""Variables from checkpoints, in the way of ``tf.contrib.framework``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from daskvars.graph.tensor import Operation, Tensor
from daskvars.train.checkpoints.reader import NewCheckpointReader
from daskvars.v1 import logging
from daskvars.v1.contrib.variables.model_variables import assignment, get_variable_full_name
from daskvars.v1.graphs.saver import Saver


def assign_from_checkpoint(
    model_path: str, var_list: Sequence[Any] | Mapping[str, Any], ignore_missing_vars: bool = False
) -> tuple[Operation, dict[Tensor, Any]]:
    """Return an operation that assigns what a checkpoint has, and what to feed it with.

    Args:
      model_path: path of the checkpoint.
      var_list: variables, or for each name in the checkpoint a variable or a list of them; parts of
        a partitioned one get their part of the whole.
      ignore_missing_vars: warn of names that the checkpoint lacks, rather than raise.

    Raises:
      ValueError: the checkpoint lacks a name, or has it with another shape.
    """
    reader = NewCheckpointReader(model_path)
    pairs = []
    for name, variables in _by_name(var_list).items():
        if not reader.has_tensor(name):
            if not ignore_missing_vars:
                raise ValueError(f"Checkpoint is missing variable [{name}]")
            logging.warning("Checkpoint is missing variable [%s]", name)
            continue
        value = reader.get_tensor(name)
        pairs += [(v, _part(v, value, name)) for v in variables]
    return assignment(pairs)


def _by_name(var_list: Any) -> dict[str, list[Any]]:
    if isinstance(var_list, Mapping):
        return {n: list(v) if isinstance(v, list | tuple) else [v] for n, v in var_list.items()}
    found: dict[str, list[Any]] = {}
    for var in var_list:
        found.setdefault(get_variable_full_name(var), []).append(var)
    return found


def _part(var: Any, value: Any, name: str) -> Any:
    """Return what of a whole value belongs to a variable."""
    part = var._get_save_slice_info()
    if part:
        slices = zip(part.var_offset, part.var_shape, strict=True)
        return value[tuple(slice(start, start + size) for start, size in slices)]
    if var.get_shape().as_list() != list(value.shape):
        raise ValueError(
            f"Total size of new array must be unchanged for {name} lh_shape: [{value.shape}], "
            f"rh_shape: [{var.get_shape()}]"
        )
    return value


def assign_from_checkpoint_fn(
    model_path: str,
    var_list: Sequence[Any] | Mapping[str, Any],
    ignore_missing_vars: bool = False,
    reshape_variables: bool = False,
) -> Callable[[Any], None] | None:
    """Return a function of a session that restores the variables.

    Args:
      model_path, var_list, ignore_missing_vars: see `assign_from_checkpoint`.
      reshape_variables: whether another shape of the same size is taken.

    Returns:
      The function; None where the checkpoint has none of the variables.

    Raises:
      ValueError: `var_list` is empty.
    """
    if not var_list:
        raise ValueError("var_list cannot be empty")
    if ignore_missing_vars:
        reader = NewCheckpointReader(model_path)
        by_name: Any = var_list
        if not isinstance(var_list, Mapping):
            by_name = {get_variable_full_name(v): v for v in var_list}
        missing = [name for name in by_name if not reader.has_tensor(name)]
        for name in missing:
            logging.warning("Variable %s missing in checkpoint %s", name, model_path)
        var_list = {name: v for name, v in by_name.items() if name not in missing}
        if not var_list:
            logging.warning("No Variables to restore")
            return None
    saver = Saver(var_list, reshape=reshape_variables)
    return lambda session: saver.restore(session, model_path)
