"""Places in order, filled up and crossed, against what goes through them one by one."""

import itertools

import numpy as np
import pytest

from daskvars.errors import InvalidArgumentError
from daskvars.kernels.gather_scatter.rows import is_ascending
from daskvars.kernels.gather_scatter.searching import in_order
from daskvars.kernels.sparse import indices
from daskvars.kernels.sparse.crossing import cross_hashed
from tests.kernels.numerical import frozen


def test_places_ascend_as_tuples_do():
    rng = np.random.default_rng(1)
    for rank in (1, 2, 3):
        for count in (0, 1, 2, 4):
            for _ in range(40):
                places = rng.integers(0, 3, (count, rank))
                rows = [tuple(row) for row in places.tolist()]
                assert is_ascending(np, places) == (rows == sorted(rows))
                is_strict = rows == sorted(set(rows))
                assert is_ascending(np, places, strictly=True) == is_strict
                assert indices.order(np, places).tolist() == sorted(
                    range(count), key=rows.__getitem__
                )
                if is_strict:
                    assert in_order(np, places, sizes=(3,) * rank, check=True) is places
                else:
                    with pytest.raises(InvalidArgumentError, match=r"repeated|out of order"):
                        in_order(np, places, sizes=(3,) * rank, check=True)


@pytest.mark.parametrize("rows", [[], [1], [3, 1, 1], [0, 1, 2, 3]])
def test_rows_without_an_element_get_one(rows):
    places = frozen(np.array([(row, 2) for row in rows], np.int64).reshape(-1, 2))
    found, which, is_empty = indices.filled_rows(np, places, num_rows=4)
    assert is_empty.tolist() == [row not in rows for row in range(4)]
    wanted = [(row, 2) for row in rows] + [(row, 0) for row in range(4) if row not in rows]
    assert [tuple(place) for place in found.tolist()] == sorted(wanted)
    order = sorted(range(len(wanted)), key=wanted.__getitem__)
    assert which.tolist() == [min(place, len(rows)) for place in order]


@pytest.mark.parametrize("row", [-1, 4])
def test_an_element_in_no_row_is_told(row):
    with pytest.raises(InvalidArgumentError, match="not in"):
        indices.filled_rows(np, np.array([[row, 0]]), num_rows=4)


@pytest.mark.parametrize("counts", [[1, 1, 1], [2, 0, 3], [0, 0, 0], []])
@pytest.mark.parametrize("ordered", [True, False])
def test_each_combination_has_its_hash(counts, ordered):
    rows = [row for row, count in enumerate(counts) for _ in range(count)]
    if not ordered:
        rows = rows[::-1]
    words = np.array([b"w%d" % i for i in range(len(rows))], object)
    places = np.array([(row, i) for i, row in enumerate(rows)], np.int64).reshape(-1, 2)
    shape = np.array([len(counts), 6])
    numbers = np.arange(-3, 2 * len(counts) - 3).reshape(len(counts), 2)
    options = {"num_buckets": 1000, "hash_key": 7}
    found = cross_hashed(np, places, words, shape, numbers, forms=("sparse", "dense"), **options)
    wanted = []
    for row in range(len(counts)):
        of_row = [word for word, place in zip(words, rows, strict=True) if place == row]
        pairs = list(itertools.product(of_row, numbers[row]))
        for number, (word, value) in enumerate(pairs):
            alone = cross_hashed(
                np,
                np.array([[word]], object),
                np.array([[value]]),
                forms=("dense", "dense"),
                **options,
            )
            wanted.append(((row, number), int(alone[1][0])))
    assert [tuple(place) for place in found[0].tolist()] == [place for place, _ in wanted]
    assert found[1].tolist() == [bucket for _, bucket in wanted]
    assert found[2].tolist() == [len(counts), max((2 * count for count in counts), default=0)]
