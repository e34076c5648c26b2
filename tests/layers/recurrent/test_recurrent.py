"""Recurrent cells against NumPy, and networks of them against one another."""

import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf
from tests.sessions import run

rnn_cell = tf.nn.rnn_cell
RNG = np.random.default_rng(2)
X = RNG.normal(size=(3, 5, 4)).astype("float32")  # batch, time, size
LENGTHS = np.array([2, 4, 1], "int32")


def logistic(x):
    return 1 / (1 + np.exp(-x))


def lstm(x, c, h, kernel, bias):
    i, j, f, o = np.split(np.concatenate([x, h], 1) @ kernel + bias, 4, axis=1)
    c = logistic(f + 1.0) * c + logistic(i) * np.tanh(j)
    return c, np.tanh(c) * logistic(o)


def gru(x, h, gate_kernel, gate_bias, kernel, bias):
    gates = logistic(np.concatenate([x, h], 1) @ gate_kernel + gate_bias)
    r, u = np.split(gates, 2, axis=1)
    candidate = np.tanh(np.concatenate([x, r * h], 1) @ kernel + bias)
    return u * h + (1 - u) * candidate


def test_an_lstm_step(graph):
    cell = rnn_cell.BasicLSTMCell(3)
    state = rnn_cell.LSTMStateTuple(*RNG.normal(size=(2, 3, 3)).astype("float32"))
    output, new_state = cell(X[:, 0], state)
    new, weights = run([new_state, cell.weights])
    c, h = lstm(X[:, 0], *state, *weights)
    np.testing.assert_allclose(new.c, c, atol=1e-5)
    np.testing.assert_allclose(new.h, h, atol=1e-5)
    assert output is new_state.h


def test_a_gru_step(graph):
    cell = rnn_cell.GRUCell(3)
    state = RNG.normal(size=(3, 3)).astype("float32")
    output, weights = run([cell(X[:, 0], state)[0], cell.weights])
    np.testing.assert_allclose(output, gru(X[:, 0], state, *weights), atol=1e-5)


def test_a_joined_state_is_the_same_as_a_tuple(graph):
    with tf.variable_scope("s", initializer=tf.ones_initializer()):
        tuples = rnn_cell.BasicLSTMCell(2)
        joined = rnn_cell.BasicLSTMCell(2, state_is_tuple=False)
        a, new = tuples(X[:, 0], tuples.zero_state(3, tf.float32))
        b, both = joined(X[:, 0], joined.zero_state(3, tf.float32))
    a, b, new, both = run([a, b, new, both])
    np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(np.concatenate(new, 1), both)
    assert joined.state_size == 4


@pytest.mark.parametrize(
    "options, names",
    [
        (
            {"use_peepholes": True, "cell_clip": 0.1},
            ["kernel", "bias", "w_f_diag", "w_i_diag", "w_o_diag"],
        ),
        ({"num_proj": 2, "proj_clip": 0.05}, ["kernel", "bias", "projection/kernel"]),
    ],
)
def test_lstm_options(graph, options, names):
    cell = rnn_cell.LSTMCell(3, **options)
    output, state = cell(X[:, 0], cell.zero_state(3, tf.float32))
    assert [v.op.name for v in tf.trainable_variables()] == [f"lstm_cell/{n}" for n in names]
    output, state = run([output, state])
    assert np.abs(state.c).max() <= options.get("cell_clip", np.inf)
    assert np.abs(output).max() <= options.get("proj_clip", np.inf)
    assert output.shape == (3, options.get("num_proj", 3))


NAMES = [
    (lambda: rnn_cell.BasicRNNCell(3), ["rnn/basic_rnn_cell/kernel", "rnn/basic_rnn_cell/bias"]),
    (
        lambda: rnn_cell.GRUCell(3),
        [
            f"rnn/gru_cell/{n}"
            for n in ("gates/kernel", "gates/bias", "candidate/kernel", "candidate/bias")
        ],
    ),
    (
        lambda: rnn_cell.MultiRNNCell([rnn_cell.BasicLSTMCell(3), rnn_cell.LSTMCell(2)]),
        [
            f"rnn/multi_rnn_cell/cell_{i}/{n}/{v}"
            for i, n in enumerate(["basic_lstm_cell", "lstm_cell"])
            for v in ("kernel", "bias")
        ],
    ),
    (
        lambda: rnn_cell.DropoutWrapper(
            rnn_cell.ResidualWrapper(rnn_cell.GRUCell(4, name="g")), 0.5
        ),
        [
            f"rnn/g/{n}"
            for n in ("gates/kernel", "gates/bias", "candidate/kernel", "candidate/bias")
        ],
    ),
]


@pytest.mark.parametrize("make, names", NAMES)
def test_variables_are_named_as_tensorflow_names_them(graph, make, names):
    cell = make()
    tf.nn.dynamic_rnn(cell, tf.constant(X), dtype=tf.float32)
    assert [v.op.name for v in tf.trainable_variables()] == names
    assert cell.trainable_variables == tf.trainable_variables()


@pytest.mark.parametrize("lengths", [None, LENGTHS])
@pytest.mark.parametrize("time_major", [False, True])
def test_a_loop_is_the_same_as_unrolling(graph, lengths, time_major):
    cell = rnn_cell.BasicLSTMCell(3)
    x = tf.placeholder(tf.float32, [None, None, 4])
    fed = X.transpose(1, 0, 2) if time_major else X
    outputs, state = tf.nn.dynamic_rnn(
        cell, x, lengths, dtype=tf.float32, time_major=time_major, scope="net"
    )
    assert outputs.shape.as_list()[2] == 3
    steps = tf.unstack(x, 5, axis=0 if time_major else 1)
    with tf.variable_scope("net", reuse=True) as scope:
        unrolled, last = tf.nn.static_rnn(
            cell, steps, dtype=tf.float32, sequence_length=lengths, scope=scope
        )
    unrolled = tf.stack(unrolled, axis=0 if time_major else 1)
    weights = tf.constant(RNG.normal(size=(3, 5, 3)).astype("float32"))
    weights = tf.transpose(weights, [1, 0, 2]) if time_major else weights
    sources = [x, *cell.trainable_variables]
    losses = [
        tf.reduce_sum(y * weights) + tf.reduce_sum(s.c * s.h)
        for y, s in ((outputs, state), (unrolled, last))
    ]
    a, b = run(
        [
            [outputs, state, *tf.gradients(losses[0], sources)],
            [unrolled, last, *tf.gradients(losses[1], sources)],
        ],
        {x: fed},
    )
    for found, wanted in zip(a[2:], b[2:], strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-5)
    np.testing.assert_allclose(a[0], b[0], atol=1e-6)
    np.testing.assert_allclose(a[1], b[1], atol=1e-6)


def test_sequences_end_where_they_end(graph):
    outputs, state = run(tf.nn.dynamic_rnn(rnn_cell.GRUCell(3), X, LENGTHS, dtype=tf.float32))
    assert outputs.shape == (3, 5, 3)
    for row, last, length in zip(outputs, state, LENGTHS, strict=True):
        assert not row[length:].any()
        np.testing.assert_array_equal(row[length - 1], last)


def test_both_directions(graph):
    cells = [rnn_cell.GRUCell(3) for _ in range(2)]
    (forward, backward), states = tf.nn.bidirectional_dynamic_rnn(
        *cells, tf.constant(X), LENGTHS, dtype=tf.float32
    )
    with tf.variable_scope("bidirectional_rnn", reuse=True) as scope:
        joined, *lasts = tf.nn.static_bidirectional_rnn(
            *cells,
            tf.unstack(tf.constant(X), axis=1),
            sequence_length=LENGTHS,
            dtype=tf.float32,
            scope=scope,
        )
    names = {v.op.name.rpartition("/gru_cell")[0] for v in tf.trainable_variables()}
    assert names == {"bidirectional_rnn/fw", "bidirectional_rnn/bw"}
    forward, backward, states, joined, lasts = run([forward, backward, states, joined, lasts])
    both = np.concatenate([forward, backward], 2)
    np.testing.assert_allclose(both, np.stack(joined, 1), atol=1e-6)
    np.testing.assert_allclose(states, lasts, atol=1e-6)
    np.testing.assert_array_equal(backward[0, 0], states[1][0])


def test_a_loop_controlled_by_a_function(graph):
    cell = rnn_cell.BasicLSTMCell(3)
    steps = tf.TensorArray(tf.float32, size=5).unstack(X.transpose(1, 0, 2))

    def loop(time, output, state, loop_state):
        finished = time >= LENGTHS
        inputs = tf.cond(
            tf.reduce_all(finished), lambda: tf.zeros([3, 4]), lambda: steps.read(time)
        )
        if output is None:
            return finished, inputs, cell.zero_state(3, tf.float32), None, tf.constant(0)
        return finished, inputs, state, output, loop_state + 1

    emitted, state, turns = tf.nn.raw_rnn(cell, loop)
    with tf.variable_scope("rnn", reuse=True) as scope:
        outputs, last = tf.nn.dynamic_rnn(cell, X, LENGTHS, dtype=tf.float32, scope=scope)
    emitted, state, turns, outputs, last = run([emitted.stack(), state, turns, outputs, last])
    assert turns == 4
    np.testing.assert_allclose(emitted, outputs.transpose(1, 0, 2)[:4], atol=1e-6)
    np.testing.assert_allclose(state, last, atol=1e-6)


def test_dropout_wrapper(graph):
    cell = rnn_cell.DropoutWrapper(rnn_cell.GRUCell(64), output_keep_prob=0.5, seed=1)
    outputs, _ = tf.nn.dynamic_rnn(cell, X, dtype=tf.float32)
    dropped = run(outputs) == 0
    assert 0.3 < dropped.mean() < 0.7
    assert (dropped[:, 0] != dropped[:, 1]).any(), "each step draws its own"


def test_variational_dropout_drops_the_same_in_all_steps(graph):
    cell = rnn_cell.DropoutWrapper(
        rnn_cell.GRUCell(64), output_keep_prob=0.5, variational_recurrent=True, dtype=tf.float32
    )
    dropped = run(tf.nn.dynamic_rnn(cell, X, dtype=tf.float32)[0]) == 0
    assert 0.2 < dropped.mean() < 0.8
    assert (dropped == dropped[:1, :1]).all()


def test_cells_of_users(graph):
    class Counter(rnn_cell.RNNCell):
        state_size = output_size = 4

        def call(self, inputs, state):
            scale = tf.get_variable("scale", [], initializer=tf.ones_initializer())
            return inputs * scale + state, state + 1.0

    cell = Counter()
    outputs, state = tf.nn.dynamic_rnn(cell, X, dtype=tf.float32)
    assert [v.name for v in cell.trainable_variables] == ["rnn/counter/scale:0"]
    outputs, state = run([outputs, state])
    np.testing.assert_allclose(outputs, X + np.arange(5.0)[:, None], atol=1e-6)
    assert (state == 5.0).all()


@pytest.mark.parametrize(
    "arguments, error, message",
    [
        ({"cell": None}, TypeError, "must be an instance of RNNCell"),
        ({"dtype": None}, ValueError, "you must give a dtype"),
        ({"sequence_length": [[1, 1, 1]]}, ValueError, "must be a vector of length batch_size"),
        ({"inputs": X[0, 0]}, ValueError, "at least 2"),
    ],
)
def test_mistakes(graph, arguments, error, message):
    good = {"cell": rnn_cell.GRUCell(3), "inputs": X, "dtype": tf.float32}
    with pytest.raises(error, match=message):
        tf.nn.dynamic_rnn(**{**good, **arguments})


def test_an_eager_network():
    cell = dv.nn.rnn_cell.GRUCell(3, name="eager_gru")
    with dv.GradientTape() as tape:
        outputs, state = dv.nn.dynamic_rnn(cell, X, dtype=dv.float32, scope="eager_net")
        loss = dv.reduce_sum(outputs)
    gradients = tape.gradient(loss, cell.trainable_variables)
    assert [g.shape.as_list() for g in gradients] == [[7, 6], [6], [7, 3], [3]]
    np.testing.assert_array_equal(outputs.numpy()[:, -1], state.numpy())


class Kept:
    """Saves states in variables."""

    def __init__(self):
        self.variables = {}

    def state(self, name):
        return self.variables.setdefault(name, tf.Variable(np.zeros((3, 2), "f"), trainable=False))

    def save_state(self, name, value):
        return self.variables[name].assign(value)


def test_a_saved_state_is_gone_on_from(graph):
    cell, kept = rnn_cell.LSTMCell(2), Kept()
    with pytest.raises(ValueError, match="structured as cell"):
        tf.nn.static_state_saving_rnn(cell, [], kept, "state")
    steps = tf.unstack(X, axis=1)
    outputs, _ = tf.nn.static_state_saving_rnn(cell, steps, kept, ("c", "h"))
    whole, state = tf.nn.static_rnn(cell, steps * 2, dtype=tf.float32)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(outputs[-1])
        found = sess.run([outputs[-1], *kept.variables.values()])
        np.testing.assert_allclose(found, sess.run([whole[-1], *state]), rtol=1e-5)
