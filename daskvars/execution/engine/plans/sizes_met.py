"""One plan for all sizes of what is fed: for programs that hardly ever are fed one shape twice.

A plan is for the shapes that it was made for. Where each batch has another (sentences, features of
several values) planning takes more than the steps (m: a network of four layers, 10 ms for a new
shape, 0.1 for a known one; two layers of attention, 29 and 1). So a program that was fed several
shapes gets one plan in which the sizes that differ are unknown, as those of ``boolean_mask`` are.

It computes by the same kernels, so the bits are the same. But it is one task whatever it is fed,
and elementwise chains of unknown sizes are not tiled: it is only for what is about as large as what
was planned before as one task, and for programs in which nothing is large that depends on a size.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from daskvars.lowering.plan import Plan
from daskvars.lowering.program import FEED
from daskvars.remote.regions.chains import tiling
from daskvars.shape_arithmetic import common, is_known

Shapes = tuple[tuple[int, ...], ...]
OpenShapes = tuple[tuple[int | None, ...], ...]

LEAST_MET = 2  # shapes that have plans of their own before one for all is tried
MOST_GROWTH = 2  # how many times as many elements may be fed as in any of these


class SizesMet:
    """The shapes that one signature was fed, as far as they have plans.

    Attributes:
      is_hopeless: whether one plan for several does not pay.
    """

    def __init__(self) -> None:
        self.is_hopeless = False
        self._num_met = self._most_elements = 0
        self._common: OpenShapes | None = None
        self._tiled: set[str] = set()

    def note(self, shapes: Shapes, plan: Plan) -> None:
        """Take note of a plan for shapes."""
        self._common = shapes if self._common is None else _common(self._common, shapes)
        self.is_hopeless |= self._common is None or not plan.is_one_call
        self._num_met += 1
        self._most_elements = max(self._most_elements, _num_elements(shapes))
        self._tiled.update(call.name for call in _calls(plan) if tiling.is_tiled(call))

    def for_all(self, shapes: Shapes, static: Sequence[Any]) -> OpenShapes | None:
        """Return the shapes, some sizes None, that a plan for these and those met is for, if any.

        Args:
          static: the shapes of the tensors that are fed, None where not known.
        """
        if self.is_hopeless or self._common is None or self._num_met < LEAST_MET:
            return None
        if _num_elements(shapes) > MOST_GROWTH * self._most_elements:
            return None
        found = _common(self._common, shapes)
        if found is None or not all(map(_is_open, found, static)):
            return None
        self._common = found
        return found

    def accept(self, plan: Plan) -> bool:
        """Return whether a plan for several shapes is as good as those for each; else none is."""
        untiled = {call.name for call in _calls(plan) if not tiling.is_tiled(call)}
        self.is_hopeless = not plan.is_one_call or not self._tiled.isdisjoint(untiled)
        return not self.is_hopeless


def is_for_several(plan: Plan) -> bool:
    """Return whether a plan is for more than one shape of what is fed."""
    return any(leaf.kind == FEED and not is_known(leaf.spec.shape) for leaf in plan.leaves)


def _calls(plan: Plan) -> list[Any]:
    return [call for region in plan.regions for call in region.program.calls]


def _num_elements(shapes: Shapes) -> int:
    return sum(math.prod(shape) for shape in shapes)


def _common(one: OpenShapes, other: Shapes) -> OpenShapes | None:
    """Return what two have in common, None for sizes that differ; None if ranks do."""
    found = [shape for pair in zip(one, other, strict=True) if (shape := common(*pair)) is not None]
    return tuple(found) if len(found) == len(other) else None


def _is_open(shape: Sequence[int | None], static: Sequence[int | None] | None) -> bool:
    """Return whether a tensor may be fed all that is said to differ."""
    return static is None or all(
        n is not None or size is None for n, size in zip(shape, static, strict=True)
    )
