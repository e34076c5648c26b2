import numpy as np
import pytest

from daskvars.kernels.gather_scatter import searching


@pytest.mark.parametrize("right", [False, True])
def test_comparing_all_finds_what_halving_does(monkeypatch, right):
    rows = np.sort(np.random.RandomState(0).randint(0, 20, (5, 33)), axis=1).astype("float32")
    wanted = np.concatenate([rows[:, ::4] + 0.5, rows[:, ::3], np.full((5, 1), np.nan)], axis=1)
    rows[2, 30:] = np.nan
    found = []
    for most in (0, 1 << 20):
        monkeypatch.setattr(searching, "MOST_COMPARED", most)
        found.append(searching.places_in_rows(np, rows, wanted, right=right))
    np.testing.assert_array_equal(*found)
    side = "right" if right else "left"
    numbers = [np.searchsorted(r[:30], w[:-1], side) for r, w in zip(rows, wanted, strict=True)]
    np.testing.assert_array_equal(np.minimum(found[0][:, :-1], 30), numbers)
