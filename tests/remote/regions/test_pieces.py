import itertools

import numpy as np
import pytest

import daskvars.v1 as tf
from daskvars import config, idle_threads
from daskvars.errors import InvalidArgumentError
from daskvars.remote.regions import pieces
from daskvars.remote.regions.pieces import InPieces, Pieces, cut_of
from daskvars.remote.regions.region_check import check_region
from daskvars.remote.regions.region_program import Call, RegionProgram
from tests.kernels.numerical import normal

WORK = ((0, 0), (0, 1), (1, 1))
PRODUCT = Pieces(((0, 1), (1, 2)), (0, 2), True, WORK, False, (None, None))


@pytest.fixture(params=[1, 2, 3])
def threads(request, monkeypatch):
    for name in ("MIN_FLOPS", "MIN_FLOPS_PER_BYTE"):
        monkeypatch.setattr(pieces, name, 0)
    for name, value in (("PIECE_FLOPS", 100.0), ("MAX_REPEATED", 1e9)):
        monkeypatch.setattr(pieces, name, value)
    idle_threads.share_among(request.param)
    yield request.param
    idle_threads.share_among(1)


@pytest.mark.parametrize("sizes", [(64, 5, 6), (5, 64, 6), (5, 6, 64), (2, 2, 2), (1, 700, 1)])
def test_it_is_cut_where_least_is_read_again(threads, sizes):
    m, k, n = sizes
    a, b = normal(m, k), normal(k, n, seed=1)
    taken = []

    def product(x, y):
        taken.append((x.shape, y.shape))
        return x @ y

    np.testing.assert_allclose(InPieces(product, PRODUCT)(a, b), a @ b, rtol=1e-12)
    largest = max(sizes)
    assert len(taken) == (1 if largest < 2 else min(8, largest, max(2, m * k * n // 50)))
    if largest > 2:
        assert all(largest not in (*x, *y) for x, y in taken)


@pytest.mark.parametrize("sizes", [(64, 5, 6), (5, 6, 64)])
def test_what_takes_out_writes_where_its_piece_belongs(threads, sizes):
    a, b = normal(*sizes[:2]), normal(*sizes[1:], seed=1)
    written = []

    def product(x, y, *, out):
        written.append(out)
        return np.matmul(x, y, out=out)

    found = InPieces(product, PRODUCT, takes_out=True)(a, b)
    np.testing.assert_allclose(found, a @ b, rtol=1e-12)
    assert len(written) > 1
    assert all(out.base is found for out in written)


def test_bits_do_not_depend_on_threads(monkeypatch):
    monkeypatch.setattr(pieces, "MIN_FLOPS", 1.0)
    a, b = normal(7, 4000, dtype="f4"), normal(4000, 9, seed=1, dtype="f4")
    found = []
    for count in (1, 2, 4):
        idle_threads.share_among(count)
        found.append(InPieces(np.matmul, PRODUCT)(a, b))
    idle_threads.share_among(1)
    assert all(np.array_equal(found[0], other) for other in found[1:])


def test_an_error_of_a_piece_is_that_of_the_kernel(threads):
    def fails(x, y):
        raise ZeroDivisionError("of a piece")

    with pytest.raises(ZeroDivisionError, match="of a piece"):
        InPieces(fails, PRODUCT)(normal(64, 5), normal(5, 6))


def test_what_only_the_kernel_knows_is_not_cut(threads):
    window = Pieces(((0, -1), (-1, 2)), (0, -1), False, ((0, 0),), False, (None, None))
    calls = []
    InPieces(lambda x, y: calls.append(x) or x, window)(normal(64, 64), normal(64, 64))
    assert len(calls) == 1


MODELS = {
    "products": lambda x, w: tf.matmul(tf.matmul(x, w), w, transpose_b=True),
    "batches": lambda x, w: tf.matmul(tf.reshape(x, [4, 6, 6]), w[:6, :5]),
    "images": lambda x, w: tf.nn.conv2d(
        tf.reshape(x, [6, 6, 2, 2]), tf.reshape(w[:6, :2], [3, 1, 2, 2]), [1, 1, 1, 1], "SAME"
    ),
    "depthwise": lambda x, w: tf.nn.depthwise_conv2d(
        tf.reshape(x, [6, 6, 2, 2]), tf.reshape(w[:6, :2], [3, 1, 2, 2]), [1, 1, 1, 1], "SAME"
    ),
    "volumes": lambda x, w: tf.nn.conv3d(
        tf.reshape(x, [6, 3, 2, 2, 2]), tf.reshape(w[:6, :2], [3, 1, 1, 2, 2]), [1] * 5, "SAME"
    ),
}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.usefixtures("graph")
def test_programs_give_the_same_in_pieces_and_whole(threads, monkeypatch, model):
    x = tf.placeholder(tf.float64, [12, 12])
    w = tf.get_variable("w", initializer=normal(12, 12))
    y = MODELS[model](x, w)
    fetches = [y, *tf.gradients(tf.reduce_sum(y * y), [x, w])]
    counts = []
    for_pieces = InPieces._in_pieces

    def counted(self, cut, inputs, attrs):
        counts.append(len(cut.sizes))
        return for_pieces(self, cut, inputs, attrs)

    monkeypatch.setattr(InPieces, "_in_pieces", counted)
    fed = normal(12, 12, seed=1)
    with tf.Session() as sess, config.set(batch_parts=1):
        sess.run(w.initializer)
        found = sess.run(fetches, {x: fed})
        assert len(counts) >= 3 and min(counts) > 1
        monkeypatch.setattr(pieces, "MIN_FLOPS", 1e18)
        again = sess.run([*fetches, tf.no_op()], {x: fed})  # another plan
    for one, other in itertools.zip_longest(found, again[:-1]):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.usefixtures("graph")
def test_products_in_a_loop_that_is_cut_are_not_cut_again(threads, monkeypatch, parts):
    """Threads have parts of their own: pieces cost an LSTM's step a tenth, and gain nothing."""
    x = tf.placeholder(tf.float64, [None, 12])
    w = tf.Variable(tf.random_uniform([12, 12], dtype=tf.float64))
    h = tf.while_loop(lambda i, _: i < 3, lambda i, h: [i + 1, tf.matmul(h, w)], [0, x])[1]
    gradient = tf.gradients(tf.reduce_sum(h * h), w)[0]
    asked = []
    monkeypatch.setattr(pieces, "_cut_of_inputs", lambda *_: asked.append(1))  # None: whole
    with tf.Session() as sess, config.set(batch_parts=parts):
        sess.run(w.initializer)
        sess.run(gradient, {x: normal(12, 12, seed=1)})
    assert bool(asked) == (parts == 1)


def test_what_came_as_data_is_checked():
    for unsound in (
        PRODUCT._replace(inputs=((0, 1),)),
        PRODUCT._replace(work=((0, 5),)),
        PRODUCT._replace(shape=(None,)),
        "pieces",
    ):
        call = Call("matmul", (0, 1), (2,), {}, pieces=unsound)
        with pytest.raises(InvalidArgumentError, match="pieces"):
            check_region(RegionProgram("r", 2, {}, (call,), (2,)))


def test_small_products_are_not_worth_a_thread():
    assert cut_of(PRODUCT, ((64, 256), (256, 256), (64, 256)), 4) is None
    assert len(cut_of(PRODUCT, ((1024, 1024), (1024, 1024), (1024, 1024)), 4).sizes) == 8


def test_sums_of_halves_are_not_added_up():
    shapes = (64, 1 << 20), (1 << 20, 64), (64, 64)
    assert cut_of(PRODUCT, shapes, 4).output == pieces.WHOLE
    assert cut_of(PRODUCT, shapes, 2) is None
    tall = (1 << 20, 64), (64, 64), (1 << 20, 64)
    assert cut_of(PRODUCT, tall, 2) == cut_of(PRODUCT, tall, 4) is not None


def test_what_is_as_fast_as_memory_is_left_whole():
    assert cut_of(PRODUCT, ((9000, 9000), (9000, 1), (9000, 1)), 4) is None
    assert cut_of(PRODUCT, ((9000, 9000), (9000, 16), (9000, 16)), 4) is not None
    softmax = Pieces(((0, -1),), (0, -1), False, ((0, 0), (0, 1)), False, (None, None))
    assert cut_of(softmax, ((9000, 9000), (9000, 9000)), 4) is None
