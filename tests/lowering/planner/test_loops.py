"""Loops and branches are cut where what they run lines up, and give what they give uncut."""

import dask.array
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import daskvars.v1 as tf
from daskvars import chunk_grid, config
from daskvars.graph import nest
from daskvars.kernels.control import flow
from tests import clusters

BATCH, STEPS, DEPTH, UNITS = 7, 5, 3, 4

KERNELS = {flow.while_loop: "loop", flow.while_gradient: "gradient", flow.cond: "branch"}


def made(shape, kind="float32"):
    """Return numbers that are the same for the same shape."""
    rng = np.random.default_rng(sum(shape))
    return (
        rng.normal(size=shape).astype(kind)
        if kind == "float32"
        else rng.integers(1, 5, shape, kind)
    )


class Model:
    """A graph with what it is fed with, as (placeholder, array, dimension of the batch)."""

    def __init__(self):
        self.fed, self.parts = [], 1

    def fed_with(self, shape, batch, kind="float32", static=False):
        open_shape = [None if i == batch else n for i, n in enumerate(shape)]
        x = tf.placeholder(kind, shape if static else open_shape)
        self.fed.append((x, made(shape, kind), batch))
        return x

    def feeds(self, parts):
        feeds = {}
        for x, array, batch in self.fed:
            chunks = [
                chunk_grid.split_evenly(n, parts if i == batch else 1)
                for i, n in enumerate(array.shape)
            ]
            is_cut = parts > 1 and batch is not None
            feeds[x] = dask.array.from_array(array, tuple(chunks)) if is_cut else array
        return feeds


def cut_calls(plan):
    """Return of the loops, gradients and branches in a plan into how many parts each is cut."""
    return {
        (KERNELS[call.kernel], region.num_tasks)
        for region in plan.regions
        for call in region.program.calls
        if call.kernel in KERNELS
    }


def ran(build, parts, session=tf.Session):
    """Return the results of a model whose batch is cut in so many parts, and the cut calls."""
    with tf.Graph().as_default(), config.set(batch_parts=1):
        tf.set_random_seed(3)
        model = Model()
        fetches = build(model)
        feeds = model.feeds(parts)
        with session() as sess:
            sess.run(tf.global_variables_initializer())
            fed, values = sess._feeds(feeds)
            executable = sess._executable(fetches, fed)[0]
            return sess.run(fetches, feeds), cut_calls(executable.plan(values))


def check(build, expected, parts=(2, 3), exact=False):
    """Check that a model gives the same in parts, and which of its loops are cut."""
    whole, uncut = ran(build, 1)
    assert {tasks for _, tasks in uncut} <= {1}
    for number in parts:
        found, calls = ran(build, number)
        assert calls == {(name, number if is_cut else 1) for name, is_cut in expected.items()}
        for a, b in zip(whole, found, strict=True):
            assert a.shape == b.shape
            if exact:
                np.testing.assert_array_equal(a, b)
            else:
                np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-6)


# -- recurrent networks ----------------------------------------------------------------------------


def network(cell, time_major=False, lengths=False, static=False, training=True, wrap=None):
    """Return what builds a recurrent network, its loss and the gradients of its weights."""

    def build(model):
        shape, batch = ([STEPS, BATCH, DEPTH], 1) if time_major else ([BATCH, STEPS, DEPTH], 0)
        x = model.fed_with(shape, batch, static=static)
        y = model.fed_with([BATCH, 1], 0, static=static)
        length = model.fed_with([BATCH], 0, "int32", static=static) if lengths else None
        outs, state = tf.nn.dynamic_rnn(
            cell(), x, sequence_length=length, dtype=tf.float32, time_major=time_major
        )
        last = tf.layers.dense(tf.concat(nest.flatten(state), 1), 1)
        loss = tf.reduce_mean(tf.square(last - y)) + tf.reduce_mean(tf.square(outs))
        if not training:
            return [outs, last]
        return [loss, outs, *tf.gradients(loss, tf.trainable_variables())]

    return build


def lstm(**options):
    return lambda: tf.nn.rnn_cell.LSTMCell(UNITS, **options)


def stacked():
    cells = [tf.nn.rnn_cell.GRUCell(UNITS), tf.nn.rnn_cell.BasicLSTMCell(UNITS)]
    return tf.nn.rnn_cell.MultiRNNCell(cells)


NETWORKS = {
    "lstm": network(lstm()),
    "lstm, static batch": network(lstm(), static=True),
    "lstm, time-major": network(lstm(), time_major=True),
    "lstm, lengths": network(lstm(), lengths=True),
    "lstm, lengths, time-major, static": network(lstm(), True, True, True),
    "lstm with peepholes and projection": network(lstm(use_peepholes=True, num_proj=3)),
    "as many units as rows": network(lambda: tf.nn.rnn_cell.LSTMCell(BATCH), lengths=True),
    "gru": network(lambda: tf.nn.rnn_cell.GRUCell(UNITS)),
    "plain": network(lambda: tf.nn.rnn_cell.BasicRNNCell(UNITS)),
    "stacked": network(stacked),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_a_recurrent_network_is_trained_in_parts(name):
    check(NETWORKS[name], {"loop": True, "gradient": True})


@pytest.mark.parametrize("time_major", [False, True])
def test_a_recurrent_network_is_run_in_parts(time_major):
    check(network(lstm(), time_major, training=False), {"loop": True})


def test_dropout_in_a_loop_drops_the_same_in_parts():
    def cell():
        return tf.nn.rnn_cell.DropoutWrapper(lstm()(), 0.7, 0.7, 0.7, seed=5)

    check(network(cell), {"loop": True, "gradient": True})


def test_both_directions():
    def build(model):
        x = model.fed_with([BATCH, STEPS, DEPTH], 0)
        outs, _ = tf.nn.bidirectional_dynamic_rnn(
            lstm()(), tf.nn.rnn_cell.GRUCell(UNITS), x, dtype=tf.float32
        )
        loss = tf.reduce_sum(tf.square(tf.concat(outs, 2)))
        return [loss, *tf.gradients(loss, tf.trainable_variables())]

    check(build, {"loop": True, "gradient": True})


def test_sums_of_parts_do_not_depend_on_the_number_of_threads():
    def bits(threads):
        with config.set(num_threads=threads):
            return [a.tobytes() for a in ran(NETWORKS["lstm"], 3)[0]]

    assert bits(1) == bits(2) == bits(4)


@pytest.mark.cluster
def test_a_recurrent_network_in_parts_on_a_cluster():
    here, _ = ran(NETWORKS["lstm, lengths"], 2)
    with clusters.running(set_as_default=True):
        there, calls = ran(NETWORKS["lstm, lengths"], 2)
    assert calls == {("loop", 2), ("gradient", 2)}
    for a, b in zip(here, there, strict=True):
        np.testing.assert_array_equal(a, b)


def test_the_planner_cuts_a_recurrent_network_by_itself():
    with (
        tf.Graph().as_default(),
        config.set(num_threads=2, batch_parts_min_flops=1.0),
        tf.Session() as sess,
    ):
        x = tf.placeholder(tf.float32, [16, 32, 256])
        outs, _ = tf.nn.dynamic_rnn(
            tf.nn.rnn_cell.LSTMCell(256), x, dtype=tf.float32, time_major=True
        )
        loss = tf.reduce_mean(tf.square(outs))
        train = tf.train.AdamOptimizer().minimize(loss)
        fed, values = sess._feeds({x: made([16, 32, 256])})
        plan = sess._executable([loss, train], fed)[0].plan(values)
    assert [dim for _, dim in plan.sharding.chosen.dims] == [1]
    assert cut_calls(plan) == {("loop", 2), ("gradient", 2)}
    # Of the three products of 32 x 512 x 1024 in each of 16 turns, one, and two for its gradient.
    assert plan.flops == pytest.approx(16 * 3 * 2 * 32 * 512 * 1024, rel=0.1)


# -- other loops -----------------------------------------------------------------------------------


def function_of(build, shape=(STEPS, BATCH, DEPTH), batch=1, static=False):
    """Return what builds a function of one array, with its gradient."""

    def with_gradient(model):
        x = model.fed_with(list(shape), batch, static=static)
        y = build(x)
        return [y, *tf.gradients(tf.reduce_sum(tf.square(y)), x)]

    return with_gradient


def weighted(x):
    """Return x times a matrix, of which nothing is cut."""
    rows = tf.shape(x)[0] if x.shape[0].value is None else x.shape[0].value
    flat = tf.reshape(x, [rows, DEPTH])
    return tf.tanh(tf.matmul(flat, tf.constant(made([DEPTH, DEPTH]))))


def by_hand(x):
    """Loop over rows in arrays whose items may be read once."""
    read = tf.TensorArray(tf.float32, STEPS).unstack(x)
    written = tf.TensorArray(tf.float32, STEPS)

    def turn(i, state, written):
        state = weighted(state + read.read(i))
        return i + 1, state, written.write(i, state * tf.cast(tf.shape(state)[0], tf.float32))

    _, _, written = tf.while_loop(lambda i, *_: i < STEPS, turn, [0, tf.zeros_like(x[0]), written])
    return written.stack()


def nested(x):
    """Loop in a loop."""

    def inner(row):
        return tf.while_loop(
            lambda i, _: i < 2, lambda i, a: (i + 1, weighted(a) + row), [0, row * 0.5]
        )[1]

    return tf.map_fn(inner, x)


def counted(x):
    """A number of turns that only the run knows, which no part of the batch decides."""
    turns = tf.cast(tf.reduce_max(tf.abs(x)), tf.int32) + 1
    return tf.while_loop(lambda i, a: i < turns, lambda i, a: (i + 1, weighted(a)), [0, x[0]])[1]


def with_constants(x):
    """A constant of the body as long as the batch."""
    rows = tf.constant(np.arange(BATCH, dtype="f4")[:, None])
    return tf.scan(lambda a, row: a * 0.5 + row * rows, x)


def written_list(x):
    """What a loop that is cut wrote is wanted whole."""
    return tf.cumsum(tf.map_fn(tf.sin, x), axis=1)


CUT = {
    "map_fn": lambda x: tf.map_fn(lambda row: tf.sin(row) * row, x),
    "map_fn of a product": lambda x: tf.map_fn(weighted, x),
    "scan": lambda x: tf.scan(lambda a, row: a * 0.5 + tf.tanh(row), x),
    "scan of a product": lambda x: tf.scan(lambda a, row: weighted(a) + row, x),
    "scan, reverse": lambda x: tf.scan(lambda a, row: a * 0.5 + row, x, reverse=True),
    "foldl": lambda x: tf.foldl(lambda a, row: weighted(a + row), x),
    "softmax of each": lambda x: tf.map_fn(tf.nn.softmax, x),
    "by hand": by_hand,
    "nested": nested,
    "turns counted in the run": counted,
    "constants": with_constants,
    "taken whole afterwards": written_list,
    "no turn": lambda x: tf.while_loop(lambda a: False, lambda a: [a * 2.0], [x]),
}


@pytest.mark.parametrize("name", CUT)
def test_a_loop_is_cut_where_its_turns_line_up(name):
    expected = {"loop": True, "gradient": True}
    check(function_of(CUT[name]), expected)


def mixes(function):
    return lambda x: tf.scan(lambda a, row: function(a) * 0.5 + row, x)


WHOLE = {
    "cumsum over the batch": mixes(lambda a: tf.cumsum(a, axis=0)),
    "reversed batch": mixes(lambda a: a[::-1]),
    "mean of the batch": mixes(lambda a: a - tf.reduce_mean(a, axis=0, keepdims=True)),
    "softmax over the batch": mixes(lambda a: tf.nn.softmax(a, axis=0)),
    "a total carried on": lambda x: tf.foldl(
        lambda a, row: a + tf.reduce_sum(row), x, tf.constant(0.0)
    ),
    "the batch decides": lambda x: tf.while_loop(
        lambda a: tf.reduce_sum(tf.abs(a)) < 1e3, lambda a: [a * 2.0 + 0.1], [x]
    ),
    "a state that grows": lambda x: tf.while_loop(
        lambda i, a: i < 3,
        lambda i, a: (i + 1, tf.concat([a, a[:1]], 0)),
        [0, x[0]],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([None, DEPTH])],
    )[1],
}


@pytest.mark.parametrize("name", WHOLE)
def test_a_loop_stays_whole_where_they_do_not(name):
    # The gradient of the total is the same for all rows, so each part has its own.
    check(function_of(WHOLE[name]), {"loop": False, "gradient": name == "a total carried on"})


def test_an_array_is_not_cut_twice_along_one_batch():
    turned = function_of(
        lambda x: tf.while_loop(
            lambda i, a: i < 3, lambda i, a: (i + 1, tf.transpose(a) * 2.0), [0, x]
        )[1],
        (BATCH, BATCH),
        0,
        static=True,
    )
    check(turned, {"loop": False, "gradient": False})


def test_what_is_printed_in_a_loop_is_printed_once(capfd):
    def build(model):
        x = model.fed_with([BATCH, DEPTH], 0)
        noted = tf.while_loop(
            lambda i, _: i < 2, lambda i, a: (i + 1, tf.Print(a * 2.0, [i], "turn")), [0, x]
        )
        return [noted[1]]

    check(build, {"loop": False}, parts=(2,))
    assert capfd.readouterr().err.count("turn") == 2 * 2  # of the run that is whole too


def test_random_numbers_in_a_loop_are_the_same_in_parts():
    def build(model):
        x = model.fed_with([BATCH, DEPTH], 0)
        turns = tf.while_loop(
            lambda i, _: i < 3,
            lambda i, a: (i + 1, a + tf.random_normal(tf.shape(a), seed=2)),
            [0, x],
        )
        return [turns[1]]

    check(build, {"loop": True}, exact=True)


def test_sums_of_weights_used_twice_in_a_turn_are_added_up():
    def build(model):
        x = model.fed_with([BATCH, DEPTH], 0)
        w = tf.get_variable("w", [DEPTH, DEPTH])
        turns = tf.while_loop(
            lambda i, _: i < 3, lambda i, a: (i + 1, tf.matmul(tf.tanh(tf.matmul(a, w)), w)), [0, x]
        )
        return [turns[1], *tf.gradients(tf.reduce_sum(turns[1]), w)]

    check(build, {"loop": True, "gradient": True})


WEIGHTS = {
    "transposed": lambda w: tf.transpose(w),
    "in parts": lambda w: tf.concat(tf.split(w, DEPTH, 0)[::-1], 0),
    "reshaped": lambda w: tf.reshape(tf.reshape(w, [-1]), [DEPTH, DEPTH]),
    "sliced": lambda w: tf.stack([w[:, 0], w[:, 1], w[:, 2]], axis=1),
    "squared": tf.square,
}


@pytest.mark.parametrize("name", WEIGHTS)
def test_sums_of_weights_may_be_moved_and_nothing_else(name):
    def build(model):
        x = model.fed_with([BATCH, DEPTH], 0)
        w = tf.get_variable("w", [DEPTH, DEPTH])
        turns = tf.while_loop(
            lambda i, _: i < 3,
            lambda i, a: (i + 1, tf.tanh(tf.matmul(a, WEIGHTS[name](w)))),
            [0, x],
        )
        return [turns[1], *tf.gradients(tf.reduce_sum(turns[1]), w)]

    # The history of a loop that is cut is put together for a gradient that is not.
    check(build, {"loop": True, "gradient": name != "squared"})


# -- branches --------------------------------------------------------------------------------------


def chosen(value, branches):
    """Return what builds a branch, fed with a predicate, and its gradients."""

    def build(model):
        x = model.fed_with([BATCH, DEPTH], 0)
        pred = tf.placeholder(tf.bool, [])
        model.fed.append((pred, np.array(value), None))
        w = tf.get_variable("w", [DEPTH, DEPTH])
        y = tf.cond(pred, *[lambda f=f: f(x, w) for f in branches])
        return [y, *tf.gradients(tf.reduce_sum(tf.square(y)), [x, w])]

    return build


@pytest.mark.parametrize("value", [False, True])
def test_a_branch_is_cut_along_what_both_keep(value):
    both = [lambda x, w: tf.tanh(tf.matmul(x, w)), lambda x, w: tf.matmul(x, w) * 2.0]
    check(chosen(value, both), {"branch": True})


@pytest.mark.parametrize("value", [False, True])
def test_a_branch_that_mixes_the_batch_stays_whole(value):
    both = [lambda x, w: tf.cumsum(tf.matmul(x, w), axis=0), lambda x, w: tf.matmul(x, w)]
    check(chosen(value, both), {"branch": False})


def test_a_branch_that_the_batch_decides():
    def build(model):
        x = model.fed_with([BATCH, DEPTH], 0)
        return [tf.cond(tf.reduce_sum(x) > 0.0, lambda: tf.sin(x), lambda: x * 3.0)]

    check(build, {"branch": True}, exact=True)


def test_a_branch_whose_shapes_do_not_fit_may_not_be_taken():
    def build(model):
        x = model.fed_with([BATCH, DEPTH], 0)
        is_one = tf.equal(tf.shape(x)[0] + tf.cast(x[0, 0] * 0.0, tf.int32), 1)
        return [tf.cond(is_one, lambda: tf.reshape(x, [1, DEPTH]), lambda: x * 2.0)]

    check(build, {"branch": False})


# -- any turn --------------------------------------------------------------------------------------

STEPS_OF_A_TURN = {
    "tanh": tf.tanh,
    "product": lambda a: tf.matmul(a, tf.constant(made([4, 4]))),
    "softmax": tf.nn.softmax,
    "parts": lambda a: tf.concat(tf.split(a, 2, 1)[::-1], 1),
    "merged": lambda a: tf.reshape(tf.tanh(tf.reshape(a, [-1])), tf.shape(a)),
    "split rows": lambda a: tf.reshape(tf.nn.softmax(tf.reshape(a, [-1, 2, 2])), tf.shape(a)),
    "turned": lambda a: tf.transpose(tf.cumsum(tf.transpose(a), axis=0)),
    "bias": lambda a: a + tf.constant(made([4])),
    "size": lambda a: a / tf.cast(tf.shape(a)[0], tf.float32),
    "zeros": lambda a: a + tf.zeros_like(a) + tf.fill(tf.shape(a), 0.25),
    "drop": lambda a: tf.nn.dropout(a, 0.9, seed=4),
    "mean": lambda a: a - tf.reduce_mean(a, axis=0),
    "cumsum": lambda a: tf.cumsum(a, axis=0),
    "reverse": lambda a: tf.reverse(a, [0]),
    "padded": lambda a: tf.pad(a[1:], [[1, 0], [0, 0]]),
    "norm": lambda a: a / (1.0 + tf.norm(a)),
    "sorted": lambda a: tf.sort(a, axis=0),
    "gathered": lambda a: tf.gather(a, [0] * 6),
    "ranks": lambda a: a + tf.cast(tf.range(tf.shape(a)[0]), tf.float32)[:, None],
    "one of both": lambda a: tf.cond(tf.shape(a)[1] > 3, lambda: a * 0.5, lambda: a),
}


@pytest.mark.slow
@settings(max_examples=30)
@given(
    st.lists(st.sampled_from(sorted(STEPS_OF_A_TURN)), min_size=1, max_size=4),
    st.sampled_from([2, 3, 4]),
    st.booleans(),
)
def test_whatever_a_turn_does_parts_change_nothing(names, parts, is_list):
    def build(model):
        x = model.fed_with([6, 4], 0)

        def turn(a):
            for name in names:
                a = STEPS_OF_A_TURN[name](a)
            return a

        if is_list:
            y = tf.scan(lambda a, row: turn(a) + row, tf.stack([x, x * 0.5, x - 1.0]))
        else:
            y = tf.while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, turn(a)), [0, x])[1]
        return [y, *tf.gradients(tf.reduce_sum(tf.square(y)), x)]

    whole, _ = ran(build, 1)
    found, _ = ran(build, parts)
    for a, b in zip(whole, found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)
