"""The global step: the variable that counts the steps of a training."""

from __future__ import annotations

import warnings
from typing import Any

import numpy

from daskvars.dtypes import int64
from daskvars.graph.graph import Graph
from daskvars.graph.interpreter import builder_for
from daskvars.graph.scopes.collections import GraphKeys
from daskvars.graph.scopes.name_scope import entered_graph
from daskvars.graph.tensor import Tensor
from daskvars.variables.initializers import Zeros
from daskvars.variables.scopes.variable_scope import get_variable
from daskvars.variables.variable import Variable


def global_step(sess: Any, global_step_tensor: Any) -> int:
    """Return the value of the global step as a Python number.

    Args:
      sess: the session that has it; not looked at in the eager program.
      global_step_tensor: scalar integer, tensor or Variable.

    >>> dv.train.global_step(None, dv.Variable(10, name="steps"))
    10
    """
    if builder_for((global_step_tensor,)).is_eager:
        return int(global_step_tensor.numpy())
    return int(numpy.asarray(sess.run(global_step_tensor)).item())


def get_global_step(graph: Graph | None = None) -> Variable | None:
    """Return the global step of `graph`, by default of the present one; None if it has none.

    It is what the collection ``GLOBAL_STEP`` holds, or else the tensor ``global_step:0``.

    Raises:
      TypeError: what is found is no scalar integer.

    >>> with dv.Graph().as_default():
    ...     print(dv.train.get_global_step())
    ...     step = dv.train.create_global_step()
    ...     dv.train.get_global_step() is step
    None
    True
    """
    graph = builder_for(()) if graph is None else graph
    found = graph.get_collection(GraphKeys.GLOBAL_STEP)
    if len(found) > 1:
        warnings.warn(
            f"Multiple tensors in the collection {GraphKeys.GLOBAL_STEP!r}: "
            f"{[step.name for step in found]}. There is no telling which counts the steps.",
            stacklevel=2,
        )
        return None
    step: Any  # a variable, or its handle in a graph that was imported without its variables
    if found:
        step = found[0]
    else:
        try:
            step = graph.get_tensor_by_name("global_step:0")
        except KeyError:
            return None
    assert_global_step(step)
    return step


def create_global_step(graph: Graph | None = None) -> Variable:
    """Create the global step: int64, 0, not trainable, named ``global_step``.

    Args:
      graph: the graph, by default the present one.

    Raises:
      ValueError: there is one.

    >>> with dv.Graph().as_default():
    ...     step = dv.train.create_global_step()
    ...     step.name, step.dtype.base_dtype.name, dv.trainable_variables()
    ('global_step:0', 'int64', [])
    """
    graph = builder_for(()) if graph is None else graph
    if get_global_step(graph) is not None:
        raise ValueError('"global_step" already exists.')
    with entered_graph(graph), graph.name_scope(None):
        return get_variable(
            GraphKeys.GLOBAL_STEP,
            shape=[],
            dtype=int64,
            initializer=Zeros(),
            trainable=False,
            collections=[GraphKeys.GLOBAL_VARIABLES, GraphKeys.GLOBAL_STEP],
        )


def get_or_create_global_step(graph: Graph | None = None) -> Variable:
    """Return the global step of `graph`, created if need be.

    >>> with dv.Graph().as_default():
    ...     dv.train.get_or_create_global_step().name
    'global_step:0'
    """
    step = get_global_step(graph)
    return create_global_step(graph) if step is None else step


def assert_global_step(global_step_tensor: Any) -> None:
    """Raise TypeError unless `global_step_tensor` is a scalar integer tensor or Variable.

    Args:
      global_step_tensor: what is looked at.

    Raises:
      TypeError: it is another kind of object, or of another dtype or shape.

    >>> assert_global_step(dv.Variable(0))
    >>> assert_global_step(dv.Variable(0.5))
    Traceback (most recent call last):
        ...
    TypeError: Existing "global_step" does not have integer type: <dtype: 'float32'>
    """
    if not isinstance(global_step_tensor, Tensor | Variable):
        raise TypeError(
            f'Existing "global_step" must be a Variable or Tensor: {global_step_tensor}.'
        )
    dtype = global_step_tensor.dtype.base_dtype
    if not dtype.is_integer:
        raise TypeError(f'Existing "global_step" does not have integer type: {dtype}')
    shape = global_step_tensor.shape
    if shape.ndims != 0 and shape.is_fully_defined():
        raise TypeError(f'Existing "global_step" is not scalar: {shape}')
