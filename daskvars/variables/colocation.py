"""Where variables and what changes them are made: in which program, on which device."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

from daskvars.graph.func_graph import FuncGraph
from daskvars.graph.interpreter import builder_for
from daskvars.graph.scopes import stacks as scopes
from daskvars.graph.user_line import user_line


def owner() -> Any:
    """Return the program that variables made now belong to.

    That is the current graph (or the eager recorder), but never the body of a function, branch or
    loop: the first program around it that is none.
    """
    builder = builder_for(())
    if not isinstance(builder, FuncGraph):
        return builder
    while isinstance(builder, FuncGraph):
        builder = builder.outer
    with scopes.entered(builder):
        return builder_for(())


class building_in:
    """Build in `builder` (see `owner`), free of control dependencies, keeping the name scope.

    All operations made in the block are of the line that the block is called from: to look for the
    line costs as much as all else that is remembered of a small operation.
    """

    __slots__ = ("_blocks", "_builder", "_line")

    def __init__(self, builder: Any) -> None:
        self._builder = builder

    def __enter__(self) -> None:
        builder, inner = self._builder, scopes.current_builder()
        self._line = scopes.stacks.line
        self._blocks = None
        if inner is not builder or builder.has_control_dependencies:
            self._blocks = _built_in(builder, inner)
            self._blocks.__enter__()
        if self._line is None:
            scopes.stacks.line = user_line()

    def __exit__(self, *exc_info: Any) -> None:
        scopes.stacks.line = self._line
        if self._blocks is not None:
            self._blocks.__exit__(*exc_info)


@contextmanager
def _built_in(builder: Any, inner: Any) -> Iterator[None]:
    with ExitStack() as stack:
        stack.enter_context(scopes.entered(builder))
        stack.enter_context(builder.control_dependencies(None))
        if isinstance(inner, FuncGraph):
            scope = inner.get_name_scope()
            stack.enter_context(builder.name_scope(f"{scope}/" if scope else None))
        yield


def colocate_with(op: Any, ignore_existing: bool = False) -> AbstractContextManager[None]:
    """Place ops made in the block where `op` is, whatever device was asked for outside.

    Args:
      op: an Operation, Tensor or Variable.
      ignore_existing: forget enclosing colocations; then `op` may be None, which ends them.

    Raises:
      ValueError: `op` is None and `ignore_existing` is not set.

    Source: TensorFlow 1.15, ``tf.colocate_with``.

    >>> with dv.Graph().as_default():
    ...     with dv.device("/gpu:1"):
    ...         a = dv.constant(1.0)
    ...     with dv.device("/cpu:0"), dv.colocate_with(a):
    ...         b = dv.constant(2.0)
    >>> b.device
    '/device:GPU:1'
    """
    element = op._as_graph_element() if hasattr(op, "_as_graph_element") else op
    return builder_for(() if op is None else (op,)).colocate_with(element, ignore_existing)


def init_scope() -> AbstractContextManager[None]:
    """Build in the outermost program: outside of functions, branches and loops being traced.

    Control dependencies are left too, the name scope is kept: what initializes a variable must
    not depend on where it is asked for.

    Source: TensorFlow 1.15, ``tf.init_scope``.

    >>> with dv.Graph().as_default():
    ...     with dv.control_dependencies([dv.no_op()]):
    ...         inside = dv.constant(1.0)
    ...         with dv.init_scope():
    ...             outside = dv.constant(2.0)
    >>> len(inside.op.control_inputs), len(outside.op.control_inputs)
    (1, 0)
    """
    return _built_in(owner(), scopes.current_builder())


def place(op: Any, device: str) -> None:
    """Put the operation just made on `device`, whatever was asked for around it."""
    if op.device != device:
        op._set_device(device)
