"""Whatever is fed, in whatever way a program runs: one value for the whole run, or a clear error.

A table: each kind of value by each mode. A run fetches the value, uses it, stores it in a variable,
and the variable is read twice afterwards: all of it is what one computation of the feed gave.
"""

import contextlib

import dask
import dask.array as da
import numpy as np
import pandas
import pytest
import xarray
import zarr

import daskvars as dv
import daskvars.v1 as tf
from daskvars import backend
from daskvars.errors import InvalidArgumentError, UnknownError

VALUES = np.arange(12, dtype=np.float32).reshape(4, 3) - 5
BYTES = 48


def unaligned():
    buffer = np.zeros(BYTES + 1, np.uint8)[1:].view(np.float32).reshape(4, 3)
    buffer[...] = VALUES
    return buffer


def read_only():
    array = VALUES.copy()
    array.flags.writeable = False
    return array


def strided():
    array = np.full((8, 9), np.nan, np.float32)
    array[::2, ::-3] = VALUES
    return array[::2, ::-3]


def memory_map(path):
    found = np.memmap(path / "values", np.float32, "w+", shape=(4, 3))
    found[...] = VALUES
    return found


def zarr_array(path):
    array = zarr.create_array(path / "values.zarr", shape=(4, 3), chunks=(3, 2), dtype="f4")
    array[...] = VALUES
    return array


def blocks(chunks, change=lambda block: block):
    """A dask array whose tasks give what `change` makes of the blocks."""
    return da.from_array(VALUES, chunks).map_blocks(lambda block: change(block), dtype="f4")


def chosen():
    """A dask array that does not know the sizes of its chunks."""
    lazy = da.from_array(VALUES[0], 2)
    return lazy[lazy > -100]


KINDS = {
    "numpy": lambda path: VALUES,
    "strided": lambda path: strided(),
    "fortran": lambda path: np.asfortranarray(VALUES),
    "unaligned": lambda path: unaligned(),
    "read only": lambda path: read_only(),
    "byte-swapped": lambda path: VALUES.astype(">f4"),
    "float64": lambda path: VALUES.astype(np.float64),
    "integers": lambda path: VALUES.astype(np.int64),
    "matrix": lambda path: np.asmatrix(VALUES),
    "memory map": lambda path: memory_map(path),
    "list": lambda path: VALUES.tolist(),
    "tuple of arrays": lambda path: tuple(VALUES),
    "zarr": lambda path: zarr_array(path),
    "data frame": lambda path: pandas.DataFrame(VALUES.astype(int), columns=list("abc")),
    "xarray": lambda path: xarray.DataArray(VALUES, dims=("x", "y")),
    "xarray in chunks": lambda path: xarray.DataArray(VALUES, dims=("x", "y")).chunk(x=3),
    "dask of one chunk": lambda path: da.from_array(VALUES, -1),
    "dask of many chunks": lambda path: da.from_array(VALUES, (3, 2)),
    "dask, byte-swapped": lambda path: da.from_array(VALUES.astype(">f4"), -1),
    "dask, integers": lambda path: da.from_array(VALUES.astype(int), 2),
    "dask, fortran": lambda path: blocks(-1, np.asfortranarray),
    "dask, fortran, many": lambda path: blocks(2, np.asfortranarray),
    "dask of another dtype than said": lambda path: blocks(-1, lambda block: block.astype("f8")),
    "dask of zarr": lambda path: da.from_zarr(zarr_array(path)),
}
SHAPED = {
    "no rows": (np.zeros((0, 3), np.float32), np.zeros((0, 3))),
    "dask without rows": (np.zeros((0, 3), np.float32), da.zeros((0, 3))),
    "an empty list": (np.zeros((0,), np.float32), []),
    "a number": (np.float32(2.5), 2.5),
    "a scalar": (np.float32(2.5), np.float64(2.5)),
    "dask of rank 0": (np.float32(2.5), da.from_array(np.array(2.5))),
    "series": (VALUES[0], pandas.Series(VALUES[0], index=list("abc"))),
    "dask with its chunk sizes computed": (VALUES[0], chosen().compute_chunk_sizes()),
    "xarray of rank 0": (np.float32(2.5), xarray.DataArray(2.5)),
}


class Unreadable:
    shape, dtype = (4, 3), np.dtype("f4")

    def __array__(self, dtype=None, copy=None):
        raise OSError("the disk is gone")


def of_one_task(function):
    return da.from_delayed(dask.delayed(lambda: function())(), (4, 3), "f4")


def first_fails(block):
    if block.min() <= -5:
        raise OSError("the disk is gone")
    return block


def lost():
    raise OSError("the disk is gone")


# What cannot be fed: the error, and what its message says besides the name of what is fed.
REFUSED = {
    "objects": (TypeError, "objects|Expected", lambda: np.array([[1, None, 2]] * 4, object)),
    "times": (TypeError, "datetime64", lambda: VALUES.astype("M8[s]")),
    "missing values": (
        TypeError,
        "objects|Expected",
        lambda: pandas.DataFrame({c: pandas.array([1, None, 2, 3]) for c in "abc"}),
    ),
    "unknown chunks": (ValueError, r"compute_chunk_sizes\(\)", lambda: chosen()),
    "unreadable": (UnknownError, "OSError: the disk is gone", Unreadable),
    "failing": (UnknownError, "OSError: the disk is gone", lambda: of_one_task(lost)),
    "failing, one block of many": (
        UnknownError,
        "OSError: the disk is gone",
        lambda: blocks(2, first_fails),
    ),
}


# -- modes --------------------------------------------------------------------------------------


@contextlib.contextmanager
def session(start, target=""):
    """Give (feed, read) of a session of its own: ``feed(value) -> fed, doubled, assigned``."""
    with tf.Graph().as_default():
        fed = tf.placeholder(start.dtype, [None] * start.ndim, name="fed")
        variable = tf.Variable(start, name="stored")
        doubled, assigned = fed + fed, variable.assign(fed)
        with tf.Session(target) as session:
            session.run(variable.initializer)
            yield (
                lambda value: session.run([fed, doubled, assigned], {fed: value}),
                lambda: session.run(variable),
            )


@contextlib.contextmanager
def function(start):
    variable = dv.Variable(start)

    @dv.function
    def feed(value):
        fed = dv.cast(value, start.dtype)
        return fed, fed + fed, variable.assign(fed)

    yield lambda value: [t.numpy() for t in feed(value)], variable.numpy


@contextlib.contextmanager
def eager(start):
    variable = dv.Variable(start)

    def feed(value):
        fed = dv.cast(value, start.dtype, name="fed")
        return [t.numpy() for t in (fed, fed + fed, variable.assign(fed))]

    yield feed, variable.numpy


@pytest.fixture(
    params=[
        "session",
        "function",
        "eager",
        pytest.param("private", marks=pytest.mark.cluster),
        pytest.param("shared", marks=pytest.mark.cluster),
    ]
)
def mode(request):
    """What gives (feed, read) of a variable that begins with a value."""
    if request.param in ("session", "function", "eager"):
        yield {"session": session, "function": function, "eager": eager}[request.param]
        return
    client = request.getfixturevalue("two_workers")
    target = "" if request.param == "private" else request.node.name
    with client.as_current():
        yield lambda start: session(start, target)
        tf.Session.reset(target)


def check(mode, value, wanted):
    """One value everywhere: fetched, used, stored."""
    with mode(np.zeros_like(wanted)) as (feed, read):
        found, doubled, assigned = feed(value)
        for array in (found, assigned, read(), read()):
            assert np.asarray(array).dtype == wanted.dtype
            np.testing.assert_array_equal(array, wanted)
        np.testing.assert_array_equal(doubled, wanted + wanted)


@pytest.mark.filterwarnings("ignore:the matrix subclass")
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_fed(kind, mode, tmp_path):
    check(mode, KINDS[kind](tmp_path), VALUES)


def test_arrays_of_a_gpu_are_fed(mode, gpu):
    check(mode, backend.cupy.asarray(VALUES), VALUES)


@pytest.mark.parametrize("kind", SHAPED)
def test_every_shape_is_fed(kind, mode):
    wanted, value = SHAPED[kind]
    check(mode, value, wanted)


@pytest.mark.parametrize("chunks", [-1, 2])
def test_a_draw_is_made_once_in_a_run_and_anew_in_the_next(chunks, mode):
    lazy = blocks(chunks, lambda block: np.random.default_rng().random(block.shape, "f4"))
    draws = []
    with mode(np.zeros_like(VALUES)) as (feed, read):
        for _ in range(2):
            fed, doubled, assigned = feed(lazy)
            np.testing.assert_array_equal(doubled, fed + fed)
            for array in (assigned, read(), read()):
                np.testing.assert_array_equal(array, fed)
            draws.append(fed)
    assert not np.array_equal(*draws)


@pytest.mark.parametrize("chunks", [-1, 2])
def test_what_a_store_gets_is_the_draw_of_the_run(chunks, tmp_path):
    lazy = blocks(chunks, lambda block: np.random.default_rng().random(block.shape, "f4"))
    with tf.Graph().as_default():
        fed = tf.placeholder(tf.float32, [4, 3])
        stored = tf.Variable(tf.zeros([4, 3]))
        with tf.Session(store=tmp_path / "store") as first:
            first.run(stored.initializer)
            found = first.run(stored.assign(fed), {fed: lazy})
            first.seal()
        with tf.Session(store=tmp_path / "store") as second:
            np.testing.assert_array_equal(second.run(stored), found)


def test_floats_in_lists_stand_for_the_integers_that_they_are():
    with tf.Graph().as_default(), tf.Session() as run:
        for dtype, given, wanted in (
            (tf.int32, [1, 2.0], [1, 2]),
            (tf.uint8, np.float64(3.0), 3),
            (tf.int64, [[np.float32(4.0)]], [[4]]),
            (tf.bool, 1.0, True),
        ):
            fed = tf.placeholder(dtype)
            assert run.run(fed, {fed: given}).tolist() == wanted
        whole = tf.placeholder(tf.int32)
        for wrong in (3.5, [1.0, float("nan")], [3e10]):
            with pytest.raises(TypeError, match="not compatible with Tensor type int32"):
                run.run(whole, {whole: wrong})


def test_two_arrays_fed_together_share_what_they_are_made_of():
    """What both take, and is itself fed, is what the other was made of."""
    lazy = blocks(2)
    with tf.Graph().as_default(), tf.Session() as run:
        dtypes = tf.float32, tf.int32, tf.float32
        x, y, z = (tf.placeholder(dtype, [None, None]) for dtype in dtypes)
        found = run.run([x, y, z], {x: lazy, y: lazy, z: (lazy + 0.5).rechunk((3, 3))})
    for array, wanted in zip(found, (VALUES, VALUES.astype(int), VALUES + 0.5), strict=True):
        np.testing.assert_array_equal(array, wanted)


@pytest.mark.cluster
@pytest.mark.parametrize("target", ["", "names"])
def test_arrays_of_one_name_are_not_taken_for_each_other(cluster, target):
    with tf.Graph().as_default(), tf.Session(target) as run:
        fed = tf.placeholder(tf.float32, [4, 3])
        total = tf.Variable(tf.zeros([4, 3]))
        run.run(total.initializer)
        add = total.assign_add(fed).op
        for number in range(4):  # sent one after the other, without waiting
            run.run(add, {fed: da.from_array(VALUES + number, -1, name="batch")})
        np.testing.assert_array_equal(run.run(total), 4 * VALUES + 6)


@pytest.mark.parametrize("kind", REFUSED)
def test_what_cannot_be_fed_changes_nothing_and_is_named(kind, mode):
    error, text, make = REFUSED[kind]
    with mode(VALUES + 7) as (feed, read):
        with pytest.raises(error, match=text) as caught:
            feed(make())
        message = str(caught.value)
        assert any(name in message for name in ("'fed:0'", "'argument", "'x'")), message
        np.testing.assert_array_equal(read(), VALUES + 7)
        np.testing.assert_array_equal(feed(VALUES)[2], VALUES)


TEXTS = {
    "numpy": lambda: VALUES.astype(str),
    "bytes": lambda: VALUES.astype("S"),
    "list": lambda: VALUES.astype(str).tolist(),
    "data frame": lambda: pandas.DataFrame({"a": ["x"] * 4, "b": [1.0] * 4, "c": [2.0] * 4}),
    "dask": lambda: da.from_array(VALUES.astype(str), 2),
    "dask of objects": lambda: da.from_array(VALUES.astype(str).astype(object), -1),
}


@pytest.mark.parametrize("kind", TEXTS)
def test_texts_are_no_numbers(kind):
    with session(VALUES + 7) as (feed, read):
        with pytest.raises((TypeError, InvalidArgumentError), match="'fed:0'"):
            feed(TEXTS[kind]())
        np.testing.assert_array_equal(read(), VALUES + 7)


@pytest.mark.parametrize("chunks", [-1, 1])
@pytest.mark.parametrize(
    "make",
    [
        lambda texts, chunks: texts,
        lambda texts, chunks: np.array(texts),
        lambda texts, chunks: pandas.Series(texts),
        lambda texts, chunks: da.from_array(np.array(texts), chunks),
        lambda texts, chunks: da.from_array(np.array(texts, object), chunks),
    ],
    ids=["list", "numpy", "series", "dask", "dask of objects"],
)
def test_texts_are_fed_as_bytes(make, chunks):
    wanted = np.array([b"a", "b\u00e4".encode()], object)
    with tf.Graph().as_default(), tf.Session() as run:
        fed = tf.placeholder(tf.string, [None])
        assert run.run(fed, {fed: make(["a", "b\u00e4"], chunks)}).tolist() == wanted.tolist()


def test_a_block_of_another_shape_than_said_is_an_error(mode):
    wrong = of_one_task(lambda: VALUES[1:])
    with (
        mode(VALUES) as (feed, _),
        pytest.raises((InvalidArgumentError, ValueError), match=r"\(3, 3\)|\[3,3\]"),
    ):
        feed(wrong)


def test_numbers_may_be_objects():
    with session(VALUES) as (feed, _):
        for value in (VALUES.astype(object), da.from_array(VALUES.astype(object), 2)):
            assert all(found.dtype == np.float32 for found in feed(value))
            np.testing.assert_array_equal(feed(value)[0], VALUES)


def test_objects_are_no_texts():
    with tf.Graph().as_default(), tf.Session() as run:
        fed = tf.placeholder(tf.string, [None], name="fed")
        for value in (np.array([object()]), np.array([1.5]), [1.5]):
            with pytest.raises(TypeError, match="'fed:0'"):
                run.run(fed, {fed: value})


def test_a_function_takes_what_stands_for_an_array_as_an_argument_of_its_shape():
    @dv.function
    def double(x):
        return x + x

    for number in range(3):  # each time another object: its identity must not count
        frame = pandas.DataFrame({"a": [number, 1.0]})
        np.testing.assert_array_equal(double(frame).numpy(), frame.to_numpy() * 2)
    assert double.num_traces == 1


@pytest.mark.parametrize("chunks", [None, (2, 3)], ids=["array", "dask array"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_masked_elements_are_no_values(chunks, dtype):
    masked = np.ma.array(VALUES.astype(dtype), mask=VALUES > 5)
    whole = np.ma.array(VALUES.astype(dtype), mask=False)
    fed = [array if chunks is None else da.from_array(array, chunks) for array in (masked, whole)]
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [4, 3], name="x")
        with pytest.raises(
            (TypeError, InvalidArgumentError), match=r"1 of .* for 'x.*' are masked"
        ):
            session.run(x + 0.0, {x: fed[0]})
        np.testing.assert_array_equal(session.run(x + 0.0, {x: fed[1]}), VALUES)


def test_masked_elements_in_lists_are_no_values():
    rows = [np.ma.array(row, mask=row > 5) for row in VALUES]
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        for value in (rows, tuple(rows)):
            with pytest.raises(TypeError, match=r"'x:0': 1 of 3 elements are masked"):
                session.run(x + 0.0, {x: value})
        np.testing.assert_array_equal(session.run(x + 0.0, {x: rows[:1]}), VALUES[:1])


def test_of_an_array_with_fields_one_is_fed():
    table = np.array([(1.0, 2.0), (3.0, 4.0)], [("a", "f4"), ("b", "f4")])
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None], name="x")
        with pytest.raises(TypeError, match=r"'x:0': .* fields \('a', 'b'\)\. Give one"):
            session.run(x + 0.0, {x: table})
        assert session.run(x + 0.0, {x: table["b"]}).tolist() == [2.0, 4.0]


def test_masked_elements_are_no_constants():
    with pytest.raises(TypeError, match="1 of 2 elements are masked"):
        dv.constant(np.ma.array([1.0, 2.0], mask=[False, True]))
    with pytest.raises(TypeError, match="1 of 2 elements for 'mul/y' are masked"):
        dv.ones([2], tf.float64) * np.ma.array([1.0, 2.0], mask=[False, True])
