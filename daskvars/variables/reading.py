"""Reading a variable where a branch or loop is built: around it, and passed in."""

from __future__ import annotations

from typing import Any

from daskvars.graph.func_graph import FuncGraph
from daskvars.graph.scopes import stacks as scopes
from daskvars.graph.tensor import Tensor
from daskvars.ops.state.assign import value_passed_in


def read_around(body: FuncGraph, variable: Any) -> Tensor:
    """Return the value of a variable in a body, which takes it as an input.

    The body notes it: one that turns out to assign the variable reads it inside instead.
    """
    with scopes.entered(body.outer), body.outer.control_dependencies(body.awaited):
        value = variable.value()
    read = value_passed_in(value, "read")
    body.reads[read.op] = variable.handle
    return read
