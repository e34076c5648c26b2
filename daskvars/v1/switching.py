"""Values that are there on one side of a predicate only, and what joins the sides.

TensorFlow 1 makes its branches of `Switch` and `Merge`. Here a branch is a body, and `Merge` makes
one of what depends on a switch: it is built again there, behind no switch, so that a run computes
it only where it takes that side. What needs a value of the other side by itself fails.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.indexed_slices import IndexedSlices
from daskvars.graph.interpreter import builder_for
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.sparse_tensor import SparseTensor
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.ops.array.constant import constant
from daskvars.ops.control import subgraphs
from daskvars.ops.control.cond import cond, is_switch, one_side
from daskvars.ops.math.comparison import logical_and, logical_not, logical_or


class Switched(NamedTuple):
    """A value on either side of a predicate.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     sides = tf.raw_ops.Switch(data=tf.constant(3), pred=tf.constant(False))
    ...     int(sess.run(sides.output_false))
    3
    """

    output_false: Any
    output_true: Any


class Merged(NamedTuple):
    """The value that is there, and which of those given it is.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     sides = tf.raw_ops.Switch(data=tf.constant(3), pred=tf.constant(True))
    ...     [int(found) for found in sess.run(tf.raw_ops.Merge(inputs=sides))]
    [3, 1]
    """

    output: Any
    value_index: Tensor


def Switch(*, data: Any, pred: TensorLike, name: str | None = None) -> Switched:
    """Return a value for either side of a predicate, of which a run has only the side it takes.

    Args:
      data: [...] any dtype; a tensor, `IndexedSlices` or `SparseTensor`.
      pred: scalar bool.
      name: name of the operations, by default "Switch".

    Returns:
      (output_false, output_true), each like `data`. What needs both, or by itself the one that is
      not there, fails; `Merge` takes whichever there is.

    Raises:
      TypeError: `pred` is not bool.
      ValueError: `pred` is known to be no scalar.
      InvalidArgumentError: (when run) the value is that of the other side.

    Source: TensorFlow 1.15, ``tf.raw_ops.Switch``, which is
    ``tensorflow.python.ops.control_flow_ops.switch``.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.placeholder(tf.float32, [])
    ...     small, large = tf.raw_ops.Switch(data=x, pred=x > 10.0)
    ...     y, _ = tf.raw_ops.Merge(inputs=[small * 2.0, tf.sqrt(large)])
    ...     [float(sess.run(y, {x: value})) for value in (3.0, 16.0)]
    [6.0, 4.0]
    """
    builder = builder_for((data, pred))
    with builder.as_default():
        pred = convert_to_tensor(pred)
        return Switched(*(_side(data, pred, side, name) for side in (False, True)))


def _side(data: Any, pred: Tensor, side: bool, name: str | None) -> Any:
    """Return a value on one side of a predicate, in the parts that it has."""
    parts = subgraphs.taken_apart(data)
    if parts is data:
        return one_side(data, pred, side, name)
    with name_scope(name, "Switch", [*parts]):
        return subgraphs.assemble_chunk(type(parts)(*(one_side(p, pred, side) for p in parts)))


def Merge(*, inputs: Sequence[Any], name: str | None = None) -> Merged:
    """Return the value that is there of several which depend on a `Switch` each.

    Args:
      inputs: values of one dtype: tensors, or `IndexedSlices`, or `SparseTensor`s. The first is
        taken that depends on no side which the run does not take; it alone is computed.
      name: name of the operation, by default "Merge".

    Returns:
      (output, value_index): the value, of a shape that all of them have as far as that is known,
      and its place among `inputs`, scalar int32.

    Raises:
      ValueError: `inputs` is empty, or their dtypes differ.
      NotImplementedError: something that depends on a switch changes a variable, or is done by the
        session's own process, as queues are.
      InvalidArgumentError: (when run) none of them is there.

    Source: TensorFlow 1.15, ``tf.raw_ops.Merge``, which is
    ``tensorflow.python.ops.control_flow_ops.merge``.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     which = tf.placeholder(tf.int32, [])
    ...     cases = [tf.raw_ops.Switch(data=5.0, pred=tf.equal(which, i))[1] * i for i in range(3)]
    ...     y, index = tf.raw_ops.Merge(inputs=cases)
    ...     [float(value) for value in sess.run([y, index], {which: 2})]
    [10.0, 2.0]
    """
    if not len(inputs):
        raise ValueError("Merge(inputs) needs at least one value, got none")
    kinds = (IndexedSlices, SparseTensor)
    builder = builder_for(tuple(x for x in inputs if not isinstance(x, kinds)))
    with builder.as_default():
        values = [x if isinstance(x, kinds) else convert_to_tensor(x) for x in inputs]
        are_there = [_is_there(value) for value in values]
        otherwise: Callable[[], Any] = functools.partial(_built, values[-1], len(values) - 1, False)
        for place in reversed(range(len(values) - 1)):
            otherwise = _chosen(values[place], place, are_there[place], otherwise, name or "Merge")
        merged = Merged(*otherwise())
        known = [there for there in are_there if there is not None]
        if len(known) == len(values):
            builder.notes.setdefault(_MERGES, {})[merged.value_index.op] = functools.reduce(
                logical_or, known
            )
        return merged


_MERGES = "merges"  # a note of graphs: operation -> whether any of its values is there, a tensor


def _is_there(value: Any) -> Tensor | None:
    """Return whether a value is there, a scalar bool; None where it always is."""
    ops = subgraphs.slice_of(_tensors_of(value))
    sides = {(id(op.inputs[1]), op.attrs["side"]): op for op in ops if is_switch(op)}
    wanted = [_is_taken(op.inputs[1], op.attrs["side"]) for op in sides.values()]
    wanted += [_merges_around(op)[op] for op in ops if op in _merges_around(op)]
    return functools.reduce(logical_and, wanted) if wanted else None


def _merges_around(op: Operation) -> dict[Operation, Tensor]:
    """Return the merges of an operation's graph that may give nothing, and whether they do not."""
    found: dict[Operation, Tensor] = op.graph.notes.get(_MERGES, {})
    return found


def _is_taken(pred: Tensor, side: bool) -> Tensor:
    """Return whether a predicate is there and is `side`."""

    def as_wanted(pred: Tensor) -> Tensor:
        return pred if side else logical_not(pred)

    is_there = _is_there(pred)
    if is_there is None:
        return as_wanted(pred)
    return cond(is_there, lambda: as_wanted(_again([pred], True)[0]), lambda: constant(False))


def _chosen(
    value: Any, place: int, is_there: Tensor | None, otherwise: Callable[[], Any], name: str
) -> Callable[[], Any]:
    """Return a function that gives a value and its place if it is there, else as another does."""

    def chosen() -> Any:
        pred = constant(True) if is_there is None else is_there
        return cond(pred, lambda: _built(value, place, True), otherwise, name=name)

    return chosen


def _built(value: Any, place: int, is_there: bool) -> tuple[Any, Tensor]:
    """Return a value and its place, built in a branch that may know that the value is there."""
    again = iter(_again(_tensors_of(value), is_there))
    parts = subgraphs.taken_apart(value)
    if parts is value:
        return next(again), constant(place)
    return subgraphs.assemble_chunk(type(parts)(*again)), constant(place)


def _again(tensors: Sequence[Tensor], are_there: bool) -> list[Tensor]:
    """Build what depends on switches again: behind no switch where it is known to be there."""
    return subgraphs.copy_dependents(
        tensors,
        lambda op: is_switch(op) or op in _merges_around(op),
        lambda op: are_there and is_switch(op),
    )


def _tensors_of(value: Any) -> list[Tensor]:
    parts = subgraphs.taken_apart(value)
    return [value] if parts is value else list(parts)
