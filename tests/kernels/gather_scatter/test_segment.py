import numpy as np
import pytest
from hypothesis import given, strategies as st

from daskvars import backend
from daskvars.errors import InvalidArgumentError
from daskvars.kernels.gather_scatter import rows as row_kernels, segments as segment
from tests.kernels.numerical import frozen, normal

COMBINE = {
    "sum": (np.add, 0),
    "prod": (np.multiply, 1),
    "max": (np.maximum, None),
    "min": (np.minimum, None),
}


def by_loop(name, data, ids, num_segments):
    combine, empty = COMBINE[name]
    if empty is None:
        limits = np.finfo(data.dtype) if data.dtype.kind == "f" else np.iinfo(data.dtype)
        empty = limits.min if name == "max" else limits.max
    out = np.full((num_segments, *data.shape[1:]), empty, data.dtype)
    for row, place in zip(data, ids.tolist(), strict=True):
        if place >= 0:
            out[place] = combine(out[place], row)
    return out


def zipf_ids(count, limit):
    return frozen((np.random.default_rng(0).zipf(1.2, count) % limit).astype("int64"))


@pytest.mark.parametrize("name", COMBINE)
@pytest.mark.parametrize("width", [(), (3,), (16,), (2, 5)])
@pytest.mark.parametrize("count", [0, 1, 50, 900])
def test_reductions_match_a_loop(name, width, count):
    data, ids = normal(count, *width), zipf_ids(count, 40) - 2
    reduce = getattr(segment, f"segment_{name}")
    wanted = by_loop(name, data, ids, 45)
    got = reduce(np, data, ids, num_segments=45)
    np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-12)
    numbers = frozen(np.random.default_rng(1).integers(-3, 3, (count, *width)).astype("int32"))
    got = reduce(np, numbers, ids.astype("int32"), num_segments=45)
    assert got.dtype == np.int32
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(got, by_loop(name, numbers, ids, 45))


@pytest.mark.parametrize("rounds", [1, 2, 32])
def test_rounds_and_long_segments_agree(monkeypatch, rounds):
    monkeypatch.setattr(row_kernels, "ROUNDS", rounds)
    monkeypatch.setattr(row_kernels, "FEW_ELEMENTS", 0)
    data, ids = normal(500, 9), zipf_ids(500, 60)
    np.testing.assert_allclose(
        segment.segment_sum(np, data, ids, num_segments=60),
        by_loop("sum", data, ids, 60),
        rtol=1e-9,
        atol=1e-12,
    )


def test_ids_may_have_the_shape_of_several_dimensions():
    data, ids = normal(4, 5, 3), zipf_ids(20, 6).reshape(4, 5)
    np.testing.assert_allclose(
        segment.segment_sum(np, data, ids, num_segments=6),
        by_loop("sum", data.reshape(20, 3), ids.reshape(-1), 6),
    )


def test_means_and_counts():
    data, ids = frozen([[1.0], [2.0], [6.0], [9.0]]), frozen([2, 0, 2, -1])
    mean = segment.segment_mean(np, data, ids, num_segments=4)
    assert mean.ravel().tolist() == [2, 0, 3.5, 0]
    assert segment.segment_counts(np, ids, num_segments=4).tolist() == [1, 0, 2, 0]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint64"])
def test_means_of_integers_are_cut_off(dtype):
    data, ids = np.zeros(901, dtype), np.repeat([0, 1], [300, 601])
    data[:299], data[300:302] = (0, 127) if dtype[0] == "u" else (0, -64)
    mean = segment.segment_mean(np, frozen(data), frozen(ids), num_segments=2)
    assert mean.tolist() == [0, 0] and mean.dtype == dtype
    odd = frozen(np.array([3, 4, 7] if dtype[0] == "u" else [-3, 0, 7], dtype))
    mean = segment.segment_mean(np, odd, frozen([0, 0, 1]), num_segments=2)
    assert mean.tolist() == [3 if dtype[0] == "u" else -1, 7]


def test_means_of_half_precision_are_of_sums_that_it_has_no_number_for():
    data, ids = frozen(np.full(3000, 100, "float16")), frozen(np.zeros(3000, "int64"))
    assert segment.segment_mean(np, data, ids, num_segments=1).tolist() == [100]


def test_half_precision_sums_in_single():
    data = frozen(np.full((4096, 1), 0.5, "float16"))
    ids = frozen(np.zeros(4096, "int64"))
    total = segment.segment_sum(np, data, ids, num_segments=1)
    assert total.dtype == np.float16
    assert total[0, 0] == 2048


def test_parts_of_the_result_are_its_slices():
    data, ids = normal(300, 4), zipf_ids(300, 30)
    whole = segment.segment_sum(np, data, ids, num_segments=30)
    for offset, extent in [(0, 10), (10, 7), (17, 13)]:
        part = segment.segment_sum(np, data, ids, num_segments=extent, offset=offset, size=30)
        np.testing.assert_array_equal(part, whole[offset : offset + extent])
    with pytest.raises(InvalidArgumentError, match=r"segment_ids\[1\] = 30 .* \[0, 30\)"):
        segment.segment_sum(np, normal(2, 1), frozen([0, 30]), num_segments=5, offset=0, size=30)


@given(ids=st.lists(st.one_of(st.integers(-5, 5), st.integers(-(2**63), 2**63 - 1)), max_size=40))
def test_deduplicate_takes_any_ids(ids):
    ids = np.array(ids, "int64")
    values = np.arange(len(ids), dtype="float64")
    sums, unique = segment.deduplicate(np, values, ids)
    np.testing.assert_array_equal(unique, np.unique(ids))
    assert sums.tolist() == [values[ids == number].sum() for number in unique]


def test_deduplicate_repeats_bitwise():
    values, ids = normal(3000, 16, dtype="float32"), zipf_ids(3000, 100)
    first = segment.deduplicate(np, values, ids)[0]
    np.testing.assert_array_equal(first, segment.deduplicate(np, values, ids)[0])


@pytest.mark.parametrize("ids", [[0, 3, -1], [0, 3, 4], [2**31 - 1]])
def test_bad_indices_are_named(ids):
    ids = frozen(np.array(ids, "int32"))
    place = int(np.flatnonzero((ids < 0) | (ids >= 4))[0])
    with pytest.raises(InvalidArgumentError) as caught:
        segment.check_ids(np, ids, size=4)
    assert f"indices[{place}] = {ids[place]} is not in [0, 4)" in str(caught.value)
    table = normal(4, 2)
    for call in (
        lambda: segment.gather_rows(np, table, ids),
        lambda: segment.scatter_rows(np, table, ids, normal(len(ids), 2), mode="add"),
        lambda: segment.check_rows(np, table, ids, None, mode="add", offset=0, size=4),
    ):
        with pytest.raises(InvalidArgumentError, match=r"is not in \[0, 4\)"):
            call()


def test_messages_name_the_position_in_any_rank():
    with pytest.raises(InvalidArgumentError, match=r"indices\[1,0\] = 9"):
        segment.check_ids(np, frozen([[1, 2], [9, 0]]), size=5)
    with pytest.raises(InvalidArgumentError, match=r"ids = -1 is"):
        segment.check_ids(np, frozen(-1), size=5, what="ids")


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("shape", [(), (4,), (2, 3), (0,)])
def test_gather_is_take(axis, shape):
    table = normal(6, 6, 6)
    ids = frozen(np.random.default_rng(0).integers(0, 6, shape))
    np.testing.assert_array_equal(
        segment.gather_rows(np, table, ids, axis=axis), np.take(table, ids, axis=axis)
    )
    parts = [
        segment.gather_rows(
            np,
            table[(slice(None),) * (axis % 3) + (slice(start, stop),)],
            ids,
            axis=axis,
            offset=start,
            size=6,
        )
        for start, stop in [(0, 2), (2, 2), (2, 5), (5, 6)]
    ]
    np.testing.assert_array_equal(sum(parts), np.take(table, ids, axis=axis))


MODES = {
    "update": lambda old, new: new,
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "min": np.minimum,
    "max": np.maximum,
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("width", [(), (3,), (2, 4)])
def test_scatter_matches_a_loop(mode, width):
    table, ids = normal(20, *width), zipf_ids(60, 18).reshape(6, 10)
    updates = normal(6, 10, *width, seed=1)
    wanted = table.copy()
    for place, row in zip(ids.reshape(-1), updates.reshape(60, *width), strict=True):
        wanted[place] = MODES[mode](wanted[place], row)
    got = segment.scatter_rows(np, table, ids, updates, mode=mode)
    np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-12)
    out = table.copy()
    assert segment.scatter_rows_into(np, out, ids, updates, mode=mode) is None
    np.testing.assert_array_equal(out, got)
    for start, stop in [(0, 7), (7, 20)]:
        part = segment.scatter_rows(
            np, table[start:stop], ids, updates, mode=mode, offset=start, size=20
        )
        np.testing.assert_array_equal(part, got[start:stop])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("width, count", [(3, 60), (40, 60), (40, 400)])
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32])
def test_scatter_rounds_as_one_update_after_the_other_does(mode, width, count, dtype):
    """However rows are gone through: by elements, in rounds, or the many of one id at once."""
    table = (20 * normal(20, width)).astype(dtype)
    step = 3 if dtype is np.int32 else 0.1  # products of many stay numbers
    updates = (step * np.abs(normal(count, width, seed=1)) + 1).astype(dtype)
    ids = np.minimum(zipf_ids(count, 18), 17)
    wanted = table.copy()
    for place, row in zip(ids, updates, strict=True):
        wanted[place] = MODES[mode](wanted[place], row).astype(dtype)
    got = segment.scatter_rows(np, table, ids, updates, mode=mode)
    np.testing.assert_array_equal(got, wanted)
    spread = np.repeat(table, 2, axis=1)[:, ::2]
    segment.scatter_rows_into(np, spread, ids, updates, mode=mode)
    np.testing.assert_array_equal(spread, wanted)


def test_scatter_takes_a_scalar_and_leaves_out_alone_when_it_fails():
    out = np.zeros((4, 2))
    segment.scatter_rows_into(np, out, frozen([1, 1, 3]), frozen(2.0), mode="add")
    assert out[:, 0].tolist() == [0, 4, 0, 2]
    before = out.copy()
    with pytest.raises(InvalidArgumentError):
        segment.scatter_rows_into(np, out, frozen([0, 9]), frozen(2.0), mode="add")
    np.testing.assert_array_equal(out, before)


def test_last_rows_are_the_last_given():
    ids, rows = row_kernels.last_rows(np, frozen([3, 1, 3]), frozen([[1.0], [2.0], [5.0]]))
    assert ids.tolist() == [1, 3]
    assert rows.ravel().tolist() == [2, 5]


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_gather_and_scatter_nd(depth):
    table = normal(4, 5, 3)
    rng = np.random.default_rng(0)
    indices = frozen(np.stack([rng.integers(0, n, (2, 7)) for n in table.shape[:depth]], axis=-1))
    columns = tuple(np.moveaxis(indices, -1, 0))
    np.testing.assert_array_equal(segment.gather_nd(np, table, indices), table[columns])
    updates = normal(2, 7, *table.shape[depth:], seed=1)
    wanted = np.zeros(table.shape)
    np.add.at(wanted, columns, updates)
    got = segment.scatter_nd(np, indices, updates, shape=table.shape)
    np.testing.assert_allclose(got, wanted)
    got = segment.scatter_nd_rows(np, table, indices, updates, mode="sub")
    np.testing.assert_allclose(got, table - wanted)


def test_bad_columns_are_named():
    with pytest.raises(InvalidArgumentError, match=r"indices\[1, :\] = \[1, 5\] .* \[4,5,3\]"):
        segment.gather_nd(np, normal(4, 5, 3), frozen([[0, 0], [1, 5]]))
    with pytest.raises(InvalidArgumentError, match=r"indices: \[0,0\] = \[-1\]"):
        segment.scatter_nd(np, frozen([[-1]]), frozen([1.0]), shape=(4,))


@pytest.mark.parametrize("width", [1, 3, 40])
def test_sums_of_an_id_have_the_same_bits_whatever_other_ids_there_are(width):
    chance = np.random.default_rng(3)
    ids = np.concatenate([chance.integers(0, 40, 2000), [50]])
    rows = chance.standard_normal((len(ids), width)).astype("f4")
    rows[-1] = -0.0
    sums, found = segment.deduplicate(np, rows, ids)
    for own in (found[:7], found[7:]):
        here = np.isin(ids, own)
        part, _ = segment.deduplicate(np, rows[here], ids[here])
        assert part.tobytes() == sums[np.isin(found, own)].tobytes()


@pytest.mark.parametrize("apply", row_kernels.DEVICE_TERMS)
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4"])
def test_a_gpu_applies_rows_one_after_the_other(apply, dtype, gpu):
    rows = (1 + np.random.default_rng(0).integers(0, 4, (300, 5))).astype(dtype)
    if dtype != "i4":
        rows[7, 2] = np.nan
    ids = zipf_ids(300, 40)
    wanted = np.ones((40, 5), dtype)
    with np.errstate(all="ignore"):
        for i, row in zip(ids.tolist(), rows, strict=True):
            getattr(np, apply)(wanted[i], row, out=wanted[i], casting="unsafe")
    table = backend.to_device(np.ones((40, 5), dtype))
    with np.errstate(all="ignore"):
        on_device = backend.to_device(ids), backend.to_device(rows)
        row_kernels.apply_rows(backend.cupy, apply, table, *on_device)
    np.testing.assert_allclose(
        backend.to_host(table), wanted, rtol=1e-5 if dtype == "f4" else 1e-12
    )
