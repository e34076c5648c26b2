"""Kernels that are a few ufuncs one after the other: in a chain they are called as these.

A kernel gives a fresh array, from which a tile of a chain would have to be copied; a ufunc writes
straight to where its result is wanted. (A sum of four arrays of 2 MiB: 0.31, 0.20 ms.) Each step
is what the kernel does, in its order: the bits are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy

from daskvars.kernels.math.without_ufunc import add_n, power, squared_difference
from daskvars.remote.regions.region_program import Call, RegionProgram, registers_after

Steps = Sequence[tuple[str, tuple[int, ...]]]
"""Ufuncs and what each takes: i, an argument of the call; ~i, the result of step i."""


def in_steps(program: RegionProgram, chains: Mapping[int, int]) -> list[Call]:
    """Return the calls of a region, those of its chains that are several ufuncs as these.

    Args:
      chains: start -> end of each run of calls that are made as one.
    """
    new_register = registers_after(program.calls)
    in_chains = {n for start, end in chains.items() for n in range(start, end)}
    found: list[Call] = []
    for number, call in enumerate(program.calls):
        steps = _steps(call, program.constants) if number in in_chains else ()
        if not steps:
            found.append(call)
            continue
        results = [*(next(new_register) for _ in steps[1:]), call.outs[0]]
        for (ufunc, taken), result in zip(steps, results, strict=True):
            args = tuple(call.args[i] if i >= 0 else results[~i] for i in taken)
            found.append(call._replace(kernel=ufunc, args=args, outs=(result,)))
    return found


def _steps(call: Call, constants: Mapping[int, Any]) -> Steps:
    """Return the ufuncs that do what a call does; none where it is no such kernel."""
    steps = _STEPS.get(call.kernel) if not isinstance(call.kernel, str) else None
    return steps(call, constants) if steps is not None and not call.attrs else ()


def _sum(call: Call, constants: Mapping[int, Any]) -> Steps:
    further = [("add", (~(n - 2), n)) for n in range(2, len(call.args))]
    return [("add", (0, 1)), *further] if len(call.args) > 1 else []


def _product(call: Call, constants: Mapping[int, Any]) -> Steps:
    exponent = constants.get(call.args[1], ())
    if call.dtypes[0].kind != "f" or numpy.shape(exponent):
        return ()
    square = ("square", (0,))
    return {2: (square,), 3: (square, ("multiply", (~0, 0)))}.get(exponent.item(), ())


def _squared_difference(call: Call, constants: Mapping[int, Any]) -> Steps:
    return (("subtract", (0, 1)), ("multiply", (~0, ~0)))


_STEPS: dict[Callable[..., Any], Callable[[Call, Mapping[int, Any]], Steps]] = {
    add_n: _sum,
    power: _product,
    squared_difference: _squared_difference,
}
