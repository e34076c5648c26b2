"""Networks that take all times at once: those of their cells, step by step."""

import numpy as np
import pytest

import daskvars.v1 as tf
from tests.sessions import run

X = np.random.default_rng(0).standard_normal((5, 3, 2)).astype("f4")
LENGTHS = [5, 2, 0]


def test_a_fused_network_is_that_of_its_cell(graph):
    network = tf.contrib.rnn.LSTMBlockFusedCell(4)
    assert network.num_units == 4
    with pytest.raises(ValueError, match="initial_state or dtype"):
        network(X)
    with tf.variable_scope("fore"):
        outputs, state = network(X, dtype=tf.float32, sequence_length=LENGTHS)
    with tf.variable_scope("back"):
        backward = tf.contrib.rnn.TimeReversedFusedRNN(tf.contrib.rnn.LSTMBlockFusedCell(4))
        back, first = backward(X, dtype=tf.float32, sequence_length=LENGTHS)
    assert [v.op.name for v in tf.global_variables()] == [
        f"{scope}/lstm_fused_cell/{name}"
        for scope in ("fore", "back")
        for name in ("kernel", "bias")
    ]
    cells = []
    for scope in ("fore", "back"):
        with tf.variable_scope(scope, reuse=True):
            cells.append(tf.contrib.rnn.LSTMBlockCell(4, name="lstm_fused_cell"))
            cells[-1](X[0], cells[-1].zero_state(3, tf.float32))
    (want, want_back), (end, end_back) = tf.nn.bidirectional_dynamic_rnn(
        *cells, tf.constant(X), LENGTHS, dtype=tf.float32, time_major=True
    )
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        pairs = [(outputs, want), (back, want_back), (state, end), (first, end_back)]
        for found, wanted in session.run(pairs):
            np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
        assert not session.run(outputs)[2:, 1].any()


@pytest.mark.parametrize("use_dynamic_rnn", [False, True])
def test_an_adaptor_makes_a_network_of_any_cell(graph, use_dynamic_rnn):
    network = tf.contrib.rnn.FusedRNNCellAdaptor(tf.nn.rnn_cell.GRUCell(4), use_dynamic_rnn)
    steps = [tf.constant(x) for x in X]
    outputs, state = network(steps, dtype=tf.float32)
    backward, _ = tf.contrib.rnn.TimeReversedFusedRNN(network)(X[::-1], dtype=tf.float32)
    assert isinstance(outputs, list) and len(outputs) == 5
    found, last, other = run([outputs, state, backward])
    np.testing.assert_allclose(found[-1], last, rtol=1e-6)
    np.testing.assert_allclose(other[::-1], found, rtol=1e-5, atol=1e-6)
