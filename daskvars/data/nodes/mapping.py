"""What functions make of elements: each another one, fewer of them, or datasets of more."""

from __future__ import annotations

import itertools
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, ClassVar

from daskvars import config, dtypes
from daskvars.data.nodes.elements import Element, flatten
from daskvars.data.nodes.files import OfFiles
from daskvars.data.nodes.functions import DatasetFunction, ElementFunction, arrays_of, tensors_of
from daskvars.data.nodes.node import (
    Elements,
    GivenBack,
    Node,
    OfSource,
    Pass,
    elements_here,
    goes_on,
    has_errors,
    read_elements,
)
from daskvars.data.nodes.together import Calls
from daskvars.data.rows.on_workers import MappedOnWorkers
from daskvars.errors import FailedPreconditionError
from daskvars.execution.engine.executors import active_client
from daskvars.remote.tasks.element_tasks import ElementProgram

AUTOTUNE = -1  # TensorFlow's word for a number that it chooses
# Of a call: what is quicker is not handed to another thread. That takes 0.2 ms (m), most of it
# because two threads of many short kernels wait for one another.
SHORT_S = 1e-3
REMEMBERED = 0.8  # how much of what a call took still counts at the next


class Mapped(Node):
    """What a function gives for each element; several calls may be under way at once."""

    def __init__(self, input: Node, function: Callable[..., Any], num_parallel_calls: Any) -> None:
        self.inputs = (input,)
        self._function = ElementFunction(function, input.structure, "map")
        self._calls = num_parallel_calls
        calls = () if num_parallel_calls is None else (num_parallel_calls,)
        self.operands = (*self._function.operands, *calls)
        self.structure = self._function.structure

    @property
    def only_computes(self) -> bool:
        return self.inputs[0].only_computes and self._function.only_computes

    def count(self, pass_: Pass) -> float | None:
        return self.inputs[0].count(pass_)

    def check(self, pass_: Pass) -> None:
        calls = 1 if self._calls is None else int(pass_.value(self._calls))
        if calls != AUTOTUNE:
            self.check_positive("num_parallel_calls", calls)

    is_stored = may_fail = True

    def rows_in(self, pass_: Pass) -> Mapped | None:
        """Return itself where workers make its elements of stored rows, or records."""
        rows = self.inputs[0].rows_in(pass_) if pass_.as_dask else None
        if rows is None or not rows.is_stored or self.program(pass_) is None:
            return None
        return self

    def program(self, pass_: Pass) -> ElementProgram | None:
        """Return its function as workers run it, None where they cannot."""
        return pass_.kept(self, "program", lambda: self._function.for_workers(pass_))

    def open_rows(self, pass_: Pass) -> _MappedRows:
        """Return what has workers map rows in a pass."""
        rows = self.inputs[0].rows_in(pass_)
        return _MappedRows(pass_.reader(rows), self.program(pass_))

    def elements(self, pass_: Pass) -> Elements:
        if self.rows_in(pass_) is not None:
            pass_.begin(self)
            return self.inputs[0].elements(pass_)
        source = elements_here(self.inputs[0], pass_)
        calls = self._function.calls(pass_, pass_.first_draw(self))
        if self._calls is None:
            return _MapTogether(source, calls)
        count = int(pass_.value(self._calls))
        count = config.thread_count() if count == AUTOTUNE else count
        clock = time.perf_counter if self._function.may_wait else time.thread_time
        return _ParallelMap(source, calls, count, clock)


class _MappedRows:
    """Has workers call functions of elements whose places are given."""

    def __init__(self, reader: Any, program: ElementProgram | None) -> None:
        is_mapped = isinstance(reader, _MappedRows)
        self._reader = reader._reader if is_mapped else reader
        self._programs = [*reader._programs, program] if is_mapped else [program]
        self._on_workers: MappedOnWorkers | None = None

    def mix(self, size: int) -> None:
        """Note that elements come out of a buffer of so many."""
        self._reader.mix(size)

    def gather(self, places: Sequence[Any]) -> Element:
        """Return several elements as one batch."""
        client = active_client()
        if client is None:
            raise FailedPreconditionError.saying(
                "the Dask client with which this iterator was begun is closed; its elements were "
                "made by workers: begin another one, and restore its position there"
            )
        if self._on_workers is None:
            self._on_workers = MappedOnWorkers(client, self._programs)
        sources = self._reader.sources(places, client)
        return tuple(self._on_workers.batch(sources, len(places)))


class Parts(Node):
    """The tensors that components are made of, each a component: of a sparse one three."""

    def __init__(self, input: Node) -> None:
        self.inputs = (input,)
        specs = [spec for each in flatten(input.structure) for spec in tensors_of(each)]
        self.structure = tuple(specs)

    def count(self, pass_: Pass) -> float | None:
        return self.inputs[0].count(pass_)

    def elements(self, pass_: Pass) -> Elements:
        source = elements_here(self.inputs[0], pass_)
        return _Map(source, lambda element, number: tuple(arrays_of(element)))


class OfCalls(OfSource):
    """What is made of another's elements by a function of each and of which it is."""

    def __init__(self, source: Elements, call: Callable[[Element, int], Element]) -> None:
        super().__init__(source)
        self._call, self._number = call, 0

    def _called(self, element: Element) -> Element:
        self._number += 1
        return self._call(element, self._number - 1)


class _Map(OfCalls):
    def __next__(self) -> Element:
        return self._called(next(self._source))

    def skip(self, count: int) -> int:
        found = self._source.skip(count)
        self._number += found
        return found


class _Together(OfCalls):
    """What is made of several elements at once, where the function can be called for them."""

    _call: Calls
    _counts_errors = False  # whether an element that cannot be made has a number

    def _called_of_next(self, count: int) -> tuple[Sequence[Any], Sequence[Any]]:
        """Return the next elements, and what the function gives for them."""
        elements = self._source.many(count)
        first = self._number
        numbers: Sequence[int] = range(first, first + len(elements))
        self._number += len(elements)
        if not self._counts_errors and has_errors(elements):
            made = [not isinstance(each, Exception) for each in elements]
            *numbers, self._number = itertools.accumulate(made, initial=first)
        return elements, self._call.of_several(elements, numbers)


class _MapTogether(_Map, _Together):
    def many(self, count: int) -> Sequence[Any]:
        if not self._call.can_be_together:
            return super().many(count)
        return self._called_of_next(count)[1]


class _ParallelMap(_MapTogether):
    """Calls of a function in several threads; what they give comes in the order of elements.

    Where calls turn out to be short the thread that takes the elements makes them itself.

    Args:
      source, call: as of `_Map`.
      calls: how many are under way at once.
      clock: tells what a call takes, in seconds.
    """

    _counts_errors = True

    def __init__(
        self,
        source: Elements,
        call: Callable[[Element, int], Element],
        calls: int,
        clock: Callable[[], float],
    ) -> None:
        super().__init__(source, call)
        self._calls, self._pool = calls, ThreadPoolExecutor(calls, "daskvars-map")
        self._ahead: deque[Future[Element]] = deque()
        self._is_ended = False
        self._clock, self._longest_s = clock, 2 * SHORT_S

    def __next__(self) -> Element:
        is_short = self._longest_s < SHORT_S
        if is_short and not self._ahead:
            self._number += 1
            return self._timed(next(self._source), self._number - 1)
        while len(self._ahead) < self._calls and not (self._is_ended or is_short):
            try:
                element = next(self._source)
            except StopIteration:
                self._is_ended = True
            except Exception as error:  # noqa: BLE001 - raised in its turn
                failed: Future[Element] = Future()
                failed.set_exception(error)
                self._ahead.append(failed)
            else:
                self._ahead.append(self._pool.submit(self._timed, element, self._number))
            self._number += 1
        if not self._ahead:
            raise StopIteration
        return self._ahead.popleft().result()

    def many(self, count: int) -> Sequence[Any]:
        if self._ahead or self._longest_s >= SHORT_S:
            return Elements.many(self, count)
        begin = self._clock()
        found = super().many(count)
        self._note((self._clock() - begin) / max(len(found), 1))
        return found

    def _timed(self, element: Element, number: int) -> Element:
        begin = self._clock()
        try:
            return self._call(element, number)
        finally:
            self._note(self._clock() - begin)

    def _note(self, took_s: float) -> None:
        """Note what a call for an element took."""
        self._longest_s = max(took_s, REMEMBERED * self._longest_s)

    def skip(self, count: int) -> int:
        return Elements.skip(self, count) if self._ahead else super().skip(count)

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
        super().close()


class OfPredicate(Node):
    """The elements that a function decides on.

    Args:
      function: says of one whether it is wanted.
    """

    _what: ClassVar[str]  # how errors call the function

    def __init__(self, input: Node, function: Callable[..., Any]) -> None:
        self.inputs, self.structure = (input,), input.structure
        self._function = ElementFunction(function, input.structure, self._what)
        self.operands = self._function.operands
        found = flatten(self._function.structure)
        if len(found) != 1 or found[0].dtype is not dtypes.bool or found[0].shape not in ((), None):
            raise ValueError("`predicate` must return a scalar boolean tensor.")


class Filtered(OfPredicate):
    """The elements of which a function says that they are wanted."""

    _what = "filter"

    @property
    def only_computes(self) -> bool:
        return self.inputs[0].only_computes and self._function.only_computes

    def elements(self, pass_: Pass) -> Elements:
        source = elements_here(self.inputs[0], pass_)
        return _Filter(source, self._function.calls(pass_, pass_.first_draw(self)))


class _Filter(_Together):
    def __next__(self) -> Element:
        while True:
            element = next(self._source)
            (is_wanted,) = self._called(element)
            if is_wanted:
                return element

    def many(self, count: int) -> Sequence[Any]:
        if not self._call.can_be_together:
            return super().many(count)
        found: list[Any] = []
        while len(found) < count:
            elements, answers = self._called_of_next(count - len(found))
            if not elements:
                break
            for element, answer in zip(elements, answers, strict=True):
                if isinstance(answer, Exception):
                    found.append(answer)
                elif answer[0]:
                    found.append(element)
            if not goes_on(elements[-1]):
                break
        return found


class Interleaved(Node):
    """The elements of the datasets that a function makes of elements.

    Args:
      cycle_length: from how many datasets elements come in turn.
      block_length: how many come from one in its turn.
      what: how errors call it.
    """

    def __init__(
        self,
        input: Node,
        function: Callable[..., Any],
        cycle_length: Any,
        block_length: Any,
        what: str,
    ) -> None:
        self.inputs = (input,)
        self._function = DatasetFunction(function, input.structure, what)
        self._lengths = cycle_length, block_length
        self.operands = (*self._function.operands, *self._lengths)
        self.structure = self._function.node.structure

    @property
    def only_computes(self) -> bool:
        return self.inputs[0].only_computes and self._gives_what_only_computes

    @property
    def _gives_what_only_computes(self) -> bool:
        """Whether nobody can tell when elements of the datasets are made."""
        return self._function.only_computes and self._function.node.only_computes

    def rows_in(self, pass_: Pass) -> Any:
        """Return what reads the records, where all datasets are of files: a place says of which."""
        rows = self._function.node.rows_in(pass_) if pass_.as_dask else None
        return rows if isinstance(rows, OfFiles) else None

    def check(self, pass_: Pass) -> None:
        for name, length in zip(("cycle_length", "block_length"), self._lengths, strict=True):
            self.check_positive(f"`{name}`", int(pass_.value(length)))

    def elements(self, pass_: Pass) -> Elements:
        cycle, block = [int(pass_.value(length)) for length in self._lengths]
        source = elements_here(self.inputs[0], pass_)
        number, node = pass_.first_draw(self), self._function.node
        has_places = self.rows_in(pass_) is not None
        passes = self._function.passes(pass_ if has_places else pass_.here())

        def opened(element: Element, at: int) -> Elements:
            inner = passes(element, pass_.number(number + at))
            return node.elements(inner) if has_places else read_elements(node, inner)

        looks_ahead = self._gives_what_only_computes and not has_places
        return _Interleave(source, opened, cycle, block, looks_ahead)


class _Interleave(Elements):
    """Elements of several datasets in turn.

    Args:
      opened: gives the elements of the dataset that is made of one, and which it is.
      cycle, block: as of `Interleaved`.
      looks_ahead: whether elements of a dataset may be made before their turn.
    """

    def __init__(
        self,
        source: Elements,
        opened: Callable[[Element, int], Elements],
        cycle: int,
        block: int,
        looks_ahead: bool,
    ) -> None:
        self._source, self._opened, self._block = source, opened, block
        self._open: list[GivenBack | None] = [None] * cycle
        self._looks_ahead, self._at_once = looks_ahead, 1  # elements of a dataset
        self._slot = self._given = self._number = 0
        self._is_ended = False

    def __next__(self) -> Element:
        while not self._is_ended or any(self._open):
            current = self._open[self._slot]
            if current is None:
                self._fill()
                continue
            if self._at_once > 1:
                current.look_ahead(self._at_once)
            try:
                found = next(current)
            except StopIteration:
                current.close()
                self._open[self._slot] = None
                self._turn()
                continue
            self._given += 1
            if self._given == self._block:
                self._turn()
            return found
        raise StopIteration

    def _fill(self) -> None:
        """Open the next dataset in this slot; go on to the next slot if there is none."""
        if self._is_ended:
            self._turn()
            return
        try:
            element = next(self._source)
        except StopIteration:
            self._is_ended = True
            return
        self._number += 1
        self._open[self._slot] = GivenBack(self._opened(element, self._number - 1))

    def many(self, count: int) -> Sequence[Any]:
        if self._looks_ahead:
            self._at_once = -(-count // len(self._open))
        found = super().many(count)
        self._at_once = 1
        return found

    def _turn(self) -> None:
        self._given, self._slot = 0, (self._slot + 1) % len(self._open)

    def close(self) -> None:
        for elements in [self._source, *filter(None, self._open)]:
            elements.close()
