"""What goes along with the word that a task is done is what a client would have fetched."""

import numpy as np
import pytest

from daskvars.remote.task_outputs import MAX_SHOWN_BYTES, Outputs, OutputsReference, TaskOutputs
from daskvars.remote.told_results import MAX_TOLD_BYTES, as_fetched, as_told

KEY, HERE = "train-0123456789abcdef-7-o0", "tcp://127.0.0.1:1"
LARGE = np.zeros(MAX_TOLD_BYTES, np.uint8)


def told(value, nbytes=64):
    return as_told(KEY, HERE, value, nbytes)


def test_of_what_stays_only_what_is_shown_is_told():
    loss, rows = np.float32(0.1), np.arange(3)
    outputs = TaskOutputs([LARGE, loss, rows, 2.5])
    assert told(outputs) is None, "nobody looks at it elsewhere"
    found = as_fetched(told(outputs.showing([1, 2]), LARGE.nbytes))
    assert isinstance(found, OutputsReference) and (found.key, found.address) == (KEY, HERE)
    assert found[1].tobytes() == loss.tobytes() and found[1].dtype == loss.dtype
    np.testing.assert_array_equal(found[2], rows)
    assert (found[0].key, found[0].position) == (KEY, 0), "what is large is still to be fetched"


def test_what_only_the_client_wants_is_told_whole():
    values = [np.float64(-0.0), np.array([b"a", b"bc"], object), np.float32("nan"), 7]
    found = as_fetched(told(Outputs(values)))
    assert isinstance(found, Outputs) and np.signbit(found[0]) and np.isnan(found[2])
    assert found[1].tolist() == [b"a", b"bc"] and found[3] == 7
    assert as_fetched(told(np.arange(4))).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "value",
    [Outputs([LARGE]), LARGE, Outputs([np.array(["x" * MAX_TOLD_BYTES], object)])],
    ids=["outputs", "array", "texts"],
)
def test_what_is_large_is_not_told(value):
    assert told(value, LARGE.nbytes + 1) is None
    assert told(value, 8) is None, "it is as large as it is, whatever Dask takes it for"


def test_much_that_is_small_is_not_told():
    outputs = TaskOutputs([np.full(MAX_SHOWN_BYTES, number, np.uint8) for number in range(10)])
    assert told(outputs.showing(range(2))) is not None
    assert told(outputs.showing(range(10))) is None
