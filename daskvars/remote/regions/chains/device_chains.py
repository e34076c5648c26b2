"""Chains of ufuncs on a GPU, and of kernels made of these, each compiled by CuPy into one kernel.

Such a chain is bound by memory, and by what it costs to launch a kernel (some 5 us each): as one
kernel it reads each input and writes each output once. `daskvars.remote.regions.chains.tiling` does
the same for the cache of a CPU.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy

from daskvars.device_array import choosing
from daskvars.remote.regions.codegen import defined, name, names


def chains(calls: Sequence[Any], is_fusible: Callable[[Any], bool]) -> dict[int, int]:
    """Return start -> end of each run of two or more calls that make one kernel.

    Args:
      calls: of a region.
      is_fusible: tells whether a call is one ufunc, or several.
    """
    found: dict[int, int] = {}
    start = 0
    for i in range(1, len(calls) + 1):
        goes_on = i < len(calls) and calls[i].shapes == calls[start].shapes
        if goes_on and is_fusible(calls[start]) and is_fusible(calls[i]):
            continue
        if i - start > 1:
            found[start] = i
        start = i
    return found


class DeviceChain:
    """The function of one chain: ``function(*inputs) -> outputs``.

    Args:
      xp: CuPy.
      calls: the calls of the chain, all of one output shape.
      outputs: registers that are needed after the chain.
    """

    def __init__(self, xp: Any, calls: Sequence[Any], outputs: Sequence[int]) -> None:
        self.outputs = tuple(outputs)
        made = {call.outs[0] for call in calls}
        self.inputs = tuple(
            dict.fromkeys(
                register for call in calls for register in call.args if register not in made
            )
        )
        fused = xp.fuse(kernel_name="daskvars_chain")(self._written(xp, calls))
        self.function = choosing(
            xp, self._as_tuple(fused), self._as_tuple(self._written(numpy, calls))
        )

    def _written(self, xp: Any, calls: Sequence[Any]) -> Callable[..., Any]:
        """Return the chain as a function."""
        scope = {
            name(i, "k"): getattr(xp, call.kernel)
            if isinstance(call.kernel, str)
            else partial(call.kernel, xp, **call.attrs)
            for i, call in enumerate(calls)
        }
        lines = [f"def chain({names(self.inputs)}):"]
        lines += [
            f"    {names(call.outs[:1])} = {name(i, 'k')}({names(call.args)})"
            for i, call in enumerate(calls)
        ]
        lines.append(f"    return {names(self.outputs)}")
        return defined("chain", lines, scope)

    def _as_tuple(self, function: Callable[..., Any]) -> Callable[..., tuple]:
        if len(self.outputs) > 1:
            return function
        return lambda *inputs: (function(*inputs),)
