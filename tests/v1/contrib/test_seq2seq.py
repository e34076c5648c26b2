import itertools

import numpy as np
import pytest

import daskvars.v1 as tf
from tests import clusters
from tests.sessions import run
from tests.v1.contrib import translation

seq2seq = tf.contrib.seq2seq
GENERATOR = np.random.default_rng(0)


@pytest.mark.slow
def test_a_translator_learns_and_its_variables_have_tensorflows_names():
    names, losses, (greedy, (beams, alignments)) = translation.run(30)
    cells = [f"nmt/bidirectional_rnn/{way}/basic_lstm_cell/" for way in ("fw", "bw")]
    cells.append("nmt/decoder/attention_wrapper/basic_lstm_cell/")
    assert names == [
        "nmt/embedding",
        *[cell + part for cell in cells[:2] for part in ("kernel", "bias")],
        "nmt/memory_layer/kernel",
        *[cells[2] + part for part in ("kernel", "bias")],
        "nmt/decoder/attention_wrapper/luong_attention/attention_g",
        "nmt/decoder/attention_wrapper/attention_layer/kernel",
        "nmt/decoder/projection/kernel",
    ]
    assert np.mean(losses[-3:]) < 0.9 * losses[0]
    assert greedy.shape[0] == 4 and beams.shape[::2] == (4, 3)
    assert alignments.shape == (beams.shape[1], 12, 4)
    np.testing.assert_allclose(alignments.sum(-1), 1, rtol=1e-5)


@pytest.mark.cluster
def test_a_translator_has_the_same_bits_on_two_workers():
    here = translation.run(2)
    with clusters.running() as client, client.as_current():
        there = translation.run(2)
    flat = tf.nest.flatten
    for one, other in zip(flat(here[1:]), flat(there[1:]), strict=True):
        np.testing.assert_array_equal(one, other)


class Says(tf.nn.rnn_cell.RNNCell):
    """A cell whose outputs are rows of numbers, whatever the state is."""

    state_size, output_size = 1, None

    def __init__(self, numbers):
        super().__init__()
        self.numbers = tf.constant(numbers, tf.float32)
        self.output_size = int(self.numbers.shape[-1])

    def call(self, inputs, state):
        return self.said(inputs), state

    def said(self, inputs):
        return self.numbers


class Follows(Says):
    """A cell whose outputs are the row of what is read, one-hot."""

    def said(self, inputs):
        return tf.matmul(inputs, self.numbers)


# TensorFlow 1.8's beam_search_decoder_test.py: lengths, finished, logits that are not 0.0001, and
# what comes out: ids, parents, lengths, finished.
STEPS = {
    "open": (
        [[2] * 3] * 2,
        [[False] * 3] * 2,
        {(0, 1, 3): 3.1, (1, 1, 2): 2.7, (1, 2, 2): 10.0},
        ([[3, 3, 2], [2, 2, 1]], [[1, 0, 0], [2, 1, 0]], [[3] * 3] * 2, [[False] * 3] * 2),
    ),
    "ended": (
        [[2, 1, 2], [2, 2, 1]],
        [[False, True, False], [False, False, True]],
        {(0, 1, 3): 3.1, (1, 1, 2): 5.7, (1, 2, 2): 1.0},
        (
            [[0, 3, 2], [2, 0, 1]],
            [[1, 0, 0], [1, 2, 0]],
            [[1, 3, 3], [3, 1, 3]],
            [[True, False, False], [False, True, False]],
        ),
    ),
}


@pytest.mark.parametrize("name", STEPS)
def test_a_step_of_beam_search_is_tensorflows(graph, name):
    lengths, finished, some, wanted = STEPS[name]
    logits = np.full([2, 3, 5], 0.0001)
    logits[0, 0, 2:4], logits[0, 1, 4], logits[1, 0, 1], logits[1, 2, 3] = [1.9, 2.1], 0.9, 0.5, 0.2
    for place, value in some.items():
        logits[place] = value
    decoder = seq2seq.BeamSearchDecoder(
        Says(logits.reshape(6, 5)), tf.eye(5), [1, 1], 0, tf.zeros([6, 1]), 3, None, 0.6
    )
    state = seq2seq.BeamSearchDecoderState(
        cell_state=tf.zeros([2, 3, 1]),
        log_probs=tf.nn.log_softmax(tf.ones([2, 3])),
        finished=tf.constant(finished),
        lengths=tf.constant(lengths, tf.int64),
    )
    output, state, _, _ = decoder.step(2, tf.zeros([2, 3, 5]), state)
    found = output.predicted_ids, output.parent_ids, state.lengths, state.finished
    assert [value.tolist() for value in run(found)] == list(wanted)


@pytest.mark.parametrize("wraps", [1, 2])
def test_finished_beams_lose_score_for_places_that_were_left_out(graph, wraps):
    """TensorFlow 1.15's coverage: by the sum of log(min(attention so far, 1)) over the places."""
    generator = np.random.default_rng(1)
    memory, width, weight = tf.constant(generator.normal(size=[2, 4, 3]), tf.float32), 2, 0.3
    memory = seq2seq.tile_batch(memory, width)
    lengths = seq2seq.tile_batch(tf.constant([4, 3]), width)
    cells = [
        seq2seq.AttentionWrapper(
            tf.nn.rnn_cell.GRUCell(3), seq2seq.LuongAttention(3, memory, lengths)
        )
        for _ in range(wraps)
    ]
    cell = cells[0] if wraps == 1 else tf.nn.rnn_cell.MultiRNNCell(cells)
    made = {
        w: seq2seq.BeamSearchDecoder(
            cell,
            tf.eye(3),
            [1, 1],
            0,
            cell.zero_state(2 * width, tf.float32),
            width,
            coverage_penalty_weight=w,
        )
        for w in (0.0, weight)
    }
    attended = np.array(generator.uniform(0.2, 1.4, size=[2, width, 4]), "float32")
    attended[1, :, 3] = 0.0  # behind the end
    scores, grown = [], []
    for decoder in made.values():
        _, inputs, state = decoder.initialize()
        state = state._replace(
            log_probs=tf.constant([[-1.0, -1.5]] * 2), finished=tf.ones([2, 2]) > 0
        )
        if state.accumulated_attention_probs != ():
            state = state._replace(accumulated_attention_probs=tf.constant(attended))
        output, state, _, _ = decoder.step(2, inputs, state)
        scores.append(output.scores)
        grown.append(state.accumulated_attention_probs)
    assert grown[0] == ()
    (plain, covered), after = run([scores, grown[1]])
    had = np.where(attended == 0, 1, np.minimum(attended, 1))
    wanted = plain + weight * np.log(had).sum(2)
    np.testing.assert_allclose(covered, -np.sort(-wanted, axis=1), rtol=1e-5)
    # What is finished attends to nothing more; beams are in their new order.
    order = np.argsort(-wanted, axis=1, kind="stable")
    np.testing.assert_array_equal(after, np.take_along_axis(attended, order[..., None], 1))
    found, _, _ = seq2seq.dynamic_decode(made[weight], maximum_iterations=3)
    assert run(found.predicted_ids).shape[::2] == (2, width)


def test_coverage_needs_attention(graph):
    decoder = seq2seq.BeamSearchDecoder(
        Says(np.zeros([4, 3])), tf.eye(3), [1, 1], 0, tf.zeros([4, 1]), 2, None, 0.0, 0.5
    )
    with pytest.raises(ValueError, match="no cell of the decoder pays attention"):
        decoder.initialize()


def test_a_beam_search_that_is_wide_enough_finds_the_best_sequences(graph):
    end, weight, steps, width = 2, 0.7, 3, 8
    logits = GENERATOR.normal(size=[3, 3]).astype("float32")
    log_probs = logits - np.log(np.exp(logits).sum(1, keepdims=True))

    def score(words):
        pairs = itertools.pairwise([0, *words])
        length = steps - 1 if words[-1] == end and len(words) == steps else len(words)
        return sum(log_probs[pair] for pair in pairs) / ((5 + length) / 6) ** weight

    ended = [(*w, end) for n in range(steps) for w in itertools.product((0, 1), repeat=n)]
    best = sorted([*ended, *itertools.product((0, 1), repeat=steps)], key=score, reverse=True)
    decoder = seq2seq.BeamSearchDecoder(
        Follows(logits), tf.eye(3), [0], end, tf.zeros([width, 1]), width, None, weight
    )
    found, state, _ = seq2seq.dynamic_decode(decoder, maximum_iterations=steps)
    ids, scores, lengths = run(
        [found.predicted_ids, found.beam_search_decoder_output.scores, state.lengths]
    )
    assert [tuple(w[:n]) for w, n in zip(ids[0].T, lengths[0], strict=True)] == best[:width]
    np.testing.assert_allclose(scores[0, -1], [score(w) for w in best[:width]], rtol=1e-5)


def test_sequences_are_gathered_back_along_their_parents(graph):
    # TensorFlow 1.8's beam_search_ops_test.py.
    ids = np.array([[1, 2, 3], [4, 5, 6], [7, 8, 9], [-1, -1, -1]])[:, None]
    parents = np.array([[0, 0, 0], [0, 1, 1], [2, 1, 2], [-1, -1, -1]])[:, None]
    found = seq2seq.gather_tree(ids, parents, [3], 10)
    assert run(found)[:, 0].tolist() == [[2, 2, 2], [6, 5, 6], [7, 8, 9], [10, 10, 10]]
    assert run(seq2seq.gather_tree(ids, parents, [3], 5))[:, 0, 1].tolist() == [2, 5, 5, 5]
    parents[1, 0, 1] = -1
    with pytest.raises(tf.errors.InvalidArgumentError):
        run(seq2seq.gather_tree(ids, parents, [3], 10))


@pytest.mark.parametrize("is_long", [False, True])
@pytest.mark.parametrize("kind", ["Luong", "Bahdanau"])
def test_alignments_are_shares_of_scores(graph, kind, is_long):
    memory, query = (GENERATOR.normal(size=s).astype("float32") for s in ([2, 4, 3], [2, 5]))
    lengths = np.array([4, 2])
    given = {"scale" if kind == "Luong" else "normalize": is_long}
    make = getattr(seq2seq, f"{kind}Attention")
    with tf.variable_scope("a", initializer=tf.random_normal_initializer(seed=1)):
        mechanism = make(5, memory, lengths, **given)
        alignments, state = mechanism(tf.constant(query), state=None)
    found, variables = run([alignments, {v.op.name: v for v in tf.global_variables()}])
    masked = memory * (np.arange(4) < lengths[:, None])[..., None]
    keys = masked @ variables["a/memory_layer/kernel"]
    if kind == "Luong":
        scores = np.einsum("bu,bpu->bp", query, keys)
        scores = scores * variables.get("a/luong_attention/attention_g", 1)
    else:
        scope = "a/bahdanau_attention/"
        v, b = variables[f"{scope}attention_v"], variables.get(f"{scope}attention_b", 0)
        if is_long:
            v = v * variables[f"{scope}attention_g"] / np.sqrt((v**2).sum())
        query = query @ variables[f"{scope}query_layer/kernel"]
        scores = np.tanh(keys + query[:, None] + b) @ v
    shares = np.exp(scores) * (np.arange(4) < lengths[:, None])
    np.testing.assert_allclose(found, shares / shares.sum(1, keepdims=True), rtol=2e-5)
    assert state is alignments
    with pytest.raises(tf.errors.InvalidArgumentError, match="greater than zero"):
        run(make(5, memory, tf.constant([1, 0]), name="other").values)


@pytest.mark.parametrize("mode", ["recursive", "parallel", "hard"])
def test_monotonic_attention_never_goes_back(graph, mode):
    stops = GENERATOR.uniform(0, 0.9, size=[3, 6]).astype("float32")
    before = np.eye(6, dtype="float32")[[0, 2, 5]]
    if mode == "hard":
        stops = stops.round()
    arrived = [before[:, 0]]
    for place in range(1, 6):
        arrived.append((1 - stops[:, place - 1]) * arrived[-1] + before[:, place])
    found = run(seq2seq.monotonic_attention(stops, before, mode))
    np.testing.assert_allclose(found, stops * np.stack(arrived, 1), rtol=1e-4, atol=1e-6)
    for kind in (seq2seq.LuongMonotonicAttention, seq2seq.BahdanauMonotonicAttention):
        attention = kind(4, tf.ones([2, 3, 4]), sigmoid_noise=1.0, mode=mode, score_bias_init=-1.0)
        first = attention.initial_state(2, tf.float32)
        shares = run(attention(tf.ones([2, 4]), state=first)[0])
        assert shares.shape == (2, 3) and (shares.sum(1) <= 1 + 1e-5).all()


def decoded(make, dtype="float32", **given):
    weights = tf.random_normal_initializer(seed=1)
    with tf.Graph().as_default(), tf.variable_scope("model", initializer=weights):
        inputs = tf.constant(np.linspace(-1, 1, 2 * 4 * 3).reshape(2, 4, 3), dtype)
        memory = tf.placeholder_with_default(tf.ones([2, 5, 6], dtype), [None, None, 6])
        attentions = [
            kind(3, memory, [2, 5], dtype=dtype)
            for kind in (seq2seq.LuongAttention, seq2seq.BahdanauAttention)
        ]
        cell = seq2seq.AttentionWrapper(tf.nn.rnn_cell.GRUCell(3), attentions, [2, 1])
        helper = make(inputs, [4, 1])
        decoder = seq2seq.BasicDecoder(cell, helper, cell.zero_state(2, dtype))
        outputs, state, lengths = seq2seq.dynamic_decode(decoder, **given)
        assert outputs.rnn_output.get_shape().as_list() == [2, None, 3]
        assert outputs.rnn_output.dtype == dtype and len(state.alignments) == 2
        slope = tf.gradients(tf.reduce_sum(outputs.rnn_output), inputs)[0]
        return run([outputs.rnn_output, outputs.sample_id, lengths, slope])


class Telling(seq2seq.BasicDecoder):
    """Gives its inputs besides, with what TensorFlow's own subclasses find in their parent."""

    output_size = property(lambda self: (self._rnn_output_size(), 3))
    output_dtype = property(lambda self: (tf.float32, tf.float32))

    def step(self, time, inputs, state, name=None):
        (output, _), *rest = super().step(time, inputs, state, name)
        return ((output, inputs), *rest)


def test_a_subclass_asks_its_decoder_for_the_size_of_its_outputs():
    with tf.Graph().as_default():
        inputs, cell = tf.constant(np.ones([2, 4, 3]), tf.float32), tf.nn.rnn_cell.GRUCell(3)
        helper = seq2seq.TrainingHelper(inputs, [4, 1])
        decoder = Telling(cell, helper, cell.zero_state(2, tf.float32), tf.layers.Dense(7))
        assert decoder._rnn_output_size() == tf.TensorShape([7])
        outputs, seen = run(seq2seq.dynamic_decode(decoder)[0])
        assert outputs.shape == (2, 4, 7) and (seen == 1).all()


SCHEDULED = {
    "embedding": lambda p: (
        lambda x, n: seq2seq.ScheduledEmbeddingTrainingHelper(x, n, tf.eye(3), p)
    ),
    "output": lambda p: lambda x, n: seq2seq.ScheduledOutputTrainingHelper(x, n, p),
    "function": lambda p: (
        lambda x, n: seq2seq.ScheduledOutputTrainingHelper(
            x, n, p, next_inputs_fn=lambda y: 2.0 * y, auxiliary_inputs=tf.ones([2, 4, 1])
        )
    ),
}


@pytest.mark.parametrize("name", SCHEDULED)
def test_scheduled_helpers_read_targets_or_what_was_written(name):
    never, always = (decoded(SCHEDULED[name](p)) for p in (0.0, 1.0))
    assert (never[1] == (-1 if name == "embedding" else 0)).all() and (always[1] >= 0).all()
    plain = decoded(seq2seq.TrainingHelper)
    if name != "function":
        np.testing.assert_array_equal(never[0], plain[0])
        np.testing.assert_allclose(never[3], plain[3], rtol=1e-5)
    np.testing.assert_array_equal(always[0][:, 0], never[0][:, 0])
    assert (always[0][0, 1:] != never[0][0, 1:]).any() and (always[3][0, 1:, :2] == 0).all()


def test_what_is_finished_is_blank_and_has_no_slope():
    outputs, _, lengths, slope = decoded(seq2seq.TrainingHelper, impute_finished=True)
    assert lengths.tolist() == [4, 1] and (outputs[1, 1:] == 0).all() and (slope[1, 1:] == 0).all()
    full = decoded(seq2seq.TrainingHelper, "float64", maximum_iterations=2)[0]
    assert full.shape == (2, 2, 3) and full.dtype == np.float64


legacy = tf.contrib.legacy_seq2seq


@pytest.mark.parametrize("kind", ["rnn", "attention"])
def test_unrolled_models_read_what_they_are_told_to(graph, kind):
    steps = [tf.constant([1, 2]), tf.constant([3, 0]), tf.constant([4, 4])]
    model = getattr(legacy, f"embedding_{kind}_seq2seq")

    def outputs(feed_previous):
        cell = tf.nn.rnn_cell.BasicLSTMCell(2)
        with tf.variable_scope("model", reuse=tf.AUTO_REUSE):
            return model(steps, steps, cell, 5, 5, 3, feed_previous=feed_previous)

    told = tf.placeholder_with_default(True, [])
    chosen, fed, read = (outputs(value) for value in (told, True, False))
    assert isinstance(chosen[1], tf.nn.rnn_cell.LSTMStateTuple)
    names = {
        v.op.name.removeprefix(f"model/embedding_{kind}_seq2seq/") for v in tf.global_variables()
    }
    decoder = f"embedding_{kind}_decoder/{kind}_decoder/"
    assert {
        "rnn/embedding_wrapper/embedding",
        "rnn/embedding_wrapper/basic_lstm_cell/kernel",
        f"embedding_{kind}_decoder/embedding",
        f"{decoder}output_projection_wrapper/basic_lstm_cell/bias",
        f"{decoder}output_projection_wrapper/kernel",
    } <= names
    if kind == "attention":
        more = ["AttnW_0", "AttnV_0", "kernel", "Attention_0/kernel", "AttnOutputProjection/bias"]
        assert {decoder + name for name in more} <= names
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for value, wanted in ((True, fed), (False, read)):
            for one, other in zip(*session.run([chosen, wanted], {told: value}), strict=True):
                np.testing.assert_array_equal(one, other)


def test_buckets_share_variables_and_tied_models_their_cell(graph):
    words = [tf.constant([1, 2])] * 4
    weights = [tf.ones([2])] * 4

    def model(read, written):
        return legacy.embedding_tied_rnn_seq2seq(read, written, tf.nn.rnn_cell.GRUCell(2), 5, 3)

    buckets = [(2, 2), (3, 4)]
    outputs, losses = legacy.model_with_buckets(words, words, words, weights, buckets, model)
    assert [len(steps) for steps in outputs] == [2, 4] and len(tf.trainable_variables()) == 7
    assert np.isfinite(run(losses)).all()
    with pytest.raises(ValueError, match=r"weights \(3\) must be at least that of last bucket"):
        legacy.model_with_buckets(words, words, words, weights[:3], buckets, model)
