"""Loops whose turns do not need one another, as `map_fn` makes them: many turns made at once.

What turns carry on is a number that grows by as much each time, lists to which each adds the item
of that number, and what stays as it is. So the items are those of any order, and the body is gone
through for several turns at once (`several`), with the bits of each alone (m: a step of MAML, 25
tasks of two layers, takes 10 ms, one by one 31). Its gradient goes backward through as many: what
it sums up is added turn by turn, as ever.

Where something fails, the turns are made one by one, and the one that fails tells of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy

from daskvars.kernels.control import flow, tensor_lists
from daskvars.kernels.control.tensor_lists import History
from daskvars.remote.regions.region_program import Call, RegionProgram
from daskvars.remote.regions.several import FIRST_CALL, Each, SeveralRegion, each_of
from daskvars.remote.regions.stacked_kernels import Columns, Stacked, keys_of_turns, rule_of

APART = "apart"  # attribute of a loop: nobody can tell in which order its turns are made
LEAST_RULED = 0.6  # of a body's calls: others are made for each turn, with more ado than alone

MakesSeveral = Callable[[RegionProgram], SeveralRegion]


def turns_apart(attrs: Mapping[str, Any], several: MakesSeveral) -> Callable[..., Any] | None:
    """Return what makes many turns of a loop at once; None where a turn may need another.

    Args:
      attrs: of the loop, or of its gradient.
      several: makes a region one for several elements.
    """
    if attrs["written"]:
        return None
    if "num_grads" not in attrs:
        test, body = attrs["branches"]
        if any(register in attrs["keyed"] for call in test.calls for register in call.args):
            return None
        found = _map_of(test, body, attrs["num_vars"])
        return None if found is None else _Turns(found, several, attrs["keyed"])
    body = attrs["branches"][0]
    if not _goes_backward_apart(body, attrs):
        return None
    return _TurnsBack(several(body), attrs["keyed"])


class _Map(NamedTuple):
    """A loop as what it does for each number.

    Attributes:
      num_vars: how many values it carries on.
      counter: which of them is the number.
      step: of the addition that makes the next one.
      writes: (which of them, the call) of each item that is added to a list.
      items: what is added, and what else a turn gives.
    """

    num_vars: int
    counter: int
    step: Call
    writes: list[tuple[int, Call]]
    items: RegionProgram


def _map_of(test: RegionProgram, body: RegionProgram, num_vars: int) -> _Map | None:
    made = {register: call for call in body.calls for register in call.outs}
    taken = [register for call in body.calls for register in call.args]
    counters: list[tuple[int, Call]] = []
    writes: list[tuple[int, Call]] = []
    for position, register in enumerate(body.outputs[:num_vars]):
        call = made.get(register)
        if register == position:
            continue
        if call is None or register in taken or body.outputs.count(register) > 1:
            return None
        if call.kernel == "add" and position in call.args:
            counters.append((position, call))
        elif call.kernel is tensor_lists.write and not call.attrs.get("adds"):
            writes.append((position, call))
        else:
            return None
    if len(counters) != 1 or not writes:
        return None
    (counter, step), lists = counters[0], [position for position, _ in writes]
    other = [register for register in step.args if register != counter]
    is_alone = all(taken.count(position) == 1 for position in lists)
    is_numbered = all(call.args[:2] == (position, counter) for position, call in writes)
    if not (is_alone and is_numbered) or len(other) != 1 or other[0] in made:
        return None
    if any(register in lists for call in test.calls for register in call.args):
        return None
    done = [step, *(call for _, call in writes)]
    items = replace(
        body,
        calls=tuple(call for call in body.calls if call not in done),
        outputs=(*(call.args[2] for _, call in writes), *body.outputs[num_vars:]),
        cache={},
    )
    return _Map(num_vars, counter, step, writes, items) if _is_worth_it(items) else None


def _is_worth_it(program: RegionProgram) -> bool:
    if program.into or any(call.block >= 0 for call in program.calls):
        return False
    ruled = sum(rule_of(call) is not None or call.kernel is flow.cond for call in program.calls)
    return ruled >= LEAST_RULED * len(program.calls)


def _goes_backward_apart(body: RegionProgram, attrs: Mapping[str, Any]) -> bool:
    first, stop = 1 + attrs["num_grads"], 1 + attrs["num_grads"] + attrs["num_sums"]
    if body.outputs[: first - 1] != tuple(range(1, first)):
        return False
    for call in body.calls:
        if 0 in call.args and call.kernel is not flow.history_item:
            return False
        if any(first <= register < stop for register in call.args):
            return False
    return 0 not in body.outputs and _is_worth_it(body)


class _Turns:
    """Makes turns of a loop at once."""

    def __init__(self, found: _Map, several: MakesSeveral, keyed: Sequence[int]) -> None:
        self._map, self._region = found, several(found.items)
        self._keyed = keyed
        (other,) = [register for register in found.step.args if register != found.counter]
        self._step = found.items.constants.get(other, other)

    def __call__(
        self, values: list[Any], history: History | None, test: Callable, maximum: int | None
    ) -> int:
        """Make turns, and return how many.

        Args:
          values: what the loop takes; what the turns make of it is put there.
          history: told of each turn, if there is one.
          test: whether there is another turn.
          maximum: how many there are at most, None where nobody said.
        """
        made = 0
        while True:
            most = self._region.call_size
            if maximum is not None:
                most = min(most, maximum - made)
            numbers = self._numbers(values, test, most)
            if len(numbers) < FIRST_CALL:
                return made
            try:
                self._make(values, history, numbers, range(made, made + len(numbers)))
            except Exception:  # noqa: BLE001 - the turn that fails will do so by itself
                return made
            made += len(numbers)

    def _next(self, values: Sequence[Any], number: Any) -> Any:
        step = values[self._step] if isinstance(self._step, int) else self._step
        return numpy.add(number, step)

    def _numbers(self, values: Sequence[Any], test: Callable, most: int) -> list[Any]:
        """Return the numbers of the turns that come next."""
        probe, counter = list(values), self._map.counter
        numbers: list[Any] = []
        while len(numbers) < most and flow.truth(test(*probe)[0]):
            numbers.append(probe[counter])
            probe[counter] = self._next(probe, probe[counter])
        return numbers

    def _make(
        self, values: list[Any], history: History | None, numbers: Sequence[Any], turns: range
    ) -> None:
        num_vars, counter, _, writes, _ = self._map
        count, given = len(numbers), _of_turns(values, self._keyed, turns)
        given[counter] = Stacked(numpy.array(numbers))
        items, saved = [], self._region(count, given)
        for (position, call), item in zip(writes, saved, strict=False):
            versions = [values[position]]
            for number, row in zip(numbers, each_of(item, count), strict=True):
                new = tensor_lists.write(numpy, versions[-1], number, row, **call.attrs)
                versions.append(new)
            items.append((position, versions))
            given[position] = Each(versions[:-1])
        if history is not None:
            columns = (*given[:num_vars], *map(_ordered, saved[len(writes) :]))
            rows = list(zip(*[each_of(column, count) for column in columns], strict=True))
            first = len(history.turns)
            history.turns += rows
            history.together.append((first, first + count, columns))
        values[counter] = self._next(values, numbers[-1])
        for position, versions in items:
            values[position] = versions[-1]


class _TurnsBack:
    """Goes backward through turns, many at once."""

    def __init__(self, region: SeveralRegion, keyed: Sequence[int]) -> None:
        self._region, self._keyed = region, keyed

    def __call__(
        self, history: History, others: Sequence[Any], turn: Callable[[int], tuple]
    ) -> Iterator[Sequence[Any]]:
        """Yield what the body gives for each turn, from the last to the first.

        Args:
          history: the turns.
          others: what else the body takes, the same for all.
          turn: gives what it gives for one turn.
        """
        made = history.together[-1][1] if history.together else 0
        yield from map(turn, range(len(history.turns) - 1, made - 1, -1))
        for first, stop, columns in reversed(history.together):
            while stop > first:
                start = max(first, stop - max(self._region.call_size, FIRST_CALL))
                found = self._made(others, columns, first, range(start, stop))
                yield from map(turn, range(stop - 1, start - 1, -1)) if found is None else found
                stop = start

    def _made(
        self, others: Sequence[Any], columns: Sequence[Any], first: int, turns: range
    ) -> Iterator[Sequence[Any]] | None:
        """Return what the body gives for some of the turns that were made at once from a first."""
        count, part = len(turns), slice(turns.start - first, turns.stop - first)
        if not self._region.call_size:
            return None
        try:
            some = Columns(tuple(_part(column, part) for column in columns))
            found = self._region(count, _of_turns([some, *others], self._keyed, turns))
        except Exception:  # noqa: BLE001 - the turn that fails will do so by itself
            return None
        results = [each_of(_ordered(value), count) for value in found]
        return zip(*map(reversed, results), strict=True)


def _of_turns(values: Sequence[Any], keyed: Sequence[int], turns: range) -> list[Any]:
    """Return values with the random keys among them for each of some turns."""
    given = list(values)
    for position, keys in zip(keyed, keys_of_turns([given[k] for k in keyed], turns), strict=True):
        given[position] = keys
    return given


def _part(column: Any, part: slice) -> Any:
    if isinstance(column, Stacked):
        return Stacked(column.array[part])
    return Each(column.values[part]) if isinstance(column, Each) else column


def _ordered(column: Any) -> Any:
    """Return results in C order, as those of a region are: bits of a sum depend on it."""
    if isinstance(column, Stacked):
        return Stacked(numpy.ascontiguousarray(column.array))
    if isinstance(column, Each):
        return Each(
            [numpy.ascontiguousarray(v) if getattr(v, "ndim", 0) else v for v in column.values]
        )
    return numpy.ascontiguousarray(column) if getattr(column, "ndim", 0) else column
