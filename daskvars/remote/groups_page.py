"""The dashboard's page of task groups, for groups as they are.

The page puts the groups into an order and looks each one's dependencies up among those before it.
Dask asks `dask.order` for that order, which does not look at the dependencies that it is given: it
goes by the groups' names alone, so the page answers 500 already for ``(x + 1).T``. And our groups
are named after the user's scopes, whatever the step: the first of a step depends on the last of the
step before, so they form circles, which have no order; and they live longer than others that their
first tasks depended on.

So the page is shown the groups under names that sort dependencies first, without what closes a
circle and without groups that are gone. Nothing else on the scheduler changes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import wraps
from types import SimpleNamespace
from typing import Any

from daskvars.remote.dask_internals import groups_page

Layout = tuple[dict[str, Any], dict[str, Any]]


def patch_groups_page() -> None:
    """Have the page of this process's scheduler draw any groups, if there is a dashboard."""
    page = groups_page()
    if page is not None and not hasattr(page.update_layout, "is_patched"):
        page.update_layout = patched(page.update_layout)


def patched(update_layout: Callable[[Any], Layout]) -> Callable[[Any], Layout]:
    """Return what lays out a page's groups, given what does it for groups in order of names."""

    @wraps(update_layout)
    def in_order(page: Any) -> Layout:
        scheduler = page.scheduler
        names = dependencies_first(
            {
                name: [before.name for before in group.dependencies]
                for name, group in scheduler.task_groups.items()
            }
        )
        page.scheduler = renamed(scheduler.task_groups, names)
        try:
            nodes, arrows = update_layout(page)
        finally:
            page.scheduler = scheduler
        real = {_alias(i, names): name for i, name in enumerate(names)}
        return {real[alias]: node for alias, node in nodes.items()}, {
            real[alias]: {end: [real[a] for a in found] for end, found in ends.items()}
            for alias, ends in arrows.items()
        }

    in_order.is_patched = True  # type: ignore[attr-defined]
    return in_order


def dependencies_first(before: Mapping[str, Collection[str]]) -> list[str]:
    """Return names so that each comes after what it depends on, where no circle prevents it.

    Args:
      before: name -> the names that it depends on; those that are no keys do not count. The
        scheduler has groups in the order in which it met them, beginning with a run's results: so
        of a circle from step to step, the dependency on the step before is left out.

    >>> dependencies_first({"update": ["forward"], "forward": ["update", "load"], "load": []})
    ['load', 'forward', 'update']
    """
    found: dict[str, None] = {}
    entered: set[str] = set()
    stack: list[str] = list(before)[::-1]
    while stack:
        name = stack[-1]
        if name in entered:
            found.setdefault(stack.pop())
        else:
            entered.add(name)
            stack += [d for d in sorted(before[name]) if d in before and d not in entered]
    return list(found)


def renamed(groups: Mapping[str, Any], names: list[str]) -> Any:
    """Return what stands for a scheduler whose groups are called so that names give their order."""
    numbers = {name: i for i, name in enumerate(names)}
    proxies = [SimpleNamespace(name=_alias(i, names), dependencies=[]) for i in range(len(names))]
    for name, i in numbers.items():
        earlier = {numbers.get(d.name, i) for d in groups[name].dependencies}
        proxies[i].dependencies = [proxies[n] for n in sorted(earlier) if n < i]
    return SimpleNamespace(task_groups={proxy.name: proxy for proxy in proxies})


def _alias(number: int, names: list[str]) -> str:
    """Return the name of the group of that number; `dask.order` takes the last names first."""
    return f"group{len(names) - number:09d}"
