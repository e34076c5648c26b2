"""Functions on the graph being built: its collections and devices."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from daskvars.graph.interpreter import builder_for
from daskvars.graph.scopes.device import DeviceLike
from daskvars.graph.scopes.device_scopes import DeviceFunction


def device(device_name_or_function: DeviceLike | DeviceFunction) -> AbstractContextManager[None]:
    """Place ops made in the block: a device string, DeviceSpec, function of the op, or None.

    Inner specifications override outer ones field by field; None forgets the outer ones.

    Args:
      device_name_or_function: a text such as "/job:worker/gpu:0", a `DeviceSpec`, a function of an
        operation that returns one of these, or None.

    >>> with dv.Graph().as_default(), dv.device("/job:worker"), dv.device("/cpu:0"):
    ...     dv.constant(1.0).device
    '/job:worker/device:CPU:0'
    """
    return builder_for(()).device(device_name_or_function)


def container(container_name: str) -> AbstractContextManager[str]:
    """Make variables, queues and tables of the block in the resource container of that name.

    The name is kept with them (``v.op.get_attr("container")``). The values of variables live with
    the store of the session, whatever their container; queues and tables that share a name are one
    only in one container. `Session.reset` forgets what is in some.

    Args:
      container_name: a text; "" is the container of all others.

    >>> with dv.Graph().as_default(), dv.container("experiment"):
    ...     dv.get_variable("w", [2]).op.get_attr("container")
    b'experiment'
    """
    return builder_for(()).container(container_name)


def get_collection(key: Any, scope: str | None = None) -> list[Any]:
    """Return a copy of a collection of the graph being built.

    Args:
      key: name of the collection.
      scope: regular expression that the start of an item's name must match.

    >>> with dv.Graph().as_default():
    ...     a, b = dv.get_variable("a/w", [2]), dv.get_variable("b/w", [2])
    ...     dv.get_collection("variables", scope="b") == [b]
    True
    """
    return builder_for(()).get_collection(key, scope)


def get_collection_ref(key: Any) -> list[Any]:
    """Return a collection itself: changes to the list change the collection.

    Args:
      key: name of the collection; one that is not there is made, empty.

    >>> with dv.Graph().as_default():
    ...     dv.get_collection_ref("rates").append(0.5)
    ...     dv.get_collection("rates")
    [0.5]
    """
    return builder_for(()).get_collection_ref(key)


def add_to_collection(name: Any, value: Any) -> None:
    """Append a value to a collection of the graph being built.

    Args:
      name: name of the collection, any hashable object.
      value: what is appended; it is not made a tensor.

    >>> with dv.Graph().as_default():
    ...     dv.add_to_collection("rates", 0.5)
    ...     dv.get_collection("rates")
    [0.5]
    """
    builder_for(()).add_to_collection(name, value)


def add_to_collections(names: Any, value: Any) -> None:
    """Append a value to several collections of the graph being built.

    Args:
      names: names of collections, each once; a single string is the name of one.
      value: what is appended to each.

    >>> with dv.Graph().as_default():
    ...     dv.add_to_collections(["rates", "all"], 0.5)
    ...     dv.get_collection("rates"), dv.get_collection("all")
    ([0.5], [0.5])
    """
    builder_for(()).add_to_collections(names, value)
