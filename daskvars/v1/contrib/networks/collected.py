"""What slim's layers put into collections, and the other names by which an output is found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from daskvars.graph.by_identity import ByIdentity, is_among
from daskvars.shapes import TensorShape
from daskvars.variables.colocation import owner
from daskvars.variables.partitions.partitioned_variable import parts_of


def collect_named_outputs(collections: Any, alias: str, outputs: Any) -> Any:
    """Add `outputs` to collections, named `alias` there, and return it.

    Args:
      collections: a name or names of collections; nothing for none.
      alias: the name, a slash at the end apart.
      outputs: a tensor.
    """
    if collections:
        append_tensor_alias(outputs, alias)
        owner().add_to_collections(collections, outputs)
    return outputs


def _aliases() -> ByIdentity[list[str]]:
    return owner().notes.setdefault("aliases", ByIdentity())


def append_tensor_alias(tensor: Any, alias: str) -> Any:
    """Give a tensor another name, and return it."""
    _aliases().setdefault(tensor, []).append(alias.removesuffix("/"))
    return tensor


def get_tensor_aliases(tensor: Any) -> list[str]:
    """Return the names given to a tensor, or else that of its operation."""
    return list(_aliases().get(tensor, ())) or [tensor.name.removesuffix(":0")]


def gather_tensors_aliases(tensors: Iterable[Any]) -> list[str]:
    """Return the names of all tensors."""
    return [alias for tensor in tensors for alias in get_tensor_aliases(tensor)]


def convert_collection_to_dict(collection: str, clear_collection: bool = False) -> dict[str, Any]:
    """Return the tensors of a collection by their names, in order.

    Args:
      collection: name of the collection.
      clear_collection: whether it is emptied.
    """
    found = {
        alias: tensor
        for tensor in owner().get_collection(collection)
        for alias in get_tensor_aliases(tensor)
    }
    if clear_collection:
        owner().clear_collection(collection)
    return found


def get_variable_collections(variables_collections: Any, name: str) -> Any:
    """Return the collections for variables of that kind: of a dict by kind, or the same for all."""
    if isinstance(variables_collections, Mapping):
        return variables_collections.get(name)
    return variables_collections


def add_to_collections(variable: Any, variables_collections: Any, kind: str) -> None:
    """Add a variable, or its parts, to the collections for its kind that lack it."""
    names = get_variable_collections(variables_collections, kind) or ()
    for name in [names] if isinstance(names, str) else names:
        for part in parts_of(variable):
            if not is_among(part, owner().get_collection(name)):
                owner().add_to_collection(name, part)


def last_dimension(shape: TensorShape, min_rank: int = 1) -> int:
    """Return the last size of a shape. Raises ValueError where it is unknown or the rank small."""
    return channel_dimension(shape, "channels_last", min_rank)


def channel_dimension(shape: TensorShape, data_format: str, min_rank: int = 1) -> int:
    """Return the number of channels.

    Args:
      shape: of the inputs.
      data_format: "channels_first" or "channels_last".
      min_rank: the least rank.

    Raises:
      ValueError: it is not known, or the rank is smaller.
    """
    if shape.ndims is None:
        raise ValueError("dims of shape must be known but is None")
    if shape.ndims < min_rank:
        raise ValueError(f"rank of shape must be at least {min_rank} not: {shape.ndims}")
    axis = 1 if data_format == "channels_first" else -1
    size = shape.as_list()[axis]
    if size is None:
        raise ValueError(f"dimension {axis} of shape must be known but is None: {shape}")
    return size


def two_element_tuple(int_or_tuple: Any) -> tuple[int, int]:
    """Return two sizes: those given, or one for both. Raises ValueError for anything else."""
    if isinstance(int_or_tuple, list | tuple | TensorShape):
        sizes = [int(n) for n in int_or_tuple]
        if len(sizes) != 2:
            raise ValueError(f"Must be a list with 2 elements: {int_or_tuple}")
        return sizes[0], sizes[1]
    if isinstance(int_or_tuple, int):
        return int_or_tuple, int_or_tuple
    raise ValueError("Must be an int, a list with 2 elements or a TensorShape of length 2")


def n_positive_integers(n: int, value: Any) -> tuple[int, ...]:
    """Return `n` sizes: those given, or one for all.

    Raises:
      ValueError: there are not as many, or one is not positive.

    >>> n_positive_integers(2, 3), n_positive_integers(2, [4, 5])
    ((3, 3), (4, 5))
    """
    if int(n) < 1 or n != int(n):
        raise ValueError("n must be a positive integer")
    sizes = [value] * n if isinstance(value, int) else list(value)
    if len(sizes) != n:
        raise ValueError(f"Expected sequence of {n} positive integers, but received {value!r}")
    try:
        found = tuple(int(size) for size in sizes)
    except (TypeError, ValueError):
        raise ValueError(
            f"Expected sequence of {n} positive integers, but received {value!r}"
        ) from None
    for size in found:
        if size < 1:
            raise ValueError(f"expected positive integer, but received {size}")
    return found
