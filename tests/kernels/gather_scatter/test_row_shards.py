"""Rows that the parts of a table give and take."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from daskvars.errors import InvalidArgumentError
from daskvars.kernels.gather_scatter.row_shards import assemble_rows, own_rows, shard_rows

TABLE = np.arange(24.0).reshape(8, 3)


@given(st.lists(st.integers(0, 7), max_size=20), st.integers(1, 7))
def test_parts_give_together_what_the_table_gives(ids, cut):
    ids = np.array(ids, np.int64)
    parts = [
        shard_rows(np, TABLE[:cut], ids, offset=0, size=8),
        shard_rows(np, TABLE[cut:], ids, offset=cut, size=8),
    ]
    parts = pickle.loads(pickle.dumps(parts))
    np.testing.assert_array_equal(assemble_rows(np, *parts), TABLE[ids])


def test_a_row_asked_for_often_is_given_once():
    part = shard_rows(np, TABLE, np.array([[5] * 50, [6] * 50]), offset=0, size=8)
    assert len(part.rows) == 2
    assert assemble_rows(np, part).shape == (2, 50, 3)


@pytest.mark.parametrize("ids", [[0, 3, 3, 7], [7, 0, 3, 3]])
def test_a_part_takes_its_own_rows(ids):
    ids = np.array(ids)
    rows = ids[:, None] * 1.0
    own, found = own_rows(np, ids, rows, offset=3, count=4, size=8)
    assert own.tolist() == [3, 3] and found.tolist() == [[3.0], [3.0]]


def test_ids_are_checked_by_every_part():
    for call in (
        lambda ids: shard_rows(np, TABLE[:4], ids, offset=0, size=8),
        lambda ids: own_rows(np, ids, offset=0, count=4, size=8),
    ):
        with pytest.raises(InvalidArgumentError, match="= 8 is not in"):
            call(np.array([1, 8]))
