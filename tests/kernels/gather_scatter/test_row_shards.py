"""Rows that the parts of a table give and take."""

import pickle

import numpy as np
import pytest
from hypothesis import given, strategies as st

from daskvars.errors import InvalidArgumentError
from daskvars.kernels.gather_scatter.row_shards import (
    ask_for_rows,
    assemble_rows,
    concatenate_rows,
    own_rows,
    own_sums,
    rows_given,
    rows_of_table,
    shard_rows,
)
from daskvars.kernels.gather_scatter.rows import distinct
from daskvars.remote.tasks.table_rows import RowRequests, RowsElsewhere, TableBlocks
from daskvars.versioned import Versioned, changed

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


@given(st.lists(st.integers(0, 7), max_size=20))
def test_a_part_adds_up_what_it_has_of_an_id(ids):
    ids = np.array(ids, np.int64)
    rows = np.stack([ids * 1.0, np.ones(len(ids))], axis=1)
    own, sums = own_sums(np, ids, rows, offset=2, count=4, size=8)
    assert own.tolist() == sorted(set(ids.tolist()) & {2, 3, 4, 5})
    counts = [(ids == i).sum() for i in own]
    np.testing.assert_array_equal(sums, np.stack([own * counts, counts], axis=1).reshape(-1, 2))


@given(st.lists(st.integers(-9, 9), max_size=30))
def test_distinct_is_unique_with_its_inverse(ids):
    ids = np.array(ids, np.int32)
    for found, wanted in zip(distinct(ids), np.unique(ids, return_inverse=True), strict=True):
        np.testing.assert_array_equal(found, wanted)


@given(st.lists(st.integers(0, 7), max_size=20), st.integers(1, 6))
def test_a_table_in_blocks_gives_what_it_gives_whole(ids, cut):
    asked = []

    def pull(wanted):
        asked.extend(wanted)
        return [TABLE[cut:7].take(rows, axis=0) for _, rows in wanted]

    blocks = [TABLE[:cut], RowsElsewhere(pull, "there"), TABLE[7:]]
    for shape in ([-1], [1, -1, 1]):
        given_ids = np.array(ids, np.int32).reshape(shape)
        found = rows_of_table(np, TableBlocks(np, blocks), given_ids, starts=(0, cut, 7, 8))
        np.testing.assert_array_equal(found, TABLE[given_ids])
    for _, rows in asked:  # each row is asked for once
        assert len(np.unique(rows)) == len(rows)


def test_what_tables_are_asked_for_travels_together_each_row_once():
    messages = []

    def pull(wanted):
        messages.append([(output, rows.dtype, len(rows)) for output, rows in wanted])
        return [TABLE[4:].take(rows, axis=0) * output for output, rows in wanted]

    requests = RowRequests()
    tables = [
        TableBlocks(np, [TABLE[:4] * scale, RowsElsewhere(pull, scale)], requests)
        for scale in (1.0, 2.0)
    ]
    ids = np.array([7, 1, 7, 5])
    asked = [ask_for_rows(np, table, ids, starts=(0, 4, 8)) for table in tables]
    assert not messages
    for scale, each in zip((1.0, 2.0), asked, strict=True):
        np.testing.assert_array_equal(rows_given(np, each), TABLE[ids] * scale)
    assert messages == [[(1.0, np.int32, 2), (2.0, np.int32, 2)]]
    again = ask_for_rows(np, tables[0], ids, starts=(0, 4, 8))
    np.testing.assert_array_equal(rows_given(np, again), TABLE[ids])


def test_an_old_version_of_a_block_gives_its_own_rows():
    def write(arrays, record):
        record(arrays[0], np.array([1]))
        arrays[0][1] = 7.0

    old = Versioned(TABLE.copy())
    (new,) = changed([old], "task", write)
    for version, row in ((old, TABLE[1]), (new, np.full(3, 7.0))):
        found = rows_of_table(np, TableBlocks(np, [version]), np.array([1, 1]), starts=(0, 8))
        np.testing.assert_array_equal(found, [row, row])


@given(st.lists(st.integers(0, 7), max_size=20), st.integers(0, 20))
def test_rows_of_parts_of_a_batch_come_in_the_order_of_the_parts(ids, cut):
    ids = np.array(ids, np.int64)
    rows = np.arange(len(ids))[:, None] * 1.0
    parts = [
        own_rows(np, ids[at], rows[at], offset=2, count=4, size=8)
        for at in (slice(cut), slice(cut, None))
    ]
    whole = own_rows(np, ids, rows, offset=2, count=4, size=8)
    for number, found in enumerate(whole):
        together = concatenate_rows(np, *(part[number] for part in parts))
        if (np.diff(ids) < 0).any() or not len(ids):
            np.testing.assert_array_equal(together, found)
        else:
            assert together.tolist() == found.tolist()


def test_ids_are_checked_by_every_part():
    for call in (
        lambda ids: rows_of_table(np, TableBlocks(np, [TABLE]), ids, starts=(0, 8)),
        lambda ids: shard_rows(np, TABLE[:4], ids, offset=0, size=8),
        lambda ids: own_rows(np, ids, offset=0, count=4, size=8),
    ):
        with pytest.raises(InvalidArgumentError, match="= 8 is not in"):
            call(np.array([1, 8]))
