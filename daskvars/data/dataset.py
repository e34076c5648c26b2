"""Dataset: what elements there are, said step by step; nothing is read before an iterator asks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NoReturn

from daskvars.data.arguments import (
    LAST,
    as_compression,
    as_integer,
    as_strings,
    padded_shapes_of,
    padding_of,
    path_text,
    seeds_of,
)
from daskvars.data.iterators.eager import DatasetIterator
from daskvars.data.iterators.graph import Iterator
from daskvars.data.iterators.single import single_element
from daskvars.data.nodes.batches import Batched, PaddedBatched, Unbatched
from daskvars.data.nodes.caching import CachedInFile
from daskvars.data.nodes.elements import (
    as_component,
    classes_of,
    flatten,
    is_tuple,
    map_structure,
    shapes_of,
    structure_of,
    types_of,
)
from daskvars.data.nodes.files import FixedLength, Lines, Matching, Records
from daskvars.data.nodes.mapping import Filtered, Interleaved, Mapped, Parts
from daskvars.data.nodes.node import Node
from daskvars.data.nodes.ordering import (
    Cached,
    Joined,
    Repeated,
    Sharded,
    Shuffled,
    Skipped,
    Taken,
    Zipped,
)
from daskvars.data.nodes.prefetch import Prefetched
from daskvars.data.nodes.scanning import Reduced, TakenWhile, Unique
from daskvars.data.nodes.sources import Cardinality, Generated, Range, Slices, Tensors
from daskvars.data.nodes.windows import Windowed
from daskvars.data.options import Options
from daskvars.dtypes import string
from daskvars.errors import did_you_mean
from daskvars.graph.interpreter import builder_for
from daskvars.graph.scopes import stacks as scopes
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.kernels.opened_files import PathName
from daskvars.surface.accepted import accepts
from daskvars.surface.signatures import with_arguments_of_method

# Methods of TensorFlow 2 -> what does their work.
_INSTEAD = {
    **dict.fromkeys(
        (
            "bucket_by_sequence_length",
            "group_by_window",
            "ignore_errors",
            "rejection_resample",
            "scan",
        ),
        "dataset.apply(...) of the function of that name in daskvars.data.experimental",
    ),
    "element_spec": "output_types and output_shapes",
    "get_single_element": "daskvars.data.experimental.get_single_element(dataset)",
}
CYCLE_LENGTH = 4  # of an interleave for which nobody says it: the same on every machine


class Dataset:
    """Elements, one after the other: each a tensor, or a tuple or dict of tensors, nested.

    A dataset is a description, as are graphs; its methods return others. What it is of is read by
    iterators: in eager code ``for element in dataset``, in a graph those that
    `make_one_shot_iterator` and `make_initializable_iterator` return, of which each run takes the
    next element. Arrays may be NumPy's, Zarr's or dask's; stored ones are read block by block.

    Shuffles, and random numbers in functions, are determined by seeds; TensorFlow's orders and
    numbers are others. Without a seed they are new in each iterator, and go on from a position
    that was stored.

    Args:
      node: the last step, which the methods below make.

    >>> dataset = Dataset.from_tensor_slices([1, 2, 3, 4, 5]).map(lambda x: x * x).batch(2)
    >>> [batch.numpy().tolist() for batch in dataset]
    [[1, 4], [9, 16], [25]]
    """

    def __init__(self, node: Node) -> None:
        self.node = node
        self._builder = builder_for(())
        self._num_iterators = 0
        self._caches: dict[Node, Any] = {}
        self._options = Options()

    def _with(self, make: Callable[[], Node]) -> Dataset:
        """Return the dataset of a further step, made in the mode in which this one was."""
        with self._entered():
            found = Dataset(make())
        found._options = self._options
        return found

    def _entered(self) -> AbstractContextManager[Any]:
        """Return a block in the mode in which this dataset was made."""
        is_graph = not self._builder.is_eager and scopes.current_builder() is None
        return scopes.entered(self._builder) if is_graph else nullcontext()

    # -- what elements are ------------------------------------------------------------------------

    @property
    def output_types(self) -> Any:
        """The dtypes of components, in the structure of elements."""
        return types_of(self.node.structure)

    @property
    def output_shapes(self) -> Any:
        """The shapes of components, in the structure of elements."""
        return shapes_of(self.node.structure)

    @property
    def output_classes(self) -> Any:
        """`Tensor` or `SparseTensor` for each component, in the structure of elements."""
        return classes_of(self.node.structure)

    def cardinality(self) -> Any:
        """Return how many elements there are, as far as is known without going through them.

        Returns:
          Scalar int64: -1 for without end (`experimental.INFINITE_CARDINALITY`), -2 where only
          going through them tells (`experimental.UNKNOWN_CARDINALITY`).

        >>> numbers = Dataset.range(42)
        >>> int(numbers.batch(4).cardinality()), int(numbers.repeat().cardinality())
        (11, -1)
        """
        return self._with(lambda: Cardinality(self.node))._only_element()

    def __len__(self) -> int:
        """Return how many elements there are, in eager code.

        Raises:
          TypeError: there is no end of them, only going through them tells, or it is of a graph.
        """
        if not self._builder.is_eager:
            raise TypeError("a run tells the length of a dataset of a graph: use cardinality()")
        found = int(self.cardinality())
        if found < 0:
            raise TypeError(f"The dataset {'is infinite' if found == -1 else 'length is unknown'}.")
        return found

    def __bool__(self) -> bool:
        return True  # also one without elements, and one whose length only a pass tells

    def __getattr__(self, name: str) -> NoReturn:
        instead = _INSTEAD.get(name)
        if instead is None:
            raise AttributeError(f"a Dataset has no {name!r}{did_you_mean(name, dir(Dataset))}")
        raise AttributeError(f"a Dataset has no {name!r}: use {instead}")

    def __repr__(self) -> str:
        return f"<Dataset shapes: {self.output_shapes}, types: {self.output_types}>"

    # -- sources ----------------------------------------------------------------------------------

    @staticmethod
    def from_tensors(tensors: Any) -> Dataset:
        """Return a dataset of one element.

        Args:
          tensors: arrays or tensors, in tuples and dicts.

        >>> next(iter(Dataset.from_tensors([1, 2]))).numpy().tolist()
        [1, 2]
        """
        return Dataset(Tensors(map_structure(as_component, tensors)))

    @staticmethod
    def from_tensor_slices(tensors: Any) -> Dataset:
        """Return a dataset of the rows of arrays: slices along the first dimension.

        Args:
          tensors: arrays or tensors [rows, ...], in tuples and dicts. Arrays of NumPy are copied,
            unless they are read-only or a file's (`numpy.memmap`). Arrays of Zarr or dask stay
            where they are and are read in blocks; for sessions on a cluster, batches of their rows,
            shuffled or not, are dask arrays, which workers read where they use them.

        Raises:
          ValueError: one is a scalar, or their numbers of rows differ.

        >>> [(int(x), int(y)) for x, y in Dataset.from_tensor_slices(([1, 2], [3, 4]))]
        [(1, 3), (2, 4)]
        """
        return Dataset(Slices(map_structure(as_component, tensors)))

    @staticmethod
    def from_sparse_tensor_slices(sparse_tensor: Any) -> Dataset:
        """Return a dataset of the rows of a sparse tensor: of each indices, values and shape.

        Args:
          sparse_tensor: a `SparseTensor` of rank 1 at least. `from_tensor_slices` of it is a
            dataset of rows that are sparse tensors themselves.

        >>> rows = dv.SparseTensor([[0, 2], [1, 0]], [5, 7], [2, 3])
        >>> for part in next(iter(Dataset.from_sparse_tensor_slices(rows))):
        ...     print(part.numpy().tolist())
        [[2]]
        [5]
        [3]
        """
        return Dataset(Parts(Slices(as_component(sparse_tensor))))

    @staticmethod
    def from_generator(
        generator: Callable[..., Any],
        output_types: Any,
        output_shapes: Any = None,
        args: Sequence[Any] | None = None,
    ) -> Dataset:
        """Return a dataset of what a Python function yields, called anew for each time through.

        Args:
          generator: returns an iterable of elements.
          output_types: the dtypes of components, in the structure of elements.
          output_shapes: their shapes, by default not known.
          args: tensors whose values are the function's arguments.

        Raises:
          TypeError: `generator` cannot be called.
          InvalidArgumentError: (when iterated) it yields something else.

        >>> def count(stop):
        ...     yield from range(stop)
        >>> [int(x) for x in Dataset.from_generator(count, "int64", [], args=(3,))]
        [0, 1, 2]
        """
        if not callable(generator):
            raise TypeError("`generator` must be callable.")
        structure = structure_of(output_types, output_shapes)
        return Dataset(Generated(generator, structure, [as_component(a) for a in args or ()]))

    @staticmethod
    def range(*args: TensorLike) -> Dataset:
        """Return a dataset of integers: ``range(stop)``, ``range(start, stop[, step])``.

        Args:
          *args: int, as of Python's `range`.

        Raises:
          ValueError: there are none, or more than three.

        >>> [int(x) for x in Dataset.range(10, 0, -4)]
        [10, 6, 2]
        """
        if not 1 <= len(args) <= 3:
            raise ValueError(f"Invalid arguments to range: {args!r}")
        given = [as_integer(arg) for arg in args]
        start, stop = (as_integer(0), given[0]) if len(given) == 1 else given[:2]
        return Dataset(Range(start, stop, given[2] if len(given) > 2 else as_integer(1)))

    @staticmethod
    def zip(datasets: Any) -> Dataset:
        """Return a dataset of one element of each of several, until the first one ends.

        Args:
          datasets: datasets, in tuples and dicts.

        Raises:
          TypeError: something in it is no dataset.

        >>> letters = Dataset.from_tensor_slices(["a", "b"])
        >>> [(int(n), str(a.numpy(), "ascii")) for n, a in Dataset.zip((Dataset.range(9), letters))]
        [(0, 'a'), (1, 'b')]
        """
        for dataset in flatten(datasets):
            if not isinstance(dataset, Dataset):
                raise TypeError(
                    "The argument to `Dataset.zip()` must be a nested structure of `Dataset` "
                    f"objects (tuples and dicts, no lists), but found {dataset!r}."
                )
        return Dataset(Zipped(map_structure(lambda dataset: dataset.node, datasets)))

    @staticmethod
    def list_files(
        file_pattern: Any, shuffle: bool | None = None, seed: int | None = None
    ) -> Dataset:
        """Return a dataset of the names of the files that match.

        Args:
          file_pattern: str, or several: a path or URL with ``*``, ``?`` and ``[...]``.
          shuffle: whether they come in another order each time; by default they do.
          seed: int, of the shuffle.

        Raises:
          InvalidArgumentError: (when iterated) nothing matches.
        """
        dataset = Dataset(Matching(as_strings(path_text(file_pattern))))
        return dataset if shuffle is False else dataset.shuffle(LAST, seed)

    # -- elements made of others ------------------------------------------------------------------

    def map(
        self, map_func: Callable[..., Any], num_parallel_calls: TensorLike | None = None
    ) -> Dataset:
        """Return a dataset of what a function gives for each element.

        Args:
          map_func: takes the items of a tuple, or the one structure that an element is, as
            tensors; it is traced once, as by `daskvars.function`, and returns tensors, in tuples
            and dicts. `py_func` calls Python for each element. On a cluster workers call it where
            they read the rows or records, if all shapes are known and it has no effects and draws
            no random numbers.
          num_parallel_calls: how many elements are computed at once, in threads, in their order;
            `experimental.AUTOTUNE` for as many as there are cores.

        Raises:
          TypeError: it returns no tensors.
          UnimplementedError: it uses a variable.

        >>> [int(x) for x in Dataset.range(3).map(lambda x: x + 1)]
        [1, 2, 3]
        """
        calls = (
            None
            if num_parallel_calls is None
            else as_integer(num_parallel_calls, "num_parallel_calls")
        )
        return self._with(lambda: Mapped(self.node, map_func, calls))

    def flat_map(self, map_func: Callable[..., Any]) -> Dataset:
        """Return a dataset of the elements of the datasets that a function makes of elements.

        Args:
          map_func: as of `map`, but returns a dataset.

        Raises:
          TypeError: it returns something else.

        >>> [int(x) for x in Dataset.range(4).flat_map(lambda n: Dataset.range(n))]
        [0, 0, 1, 0, 1, 2]
        """
        one = as_integer(1)
        return self._with(lambda: Interleaved(self.node, map_func, one, one, "flat_map"))

    @accepts("num_parallel_calls")
    def interleave(
        self,
        map_func: Callable[..., Any],
        cycle_length: TensorLike = -1,
        block_length: TensorLike = 1,
        num_parallel_calls: TensorLike | None = None,
    ) -> Dataset:
        """Return a dataset of the elements of several datasets at a time, in turn.

        Args:
          map_func: as of `flat_map`.
          cycle_length: from how many datasets; -1 for 4.
          block_length: how many elements come from one in its turn.

        >>> pairs = Dataset.range(1, 4).interleave(
        ...     lambda n: Dataset.from_tensors(n).repeat(3), cycle_length=2, block_length=2)
        >>> [int(x) for x in pairs]
        [1, 1, 2, 2, 1, 2, 3, 3, 3]
        """
        cycle = as_integer(cycle_length, "cycle_length")
        if not isinstance(cycle, Tensor) and cycle == -1:
            cycle = as_integer(CYCLE_LENGTH)
        block = as_integer(block_length, "block_length")
        return self._with(lambda: Interleaved(self.node, map_func, cycle, block, "interleave"))

    def filter(self, predicate: Callable[..., Any]) -> Dataset:
        """Return a dataset of the elements for which a function gives True.

        Args:
          predicate: as of `map`, returns a scalar bool.

        Raises:
          ValueError: it returns something else.

        >>> [int(x) for x in Dataset.range(6).filter(lambda x: dv.equal(x % 2, 0))]
        [0, 2, 4]
        """
        return self._with(lambda: Filtered(self.node, predicate))

    def batch(self, batch_size: TensorLike, drop_remainder: bool = False) -> Dataset:
        """Return a dataset of batches: elements stacked along a new first dimension.

        Args:
          batch_size: elements of a batch.
          drop_remainder: leave out the last batch if it is smaller; the size is then static.

        Raises:
          InvalidArgumentError: (when iterated) elements have different shapes.

        >>> [x.numpy().tolist() for x in Dataset.range(5).batch(2, drop_remainder=True)]
        [[0, 1], [2, 3]]
        """
        size = as_integer(batch_size, "batch_size")
        return self._with(lambda: Batched(self.node, size, bool(drop_remainder)))

    def padded_batch(
        self,
        batch_size: TensorLike,
        padded_shapes: Any = None,
        padding_values: Any = None,
        drop_remainder: bool = False,
    ) -> Dataset:
        """Return a dataset of batches of elements that are filled up to one shape.

        Args:
          batch_size: elements of a batch.
          padded_shapes: the shape for each component, in the structure of elements, a tensor [rank]
            where a run tells it; None or -1 in it for the largest size in the batch. By default
            that everywhere.
          padding_values: a scalar for each component, a tensor [] too; by default 0, or the empty
            string.
          drop_remainder: leave out the last batch if it is smaller.

        Raises:
          ValueError: a shape does not fit its component.
          TypeError: a component is sparse, or a value is of another dtype.

        >>> rows = Dataset.range(1, 4).map(lambda n: dv.fill([n], n))
        >>> [x.numpy().tolist() for x in rows.padded_batch(3, [None])]
        [[[1, 0, 0], [2, 2, 0], [3, 3, 3]]]
        """
        size = as_integer(batch_size, "batch_size")
        padded = padded_shapes_of(self.node, padded_shapes)
        values = padding_of(self.node, padding_values)
        return self._with(
            lambda: PaddedBatched(self.node, size, bool(drop_remainder), padded, values)
        )

    def unbatch(self) -> Dataset:
        """Return a dataset of the rows of elements.

        >>> [int(x) for x in Dataset.from_tensor_slices([[1, 2], [3, 4]]).unbatch()]
        [1, 2, 3, 4]
        """
        return self._with(lambda: Unbatched(self.node))

    def window(
        self,
        size: TensorLike,
        shift: TensorLike | None = None,
        stride: TensorLike = 1,
        drop_remainder: bool = False,
    ) -> Dataset:
        """Return a dataset of datasets, each of some elements that follow one another.

        Args:
          size: how many elements are in a window.
          shift: how far it is from the first element of a window to that of the next; by default
            `size`.
          stride: how far it is from one element of a window to the next.
          drop_remainder: leave out windows at the end that have fewer elements.

        Returns:
          A dataset whose elements have the structure of those of this one, with a dataset for each
          component: for `flat_map` and `map`, or to be gone through in eager code.

        Raises:
          InvalidArgumentError: (when iterated) a number is below 1.

        >>> windows = Dataset.range(7).window(3, shift=2, drop_remainder=True)
        >>> [row.numpy().tolist() for row in windows.flat_map(lambda window: window.batch(3))]
        [[0, 1, 2], [2, 3, 4], [4, 5, 6]]
        >>> [[int(x) for x in window] for window in Dataset.range(5).window(2)]
        [[0, 1], [2, 3], [4]]
        """
        number, by = as_integer(size, "size"), as_integer(size if shift is None else shift, "shift")
        every, drops = as_integer(stride, "stride"), bool(drop_remainder)
        return self._with(lambda: Windowed(self.node, number, by, every, drops, Dataset))

    def reduce(self, initial_state: Any, reduce_func: Callable[..., Any]) -> Any:
        """Return what a function makes of all elements, one after the other.

        Args:
          initial_state: the state at first: a tensor, or tuples and dicts of tensors.
          reduce_func: takes a state and an element, each as one argument, and returns the next
            state, of the same structure and dtypes; traced as that of `map`.

        Returns:
          The last state. In a graph, tensors, for which each run goes through the elements anew.

        Raises:
          TypeError: the states' structures or dtypes differ.

        >>> int(Dataset.range(5).reduce(np.int64(0), lambda total, x: total + x))
        10
        """
        initial = map_structure(as_component, initial_state)
        reduced = self._with(lambda: Reduced(self.node, initial, reduce_func))
        return reduced._only_element()

    def _only_element(self) -> Any:
        """Return the only element, as tensors."""
        with self._entered():
            return single_element(self.node, self._caches)

    def with_options(self, options: Options) -> Dataset:
        """Return a dataset of the same elements, with options set.

        Args:
          options: what it sets is set; of two, what the second one sets.

        Raises:
          TypeError: it is no `Options`.

        >>> options = Options()
        >>> options.experimental_deterministic = True
        >>> Dataset.range(3).with_options(options).options().experimental_deterministic
        True
        """
        if not isinstance(options, Options):
            raise TypeError(f"with_options() takes `Options`, found {options!r}")
        found = Dataset(self.node)
        found._builder, found._caches = self._builder, self._caches
        found._options = self.options().merge(options)
        return found

    def options(self) -> Options:
        """Return the options that were set, here and in what it is made of."""
        return self._options

    def apply(self, transformation_func: Callable[[Dataset], Dataset]) -> Dataset:
        """Return what a function makes of this dataset.

        Args:
          transformation_func: takes a dataset and returns one.

        Raises:
          TypeError: it returns something else.
        """
        found = transformation_func(self)
        if not isinstance(found, Dataset):
            raise TypeError(f"`transformation_func` must return a Dataset, got {found!r} instead")
        return found

    # -- which elements, in which order -----------------------------------------------------------

    def shuffle(
        self,
        buffer_size: TensorLike,
        seed: TensorLike | None = None,
        reshuffle_each_iteration: bool | None = None,
    ) -> Dataset:
        """Return a dataset of the elements in a random order.

        A buffer is filled; each element is drawn from it, and the one that follows takes its place.
        The orders are those of the seed, not TensorFlow's for that seed.

        Args:
          buffer_size: elements in the buffer; with as many as there are, all orders are as likely.
          seed: int, or a tensor; without it, and without `set_random_seed`, an order that nobody
            knows before.
          reshuffle_each_iteration: whether each repetition, and each further iterator in eager
            code, has an order of its own; by default it has. Without, `take` and `skip` of the
            dataset split its elements.

        Raises:
          InvalidArgumentError: (when iterated) there is no room in the buffer.

        >>> sorted(int(x) for x in Dataset.range(4).shuffle(4, seed=1))
        [0, 1, 2, 3]
        """
        size, is_anew = (
            as_integer(buffer_size, "buffer_size"),
            reshuffle_each_iteration is not False,
        )
        return self._with(lambda: Shuffled(self.node, size, seeds_of(seed), is_anew))

    def repeat(self, count: TensorLike | None = None) -> Dataset:
        """Return a dataset of all elements again and again.

        Args:
          count: how often; None or -1 for without end.

        >>> [int(x) for x in Dataset.range(2).repeat(2)]
        [0, 1, 0, 1]
        """
        times = as_integer(-1 if count is None else count, "count")
        return self._with(lambda: Repeated(self.node, times))

    def take(self, count: TensorLike) -> Dataset:
        """Return a dataset of the first elements.

        Args:
          count: how many; -1 for all.
        """
        first = as_integer(count, "count")
        return self._with(lambda: Taken(self.node, first))

    def take_while(self, predicate: Callable[..., Any]) -> Dataset:
        """Return a dataset of the elements before the first that is not wanted.

        Args:
          predicate: as of `filter`.

        Raises:
          ValueError: it returns no scalar bool.

        >>> [int(x) for x in Dataset.range(9).take_while(lambda x: x < 3)]
        [0, 1, 2]
        """
        return self._with(lambda: TakenWhile(self.node, predicate))

    def unique(self) -> Dataset:
        """Return a dataset of the elements that were not there before.

        Raises:
          TypeError: elements are not of one component that is int32, int64 or string.

        >>> [int(x) for x in Dataset.from_tensor_slices([1, 37, 2, 37, 2, 1]).unique()]
        [1, 37, 2]
        """
        return self._with(lambda: Unique(self.node))

    def skip(self, count: TensorLike) -> Dataset:
        """Return a dataset without the first elements.

        Args:
          count: how many are left out; -1 for all.
        """
        first = as_integer(count, "count")
        return self._with(lambda: Skipped(self.node, first))

    def shard(self, num_shards: TensorLike, index: TensorLike) -> Dataset:
        """Return a dataset of each `num_shards`-th element.

        Args:
          num_shards: int, for how many programs the elements are.
          index: int, which of them this is, from 0 on.

        Raises:
          InvalidArgumentError: there is no such shard; for numbers at once, else when iterated.

        >>> [int(x) for x in Dataset.range(7).shard(3, 1)]
        [1, 4]
        """
        numbers = as_integer(num_shards, "num_shards"), as_integer(index, "index")
        return self._with(lambda: Sharded(self.node, *numbers))

    def concatenate(self, dataset: Dataset) -> Dataset:
        """Return a dataset of these elements, then those of another.

        Args:
          dataset: one with elements of the same structure and dtypes.

        Raises:
          TypeError: its elements are others.
        """
        return self._with(lambda: Joined(self.node, dataset.node))

    def enumerate(self, start: TensorLike = 0) -> Dataset:
        """Return a dataset of pairs: a number, and the element.

        Args:
          start: the first number.
        """
        numbers = Range(as_integer(start, "start"), as_integer(LAST), as_integer(1))
        return self._with(lambda: Zipped((numbers, self.node)))

    def cache(self, filename: Any = "") -> Dataset:
        """Return a dataset that keeps its elements, once all were gone through.

        Args:
          filename: scalar string. Elements are kept in a file of TFRecords whose name begins so,
            a record for each tensor, and are read from it wherever it is there; TensorFlow's
            format is another. By default, and where it is empty, they are kept in memory.

        Raises:
          AlreadyExistsError: (when iterated) the file is being written.
        """
        prefix = as_strings(path_text("" if filename is None else filename))
        if not isinstance(prefix, Tensor) and not prefix[()]:
            return self._with(lambda: Cached(self.node))
        return self._with(lambda: CachedInFile(self.node, prefix))

    def prefetch(self, buffer_size: TensorLike) -> Dataset:
        """Return a dataset whose next elements are prepared in a thread while others are used.

        Args:
          buffer_size: how many; `experimental.AUTOTUNE` for two.
        """
        size = as_integer(buffer_size, "buffer_size")
        return self._with(lambda: Prefetched(self.node, size))

    # -- iterators --------------------------------------------------------------------------------

    def __iter__(self) -> DatasetIterator:
        return self._iterator(False)

    def as_numpy_iterator(self) -> DatasetIterator:
        """Return an iterator of elements that are NumPy arrays.

        >>> list(Dataset.range(3).as_numpy_iterator())
        [array(0), array(1), array(2)]
        """
        return self._iterator(True)

    def _iterator(self, as_numpy: bool) -> DatasetIterator:
        if not self._builder.is_eager:
            raise RuntimeError(
                "a dataset of a graph is iterated by runs: make_one_shot_iterator().get_next() is "
                "its next element; eager code makes its datasets with daskvars.data"
            )
        self._num_iterators += 1
        return DatasetIterator(self.node, self._num_iterators - 1, self._caches, as_numpy)

    def make_one_shot_iterator(self) -> Iterator:
        """Return an iterator that begins by itself, and goes through the elements once.

        Raises:
          ValueError: the dataset depends on tensors of the graph, whose values somebody would have
            to give: `make_initializable_iterator` is for these.
          RuntimeError: in eager code, which says ``iter(dataset)``.
        """
        return self._in_graph(lambda: Iterator.one_shot(self.node))

    def make_initializable_iterator(self, shared_name: str | None = None) -> Iterator:
        """Return an iterator that begins when its ``initializer`` is run.

        Args:
          shared_name: under which other iterators of the session are the same.

        Raises:
          RuntimeError: in eager code, which says ``iter(dataset)``.
        """
        return self._in_graph(lambda: Iterator.initializable(self.node, shared_name))

    def _in_graph(self, make: Callable[[], Iterator]) -> Iterator:
        if self._builder.is_eager:
            raise RuntimeError(
                "iterators of this kind are for graphs; eager code says `for element in dataset`"
            )
        with scopes.entered(self._builder):
            return make()


@accepts("buffer_size", "num_parallel_reads")
class TextLineDataset(Dataset):
    """The lines of text files, as strings without the ends of lines.

    Batches for a session on a cluster are read by the workers that use them: each must see the
    files. So it is with all datasets of files that are not compressed.

    Args:
      filenames: a path or URL, several, or a dataset of them.
      compression_type: "", "ZLIB" or "GZIP".

    Raises:
      NotFoundError: (when iterated) there is no such file, or a worker does not see it.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "few.csv")
    >>> size = path.write_text("x,y\\n1,2\\n3,4\\n")
    >>> [line.numpy() for line in TextLineDataset(str(path)).skip(1)]
    [b'1,2', b'3,4']
    """

    def __init__(
        self,
        filenames: Any,
        compression_type: Any = None,
        buffer_size: Any = None,
        num_parallel_reads: Any = None,
    ) -> None:
        super().__init__(Lines(file_names(filenames), as_compression(compression_type)))


@accepts("buffer_size", "num_parallel_reads")
class FixedLengthRecordDataset(Dataset):
    """The records of files in which all are equally long, as strings.

    Args:
      filenames: a path or URL, several, or a dataset of them.
      record_bytes: int, of a record.
      header_bytes: int, left out at the beginning of a file.
      footer_bytes: int, left out at its end.

    Raises:
      InvalidArgumentError: (when iterated) a file has no whole number of records.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "pairs.bin")
    >>> size = path.write_bytes(b"HEADaabbcc")
    >>> [record.numpy() for record in FixedLengthRecordDataset(str(path), 2, header_bytes=4)]
    [b'aa', b'bb', b'cc']
    """

    def __init__(
        self,
        filenames: Any,
        record_bytes: TensorLike,
        header_bytes: TensorLike | None = None,
        footer_bytes: TensorLike | None = None,
        buffer_size: Any = None,
        num_parallel_reads: Any = None,
    ) -> None:
        sizes = [as_integer(n or 0) for n in (record_bytes, header_bytes, footer_bytes)]
        super().__init__(FixedLength(file_names(filenames), *sizes))


@accepts("buffer_size", "num_parallel_reads")
class TFRecordDataset(Dataset):
    """The records of TFRecord files, as strings.

    Args:
      filenames: a path or URL, several, or a dataset of them.
      compression_type: "", "ZLIB" or "GZIP".

    Raises:
      DataLossError: (when iterated) a record is damaged.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "few.tfrecord")
    >>> with tf.python_io.TFRecordWriter(path) as writer:
    ...     writer.write(b"one")
    >>> [record.numpy() for record in TFRecordDataset([path, path])]
    [b'one', b'one']
    """

    @with_arguments_of_method(TextLineDataset.__init__)
    def __init__(self, filenames: Any, compression_type: Any, **accepted: Any) -> None:
        super().__init__(Records(file_names(filenames), as_compression(compression_type)))


def file_names(filenames: PathName | Dataset | Any) -> Node:
    """Return the names of files as a node of scalar strings."""
    if isinstance(filenames, Dataset):
        node = filenames.node
    else:
        found = as_strings(path_text(filenames))
        shape = found.spec.shape if isinstance(found, Tensor) else found.shape
        node = Tensors(found) if shape == () else Slices(found)
    spec = node.structure
    if is_tuple(spec) or spec.dtype is not string or spec.shape not in ((), None):
        raise TypeError(
            "`filenames` must be a scalar or vector of strings, or a dataset of scalar strings, "
            f"found elements {spec}"
        )
    return node


# -- as functions ----------------------------------------------------------------------------------


def make_one_shot_iterator(dataset: Dataset) -> Iterator:
    """Return `Dataset.make_one_shot_iterator` of a dataset.

    Args:
      dataset: made in a graph.

    Source: TensorFlow 1.15, ``tf.data.make_one_shot_iterator``.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     number = tf.data.make_one_shot_iterator(tf.data.Dataset.range(5, 9)).get_next()
    ...     int(sess.run(number)), int(sess.run(number))
    (5, 6)
    """
    return dataset.make_one_shot_iterator()


def make_initializable_iterator(dataset: Dataset, shared_name: str | None = None) -> Iterator:
    """Return `Dataset.make_initializable_iterator` of a dataset.

    Args:
      dataset: made in a graph.
      shared_name: under which other iterators of the session are the same.

    Source: TensorFlow 1.15, ``tf.data.make_initializable_iterator``.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     iterator = tf.data.make_initializable_iterator(tf.data.Dataset.range(5, 9))
    ...     sess.run(iterator.initializer)
    ...     int(sess.run(iterator.get_next()))
    5
    """
    return dataset.make_initializable_iterator(shared_name)


def get_output_types(dataset_or_iterator: Dataset | Iterator) -> Any:
    """Return the dtypes of the components of elements, in their structure.

    Args:
      dataset_or_iterator: whose elements they are.

    Source: TensorFlow 1.15, ``tf.data.get_output_types``.

    >>> get_output_types(Dataset.from_tensor_slices(([0.5, 1.5], ["a", "b"])))
    (tf.float32, tf.string)
    """
    return dataset_or_iterator.output_types


def get_output_shapes(dataset_or_iterator: Dataset | Iterator) -> Any:
    """Return the shapes of the components of elements, in their structure.

    Args:
      dataset_or_iterator: whose elements they are.

    Source: TensorFlow 1.15, ``tf.data.get_output_shapes``.

    >>> rows = Dataset.from_tensor_slices({"x": [[1, 2], [3, 4]], "y": [0, 1]})
    >>> {name: shape.as_list() for name, shape in get_output_shapes(rows.batch(2)).items()}
    {'x': [None, 2], 'y': [None]}
    """
    return dataset_or_iterator.output_shapes


def get_output_classes(dataset_or_iterator: Dataset | Iterator) -> Any:
    """Return the classes of the components of elements, in their structure.

    Args:
      dataset_or_iterator: whose elements they are.

    Source: TensorFlow 1.15, ``tf.data.get_output_classes``.

    >>> kinds = get_output_classes(Dataset.from_tensors({"x": 1.0}))
    >>> kinds["x"].__name__
    'Tensor'
    """
    return dataset_or_iterator.output_classes
