"""Operations to be run when a model has been loaded."""

from __future__ import annotations

from daskvars.graph.interpreter import builder_for
from daskvars.graph.scopes.default_graph import in_graph
from daskvars.graph.tensor import Operation
from daskvars.ops.control.dependencies import control_dependencies, group
from daskvars.variables.collections import local_variables_initializer, tables_initializer

__all__ = ["main_op", "main_op_with_restore"]


def main_op() -> Operation:
    """Return an operation that initializes local variables and tables."""
    return _main_op()


def main_op_with_restore(restore_op_name: str) -> Operation:
    """Return one that does so after an operation that restores.

    Args:
      restore_op_name: name of that operation, ``saver.saver_def.restore_op_name``.
    """
    return _main_op_with_restore(restore_op_name)


@in_graph
def _main_op() -> Operation:
    return group(local_variables_initializer(), tables_initializer())


@in_graph
def _main_op_with_restore(restore_op_name: str) -> Operation:
    with control_dependencies([builder_for(()).get_operation_by_name(restore_op_name)]):
        return _main_op()
