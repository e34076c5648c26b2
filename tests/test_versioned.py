"""Arrays with versions: every version keeps its value, whatever is done to others."""

import pickle

import numpy as np
import pytest
from dask.sizeof import sizeof
from hypothesis import given, strategies as st

from daskvars.versioned import Versioned, changed


def update(block, made_by, rows, value):
    """The next version of a block, with `value` added to some rows."""

    def write(arrays, record):
        record(arrays[0], np.unique(rows))
        arrays[0][np.unique(rows)] += value

    return changed([block], made_by, write)[0]


def memory(block):
    with block.lend() as array:
        return array


@given(
    st.lists(st.tuples(st.integers(0, 9), st.lists(st.integers(0, 6), max_size=4)), max_size=8),
    st.data(),
)
def test_versions_keep_their_values(steps, data):
    array = np.arange(14.0).reshape(7, 2)
    versions, expected = [Versioned(array.copy())], [array]
    for number, (source, rows) in enumerate(steps):
        source %= len(versions)
        rows = np.array(rows, int)
        versions.append(update(versions[source], number, rows, 1.0 + number))
        expected.append(expected[source].copy())
        expected[-1][np.unique(rows)] += 1.0 + number
    ids = np.array([6, 0, 0, 3])
    for version, values in zip(versions, expected, strict=True):
        np.testing.assert_array_equal(np.asarray(version), values)
        np.testing.assert_array_equal(version.take(ids), values[ids])
        np.testing.assert_array_equal(version[2:5, 1:], values[2:5, 1:])
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(version)), values)


def test_the_newest_version_is_changed_in_place_unless_somebody_reads_all_of_it():
    first = Versioned(np.zeros((4, 2)))
    memory_of_first = memory(first)
    second = update(first, "a", np.array([1]), 1.0)
    assert memory(second) is memory_of_first
    with second.lend() as lent:
        third = update(second, "b", np.array([2]), 1.0)
        assert memory(third) is not lent and lent[2, 0] == 0
    sent = pickle.loads(pickle.dumps(third, protocol=5))
    assert memory(update(third, "c", np.array([0]), 5.0)) is not memory(third)
    assert sent[0, 0] == 0


def test_a_task_that_runs_twice_gets_what_it_made():
    first = Versioned(np.zeros((4, 2)))
    second = update(first, "task", np.array([1]), 1.0)
    again = update(first, "task", np.array([1]), 1.0)
    assert memory(again) is memory(second) and np.asarray(again)[1, 0] == 1
    other = update(first, "another", np.array([1]), 3.0)
    assert np.asarray(other)[1, 0] == 3 and np.asarray(second)[1, 0] == 1


def test_what_nobody_has_any_more_is_taken_back():
    first = Versioned(np.zeros((4, 2)))
    array = memory(first)
    update(first, "failed", np.array([1]), 1.0)
    second = update(first, "next", np.array([2]), 1.0)
    assert memory(second) is array and array.sum(axis=1).tolist() == [0, 0, 2, 0]


def test_a_failing_write_changes_nothing():
    first = Versioned(np.zeros((4, 2)))

    def write(arrays, record):
        record(arrays[0], np.array([1]))
        arrays[0][1] = 9
        raise MemoryError

    with pytest.raises(MemoryError):
        changed([first], "task", write)
    assert not np.asarray(first).any()


def test_dask_counts_the_memory_of_versions_once():
    first = Versioned(np.zeros((1000, 2)))
    second = update(first, "task", np.array([1]), 1.0)
    assert sizeof(second) - second.nbytes in range(100) and second.nbytes == first.nbytes
    assert sizeof(first) < 100  # a row and its number
    again = update(first, "task", np.array([1]), 1.0)
    assert sizeof(again) == sizeof(second)
