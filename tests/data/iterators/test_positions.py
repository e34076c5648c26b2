"""Any pipeline goes on from any position with the same elements; its seed decides which."""

import copy
import itertools
import json
import pickle
import threading

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import daskvars as dv
from daskvars.data import Dataset, experimental
from daskvars.data.experimental import AUTOTUNE
from daskvars.errors import InvalidArgumentError
from tests.interrupted import interrupted_at

SUM = experimental.Reducer(lambda key: key, lambda total, x: total + x, lambda total: total)
STEPS = {
    "map": lambda d: d.map(lambda x: x + 1),
    "parallel map": lambda d: d.map(lambda x: x * 3 % 64, num_parallel_calls=2),
    "random map": lambda d: d.map(lambda x: x + dv.random_uniform([], 0, 9, dv.int64, seed=2)),
    "filter": lambda d: d.filter(lambda x: dv.not_equal(x % 3, 0)),
    "shuffle": lambda d: d.shuffle(5, seed=1),
    "shuffle all": lambda d: d.shuffle(100, seed=4),
    "shuffle once": lambda d: d.shuffle(7, seed=3, reshuffle_each_iteration=False),
    "shuffle anyhow": lambda d: d.shuffle(6),
    "repeat": lambda d: d.repeat(2),
    "take": lambda d: d.take(13),
    "skip": lambda d: d.skip(2),
    "shard": lambda d: d.shard(2, 1),
    "cache": lambda d: d.cache(),
    "prefetch": lambda d: d.prefetch(2),
    "concatenate": lambda d: d.concatenate(Dataset.range(3)),
    "zip": lambda d: Dataset.zip((d, Dataset.range(100))).map(lambda a, b: a + b),
    "flat_map": lambda d: d.flat_map(lambda n: Dataset.range(n % 3).map(lambda x: x + n)),
    "interleave": lambda d: d.interleave(lambda n: Dataset.range(n % 4).shuffle(3, seed=5), 2),
    "batch": lambda d: d.batch(2).unbatch(),
    "batch and map": lambda d: d.batch(3).map(dv.reduce_sum),
    "windows": lambda d: d.window(3, 2).flat_map(lambda w: w.batch(3)).map(dv.reduce_sum),
    "sparse windows": lambda d: d.window(2, 1, 3, True).flat_map(lambda w: w),
    "groups": lambda d: d.apply(
        experimental.group_by_window(lambda x: x % 3, lambda k, w: w.shuffle(3, seed=6), 4)
    ),
    "sums": lambda d: d.apply(
        experimental.scan(np.int64(0), lambda total, x: ((total + x) % 64, total))
    ),
    "take while": lambda d: d.apply(experimental.take_while(lambda x: x < 40)),
    "unique": lambda d: d.apply(experimental.unique()),
    "sample": lambda d: experimental.sample_from_datasets([d, Dataset.range(9)], [2, 1], seed=8),
    "choose": lambda d: experimental.choose_from_datasets(
        [d, d.map(lambda x: x + 1)], Dataset.range(2).repeat()
    ),
    "resample": lambda d: d.apply(
        experimental.rejection_resample(lambda x: x % 2, [0.5, 0.5], seed=9)
    ).map(lambda kind, x: x),
    "reducer": lambda d: d.apply(experimental.group_by_reducer(lambda x: x % 4, SUM)),
    "whole batches": lambda d: d.batch(3, drop_remainder=True).map(dv.reduce_max),
}
SOURCES = {
    "range": lambda: Dataset.range(17),
    "rows": lambda: Dataset.from_tensor_slices(np.arange(17)),
    "generator": lambda: Dataset.from_generator(lambda: iter(range(17)), dv.int64, []),
}


def pipeline(source, steps):
    dataset = SOURCES[source]()
    for step in steps:
        dataset = STEPS[step](dataset)
    return dataset


@settings(max_examples=40)
@given(
    st.sampled_from(sorted(SOURCES)),
    st.lists(st.sampled_from(sorted(STEPS)), max_size=4),
    st.floats(0, 1),
)
def test_an_iterator_goes_on_from_anywhere(source, steps, part):
    dataset = pipeline(source, steps)
    iterator = dataset.take(120).as_numpy_iterator()
    start = iterator.state()
    wanted = [int(x) for x in iterator]
    first = dataset.take(120).as_numpy_iterator()
    first.restore(start)
    count = int(part * len(wanted))
    assert [int(next(first)) for _ in range(count)] == wanted[:count]
    state = json.loads(json.dumps(first.state()))
    other = pipeline(source, steps).take(120).as_numpy_iterator()
    other.restore(state)
    assert [int(x) for x in other] == wanted[count:]
    assert [int(x) for x in first] == wanted[count:]


@pytest.mark.parametrize("size", [1, 3, 10, 30])
def test_a_shuffle_draws_from_its_buffer(size):
    found = [int(x) for x in Dataset.range(20).shuffle(size, seed=1)]
    assert sorted(found) == list(range(20))
    assert all(value < place + size for place, value in enumerate(found))
    if size > 1:
        assert found != list(range(20))


def test_rows_are_shuffled_as_other_elements_are():
    rows = Dataset.from_tensor_slices(np.arange(50)).shuffle(8, seed=5).repeat(3)
    other = Dataset.range(50).shuffle(8, seed=5).repeat(3)
    wanted = [int(x) for x in other]
    assert [int(x) for x in rows] == wanted
    batched = [x.numpy().tolist() for x in rows.batch(7)]
    assert [*itertools.chain(*batched)] == wanted


def test_each_repetition_has_its_order_if_it_is_to_have():
    for anew in (True, False):
        found = Dataset.range(30).shuffle(30, 7, reshuffle_each_iteration=anew).repeat(2)
        found = [int(x) for x in found]
        assert (found[:30] != found[30:]) is anew


def test_an_order_that_stays_is_that_of_all_iterators_and_splits_the_elements():
    dv.set_random_seed(None)  # another test may have set one

    def once():
        return Dataset.range(30).shuffle(30, reshuffle_each_iteration=False)

    shuffled = once()
    parts = [[int(n) for n in part] for part in (shuffled.take(20), shuffled.skip(20))]
    assert sorted(parts[0] + parts[1]) == list(range(30))
    iterator = iter(shuffled)
    assert [int(next(iterator)) for _ in range(20)] == parts[0]
    assert [int(n) for n in once()] != parts[0] + parts[1]
    elsewhere = iter(once())  # as in another process
    elsewhere.restore(iterator.state())
    assert [int(n) for n in elsewhere] == parts[1]


def test_each_iterator_has_its_order_and_the_program_the_same_again():
    def orders():
        dataset = Dataset.range(30).shuffle(30, seed=1)
        return [[int(x) for x in dataset] for _ in range(2)]

    first = orders()
    assert first[0] != first[1]
    assert orders() == first


def test_the_seed_of_the_program_makes_orders_repeatable():
    def order():
        dv.set_random_seed(3)
        return [int(x) for x in Dataset.range(30).shuffle(30)]

    assert order() == order()
    assert [int(x) for x in Dataset.range(30).shuffle(30)] != order()  # two need not agree
    dv.set_random_seed(None)
    assert [int(x) for x in Dataset.range(30).shuffle(30)] != order()
    dv.set_random_seed(None)


def test_whole_repetitions_are_not_gone_through():
    calls = []

    def seen(x):
        calls.append(int(x))
        return x

    dataset = Dataset.range(10).map(lambda x: dv.py_func(seen, [x], dv.int64)).repeat()
    iterator = dataset.as_numpy_iterator()
    iterator.restore({"position": 10**12 + 3, "entropy": 0, "iteration": 0})
    assert (int(next(iterator)), calls) == (3, [3])


@pytest.mark.parametrize(
    "state", [{}, {"position": 1}, {"position": 9, "entropy": 0, "iteration": 0}, None]
)
def test_what_is_no_position_is_refused(state):
    iterator = iter(Dataset.range(4))
    with pytest.raises(InvalidArgumentError, match=r"no state|dataset has 4"):
        iterator.restore(state)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # in a generator
@pytest.mark.parametrize(
    "steps",
    [
        ["random map", "batch"],
        ["batch and map", "shuffle"],
        ["flat_map", "sums"],
        ["interleave"],
        ["windows"],
        ["cache", "filter"],
        ["shuffle", "repeat", "batch and map"],
        ["parallel map", "prefetch"],
    ],
)
def test_ctrl_c_takes_no_element_with_it(steps):
    dataset = pipeline("generator", steps).repeat(20)
    iterator = dataset.as_numpy_iterator()
    start = iterator.state()
    wanted = [int(x) for x in iterator]
    iterator = dataset.as_numpy_iterator()
    iterator.restore(start)
    found = []
    for place in range(1, 1000):
        with interrupted_at(place) as is_done:
            found.append(int(next(iterator)))
        if is_done() and len(found) > 10:
            break
        if not is_done():
            assert iterator.state()["position"] == len(found), place
    assert place > 10
    assert [*found, *[int(x) for x in iterator]] == wanted


@pytest.mark.parametrize("taken", [pickle.dumps, copy.deepcopy])
def test_an_iterator_that_is_pickled_says_what_can_be(taken):
    with pytest.raises(TypeError, match=r"iterator of a dataset .*restore\(iterator\.state"):
        taken(iter(Dataset.range(3)))


def test_threads_end_with_their_iterator():
    def ahead():
        return {t for t in threading.enumerate() if t.name == "daskvars-prefetch"}

    before = ahead()
    iterator = iter(Dataset.range(10).repeat().prefetch(AUTOTUNE))
    next(iterator)
    (thread,) = ahead() - before
    del iterator
    thread.join(10)
    assert not thread.is_alive()


def test_an_error_of_python_ends_an_iteration_that_is_prefetched():
    def broken():
        yield 1
        raise KeyError("broken")

    dataset = Dataset.from_generator(broken, dv.int64, []).prefetch(2)
    iterator = iter(dataset)
    assert int(next(iterator)) == 1
    with pytest.raises(KeyError, match="broken"):
        next(iterator)
    with pytest.raises(StopIteration):
        next(iterator)
