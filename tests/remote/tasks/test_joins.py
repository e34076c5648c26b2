"""What a stage takes from several blocks is put together as they come."""

import numpy as np
import pytest

from daskvars.kernels.control.tensor_lists import TensorList
from daskvars.remote.tasks.block_arguments import Cut, Take
from daskvars.remote.tasks.joins import Join, Joining
from daskvars.versioned import Versioned

WHOLE = np.arange(24.0).reshape(6, 4)
ROWS = [slice(0, 2), slice(2, 4), slice(4, 6)]
EVERY = slice(0, 4)
CUT = Cut(
    (6, 4),
    tuple((Take(i, None), (slice(0, 2), EVERY), (rows, EVERY)) for i, rows in enumerate(ROWS)),
)


def test_parts_are_copied_as_they_come():
    slots = [WHOLE[ROWS[0]], None, None]
    joining = Joining(np, CUT, set())
    assert joining.copy(slots) == [0]
    slots[0], slots[2] = None, WHOLE[ROWS[2]]  # what is copied need not be kept
    assert joining.copy(slots) == [2]
    assert joining.copy(slots) == []
    slots[1] = WHOLE[ROWS[1]]
    np.testing.assert_array_equal(joining.finished(slots), WHOLE)


@pytest.mark.parametrize("pulled", [set(), {1}])
def test_slices_are_taken_of_what_was_not_pulled(pulled):
    parts = [(Take(i, None), (slice(1, 3), EVERY), (ROWS[i], EVERY)) for i in (0, 1)]
    slots = [np.pad(WHOLE[ROWS[0]], ((1, 1), (0, 0))), np.pad(WHOLE[ROWS[1]], ((1, 1), (0, 0)))]
    if pulled:
        slots[1] = WHOLE[ROWS[1]]
    found = Joining(np, Cut((4, 4), tuple(parts)), pulled).finished(slots)
    np.testing.assert_array_equal(found, WHOLE[:4])


def test_a_version_is_read_as_it_was():
    slots = [Versioned(np.array(WHOLE[rows])) for rows in ROWS]
    np.testing.assert_array_equal(Joining(np, CUT, set()).finished(slots), WHOLE)


def test_lists_are_put_together_at_the_end():
    lists = [TensorList(1).appended(0, WHOLE[rows]) for rows in ROWS]
    parts = [(Take(i, None), (slice(0, 2), EVERY), (rows, EVERY)) for i, rows in enumerate(ROWS)]
    joining = Joining(np, Cut((6, 4), tuple(parts)), set())
    assert joining.copy(lists) == []
    found = joining.finished(lists)
    assert isinstance(found, TensorList)
    np.testing.assert_array_equal(found.get(0), WHOLE)


def test_a_slot_that_gives_two_slices_is_one_part():
    parts = tuple((Take(0, None), (rows, EVERY), (rows, EVERY)) for rows in ROWS)
    join = Join(1, 0, Cut((6, 4), parts))
    assert join.parts == (0,)
    np.testing.assert_array_equal(Joining(np, join.cut, set()).finished([WHOLE]), WHOLE)
