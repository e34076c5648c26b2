"""Functions that go through elements with a state: running results, one result, an early end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

from daskvars import dtypes
from daskvars.data.nodes.elements import (
    Element,
    flatten,
    map_structure,
    most_specific,
    no_datasets,
    spec_of,
    types_of,
)
from daskvars.data.nodes.functions import ElementFunction, number_function
from daskvars.data.nodes.mapping import OfCalls, OfPredicate
from daskvars.data.nodes.node import Elements, InTurn, Node, OfSource, Pass, elements_here
from daskvars.graph.definitions.opdef import Spec


class StateFunction:
    """A function of a state and an element that gives the next state, and maybe more.

    Args:
      function: ``function(state, element)``.
      initial: the structure of the state at first.
      what: how it is called in errors.
      state_of: takes the structure of what the function gives to that of the state.

    Raises:
      TypeError: the state that it gives is of another structure, or other dtypes.

    Attributes:
      state: the structure of the state: its shapes are those that all turns have.
      operands: tensors around that it uses.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        initial: Any,
        structure: Any,
        what: str,
        state_of: Callable[[Any], Any] = lambda given: given,
    ) -> None:
        state = initial
        while True:
            traced = ElementFunction(function, (state, structure), what)
            following = state_of(traced.structure)
            if types_of(state) != types_of(following):
                raise TypeError(
                    "The element types for the new state must match the initial state. Expected "
                    f"{types_of(state)}; got {types_of(following)}."
                )
            common = most_specific(state, following, f"{what}: two states")
            if common == state:
                break
            state = common  # a size that changes: traced again without it
        self._traced, self.state, self.structure = traced, state, traced.structure
        self.operands, self.elements_of = traced.operands, traced.elements_of
        self.numbered = traced.numbered


class Scanned(Node):
    """What a function gives for each element and a state, which it gives too.

    Args:
      initial: the state at first, nested.
      function: ``function(state, element)``, gives the next state and what comes out.
    """

    def __init__(self, input: Node, initial: Any, function: Callable[..., Any]) -> None:
        self.inputs, self._initial = (input,), flatten(initial)
        structure = map_structure(spec_of, initial)
        self._function = StateFunction(function, structure, input.structure, "scan", _first_of_two)
        self.operands = (*self._initial, *self._function.operands)
        self.structure = self._function.structure[1]

    def count(self, pass_: Pass) -> float | None:
        return self.inputs[0].count(pass_)

    def elements(self, pass_: Pass) -> Elements:
        call = self._function.numbered(pass_, pass_.first_draw(self))
        state = tuple(pass_.value(operand) for operand in self._initial)
        return _Scan(elements_here(self.inputs[0], pass_), call, state)


def _first_of_two(structure: Any) -> Any:
    if not isinstance(structure, tuple) or isinstance(structure, Spec) or len(structure) != 2:
        raise TypeError(
            "The scan function must return a pair: the new state, and the output value."
        )
    return structure[0]


class _Scan(OfCalls):
    def __init__(
        self, source: Elements, call: Callable[[Element, int], Element], state: Element
    ) -> None:
        super().__init__(source, call)
        self._state = state

    def __next__(self) -> Element:
        found = self._called((*self._state, *next(self._source)))
        self._state = found[: len(self._state)]
        return found[len(self._state) :]


class TakenWhile(OfPredicate):
    """The elements until a function says of one that it is not wanted."""

    _what = "take_while"

    def elements(self, pass_: Pass) -> Elements:
        call = self._function.numbered(pass_, pass_.first_draw(self))
        return _While(elements_here(self.inputs[0], pass_), call)


class _While(OfCalls):
    _is_ended = False

    def __next__(self) -> Element:
        if self._is_ended:
            raise StopIteration
        element = next(self._source)
        (is_wanted,) = self._called(element)
        if not is_wanted:
            self._is_ended = True
            raise StopIteration
        return element


class Unique(Node):
    """The elements that were not there before."""

    def __init__(self, input: Node) -> None:
        self.inputs, self.structure = (input,), input.structure
        found = flatten(input.structure)
        if len(found) != 1 or found[0].dtype not in (dtypes.int32, dtypes.int64, dtypes.string):
            raise TypeError(
                "unique() takes elements of one component, of tf.int32, tf.int64 or tf.string, "
                f"found {types_of(input.structure)}"
            )

    def elements(self, pass_: Pass) -> Elements:
        return _Unique(elements_here(self.inputs[0], pass_))


class _Unique(OfSource):
    def __init__(self, source: Elements) -> None:
        super().__init__(source)
        self._seen: set[Any] = set()

    def __next__(self) -> Element:
        while True:
            (found,) = next(self._source)
            key = found.shape, tuple(found.ravel().tolist())
            if key not in self._seen:
                self._seen.add(key)
                return (found,)


class GroupedByReducer(Node):
    """One result for each key: what functions make of all elements that have it.

    Args:
      key: gives the key of one, a scalar int64.
      first: gives the state at first, of a key.
      reduce: gives the next state, of a state and an element.
      last: gives the result, of a state.
    """

    def __init__(
        self,
        input: Node,
        key: Callable[..., Any],
        first: Callable[..., Any],
        reduce: Callable[..., Any],
        last: Callable[..., Any],
    ) -> None:
        what = "group_by_reducer"
        no_datasets(input.structure, f"{what}()")
        self.inputs = (input,)
        number = Spec(dtypes.int64, ())
        self._key = number_function(key, input.structure, f"{what}_key", "`key_func`")
        self._first = ElementFunction(first, number, f"{what}_init")
        self._reduce = StateFunction(reduce, self._first.structure, input.structure, what)
        # A state is one argument, however it is nested.
        of_one = (self._reduce.state,)
        self._last = ElementFunction(lambda state: last(state), of_one, f"{what}_finalize")
        self.structure = self._last.structure
        functions = (self._key, self._first, self._reduce, self._last)
        self.operands = [operand for each in functions for operand in each.operands]

    def elements(self, pass_: Pass) -> Elements:
        return InTurn(self._results(pass_, pass_.first_draw(self)))

    def _results(self, pass_: Pass, number: int) -> Iterator[Element]:
        key, begin = self._key.elements_of(pass_), self._first.elements_of(pass_)
        reduce, last = self._reduce.elements_of(pass_), self._last.elements_of(pass_)
        states: dict[int, Element] = {}
        with closing(elements_here(self.inputs[0], pass_)) as source:
            for at, element in enumerate(source):
                place = pass_.number(number + at)
                found = key(element, place)
                state = states.get(int(found[0]))
                if state is None:
                    state = begin(found, place)
                states[int(found[0])] = reduce((*state, *element), place)
        for at, each in enumerate(sorted(states)):
            yield last(states[each], pass_.number(number + at))


class Reduced(Node):
    """One element: the state after all elements of the input.

    Args:
      initial: the state at first, nested.
    """

    def __init__(self, input: Node, initial: Any, function: Callable[..., Any]) -> None:
        self.inputs, self._initial = (input,), flatten(initial)
        structure = map_structure(spec_of, initial)
        self._function = StateFunction(function, structure, input.structure, "reduce")
        self.operands = (*self._initial, *self._function.operands)
        self.structure = self._function.state

    def count(self, pass_: Pass) -> float:
        return 1

    def elements(self, pass_: Pass) -> Elements:
        return InTurn(self._result(pass_, pass_.first_draw(self)))

    def _result(self, pass_: Pass, first: int) -> Iterator[Element]:
        call = self._function.numbered(pass_, first)
        state = tuple(pass_.value(operand) for operand in self._initial)
        with closing(elements_here(self.inputs[0], pass_)) as source:
            for at, element in enumerate(source):
                state = call((*state, *element), at)
        yield state
