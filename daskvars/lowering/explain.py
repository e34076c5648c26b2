"""The text of ``explain``: what a plan does, region by region, where, and why there.

The line of an operation, with why it is where it is, is `lowering.plan` `OpPlacement.__str__`; how
the work is cut says `lowering.planner.sharding_report` (`ShardingChoice.lines`); on a cluster the
stages stand above it (`lowering.emission.stages`, `StagePlan.summary`).
"""

from __future__ import annotations

from collections.abc import Callable

from daskvars.lowering.plan import Plan, Region
from daskvars.surface.one_line import counted


def in_this_process(region: Region) -> str:
    """Return where a region runs without a cluster, in words."""
    return f"this process, {region.place}" if region.place else "this process"


def explain(plan: Plan, where: Callable[[Region], str] = in_this_process) -> str:
    """Return a table of the regions: label, tasks, where, operations and why they are there.

    Above it stand the totals, the bytes "at most" being `Plan.peak_bytes`, how the work is cut,
    what the runner-up would have cost, and what moves between blocks.

    Args:
      plan: the plan.
      where: tells where the tasks of a region run.
    """
    lines = [
        f"{counted(plan.num_tasks, 'task')}, {counted(len(plan.regions), 'region')}, "
        f"{plan.transfer_bytes:,} bytes between tasks, {plan.peak_bytes:,} bytes at most, "
        f"{plan.flops:.3g} flops",
        *plan.sharding.lines(),
    ]
    if plan.client_s is not None:
        lines.append(
            "done by the client: it needs nothing that is on workers, and its work is about "
            f"{plan.client_s * 1e6:.3g} us, less than the way to them (config.client_work_s)"
        )
    for number, region in enumerate(plan.regions):
        lines.append(f"region {number} {region.label!r}: {region.tasks} on {where(region)}")
        lines += [f"    {op}" for op in region.ops]
    return "\n".join(lines)
