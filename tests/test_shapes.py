"""TensorFlow's shape classes, the functions on plain tuples, and chunk grids."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given, strategies as st

from daskvars import dtypes, shapes
from daskvars.errors import LayoutError
from daskvars.shapes import Dimension, TensorShape

SIZES = st.one_of(st.none(), st.integers(0, 4))
RANKED = st.lists(SIZES, max_size=4).map(tuple)
SHAPES = st.one_of(st.none(), RANKED)


def test_dimension_arithmetic():
    three, unknown = Dimension(3), Dimension(None)
    results = {
        "add": three + 2,
        "radd": 2 + three,
        "sub": three - 1,
        "rsub": 7 - three,
        "mul": three * 2,
        "rmul": 2 * three,
        "floordiv": Dimension(7) // 2,
        "rfloordiv": 7 // three,
        "mod": Dimension(7) % 4,
        "rmod": 7 % three,
    }
    assert {key: int(value) for key, value in results.items()} == {
        "add": 5,
        "radd": 5,
        "sub": 2,
        "rsub": 4,
        "mul": 6,
        "rmul": 6,
        "floordiv": 3,
        "rfloordiv": 2,
        "mod": 3,
        "rmod": 1,
    }
    for result in (unknown + 1, 1 + unknown, three * None, 7 // unknown, unknown % unknown):
        assert isinstance(result, Dimension) and result.value is None
    with pytest.raises(TypeError):
        _ = three / 2
    with pytest.raises(TypeError):
        _ = three + "a"


def test_dimension_comparison():
    three, unknown = Dimension(3), Dimension(None)
    assert three == 3 and three != 4 and three < 4 and three <= 3 and three > 2 and three >= 3
    for result in (unknown == 3, three == None, unknown != 3, unknown < 3, three > unknown):  # noqa: E711
        assert result is None
    assert three != "a"
    assert hash(three) == hash(3) and list(range(5))[three] == 3
    assert (str(three), str(unknown), repr(unknown)) == ("3", "?", "Dimension(None)")
    with pytest.raises(TypeError, match="not known until run time"):
        int(unknown)


def test_dimension_values():
    assert Dimension(Dimension(3)).value == 3 and type(Dimension(np.int64(3)).value) is int
    assert Dimension(3.0).value == 3
    with pytest.raises(ValueError, match="must be >= 0"):
        Dimension(-1)
    with pytest.raises(ValueError, match="Ambiguous"):
        Dimension(3.5)
    with pytest.raises(TypeError):
        Dimension("a")
    assert Dimension(None).merge_with(3).value == 3 and Dimension(3).merge_with(None).value == 3
    with pytest.raises(ValueError, match="Dimensions 3 and 4 are not compatible"):
        Dimension(3).assert_is_compatible_with(4)


@pytest.mark.parametrize(
    ("dims", "text", "representation"),
    [
        (None, "<unknown>", "TensorShape(None)"),
        ([], "()", "TensorShape([])"),
        ([5], "(5,)", "TensorShape([Dimension(5)])"),
        ([None], "(?,)", "TensorShape([Dimension(None)])"),
        ([None, 784], "(?, 784)", "TensorShape([Dimension(None), Dimension(784)])"),
    ],
)
def test_shape_prints_as_in_tensorflow(dims, text, representation):
    shape = TensorShape(dims)
    assert str(shape) == text and repr(shape) == representation
    assert pickle.loads(pickle.dumps(shape)) == shape
    assert hash(shape) == hash(TensorShape(dims))


def test_shape_attributes():
    shape = TensorShape([None, 3])
    assert (shape.ndims, shape.rank, len(shape), shape.as_list()) == (2, 2, 2, [None, 3])
    assert [d.value for d in shape.dims] == [d.value for d in shape] == [None, 3]
    assert shape == [None, 3] and shape == (None, 3) and shape != [2, 3] and shape != "ab"
    assert not shape.is_fully_defined() and shape.num_elements() is None
    assert TensorShape([2, 3]).num_elements() == 6 and TensorShape([]).num_elements() == 1
    assert isinstance(shape[1], Dimension) and shape[1] == 3 and shape[-1].value == 3
    assert shape[1:] == [3] and isinstance(shape[:1], TensorShape)
    assert TensorShape(5) == [5] and TensorShape(TensorShape([5])) == [5]
    rows, cols = TensorShape([2, 3])
    assert rows * cols == 6


def test_shape_of_unknown_rank():
    shape = TensorShape(None)
    assert shape.ndims is None and shape.dims is None and not shape
    assert shape == None and bool(TensorShape([]))  # noqa: E711
    for use in (shape.as_list, shape.__len__, shape.__iter__):
        with pytest.raises(ValueError, match="unknown TensorShape"):
            use()
    assert shape[0].value is None
    assert shape[1:3].ndims == 2 and shape[1:].ndims is None and shape[:-1].ndims is None


def test_shape_requirements():
    shape = TensorShape([None, 3])
    assert shape.with_rank(2) is shape and TensorShape(None).with_rank(2) == [None, None]
    assert shape.with_rank_at_least(2) is shape and shape.with_rank_at_most(2) is shape
    shape.assert_has_rank(2)
    shape.assert_same_rank([1, 2])
    shape.assert_same_rank(None)
    shape.assert_is_compatible_with([7, 3])
    TensorShape([1]).assert_is_fully_defined()
    for wrong, match in [
        (lambda: shape.with_rank(3), "must have rank 3"),
        (lambda: shape.with_rank_at_least(3), "must have rank at least 3"),
        (lambda: shape.with_rank_at_most(1), "must have rank at most 1"),
        (lambda: shape.assert_has_rank(1), "must have rank 1"),
        (lambda: shape.assert_same_rank([1]), "must have the same rank"),
        (lambda: shape.assert_is_compatible_with([7, 4]), r"Shapes \(\?, 3\) and \(7, 4\)"),
        (shape.assert_is_fully_defined, "not fully defined"),
    ]:
        with pytest.raises(ValueError, match=match):
            wrong()


def test_shape_combination():
    assert TensorShape([None, 3]).merge_with([2, None]) == [2, 3]
    assert TensorShape(None).merge_with([2]) == [2]
    assert TensorShape([1]).concatenate([None, 2]) == [1, None, 2]
    assert TensorShape([1]).concatenate(None).ndims is None
    assert shapes.as_shape([1, 2]) == [1, 2] and shapes.unknown_shape(2) == [None, None]
    assert shapes.scalar() == [] and shapes.vector(3) == [3] and shapes.matrix(2, None) == [2, None]


def test_as_tuple():
    known = (2, None, 3)
    plain = (2, 3)
    assert shapes.as_tuple(plain) is plain and shapes.as_tuple(list(known)) == known
    assert shapes.as_tuple(TensorShape(known)) == known and shapes.as_tuple(None) is None
    assert shapes.as_tuple(Dimension(3)) == (3,) and shapes.as_tuple(np.int32(3)) == (3,)
    assert shapes.as_tuple(np.array([2, 3])) == (2, 3) and shapes.as_tuple(np.array(3)) == (3,)
    assert all(type(d) is int for d in shapes.as_tuple([np.int64(2), 3.0, Dimension(1)]))
    for wrong in ((-1, 2), [-1], -1):
        with pytest.raises(ValueError, match="must be >= 0"):
            shapes.as_tuple(wrong)
    for junk in ("ab", ["a"], [[1]], object()):
        with pytest.raises(TypeError):
            shapes.as_tuple(junk)


@given(st.lists(st.lists(st.integers(0, 3), max_size=3).map(tuple), min_size=1, max_size=3))
def test_broadcast_is_numpys(many):
    try:
        wanted = np.broadcast_shapes(*many)
    except ValueError:
        with pytest.raises(ValueError, match="Dimensions must be equal"):
            shapes.broadcast(*many)
    else:
        assert shapes.broadcast(*many) == wanted


@given(RANKED, RANKED)
def test_broadcast_holds_for_every_filling(a, b):
    """A static result is right for each way that the unknown sizes can turn out."""
    results = set()
    for fill in itertools.product((0, 1, 2), repeat=(a + b).count(None)):
        sizes = iter(fill)
        left, right = (tuple(next(sizes) if d is None else d for d in s) for s in (a, b))
        try:
            results.add(np.broadcast_shapes(left, right))
        except ValueError:
            continue
    try:
        found = shapes.broadcast(a, b)
    except ValueError:
        assert not results
    else:
        assert all(shapes.compatible(found, result) for result in results)


def test_broadcast_unknowns_and_errors():
    assert shapes.broadcast() == () and shapes.broadcast((2,), None) is None
    assert shapes.broadcast((None,), (1,)) == (None,) and shapes.broadcast((None,), (5,)) == (5,)
    with pytest.raises(ValueError, match=r"are 3 and 4.*broadcasting: \(2, 3\) and \(4,\)"):
        shapes.broadcast((2, 3), (4,))


@given(SHAPES, SHAPES)
def test_merge_is_symmetric_and_refines(a, b):
    assert shapes.compatible(a, b) == shapes.compatible(b, a)
    if not shapes.compatible(a, b):
        with pytest.raises(ValueError, match="are not compatible"):
            shapes.merge(a, b)
        return
    merged = shapes.merge(a, b)
    assert merged == shapes.merge(b, a) == shapes.merge(merged, a)
    if shapes.is_known(a):
        assert merged == a and shapes.size(merged) == np.prod(a, dtype=int)


def test_axes():
    assert shapes.normalize_axis(np.int64(-2), 3) == 1
    with pytest.raises(ValueError, match=r"perm 3 is out of range for rank 3.*\[-3, 3\)"):
        shapes.normalize_axis(3, 3, "perm")
    with pytest.raises(ValueError, match="out of range for rank 0"):
        shapes.normalize_axis(0, 0)
    assert shapes.normalize_axes(None, 3) == (0, 1, 2) and shapes.normalize_axes([], 3) == ()
    assert shapes.normalize_axes(-1, 3) == (2,)
    assert shapes.normalize_axes(np.array([2, 0]), 3) == (2, 0)
    with pytest.raises(ValueError, match="twice"):
        shapes.normalize_axes([0, -2], 2)
    with pytest.raises(TypeError):
        shapes.normalize_axes([0.5], 2)


@pytest.mark.parametrize(
    ("chunks", "shape", "wanted"),
    [
        ("auto", (8,), ((8,),)),
        (3, (8,), ((3, 3, 2),)),
        (-1, (4, 2), ((4,), (2,))),
        ({0: 2}, (4, 2), ((2, 2), (2,))),
        (((1, 3), (2,)), (4, 2), ((1, 3), (2,))),
        ("auto", (), ()),
        ("auto", (0, 3), ((0,), (3,))),
    ],
)
def test_normalize_chunks(chunks, shape, wanted):
    found = shapes.normalize_chunks(chunks, shape, dtypes.float32, limit_bytes=1 << 20)
    assert found == wanted
    assert all(type(n) is int for axis in found for n in axis)


def test_automatic_chunks_keep_the_limit():
    for dtype in (dtypes.float32, dtypes.string, np.dtype("f8"), 2):
        itemsize = dtype if isinstance(dtype, int) else getattr(dtype, "np", dtype).itemsize
        found = shapes.normalize_chunks("auto", (1000, 1000), dtype, limit_bytes=1 << 16)
        largest = max(np.prod(shapes.block_shape(found, i)) for i in shapes.block_indices(found))
        assert len(found[0]) > 1 and largest * itemsize <= 1 << 16


@pytest.mark.parametrize(
    ("chunks", "shape"),
    [(((1, 1),), (3,)), ((2, 2), (3,)), ("huge", (3,)), (None, (3,)), (2, (None,)), (2, None)],
)
def test_chunks_that_do_not_fit(chunks, shape):
    with pytest.raises(LayoutError, match="Chunks"):
        shapes.normalize_chunks(chunks, shape, dtypes.float32, limit_bytes=1024)


CHUNKS = st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=3).map(tuple), max_size=3)


@given(CHUNKS.map(tuple))
def test_blocks_tile_the_array(chunks):
    count = np.zeros([sum(axis) for axis in chunks], int)
    indices = list(shapes.block_indices(chunks))
    assert indices == list(np.ndindex(*shapes.numblocks(chunks)))
    for index in indices:
        part = shapes.block_slices(chunks, index)
        assert count[part].shape == shapes.block_shape(chunks, index)
        count[part] += 1
    assert (count == 1).all()


def test_block_offset_and_whole():
    assert shapes.block_offset(((2, 2, 1), (3,)), (2, 0)) == (4, 0)
    assert shapes.whole(()) == () and shapes.whole((2, 0)) == ((2,), (0,))


@given(st.integers(0, 50), st.integers(1, 20))
def test_split_evenly(n, parts):
    sizes = shapes.split_evenly(n, parts)
    assert sum(sizes) == n and len(sizes) == max(1, min(n, parts))
    assert list(sizes) == sorted(sizes, reverse=True) and max(sizes) - min(sizes) <= 1
    assert n == 0 or min(sizes) > 0


def test_split_evenly_needs_parts():
    with pytest.raises(ValueError, match="parts >= 1"):
        shapes.split_evenly(3, 0)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ([1, 2], [1, 2], [1, 2]),
        ([1, 2], [1, 3], [1, None]),
        ([None, 2], [1, 2], [None, 2]),
        ([1], [1, 2], None),
        (None, [1], None),
    ],
)
def test_most_specific_compatible_shape(a, b, expected):
    found = shapes.TensorShape(a).most_specific_compatible_shape(b)
    assert (None if found.dims is None else found.as_list()) == expected


def test_shapes_add_up_and_dimensions_do_not_divide():
    shape = TensorShape([1, None])
    assert shape + [2] == [1, None, 2]
    assert (3,) + shape == TensorShape([3, 1, None])
    assert (shape + TensorShape(None)).ndims is None
    with pytest.raises(TypeError, match="please use // instead"):
        Dimension(4) / 2
