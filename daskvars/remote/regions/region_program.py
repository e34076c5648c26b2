"""A region as data: a flat list of kernel calls on numbered registers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy

from daskvars.remote.regions.pieces import Pieces
from daskvars.remote.regions.result_check import Promise
from daskvars.shape_arithmetic import is_known


class Call(NamedTuple):
    """One kernel call.

    Attributes:
      kernel: a name in the array namespace, or a function ``kernel(xp, *arrays, **attrs)``.
      args: registers of the inputs.
      outs: registers of the outputs.
      attrs: keyword arguments; of an op with branches, which are regions, these can be `variants`,
        of which `block` tells the one that a block takes.
      operands: names of attributes whose values are in the last registers of `args`.
      block: register of the keyword arguments that differ from block to block, or -1.
      multiple: the kernel returns a sequence.
      name: name of the operation, for errors.
      elementwise: element i of the result needs element i of the (broadcast) inputs only.
      views: of so many of the first inputs the results may share the memory.
      in_place: ``in_place(xp, out, *inputs, **attrs)``: the kernel that changes its first input.
      check: ``check(xp, *inputs, **attrs)``: raises where the kernel would.
      shapes: static shapes of the outputs, None where not known.
      dtypes: NumPy dtypes of the outputs.
      fresh: the result is memory of its own, as those of elementwise calls are.
      promised: dtype and shape of each result of each block, as far as they are known.
      trusted: the kernel gives what is promised, wherever it is tested.
      pieces: along what its arrays may be cut where they are large; None if they are not to be.
      by_rows: it folds each row of its only input to a row of the result.
    """

    kernel: Any
    args: tuple[int, ...]
    outs: tuple[int, ...]
    attrs: dict[str, Any]
    operands: tuple[str, ...] = ()
    block: int = -1
    multiple: bool = False
    name: str = ""
    elementwise: bool = False
    views: int = 0
    in_place: Any = None
    check: Any = None
    shapes: tuple[Any, ...] = ()
    dtypes: tuple[Any, ...] = ()
    fresh: bool = False
    promised: tuple[Promise, ...] = ()
    trusted: bool = True
    pieces: Pieces | None = None
    by_rows: bool = False


@dataclass(frozen=True, eq=False)
class RegionProgram:
    """A region as data.

    Attributes:
      label: scope of the region.
      num_inputs: registers 0 ... num_inputs - 1 are the arguments.
      constants: register -> array.
      calls: in order.
      outputs: registers returned, as a tuple.
      copied: positions of outputs that would share memory with an input or another output.
      input_shapes: static shapes of the arguments, None where not known.
      into: register of a result -> register of the input whose memory it is written into.
    """

    label: str
    num_inputs: int
    constants: dict[int, Any]
    calls: tuple[Call, ...]
    outputs: tuple[int, ...]
    copied: tuple[int, ...] = ()
    input_shapes: tuple[Any, ...] = ()
    into: dict[int, int] = field(default_factory=dict)
    cache: dict[Any, Callable[..., tuple]] = field(default_factory=dict, repr=False)

    @property
    def largest_between(self) -> int:
        """The bytes of the largest array of a block that is made on the way, about.

        Chains of elementwise calls run tile by tile and make none, and write into what is fresh.
        """
        made = bytes_made(
            call for call in self.calls if not (call.elementwise or call.views or call.fresh)
        )
        return max(
            (size for register, size in made.items() if register not in self.outputs), default=0
        )

    def __reduce__(self) -> Any:
        return RegionProgram, (
            self.label,
            self.num_inputs,
            self.constants,
            self.calls,
            self.outputs,
            self.copied,
            self.input_shapes,
            self.into,
        )


def memory_roots(calls: Iterable[Call]) -> dict[int, int]:
    """Return register -> the first one whose memory it may share.

    What no call makes is not there, unless a result may share its memory.
    """
    found: dict[int, int] = {}

    def root(register: int) -> int:
        while found.get(register, register) != register:
            register = found[register]
        return register

    for call in calls:
        shared = [root(register) for register in call.args[: call.views]]
        for register in (*shared, *call.outs):
            found[register] = min(shared, default=register)
    return {register: root(register) for register in found}


def registers_after(calls: Sequence[Call]) -> Iterator[int]:
    """Return numbers of registers that no call has."""
    return itertools.count(1 + max((out for call in calls for out in call.outs), default=-1))


def bytes_made(calls: Iterable[Call]) -> dict[int, int]:
    """Return register -> the bytes of what calls put there, where that is known."""
    return {
        register: dtype.itemsize * math.prod(shape)
        for call in calls
        for register, shape, dtype in zip(call.outs, call.shapes, call.dtypes, strict=False)
        if is_known(shape) and dtype is not None
    }


def sizes_of(program: RegionProgram, calls: Sequence[Call]) -> dict[int, int]:
    """Return register -> how many elements it has, where that is known."""
    shapes = dict(enumerate(program.input_shapes))
    shapes.update((register, numpy.shape(value)) for register, value in program.constants.items())
    for call in calls:
        shapes.update(zip(call.outs, call.shapes, strict=False))
    return {r: math.prod(shape) for r, shape in shapes.items() if is_known(shape)}


def operand(value: Any) -> Any:
    """Return an array computed in the run as the plain data that a kernel's attribute takes."""
    listed = value.tolist()
    return tuple(listed) if isinstance(listed, list) else listed
