"""A translator as TensorFlow-1 programs write it: it learns to repeat what it reads."""

import numpy as np

import daskvars.v1 as tf

seq2seq = tf.contrib.seq2seq
WORDS, WIDTH, UNITS, BATCH, BEAMS = 9, 6, 8, 4, 3
GO, END = 1, 2


def model(mode, source, source_length, target_in=None, target_out=None, target_length=None):
    with tf.variable_scope("nmt", reuse=None if mode == "train" else True):
        embedding = tf.get_variable("embedding", [WORDS, WIDTH])
        cells = [tf.contrib.rnn.BasicLSTMCell(UNITS // 2) for _ in range(2)]
        words = tf.nn.embedding_lookup(embedding, source)
        outputs, states = tf.nn.bidirectional_dynamic_rnn(
            *cells, words, source_length, dtype=tf.float32
        )
        memory, batch, copies = tf.concat(outputs, -1), tf.shape(source)[0], 1
        state = tf.contrib.rnn.LSTMStateTuple(
            *[tf.concat(pair, 1) for pair in zip(*states, strict=True)]
        )
        if mode == "beams":
            copies = BEAMS
            memory, source_length, state = seq2seq.tile_batch((memory, source_length, state), BEAMS)
        attention = seq2seq.LuongAttention(UNITS, memory, source_length, scale=True)
        cell = seq2seq.AttentionWrapper(
            tf.contrib.rnn.BasicLSTMCell(UNITS), attention, UNITS, alignment_history=True
        )
        first = cell.zero_state(batch * copies, tf.float32).clone(cell_state=state)
        logits = tf.layers.Dense(WORDS, use_bias=False, name="projection")
        starts = tf.fill([batch], GO)
        if mode == "train":
            words = tf.nn.embedding_lookup(embedding, target_in)
            helper = seq2seq.TrainingHelper(words, target_length)
            decoder = seq2seq.BasicDecoder(cell, helper, first, logits)
            found, _, _ = seq2seq.dynamic_decode(decoder, impute_finished=True)
            steps = tf.shape(found.rnn_output)[1]
            weights = tf.sequence_mask(target_length, steps, dtype=tf.float32)
            return seq2seq.sequence_loss(found.rnn_output, target_out[:, :steps], weights)
        if mode == "greedy":
            helper = seq2seq.GreedyEmbeddingHelper(embedding, starts, END)
            decoder = seq2seq.BasicDecoder(cell, helper, first, logits)
            found, _, _ = seq2seq.dynamic_decode(decoder, maximum_iterations=8)
            return found.sample_id
        decoder = seq2seq.BeamSearchDecoder(cell, embedding, starts, END, first, BEAMS, logits)
        found, state, _ = seq2seq.dynamic_decode(decoder, maximum_iterations=8)
        return found.predicted_ids, state.cell_state.alignment_history


def run(steps):
    """Return the names of the variables, the losses, and what is written in the end."""
    with tf.Graph().as_default():
        tf.set_random_seed(1)
        source, target_in, target_out = (tf.placeholder(tf.int32, [None, None]) for _ in range(3))
        lengths, ends = (tf.placeholder(tf.int32, [None]) for _ in range(2))
        loss = model("train", source, lengths, target_in, target_out, ends)
        variables = tf.trainable_variables()
        gradients, _ = tf.clip_by_global_norm(tf.gradients(loss, variables), 5.0)
        train = tf.train.AdamOptimizer(0.03).apply_gradients(zip(gradients, variables, strict=True))
        written = model("greedy", source, lengths), model("beams", source, lengths)
        generator, losses = np.random.default_rng(0), []
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for _ in range(steps):
                sizes = generator.integers(2, 5, BATCH)
                read = generator.integers(3, WORDS, [BATCH, 4]) * (np.arange(4) < sizes[:, None])
                right = np.pad(read, [[0, 0], [0, 1]])
                right[np.arange(BATCH), sizes] = END
                before = np.pad(read, [[0, 0], [1, 0]], constant_values=GO)
                feeds = {source: read, lengths: sizes}
                more = {target_in: before, target_out: right, ends: sizes + 1}
                losses.append(session.run([loss, train], {**feeds, **more})[0])
            return [v.op.name for v in variables], losses, session.run(written, feeds)
