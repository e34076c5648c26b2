"""Datasets of several, and of what is drawn or counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from daskvars.data.arguments import LAST, as_integer, seeds_of
from daskvars.data.dataset import Dataset
from daskvars.data.experimental.transformations import Transformation
from daskvars.data.nodes.choosing import Chosen, RandomNumbers, Resampled, Sampled
from daskvars.data.nodes.elements import as_component, types_of
from daskvars.data.nodes.sources import Range
from daskvars.dtypes import DTypeLike, as_dtype, float32, int64, to_numpy
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.ops.math.casting import cast


def sample_from_datasets(
    datasets: Sequence[Dataset], weights: Any = None, seed: TensorLike | None = None
) -> Dataset:
    """Return a dataset of the next element of a dataset that is drawn, each time another one.

    One that ended is drawn no more; all end when those that are left are never drawn.

    Args:
      datasets: several, with elements of the same structure and dtypes.
      weights: [datasets], how often each is drawn; or a dataset of such, one for each draw. By
        default all as often.
      seed: int, of the draws.

    Raises:
      ValueError: there are no datasets, or another number of weights.
      TypeError: their elements differ.

    Source: TensorFlow 1.15, ``tf.data.experimental.sample_from_datasets``.

    >>> zeros, ones = Dataset.from_tensors(0).repeat(), Dataset.from_tensors(1).repeat()
    >>> drawn = sample_from_datasets([zeros, ones], [0.25, 0.75], seed=1)
    >>> sum(int(x) for x in drawn.take(1000)) > 700
    True
    """
    nodes = [dataset.node for dataset in datasets]
    if not nodes:
        raise ValueError("sample_from_datasets() takes one dataset at least, found none")
    if isinstance(weights, Dataset):
        given: Any = weights.node
    else:
        given = as_component([1.0] * len(nodes) if weights is None else weights)
        if not isinstance(given, Tensor):
            given = to_numpy(given, float32)
            if given.shape != (len(nodes),):
                raise ValueError(
                    "`weights` must be a vector of length `len(datasets)`, found shape "
                    f"{given.shape} for {len(nodes)} datasets"
                )
    both = seeds_of(seed)
    return datasets[0]._with(lambda: Sampled(nodes, given, both))


def choose_from_datasets(datasets: Sequence[Dataset], choice_dataset: Dataset) -> Dataset:
    """Return a dataset of the next element of the dataset whose turn it is.

    Args:
      datasets: several, with elements of the same structure and dtypes.
      choice_dataset: of scalars int64, which of the datasets comes; where that one has ended, the
        next number is taken. Elements end with it.

    Raises:
      ValueError: there are no datasets.
      TypeError: the datasets' elements differ, or the choices are no such numbers.
      InvalidArgumentError: (when iterated) there is no dataset of a number.

    Source: TensorFlow 1.15, ``tf.data.experimental.choose_from_datasets``.

    >>> words = [Dataset.from_tensors(word).repeat(2) for word in ("a", "b")]
    >>> turns = Dataset.from_tensor_slices([1, 0, 0, 1]).map(lambda n: cast(n, int64))
    >>> [word.numpy() for word in choose_from_datasets(words, turns)]
    [b'b', b'a', b'a', b'b']
    """
    if types_of(choice_dataset.node.structure) != int64:
        raise TypeError(
            "`choice_dataset` must be a dataset of scalar `tf.int64` tensors, found "
            f"{types_of(choice_dataset.node.structure)}."
        )
    nodes = [dataset.node for dataset in datasets]
    if not nodes:
        raise ValueError("choose_from_datasets() takes one dataset at least, found none")
    return datasets[0]._with(lambda: Chosen(choice_dataset.node, nodes))


def rejection_resample(
    class_func: Callable[..., Any],
    target_dist: Any,
    initial_dist: Any = None,
    seed: TensorLike | None = None,
) -> Transformation:
    """Return a function that leaves out elements so that classes are as frequent as wanted.

    Args:
      class_func: gives the class of an element, a scalar int32 or int64; traced as that of
        `Dataset.map`.
      target_dist: [classes], how frequent each is to be.
      initial_dist: [classes], how frequent each is; by default they are counted on the way.
      seed: int, of the draws.

    Returns:
      A function of a dataset that returns one of pairs: the class, and the element.

    Raises:
      ValueError: (when applied) `class_func` gives something else.

    Source: TensorFlow 1.15, ``tf.data.experimental.rejection_resample``.

    >>> rare = Dataset.range(4000).map(lambda n: n % 10 // 9)
    >>> even = rare.apply(rejection_resample(lambda kind: kind, [0.5, 0.5], [0.9, 0.1], seed=1))
    >>> kinds = [int(kind) for kind, _ in even]
    >>> 0.4 < sum(kinds) / len(kinds) < 0.6
    True
    """
    target = as_component(target_dist)
    initial = None if initial_dist is None else as_component(initial_dist)
    both = seeds_of(seed)
    return lambda dataset: dataset._with(
        lambda: Resampled(dataset.node, class_func, target, initial, both)
    )


def Counter(start: TensorLike = 0, step: TensorLike = 1, dtype: DTypeLike = int64) -> Dataset:
    """Return a dataset of numbers without end.

    Args:
      start: the first.
      step: how far it is from one to the next.
      dtype: of the numbers.

    Source: TensorFlow 1.15, ``tf.data.experimental.Counter``.

    >>> [int(x) for x in Counter(10, step=-3).take(3)]
    [10, 7, 4]
    """
    first, by = as_integer(start), as_integer(step)
    is_downward = not isinstance(by, Tensor) and by < 0
    numbers = Dataset(Range(first, as_integer(-LAST if is_downward else LAST), by))
    kind = as_dtype(dtype)
    return numbers if kind is int64 else numbers.map(lambda number: cast(number, kind))


class RandomDataset(Dataset):
    """Random numbers without end: scalars int64, from 0 to 2**32 - 1.

    Args:
      seed: int, of the numbers.

    Source: TensorFlow 1.15, ``tf.data.experimental.RandomDataset``.

    >>> numbers = [int(x) for x in RandomDataset(seed=3).take(2)]
    >>> numbers == [int(x) for x in RandomDataset(seed=3).take(2)]
    True
    """

    def __init__(self, seed: TensorLike | None = None) -> None:
        super().__init__(RandomNumbers(seeds_of(seed)))


def get_single_element(dataset: Dataset) -> Any:
    """Return the only element of a dataset.

    Args:
      dataset: of one element.

    Returns:
      Tensors of the shapes and dtypes of the element, in its structure; in a graph, for which each
      run goes through the dataset anew.

    Raises:
      InvalidArgumentError: it has none, or more; in a graph when run.

    Source: TensorFlow 1.15, ``tf.data.experimental.get_single_element``.

    >>> get_single_element(Dataset.range(3).batch(3)).numpy().tolist()
    [0, 1, 2]
    """
    return dataset._only_element()


INFINITE_CARDINALITY, UNKNOWN_CARDINALITY = -1, -2


def cardinality(dataset: Dataset) -> Any:
    """Return how many elements a dataset has, as `Dataset.cardinality` does.

    Args:
      dataset: any.

    Returns:
      Scalar int64.

    Source: TensorFlow 1.15, ``tf.data.experimental.cardinality``.

    >>> int(cardinality(Dataset.range(42).batch(4))), int(cardinality(Dataset.range(42).repeat()))
    (11, -1)
    >>> int(cardinality(Dataset.range(42).filter(lambda x: x < 3))) == UNKNOWN_CARDINALITY
    True
    """
    return dataset.cardinality()
