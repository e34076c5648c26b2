"""Elements that are datasets: windows and groups, reduced, batched and mixed."""

import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf
from daskvars.data import Dataset, Options, experimental
from daskvars.errors import DataLossError, InvalidArgumentError, UnimplementedError


def values(dataset):
    return [element.tolist() for element in dataset.as_numpy_iterator()]


def expected_windows(count, size, shift, stride, drops):
    found = []
    for start in range(0, count, shift):
        window = list(range(start, min(count, start + (size - 1) * stride + 1), stride))
        if len(window) == size or not drops:
            found.append(window)
    return found


@pytest.mark.parametrize("count", [0, 1, 7, 10])
@pytest.mark.parametrize("size, shift, stride", [(3, 3, 1), (3, 1, 1), (2, 5, 1), (3, 2, 2)])
@pytest.mark.parametrize("drops", [True, False])
def test_windows_are_those_of_their_definition(count, size, shift, stride, drops):
    windows = Dataset.range(count).window(size, shift, stride, drops)
    wanted = expected_windows(count, size, shift, stride, drops)
    assert [values(window) for window in windows] == wanted
    assert values(windows.flat_map(lambda window: window.batch(size))) == wanted
    assert int(experimental.cardinality(windows)) == len(wanted)


def test_each_component_of_a_window_is_a_dataset():
    rows = Dataset.from_tensor_slices({"x": np.arange(4.0), "y": ["a", "b", "c", "d"]})
    windows = rows.window(2)
    assert windows.output_classes == {"x": Dataset, "y": Dataset}
    pairs = windows.flat_map(lambda w: Dataset.zip({"x": w["x"].batch(2), "y": w["y"].batch(2)}))
    assert [each["y"].tolist() for each in pairs.as_numpy_iterator()] == [
        [b"a", b"b"],
        [b"c", b"d"],
    ]


def test_a_window_is_reduced_in_a_function():
    sums = Dataset.range(10).window(4).map(lambda w: w.reduce(np.int64(0), lambda a, b: a + b))
    assert values(sums) == [6, 22, 17]
    one = Dataset.range(6).window(3).map(lambda w: experimental.get_single_element(w.batch(3)))
    assert values(one) == [[0, 1, 2], [3, 4, 5]]


def test_a_window_is_not_gone_through_in_a_function_inside():
    def inside(window):
        return Dataset.range(2).map(lambda n: window.reduce(n, lambda a, b: a + b))

    with pytest.raises(UnimplementedError, match="in a function inside of the one"):
        values(Dataset.range(4).window(2).flat_map(inside))


def test_windows_are_no_tensors():
    windows = Dataset.range(4).window(2)
    with pytest.raises(TypeError, match="batch\\(\\) takes tensors, but elements have"):
        windows.batch(2)
    with pytest.raises(TypeError, match="cache\\(\\) in a file takes tensors"):
        windows.cache("somewhere")
    with tf.Graph().as_default(), pytest.raises(TypeError, match="an iterator of a graph takes"):
        tf.data.Dataset.range(4).window(2).make_one_shot_iterator()


@pytest.mark.parametrize("sizes", [(0, 1, 1), (1, 0, 1), (1, 1, -1)])
def test_windows_of_nothing_are_refused(sizes):
    with pytest.raises(InvalidArgumentError, match="must be greater than zero"):
        next(iter(Dataset.range(4).window(*sizes)))


def test_a_state_that_grows_is_traced_without_its_size():
    joined = Dataset.range(3).reduce(
        np.zeros(0, np.int64), lambda found, x: dv.concat([found, [x]], 0)
    )
    assert joined.numpy().tolist() == [0, 1, 2]
    grown = experimental.scan(np.zeros(0, np.int64), lambda s, x: (dv.concat([s, [x]], 0),) * 2)
    assert values(Dataset.range(3).apply(grown)) == [[0], [0, 1], [0, 1, 2]]


def test_states_keep_their_dtypes():
    with pytest.raises(TypeError, match="must match the initial state"):
        Dataset.range(3).reduce(0.0, lambda total, x: x)
    with pytest.raises(TypeError, match="must return a pair"):
        Dataset.range(3).apply(experimental.scan(np.int64(0), lambda total, x: total))


def test_each_run_reduces_anew():
    with tf.Graph().as_default(), tf.Session() as sess:
        stop = tf.placeholder(tf.int64, [])
        start = tf.constant(5, tf.int64)
        total = tf.data.Dataset.range(stop).reduce(start, lambda a, b: a + b)
        assert [sess.run(total * 2, {stop: n}) for n in (0, 3, 4)] == [10, 16, 22]
        with pytest.raises(tf.errors.UnimplementedError, match="in the body of a loop"):
            tf.while_loop(
                lambda i: i < 3,
                lambda i: i + tf.data.Dataset.range(3).reduce(start, lambda a, b: a + b),
                [start],
            )


@pytest.mark.parametrize("count, words", [(0, "was empty"), (2, "more than one")])
def test_one_element_is_one(count, words):
    with pytest.raises(InvalidArgumentError, match=words):
        experimental.get_single_element(Dataset.range(count))
    with tf.Graph().as_default(), tf.Session() as sess:
        element = tf.data.experimental.get_single_element(tf.data.Dataset.range(count))
        with pytest.raises(tf.errors.InvalidArgumentError, match=words):
            sess.run(element)


def rows_of_lengths(lengths):
    return Dataset.from_tensor_slices(lengths).map(lambda n: dv.fill([n], n))


def test_buckets_have_rows_of_their_lengths():
    lengths = np.random.default_rng(0).integers(1, 12, 60).tolist()
    rows = rows_of_lengths(lengths).map(lambda row: (row, dv.size(row)))
    buckets = experimental.bucket_by_sequence_length(
        lambda row, length: length, [4, 8], [5, 3, 2], padded_shapes=([None], [])
    )
    seen = []
    for row, length in rows.apply(buckets).as_numpy_iterator():
        assert row.shape == (len(length), max(length))
        assert len({(n >= 4) + (n >= 8) for n in length}) == 1
        assert len(length) <= {0: 5, 1: 3, 2: 2}[(length[0] >= 4) + int(length[0] >= 8)]
        assert all(r[: r.max()].tolist() == [n] * n for r, n in zip(row, length, strict=True))
        seen += length.tolist()
    assert sorted(seen) == sorted(lengths)


def test_buckets_are_filled_up_to_their_boundaries():
    rows = rows_of_lengths([1, 2, 4, 5])
    buckets = experimental.bucket_by_sequence_length(
        dv.size, [3, 6], [2, 2, 1], padding_values=-1, pad_to_bucket_boundary=True
    )
    assert values(rows.apply(buckets)) == [[[1, -1], [2, 2]], [[4, 4, 4, 4, -1], [5, 5, 5, 5, 5]]]
    with pytest.raises(InvalidArgumentError, match="elements must have length <"):
        values(rows_of_lengths([6]).apply(buckets))
    with pytest.raises(ValueError, match="must equal len"):
        experimental.bucket_by_sequence_length(dv.size, [3], [2])


def test_groups_have_sizes_of_their_keys():
    by_parity = experimental.group_by_window(
        lambda x: x % 2, lambda key, group: group.batch(10), window_size_func=lambda key: key + 1
    )
    assert values(Dataset.range(5).apply(by_parity)) == [[0], [2], [1, 3], [4]]
    with pytest.raises(ValueError, match="either window_size or window_size_func"):
        experimental.group_by_window(lambda x: x, lambda k, g: g)
    with pytest.raises(ValueError, match=r"`key_func` must return a single tf.int64 scalar"):
        Dataset.range(3).apply(experimental.group_by_window(lambda x: x / 2, lambda k, g: g, 2))
    with pytest.raises(InvalidArgumentError, match="Window size must be greater than zero"):
        none = experimental.group_by_window(lambda x: x, lambda k, g: g, 0)
        values(Dataset.range(3).apply(none))


def test_datasets_that_ended_are_passed_by():
    one, two = Dataset.range(2), Dataset.range(10, 15)
    turns = Dataset.range(2).repeat(5)
    assert values(experimental.choose_from_datasets([one, two], turns)) == [
        *[0, 10, 1, 11],
        *[12, 13, 14],
    ]
    drawn = values(experimental.sample_from_datasets([one, two], seed=2))
    assert sorted(drawn) == [0, 1, 10, 11, 12, 13, 14]
    assert values(experimental.sample_from_datasets([one, two], [1.0, 0.0])) == [0, 1]
    weights = Dataset.from_tensor_slices([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    assert values(experimental.sample_from_datasets([one, two], weights)) == [0, 10, 11]


@pytest.mark.parametrize(
    "make, error, words",
    [
        (lambda: experimental.sample_from_datasets([]), ValueError, "one dataset at least"),
        (
            lambda: experimental.sample_from_datasets([Dataset.range(2)], [1, 2]),
            ValueError,
            "length `len\\(datasets\\)`",
        ),
        (
            lambda: experimental.choose_from_datasets(
                [Dataset.range(2)], Dataset.from_tensors(0.5)
            ),
            TypeError,
            "must be a dataset of scalar `tf.int64`",
        ),
        (
            lambda: experimental.sample_from_datasets([Dataset.range(2), Dataset.from_tensors("")]),
            TypeError,
            "two datasets have different types",
        ),
        (
            lambda: next(
                iter(experimental.choose_from_datasets([Dataset.range(2)], Dataset.range(1, 2)))
            ),
            InvalidArgumentError,
            "Selector index out of range: 1 of 1",
        ),
        (lambda: Dataset.range(2).with_options({}), TypeError, "takes `Options`"),
        (lambda: setattr(Options(), "determinist", 1), AttributeError, "Cannot set the property"),
        (
            lambda: setattr(Options(), "experimental_threading", 4),
            TypeError,
            "must be of type ThreadingOptions",
        ),
        (
            lambda: Dataset.from_tensors(0.5).apply(experimental.unique()),
            TypeError,
            "one component, of tf.int32",
        ),
        (
            lambda: Dataset.range(3).apply(experimental.dense_to_sparse_batch(2, [3])),
            ValueError,
            "`row_shape` is of rank 1, but elements have shape",
        ),
    ],
)
def test_refusals(make, error, words):
    with pytest.raises(error, match=words):
        make()


def test_sparse_batches_of_rows():
    rows = rows_of_lengths([1, 3, 2])
    batch = next(iter(rows.apply(experimental.dense_to_sparse_batch(3, [-1]))))
    assert dv.sparse.to_dense(batch).numpy().tolist() == [[1, 0, 0], [3, 3, 3], [2, 2, 0]]
    with pytest.raises(DataLossError, match="does not fit into rows"):
        next(iter(rows.apply(experimental.dense_to_sparse_batch(3, [2]))))


def test_options_are_kept_through_steps():
    first, second = Options(), Options()
    first.experimental_deterministic = False
    second.experimental_optimization.map_fusion = True
    dataset = Dataset.range(4).with_options(first).batch(2).with_options(second).map(dv.reduce_sum)
    found = dataset.options()
    assert found.experimental_deterministic is False
    assert found.experimental_optimization.map_fusion is True
    assert values(dataset) == [1, 5]


def test_resampled_classes_are_as_frequent_as_wanted():
    kinds = np.random.default_rng(0).choice(3, 6000, p=[0.8, 0.15, 0.05])
    wanted = [0.2, 0.3, 0.5]
    resample = experimental.rejection_resample(lambda kind: kind, wanted, seed=1)
    found = [int(kind) for kind, _ in Dataset.from_tensor_slices(kinds).apply(resample)]
    shares = np.bincount(found, minlength=3) / len(found)
    np.testing.assert_allclose(shares, wanted, atol=0.08)


def test_the_seed_decides_what_is_drawn():
    def drawn(seed):
        numbers = experimental.RandomDataset(seed).take(4)
        mixed = experimental.sample_from_datasets([Dataset.range(9), Dataset.range(9)], seed=seed)
        return values(numbers), values(mixed)

    assert drawn(3) == drawn(3)
    assert drawn(3) != drawn(4)
