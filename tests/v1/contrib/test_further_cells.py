"""Cells of contrib.rnn compute their formulas, written once more with NumPy."""

import numpy as np
import pytest

import daskvars.v1 as tf

RNG = np.random.default_rng(0)
INPUTS = RNG.normal(size=(3, 4)).astype("float32")


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def stepped(make, inputs=INPUTS):
    """Return output, new state, old state and variables of a step from a state that is not zero."""
    with tf.Graph().as_default(), tf.Session() as sess:
        initializer = tf.random_normal_initializer(stddev=0.5, seed=1)
        with tf.variable_scope("here", initializer=initializer):
            cell = make()
            zeros = cell.zero_state(len(inputs), tf.float32)
            flat = tf.contrib.framework.nest.flatten(zeros)
            start = [RNG.normal(size=z.shape.as_list()).astype("float32") for z in flat]
            state = tf.contrib.framework.nest.pack_sequence_as(zeros, [*map(tf.constant, start)])
            output, new = cell(tf.constant(inputs), state)
        sess.run(tf.global_variables_initializer())
        names = {v.op.name.split("/", 2)[-1]: v for v in tf.global_variables()}
        return *sess.run((output, new)), start, sess.run(names)


def test_a_fused_lstm_is_the_lstm():
    found = stepped(lambda: tf.contrib.rnn.LSTMBlockCell(5, use_peephole=True))
    output, new, (c, h), w = found
    i, j, f, o = np.split(np.concatenate([INPUTS, h], 1) @ w["kernel"] + w["bias"], 4, 1)
    c1 = sigmoid(f + 1 + w["w_f_diag"] * c) * c + sigmoid(i + w["w_i_diag"] * c) * np.tanh(j)
    h1 = np.tanh(c1) * sigmoid(o + w["w_o_diag"] * c1)
    np.testing.assert_allclose(output, h1, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(new.c, c1, rtol=1e-4, atol=1e-6)
    with tf.Graph().as_default():
        assert isinstance(tf.contrib.rnn.GRUBlockCell(3), tf.nn.rnn_cell.GRUCell)


@pytest.mark.parametrize("is_normalized", [True, False])
def test_a_normalized_lstm(is_normalized):
    output, new, (c, h), w = stepped(
        lambda: tf.contrib.rnn.LayerNormBasicLSTMCell(
            5, layer_norm=is_normalized, norm_gain=1.5, norm_shift=0.1
        )
    )

    def normalized(x, scope):
        if not is_normalized:
            return x
        assert (w[f"{scope}/gamma"] == 1.5).all()
        assert (w[f"{scope}/beta"] == np.float32(0.1)).all()
        return (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True)) * 1.5 + 0.1

    gates = np.concatenate([INPUTS, h], 1) @ w["kernel"] + w.get("bias", 0)
    scopes = ("input", "transform", "forget", "output")
    i, j, f, o = [normalized(g, s) for g, s in zip(np.split(gates, 4, 1), scopes, strict=True)]
    c1 = normalized(c * sigmoid(f + 1) + sigmoid(i) * np.tanh(j), "state")
    np.testing.assert_allclose(new.c, c1, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(output, np.tanh(c1) * sigmoid(o), rtol=1e-3, atol=1e-4)


def test_what_is_new_is_dropped_out_of_a_normalized_lstm():
    cell = lambda keep: tf.contrib.rnn.LayerNormBasicLSTMCell(  # noqa: E731
        200, layer_norm=False, dropout_keep_prob=keep, dropout_prob_seed=3
    )
    with tf.Graph().as_default(), tf.Session() as sess:
        dropping = cell(0.5)
        _, state = dropping(tf.constant(INPUTS), dropping.zero_state(3, tf.float32))
        sess.run(tf.global_variables_initializer())
        assert 0.3 < np.mean(sess.run(state.c) == 0) < 0.7


@pytest.mark.parametrize("is_normalized", [True, False])
def test_a_cell_that_forgets_for_what_is_new(is_normalized):
    output, new, start, w = stepped(
        lambda: tf.contrib.rnn.CoupledInputForgetGateLSTMCell(
            5,
            use_peepholes=True,
            num_proj=2,
            proj_clip=0.3,
            num_unit_shards=4,
            state_is_tuple=is_normalized,
            layer_norm=is_normalized,
        )
    )
    c, h = start if is_normalized else np.split(start[0], [5], 1)
    found = new if is_normalized else np.split(new, [5], 1)
    assert [w[f"W_{n}"].shape for n in range(4)] == [(2, 15), (2, 15), (1, 15), (1, 15)]

    def normalized(x):
        return (x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True) if is_normalized else x

    kernel = np.concatenate([w[f"W_{n}"] for n in range(4)])
    gates = np.concatenate([INPUTS, h], 1) @ kernel + (0 if is_normalized else w["B"])
    j, f, o = map(normalized, np.split(gates, 3, 1))
    share = sigmoid(f + 1 + w["W_F_diag"] * c)
    c1 = normalized(share * c + (1 - share) * np.tanh(j))
    h1 = sigmoid(o + w["W_O_diag"] * c1) * np.tanh(c1) @ w["W_P_0"]
    np.testing.assert_allclose(found[0], c1, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(output, h1.clip(-0.3, 0.3), rtol=1e-3, atol=1e-4)
    np.testing.assert_array_equal(found[1], output)


def test_the_cell_that_was_searched_for():
    output, new, (c, h), w = stepped(lambda: tf.contrib.rnn.NASCell(5, num_proj=2, use_biases=True))
    m = np.split(h @ w["recurrent_kernel"] + w["bias"], 8, 1)
    x = np.split(INPUTS @ w["kernel"], 8, 1)
    relu = lambda v: np.maximum(v, 0)  # noqa: E731
    a = [sigmoid(x[0] + m[0]), relu(x[1] + m[1]), sigmoid(x[2] + m[2]), relu(x[3] * m[3])]
    b = [np.tanh(x[4] + m[4]), sigmoid(x[5] + m[5]), np.tanh(x[6] + m[6]), sigmoid(x[7] + m[7])]
    c1 = np.tanh(np.tanh(a[0] * a[1]) + c) * np.tanh(a[2] + a[3])
    h1 = np.tanh(c1 * np.tanh(np.tanh(b[0] * b[1]) + sigmoid(b[2] + b[3])))
    np.testing.assert_allclose(new.c, c1, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(output, h1 @ w["projection_weights"], rtol=1e-4, atol=1e-6)


def test_a_cell_with_one_gate():
    output, _, (h,), w = stepped(lambda: tf.contrib.rnn.UGRNNCell(5))
    g, c = np.split(np.concatenate([INPUTS, h], 1) @ w["kernel"] + w["bias"], 2, 1)
    g = sigmoid(g + 1)
    np.testing.assert_allclose(output, g * h + (1 - g) * np.tanh(c), rtol=1e-4, atol=1e-6)


def test_a_cell_that_attends_to_its_last_outputs():
    make = lambda: tf.contrib.rnn.AttentionCellWrapper(  # noqa: E731
        tf.nn.rnn_cell.GRUCell(5), 3, attn_vec_size=2
    )
    output, (new, attended, kept), (h, seen, last), w = stepped(make)
    assert [*w] == [
        "kernel",
        "bias",
        "gru_cell/gates/kernel",
        "gru_cell/gates/bias",
        "gru_cell/candidate/kernel",
        "gru_cell/candidate/bias",
        "attention/attn_w",
        "attention/attn_v",
        "attention/kernel",
        "attention/bias",
        "attn_output_projection/kernel",
        "attn_output_projection/bias",
    ]  # as TensorFlow 1.15 makes them
    joined = lambda *parts: np.concatenate(parts, 1)  # noqa: E731
    x = joined(INPUTS, seen) @ w["kernel"] + w["bias"]
    gates = sigmoid(joined(x, h) @ w["gru_cell/gates/kernel"] + w["gru_cell/gates/bias"])
    reset, update = np.split(gates, 2, 1)
    candidate = joined(x, reset * h) @ w["gru_cell/candidate/kernel"]
    h1 = update * h + (1 - update) * np.tanh(candidate + w["gru_cell/candidate/bias"])
    np.testing.assert_allclose(new, h1, rtol=1e-4, atol=1e-6)
    hidden = last.reshape(3, 3, 5)
    asked = h1 @ w["attention/kernel"] + w["attention/bias"]
    scores = np.tanh(hidden @ w["attention/attn_w"][0, 0] + asked[:, None]) @ w["attention/attn_v"]
    weights = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    found = (weights[..., None] * hidden).sum(1)
    np.testing.assert_allclose(attended, found, rtol=1e-4, atol=1e-6)
    projection = [w[f"attn_output_projection/{name}"] for name in ("kernel", "bias")]
    expected = joined(h1, found) @ projection[0] + projection[1]
    np.testing.assert_allclose(output, expected, rtol=1e-4, atol=1e-5)
    assert kept.shape == (3, 15)
    np.testing.assert_array_equal(kept[:, :10], last[:, 5:])
    np.testing.assert_array_equal(kept[:, 10:], output)


def test_the_state_of_a_cell_that_attends_is_a_matrix_where_asked():
    joined = lambda: tf.contrib.rnn.AttentionCellWrapper(  # noqa: E731
        tf.nn.rnn_cell.GRUCell(5), 3, state_is_tuple=False
    )
    output, new, (state,), _ = stepped(joined)
    assert state.shape == new.shape == (3, 5 + 5 + 15)
    np.testing.assert_array_equal(new[:, -5:], output)
    with pytest.raises(ValueError, match="state_is_tuple"):
        tf.contrib.rnn.AttentionCellWrapper(tf.nn.rnn_cell.LSTMCell(5), 3, state_is_tuple=False)
    with pytest.raises(ValueError, match="greater than zero"):
        tf.contrib.rnn.AttentionCellWrapper(tf.nn.rnn_cell.GRUCell(5), 0)


@pytest.mark.parametrize("skips", [False, True])
def test_an_lstm_of_images(skips):
    images = RNG.normal(size=(2, 6, 5, 3)).astype("float32")
    make = lambda: tf.contrib.rnn.Conv2DLSTMCell(  # noqa: E731
        input_shape=[6, 5, 3], output_channels=4, kernel_shape=[3, 3], skip_connection=skips
    )
    output, new, (c, h), w = stepped(make, images)
    assert output.shape == (2, 6, 5, 7 if skips else 4)
    padded = np.pad(np.concatenate([images, h], -1), [(0, 0), (1, 1), (1, 1), (0, 0)])
    gates = sum(
        padded[:, y : y + 6, x : x + 5] @ w["kernel"][y, x] for y in range(3) for x in range(3)
    )
    i, j, f, o = np.split(gates + w["biases"], 4, -1)
    c1 = sigmoid(f + 1) * c + sigmoid(i) * np.tanh(j)
    np.testing.assert_allclose(new.c, c1, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(output[..., :4], np.tanh(c1) * sigmoid(o), rtol=1e-3, atol=1e-5)
    with pytest.raises(ValueError, match="Invalid input_shape"):
        tf.contrib.rnn.ConvLSTMCell(1, [6, 5, 3], 4, [3])


def test_a_film_goes_through_an_lstm_of_images():
    with tf.Graph().as_default(), tf.Session() as sess:
        cell = tf.contrib.rnn.ConvLSTMCell(1, [8, 2], 3, [3])
        films = tf.constant(RNG.normal(size=(2, 5, 8, 2)).astype("float32"))
        outputs, _ = tf.nn.dynamic_rnn(cell, films, dtype=tf.float32)
        gradient = tf.gradients(outputs, tf.trainable_variables())
        sess.run(tf.global_variables_initializer())
        found, *slopes = sess.run([outputs, *gradient])
        assert found.shape == (2, 5, 8, 3)
        assert all(np.abs(slope).sum() > 0 for slope in slopes)


@pytest.mark.parametrize("is_coupled", [True, False])
def test_inputs_go_past_a_cell(is_coupled):
    with tf.Graph().as_default(), tf.Session() as sess:
        inner = tf.nn.rnn_cell.GRUCell(4)
        cell = tf.contrib.rnn.HighwayWrapper(inner, is_coupled)
        state = cell.zero_state(3, tf.float32)
        with tf.variable_scope("rnn"):
            output, _ = cell(tf.constant(INPUTS), state)
            plain, _ = inner(tf.constant(INPUTS), state)
        sess.run(tf.global_variables_initializer())
        w = sess.run({v.op.name.split("/")[-1]: v for v in tf.global_variables()})
        found, inside = sess.run([output, plain])
    carry = sigmoid(INPUTS @ w["carry_w"] + w["carry_b"])
    assert (w["carry_b"] == 1).all()
    through = 1 - carry
    if not is_coupled:
        through = sigmoid(INPUTS @ w["transform_w"] + w["transform_b"])
    np.testing.assert_allclose(found, INPUTS * carry + inside * through, rtol=1e-4, atol=1e-6)


def test_pairs_of_cells_one_upon_another():
    sequences = RNG.normal(size=(2, 5, 4)).astype("float32")
    with tf.Graph().as_default(), tf.Session() as sess:
        cells = [[tf.nn.rnn_cell.LSTMCell(3) for _ in range(2)] for _ in range(2)]
        outputs, forward, backward = tf.contrib.rnn.stack_bidirectional_dynamic_rnn(
            *cells, tf.constant(sequences), sequence_length=[5, 2], dtype=tf.float32
        )
        sess.run(tf.global_variables_initializer())
        found, last = sess.run([outputs, forward])
        assert found.shape == (2, 5, 6)
        assert (found[1, 2:] == 0).all()
        np.testing.assert_array_equal(last[1].h[1], found[1, 1, :3])
        assert "stack_bidirectional_rnn/cell_1/bidirectional_rnn/bw/lstm_cell/kernel" in {
            v.op.name for v in tf.trainable_variables()
        }
        assert len(backward) == 2
        with tf.variable_scope(tf.get_variable_scope(), reuse=True):
            again = [[tf.nn.rnn_cell.LSTMCell(3) for _ in range(2)] for _ in range(2)]
            unrolled = tf.contrib.rnn.stack_bidirectional_rnn(
                *again, tf.unstack(tf.constant(sequences), axis=1), None, None, tf.float32, [5, 2]
            )
        steps, last_again = sess.run([tf.stack(unrolled[0], axis=1), unrolled[1]])
        np.testing.assert_allclose(steps, found, rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(last_again[1].c, last[1].c, rtol=1e-5, atol=1e-7)
        with pytest.raises(ValueError, match="must have the same depth"):
            tf.contrib.rnn.stack_bidirectional_dynamic_rnn(cells[0], cells[1][:1], sequences)
        with pytest.raises(ValueError, match="at least one fw cell"):
            tf.contrib.rnn.stack_bidirectional_dynamic_rnn([], [], sequences)
