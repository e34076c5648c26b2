"""Elements of several inputs, of which others say, or chance does, whose turn it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import numpy

from daskvars import dtypes
from daskvars.data.nodes.elements import Element, flatten, most_specific
from daskvars.data.nodes.functions import ElementFunction
from daskvars.data.nodes.mapping import OfCalls
from daskvars.data.nodes.node import (
    EPOCH_DRAWS,
    INFINITE,
    Elements,
    InTurn,
    Node,
    Pass,
    elements_here,
)
from daskvars.data.nodes.ordering import draws_of
from daskvars.errors import invalid
from daskvars.graph.definitions.opdef import Spec
from daskvars.graph.tensor import Tensor


def _together(nodes: Sequence[Node], what: str) -> Any:
    """Return what is known of elements of any of several nodes."""
    structure = nodes[0].structure
    for node in nodes[1:]:
        structure = most_specific(structure, node.structure, f"{what}: two datasets")
    return structure


class Chosen(Node):
    """The next element of the input that the next number says; those that ended are passed by.

    Args:
      numbers: scalars int64, which end the elements where they end.
    """

    def __init__(self, numbers: Node, nodes: Sequence[Node]) -> None:
        self.inputs = (numbers, *nodes)
        self.structure = _together(nodes, "choose_from_datasets()")

    def elements(self, pass_: Pass) -> Elements:
        numbers, *sources = [elements_here(node, pass_) for node in self.inputs]
        return _Choose(numbers, sources)


class _Choose(Elements):
    def __init__(self, numbers: Elements, sources: Sequence[Elements]) -> None:
        self._numbers, self._sources = numbers, sources
        self._left = set(range(len(sources)))

    def __next__(self) -> Element:
        while self._left:
            (number,) = next(self._numbers)
            if not 0 <= number < len(self._sources):
                raise invalid(
                    f"Selector index out of range: {int(number)} of {len(self._sources)} datasets"
                )
            try:
                return next(self._sources[int(number)])
            except StopIteration:
                self._left.discard(int(number))
        raise StopIteration

    def close(self) -> None:
        for source in [self._numbers, *self._sources]:
            source.close()


class Sampled(Node):
    """The next element of an input that is drawn, of those that have not ended.

    Args:
      weights: [inputs], how often each is drawn; or a node of such, one for each draw.
      seeds: as of `Shuffled`.
    """

    def __init__(self, nodes: Sequence[Node], weights: Any, seeds: tuple[Any, Any]) -> None:
        self._num, self._seeds = len(nodes), seeds
        is_node = isinstance(weights, Node)
        self.inputs = (*nodes, weights) if is_node else tuple(nodes)
        self._weights = None if is_node else weights
        given = [seed for seed in seeds if isinstance(seed, Tensor)]
        self.operands = given if is_node else [weights, *given]
        self.structure = _together(nodes, "sample_from_datasets()")

    def elements(self, pass_: Pass) -> Elements:
        sources = [elements_here(node, pass_) for node in self.inputs[: self._num]]
        draws = draws_of(pass_, pass_.begin(self), self._seeds, True)
        if self._weights is None:
            return _Sample(sources, elements_here(self.inputs[-1], pass_), None, draws)
        return _Sample(sources, None, pass_.value(self._weights), draws)


class _Sample(Elements):
    def __init__(
        self,
        sources: Sequence[Elements],
        weights: Elements | None,
        fixed: Any,
        draws: numpy.random.Generator,
    ) -> None:
        self._sources, self._weights, self._draws = sources, weights, draws
        self._fixed = None if fixed is None else self._checked(fixed)
        self._is_left = numpy.ones(len(sources), bool)

    def _checked(self, weights: Any) -> numpy.ndarray:
        found = numpy.asarray(weights, numpy.float64)
        if found.shape != (len(self._sources),) or (found < 0).any() or not found.any():
            raise invalid(
                f"`weights` must be {len(self._sources)} numbers, one for each dataset, none below "
                f"0 and some above, found {found.tolist()}"
            )
        return found

    def __next__(self) -> Element:
        while True:
            if self._fixed is None:
                assert self._weights is not None
                weights = self._checked(next(self._weights)[0])
            else:
                weights = self._fixed
            sums = numpy.cumsum(weights * self._is_left)
            if not sums[-1]:
                raise StopIteration  # those that are left are never drawn
            place = int(numpy.searchsorted(sums, self._draws.random() * sums[-1], side="right"))
            try:
                return next(self._sources[place])
            except StopIteration:
                self._is_left[place] = False

    def close(self) -> None:
        for source in [*self._sources, *([self._weights] if self._weights else [])]:
            source.close()


class RandomNumbers(Node):
    """Random numbers without end, scalars int64 from 0 to 2**32 - 1.

    Args:
      seeds: as of `Shuffled`.
    """

    structure = Spec(dtypes.int64, ())

    def __init__(self, seeds: tuple[Any, Any]) -> None:
        self._seeds = seeds
        self.operands = [seed for seed in seeds if isinstance(seed, Tensor)]

    def count(self, pass_: Pass) -> float:
        return INFINITE

    def elements(self, pass_: Pass) -> Elements:
        draws = draws_of(pass_, pass_.begin(self), self._seeds, True)
        return InTurn((numpy.array(draws.integers(1 << 32), numpy.int64),) for _ in count())


class Resampled(Node):
    """Elements of classes, of which so many are left out that classes are as frequent as wanted.

    Args:
      function: gives the class of one, a scalar int32 or int64.
      target: [classes], how frequent each is to be.
      initial: [classes], how frequent each is in the input; None to count them on the way.
      seeds: as of `Shuffled`.
    """

    def __init__(
        self, input: Node, function: Any, target: Any, initial: Any, seeds: tuple[Any, Any]
    ) -> None:
        self.inputs, self._seeds = (input,), seeds
        self._function = ElementFunction(function, input.structure, "rejection_resample")
        (spec,) = flatten(self._function.structure)
        if spec.dtype not in (dtypes.int32, dtypes.int64) or spec.shape not in ((), None):
            raise ValueError(f"`class_func` must return a scalar int32 or int64, found {spec}")
        self._target, self._initial = target, initial
        self.operands = [
            *self._function.operands,
            target,
            *([] if initial is None else [initial]),
            *[seed for seed in seeds if isinstance(seed, Tensor)],
        ]
        self.structure = spec, input.structure

    def elements(self, pass_: Pass) -> Elements:
        begun = pass_.begin(self)
        class_of = self._function.numbered(pass_, begun * EPOCH_DRAWS)
        initial = None if self._initial is None else pass_.value(self._initial)
        target = _frequencies(pass_.value(self._target), "target_dist")
        if initial is not None:
            initial = _frequencies(initial, "initial_dist")
            if initial.shape != target.shape:
                raise invalid(
                    f"`initial_dist` is of {len(initial)} classes, `target_dist` of {len(target)}"
                )
        draws = draws_of(pass_, begun, self._seeds, True)
        return _Resample(elements_here(self.inputs[0], pass_), class_of, target, initial, draws)


def _frequencies(given: Any, name: str) -> numpy.ndarray:
    found = numpy.asarray(given, numpy.float64)
    if found.ndim != 1 or not (found >= 0).all() or not found.any():
        raise invalid(
            f"`{name}` must be a frequency for each class, none below 0, found {found.tolist()}"
        )
    return found / found.sum()


class _Resample(OfCalls):
    def __init__(
        self,
        source: Elements,
        class_of: Callable[[Element, int], Element],
        target: numpy.ndarray,
        initial: numpy.ndarray | None,
        draws: numpy.random.Generator,
    ) -> None:
        super().__init__(source, class_of)
        self._target, self._draws = target, draws
        self._accepted = None if initial is None else self._shares(initial)
        self._counts = numpy.ones(len(target))  # as if one of each had been seen

    def _shares(self, initial: numpy.ndarray) -> numpy.ndarray:
        """Return which share of the elements of each class is given on."""
        ratios = self._target / numpy.maximum(initial, numpy.finfo(numpy.float32).tiny)
        return ratios / ratios.max()

    def __next__(self) -> Element:
        while True:
            element = next(self._source)
            (kind,) = self._called(element)
            number = int(kind)
            if not 0 <= number < len(self._target):
                raise invalid(
                    f"`class_func` returned {number}, but `target_dist` is of {len(self._target)} "
                    "classes"
                )
            shares = self._accepted
            if shares is None:
                self._counts[number] += 1
                shares = self._shares(self._counts / self._counts.sum())
            if self._draws.random() < shares[number]:
                return (kind, *element)
