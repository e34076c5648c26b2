"""Splits a region in two: what may fail, and the updates of large variables, in place.

A functional update of a large variable writes fresh memory; for a sparse update that copies
everything to change a few rows. But an update in place cannot be taken back. So the calls that
only lead to updates, and that cannot fail once their inputs are checked, are put in a program of
their own (the update half) that runs when everything else of the run has succeeded.
"""

from __future__ import annotations

import math
from collections import defaultdict
from typing import NamedTuple

import numpy

from daskvars.remote.regions.compilation import is_ufunc
from daskvars.remote.regions.region_program import Call, RegionProgram, memory_roots

MIN_BYTES = 1 << 20  # below, a copy costs less than the bookkeeping


class RegionSplit(NamedTuple):
    """The second half of a region.

    Attributes:
      main: the first half; its outputs are those of the region that the update half does not give,
        then `passed`.
      program: the second half; its inputs are the variables' arrays, then what `main` passed on.
      kept: positions of the region's outputs that `main` gives, in order.
      variables: the region's inputs that the update half changes, in the order of its inputs.
      updates: positions of the region's outputs that the update half gives, in the order it gives
        them.
    """

    main: RegionProgram
    program: RegionProgram
    kept: tuple[int, ...]
    variables: tuple[int, ...]
    updates: tuple[int, ...]


def split(program: RegionProgram, pairs: dict[int, int]) -> RegionSplit | None:
    """Split a region.

    Args:
      program: the region.
      pairs: position of an output -> input register of the variable that it is the new value of.

    Returns:
      The two halves; None where nothing is large enough, or safe, to be done in place.
    """
    return _Split(program, pairs).result()


class _Split:
    def __init__(self, program: RegionProgram, pairs: dict[int, int]) -> None:
        self.program = program
        self.users: dict[int, list[int]] = defaultdict(list)
        self.maker: dict[int, int] = {}
        self.root = memory_roots(program.calls)
        for i, call in enumerate(program.calls):
            for register in call.args:
                self.users[register].append(i)
            for register in call.outs:
                self.maker[register] = i
        self.pairs = {
            program.outputs[p]: (p, register)
            for p, register in pairs.items()
            if self._is_large(p, register)
        }
        self.stages = {out: self._stages_of(out) for out in self.pairs}

    def _is_large(self, position: int, register: int) -> bool:
        """Return whether an output is a large update made by a call, and only an update."""
        out = self.program.outputs[position]
        shape = self.program.input_shapes[register]
        if shape is None or out not in self.maker or self.program.outputs.count(out) > 1:
            return False
        call = self.program.calls[self.maker[out]]
        dtype = call.dtypes[0]
        same = call.shapes[0] == shape and len(call.outs) == 1
        return same and math.prod(shape) * numpy.dtype(dtype).itemsize >= MIN_BYTES

    def _stages_of(self, out: int) -> list[int]:
        """Return the values that a variable's memory has, one after the other, up to the new one.

        A table whose rows are changed after all of it was (as a moment of Adam's is) is changed
        twice where it lies, instead of being made anew twice.
        """
        found, (_, variable) = [out], self.pairs[out]
        made = self.program.calls[self.maker[out]]
        while made.in_place is not None and made.args[0] != variable:
            before = made.args[0]
            if before not in self.maker or before in self.program.outputs:
                break
            of = self.program.calls[self.maker[before]]
            is_alike = of.shapes == made.shapes and of.dtypes == made.dtypes
            if not is_alike or self.users[before] != [self.maker[found[0]]]:
                break
            found.insert(0, before)
            made = of
        return found

    def _variable_of(self) -> dict[int, int]:
        """Return each value that takes a variable's memory -> that variable."""
        return {
            register: variable
            for out, (_, variable) in self.pairs.items()
            for register in self.stages[out]
        }

    def result(self) -> RegionSplit | None:
        """Return the halves, or None."""
        while self.pairs:
            moved = self._moved()
            bad = [out for out in self.pairs if not self._is_safe(out, moved)]
            if not bad:
                return self._halves(sorted(moved))
            for out in bad:
                del self.pairs[out]
        return None

    def _moved(self) -> set[int]:
        """Return the calls that only lead to the updates, and cannot fail."""
        outputs, variables = set(self.program.outputs), self._variable_of()
        moved: set[int] = set()
        for i in range(len(self.program.calls) - 1, -1, -1):
            call = self.program.calls[i]
            if not _cannot_fail(call) or len(call.outs) != 1:
                continue
            out = call.outs[0]
            wanted = out in variables or (
                out not in outputs and self.users[out] and not self._is_checked(out)
            )
            if wanted and all(user in moved for user in self.users[out]):
                moved.add(i)
        return moved

    def _is_checked(self, register: int) -> bool:
        """Return whether the check of a call, which runs in the first half, needs the value."""
        return any(self.program.calls[user].check is not None for user in self.users[register])

    def _is_safe(self, out: int, moved: set[int]) -> bool:
        """Return whether an update can be written over the variable's present value."""
        _, variable = self.pairs[out]
        stages = [self.maker[register] for register in self.stages[out]]
        i = stages[0]
        call = self.program.calls[i]
        changes_first = call.in_place is not None and call.args[0] == variable
        if not moved.issuperset(stages) or not (is_ufunc(call, numpy) or changes_first):
            return False
        # Nothing may read the old value later, in whatever form.
        memory = self.root.get(variable)
        later = [
            user
            for register in {variable, *(s for s, r in self.root.items() if r == memory)}
            for user in self.users[register]
            if user in moved and (user > i or register != variable)
        ]
        return all(user == i for user in later)

    def _halves(self, moved: list[int]) -> RegionSplit:
        program, variable_of = self.program, self._variable_of()
        update_calls = [program.calls[i] for i in moved]
        made = {call.outs[0] for call in update_calls}
        variables = tuple(dict.fromkeys(register for _, register in self.pairs.values()))
        passed = tuple(
            dict.fromkeys(
                register
                for call in update_calls
                for register in (*call.args, call.block)
                if register >= 0
                and register not in made
                and register not in variables
                and register not in program.constants
            )
        )
        kept = tuple(p for p, register in enumerate(program.outputs) if register not in self.pairs)
        outputs = (*(program.outputs[p] for p in kept), *passed)
        copied = tuple(kept.index(p) for p in program.copied if p in kept)
        gone = set(moved)
        calls = [c for i, c in enumerate(program.calls) if i not in gone]
        checks = (_check(program.calls[i], variable_of) for i in moved)
        calls += [check for check in checks if check is not None]
        main = RegionProgram(
            program.label,
            program.num_inputs,
            program.constants,
            tuple(calls),
            outputs,
            copied,
            program.input_shapes,
        )
        updates = tuple(p for p, _ in self.pairs.values())
        second = self._second(update_calls, variables, passed, variable_of)
        return RegionSplit(main, second, kept, variables, updates)

    def _second(
        self,
        calls: list[Call],
        variables: tuple[int, ...],
        passed: tuple[int, ...],
        variable_of: dict[int, int],
    ) -> RegionProgram:
        numbers = {register: i for i, register in enumerate((*variables, *passed))}
        constants = {}
        shape_of = dict(enumerate(self.program.input_shapes))
        for call in self.program.calls:
            shape_of.update(zip(call.outs, call.shapes, strict=False))
        shapes = tuple(shape_of.get(register) for register in (*variables, *passed))
        for call in calls:
            for register in call.args:
                if register in self.program.constants and register not in numbers:
                    numbers[register] = len(numbers)
                    constants[numbers[register]] = self.program.constants[register]
        for call in calls:
            numbers[call.outs[0]] = len(numbers)
        renumbered = tuple(
            call._replace(
                args=tuple(numbers[s] for s in call.args),
                outs=(numbers[call.outs[0]],),
                block=numbers.get(call.block, -1),
            )
            for call in calls
        )
        outputs = tuple(numbers[out] for out in self.pairs)
        into = {numbers[out]: numbers[variable] for out, variable in variable_of.items()}
        num_inputs = len(variables) + len(passed)
        return RegionProgram(
            self.program.label, num_inputs, constants, renumbered, outputs, (), shapes, into
        )


def _check(call: Call, variable_of: dict[int, int]) -> Call | None:
    """Return the check of a moved call, on inputs that exist before the updates."""
    if call.check is None:
        return None
    # In place of a new value the check sees the old one, which has its shape.
    args = tuple(variable_of.get(register, register) for register in call.args)
    return call._replace(
        kernel=call.check, args=args, outs=(), in_place=None, check=None, promised=()
    )


def _cannot_fail(call: Call) -> bool:
    if call.operands or call.multiple or not call.trusted:
        return False
    return is_ufunc(call, numpy) or call.check is not None
