"""Dask sees the bytes of whatever holds arrays on a worker, alone and in a bundle."""

import pickle

import numpy as np
import pytest
from dask.sizeof import sizeof

from daskvars.kernels.control.tensor_lists import TensorList
from daskvars.kernels.gather_scatter.row_shards import ShardRows
from daskvars.remote.task_outputs import GONE, CountedOutput, TaskOutputs
from daskvars.remote.tasks.region_tasks import PackedRegion
from daskvars.versioned import Versioned, changed

ARRAY = np.zeros((1000, 2))
SIZE = ARRAY.nbytes
HOLDERS = {
    "array": ARRAY.copy,
    "versioned": lambda: Versioned(ARRAY.copy()),
    "rows": lambda: ShardRows((1000, 2), None, ARRAY.copy(), None),
    "rows that are views": lambda: ShardRows((1000, 2), None, np.zeros((2, 1000)).T, None),
    "list": lambda: TensorList(1000, ARRAY.copy()),
    "program": lambda: PackedRegion(bytes(SIZE)),
    "counted": lambda: CountedOutput(ARRAY.copy(), 2),
}


@pytest.mark.parametrize("kind", HOLDERS)
def test_what_holds_arrays_weighs_what_they_do(kind):
    value = HOLDERS[kind]()
    assert sizeof(value) - SIZE in range(500)
    for count in (1, 30):
        bundle = TaskOutputs([value, *(HOLDERS[kind]() for _ in range(count))])
        assert sizeof(bundle) - (count + 1) * SIZE in range((count + 1) * 500)


def test_memory_counts_once_in_a_bundle():
    first = Versioned(ARRAY.copy())

    def write(arrays, record):
        record(arrays[0], np.array([1]))
        arrays[0][1] = 7

    (second,) = changed([first], "task", write)
    assert sizeof(TaskOutputs([first, second])) - SIZE in range(200)
    views = [ARRAY[:600], ARRAY[400:], ARRAY.T, ARRAY]
    assert sizeof(TaskOutputs(views)) - SIZE in range(200)
    assert sizeof(TaskOutputs([ARRAY[:10]])) - 160 in range(200), "a view weighs what it shows"
    assert sizeof(TaskOutputs([np.broadcast_to(np.zeros(2), (1000, 2))])) in range(300)


def test_all_outputs_of_a_bundle_count():
    items = [np.zeros(n) for n in (100_000, *[1] * 30)]
    assert {sizeof(TaskOutputs(items)) - 800_240 for _ in range(20)} <= set(range(400))
    assert len({sizeof(tuple(items)) for _ in range(20)}) > 1, "Dask counts tuples itself now"


def test_a_bundle_travels_as_one():
    found = pickle.loads(pickle.dumps(TaskOutputs([1.0, ARRAY])))
    assert type(found) is TaskOutputs and found[1].shape == (1000, 2)


def test_a_counted_output_travels_with_its_count():
    output = CountedOutput(ARRAY, 2)
    output.note_taken()
    found = pickle.loads(pickle.dumps(output))
    np.testing.assert_array_equal(found.value, ARRAY)
    found.note_taken()
    assert found.value is GONE
    assert pickle.loads(pickle.dumps(found)).value is GONE
