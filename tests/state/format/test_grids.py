"""Every stored layout is regular and covers the array once; overlaps give what slicing gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from daskvars.shapes import Chunks, block_indices, block_slices
from daskvars.state.format.grids import (
    Grid,
    Layout,
    layout_shape,
    normalized_selection,
    stored_chunks,
)

AXES = st.lists(st.integers(0, 6), min_size=1, max_size=5).map(tuple)
LAYOUTS = st.lists(AXES, max_size=3).map(tuple)


@given(LAYOUTS)
def test_stored_layouts_are_regular(chunks: Chunks) -> None:
    grid = Grid.of(chunks)
    assert layout_shape(grid.chunks) == grid.shape == layout_shape(chunks)
    for sizes, size in zip(grid.chunks, grid.chunk_shape, strict=True):
        assert all(n == size for n in sizes[:-1])
        assert all(0 < n <= size for n in sizes)
    indices = list(grid)
    assert indices == list(block_indices(grid.chunks))
    assert [grid.position(index) for index in indices] == list(range(grid.num_chunks))
    for index in indices:
        assert index in grid
        assert grid.selection(index) == block_slices(grid.chunks, index)
    if chunks:
        assert grid.counts not in grid
        assert (-1,) * len(chunks) not in grid
        assert grid.counts[1:] not in grid


def test_a_regular_layout_is_stored_as_it_is() -> None:
    for chunks in [((4, 4, 2), (3,)), ((5,),), (), ((2, 2), (1, 1, 1))]:
        assert stored_chunks(chunks) == chunks


@pytest.mark.parametrize(
    ("sizes", "stored"),
    [
        ((4, 3, 3), (4, 4, 2)),
        ((6, 3, 6), (3, 3, 3, 3, 3)),
        ((8, 8, 4, 8, 2), (4, 4, 4, 4, 4, 4, 4, 2)),
        ((2, 4), (2, 2, 2)),
        ((0, 3, 3, 0), (3, 3)),
        ((0,), ()),
    ],
)
def test_other_layouts_are_cut_finer_or_regrouped(sizes: tuple, stored: tuple) -> None:
    assert stored_chunks((sizes,)) == (stored,)


@given(LAYOUTS, st.data())
def test_overlaps_put_a_region_together(chunks: Chunks, data: st.DataObject) -> None:
    shape = layout_shape(chunks)
    array = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    bounds = [sorted(data.draw(st.tuples(*[st.integers(0, n)] * 2))) for n in shape]
    selection = tuple(slice(*pair) for pair in bounds)
    for cut in (Layout(chunks), Grid.of(chunks)):
        found = np.full(array[selection].shape, -1)
        for index, source, target in cut.overlaps(selection):
            assert (found[target] == -1).all()
            assert found[target].size or not shape
            found[target] = array[cut.selection(index)][source]
        assert (found == array[selection]).all()


def test_regions_are_read_as_numpy_reads_them() -> None:
    assert normalized_selection((slice(-2, None), slice(5, 2)), (4, 9)) == (
        slice(2, 4),
        slice(5, 5),
    )
    for selection in [(slice(None),), (slice(None), slice(0, 4, 2))]:
        with pytest.raises(ValueError, match="one slice with step 1"):
            normalized_selection(selection, (4, 9))
