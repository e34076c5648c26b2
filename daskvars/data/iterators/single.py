"""The only element of a dataset as tensors: in eager code at once, in a graph anew in each run."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from daskvars.data.iterators.cursor import Cursor
from daskvars.data.iterators.eager import tensors_here
from daskvars.data.nodes.elements import Element, flatten, no_datasets, pack
from daskvars.data.nodes.functions import ElementGraph, Given, arrays_of, components_of, tensors_of
from daskvars.data.nodes.node import Node
from daskvars.errors import NotFoundError, UnimplementedError, invalid
from daskvars.execution.host_ops.resources import Call, host_op
from daskvars.graph.by_identity import ByIdentity
from daskvars.graph.definitions.opdef import Spec
from daskvars.graph.interpreter import apply, builder_for
from daskvars.graph.sparse_tensor import SparseTensor
from daskvars.graph.tensor import Tensor
from daskvars.ops.control.dependencies import PY_FUNC

_NUMBERS = itertools.count()
_SINGLE = "single elements"  # the note of a graph: number -> node


def single_element(node: Node, caches: dict[Node, Any]) -> Any:
    """Return the only element of a node, as tensors in its structure.

    Args:
      node: the last step of a dataset.
      caches: what the dataset's ``cache`` keeps, in eager code.

    Raises:
      InvalidArgumentError: there is none, or there are more.
      TypeError: it has components that are datasets.
    """
    no_datasets(node.structure, "a single element")
    graph = builder_for(())
    if graph.is_eager:
        return pack(node.structure, tensors_here(node.structure, _only(node, {}, caches)))
    specs, tensors = flatten(node.structure), node.tensors()
    parts = tuple(part for spec in specs for part in tensors_of(spec))
    if isinstance(graph, ElementGraph):
        function = partial(_in_function, node, tensors)
        dtypes = tuple(part.dtype for part in parts)
        outputs = apply(PY_FUNC, *tensors, function=function, dtypes=dtypes)
        for output, part in zip(outputs, parts, strict=True):
            output.set_shape(part.shape)
    elif graph.is_body:
        raise UnimplementedError.saying(
            "a dataset is reduced in the body of a loop, branch or function, which may run on a "
            "worker: reduce it around the body, and use the result in it"
        )
    else:
        number = next(_NUMBERS)
        graph.notes.setdefault(_SINGLE, {})[number] = node
        outputs = apply(SINGLE_ELEMENT, *tensors, number=number, _specs=parts)
    return pack(node.structure, components_of(specs, outputs, SparseTensor))


def _only(node: Node, values: Mapping[Any, Any], caches: dict[Node, Any] | None) -> Element:
    cursor = Cursor(node, values, caches=caches)
    try:
        found = cursor.take()
        is_only = cursor.peek() is None
    except StopIteration:
        raise invalid("Dataset was empty.") from None
    finally:
        cursor.close()
    if not is_only:
        raise invalid("Dataset had more than one element.")
    return found


def _given_in(node: Node) -> list[Given]:
    """Return the windows that elements of a node come from."""
    found = [node] if isinstance(node, Given) else []
    return [*found, *itertools.chain.from_iterable(map(_given_in, node.inputs))]


def _in_function(node: Node, tensors: Sequence[Tensor], *arrays: Any) -> list[Any]:
    values: ByIdentity[Any] = ByIdentity(zip(tensors, arrays, strict=True))
    values.update((each, each.now()) for each in _given_in(node))
    return arrays_of(_only(node, values, None))


def _single(call: Call, *arrays: Any, number: int, _specs: tuple[Spec, ...]) -> tuple[Any, ...]:
    node: Node | None = call.op.graph.notes.get(_SINGLE, {}).get(number)
    if node is None:
        raise NotFoundError(
            None, call.op.name, "a graph that is read from a file comes without its datasets"
        )
    values = ByIdentity(zip(node.tensors(), arrays, strict=True))
    return tuple(arrays_of(_only(node, values, None)))


def _parts(inputs: Any, *, number: int, _specs: tuple[Spec, ...]) -> tuple[Spec, ...]:
    return _specs


SINGLE_ELEMENT = host_op("DatasetToSingleElement", "*values:A", _parts, _single)
