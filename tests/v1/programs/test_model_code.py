"""Models written as TensorFlow-1 programs are: two networks, several towers, an unrolled one."""

import numpy as np

import daskvars.v1 as tf


def linear(x, size, scope):
    with tf.variable_scope(scope):
        matrix = tf.get_variable(
            "Matrix",
            [x.get_shape().as_list()[1], size],
            tf.float32,
            tf.random_normal_initializer(stddev=0.1),
        )
        return tf.matmul(x, matrix) + tf.get_variable(
            "bias", [size], initializer=tf.constant_initializer(0.0)
        )


def convolution(x, size, scope):
    with tf.variable_scope(scope):
        w = tf.get_variable(
            "w",
            [5, 5, x.get_shape()[-1], size],
            initializer=tf.truncated_normal_initializer(stddev=0.1),
        )
        conv = tf.nn.conv2d(x, w, strides=[1, 2, 2, 1], padding="SAME")
        biases = tf.get_variable("biases", [size], initializer=tf.constant_initializer(0.0))
        return tf.reshape(tf.nn.bias_add(conv, biases), conv.get_shape())


# -- two networks, each with its optimizer -------------------------------------------------------


def discriminator(image, reuse=False):
    with tf.variable_scope("discriminator") as scope:
        if reuse:
            scope.reuse_variables()
        hidden = convolution(image, 4, "d_h0_conv")
        hidden = tf.maximum(hidden, 0.2 * hidden)
        return linear(tf.reshape(hidden, [8, -1]), 1, "d_h1_lin")


def generator(z):
    with tf.variable_scope("generator"):
        hidden = tf.nn.relu(tf.reshape(linear(z, 4 * 4 * 4, "g_h0_lin"), [-1, 4, 4, 4]))
        with tf.variable_scope("g_h1"):
            w = tf.get_variable("w", [5, 5, 1, 4], initializer=tf.random_normal_initializer())
            return tf.tanh(tf.nn.conv2d_transpose(hidden, w, [8, 8, 8, 1], [1, 2, 2, 1]))


def cross_entropy(logits, label):
    labels = tf.fill(tf.shape(logits), label)
    return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(logits=logits, labels=labels))


def test_two_networks_are_trained_against_each_other(initialized):
    images = tf.placeholder(tf.float32, [8, 8, 8, 1], name="real_images")
    z = tf.placeholder(tf.float32, [None, 10], name="z")
    made = generator(z)
    of_real, of_made = discriminator(images), discriminator(made, reuse=True)
    d_loss = cross_entropy(of_real, 1.0) + cross_entropy(of_made, 0.0)
    g_loss = cross_entropy(of_made, 1.0)
    variables = tf.trainable_variables()
    d_vars = [v for v in variables if "d_" in v.name]
    g_vars = [v for v in variables if "g_" in v.name]
    assert len(d_vars) == 4 and len(g_vars) == 3 and len(variables) == 7
    d_train = tf.train.AdamOptimizer(2e-3, beta1=0.5).minimize(d_loss, var_list=d_vars)
    g_train = tf.train.AdamOptimizer(2e-3, beta1=0.5).minimize(g_loss, var_list=g_vars)
    assert "discriminator/d_h0_conv/w/Adam:0" in [v.name for v in tf.global_variables()]
    rng = np.random.default_rng(0)
    feeds = {images: rng.normal(size=(8, 8, 8, 1)), z: rng.uniform(-1, 1, (8, 10))}
    session = initialized()
    for step, changed, kept, loss in (
        (d_train, d_vars, g_vars, d_loss),
        (g_train, g_vars, d_vars, g_loss),
    ):
        first, before = session.run([loss, [changed, kept]], feeds)
        for _ in range(20):
            session.run(step, feeds)
        last, after = session.run([loss, [changed, kept]], feeds)
        assert last < first
        assert all((a != b).any() for a, b in zip(before[0], after[0], strict=True))
        assert all((a == b).all() for a, b in zip(before[1], after[1], strict=True))


# -- towers that share variables -----------------------------------------------------------------


def tower_loss(scope, images, labels):
    hidden = tf.nn.relu(convolution(images, 4, "conv1"))
    logits = linear(tf.reshape(hidden, [images.get_shape().as_list()[0], -1]), 10, "logits")
    with tf.variable_scope("logits", reuse=True):
        decay = tf.multiply(tf.nn.l2_loss(tf.get_variable("Matrix")), 0.004, name="weight_loss")
    tf.add_to_collection("losses", decay)
    errors = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    tf.add_to_collection("losses", tf.reduce_mean(errors, name="cross_entropy"))
    return tf.add_n(tf.get_collection("losses", scope), name="total_loss")


def average_gradients(towers):
    pairs = []
    for of_one_variable in zip(*towers, strict=True):
        gradients = [tf.expand_dims(gradient, 0) for gradient, _ in of_one_variable]
        mean = tf.reduce_mean(tf.concat(axis=0, values=gradients), 0)
        pairs.append((mean, of_one_variable[0][1]))
    return pairs


def train_in_towers(count):
    """Train on 16 images in `count` towers, and return names, losses and weights."""
    with tf.Graph().as_default(), tf.device("/cpu:0"):
        step = tf.get_variable("global_step", [], tf.int32, tf.zeros_initializer, trainable=False)
        rate = tf.train.exponential_decay(0.1, step, 100, 0.1, staircase=True)
        optimizer = tf.train.GradientDescentOptimizer(rate)
        images = tf.placeholder(tf.float32, [16, 6, 6, 3])
        labels = tf.placeholder(tf.int32, [16])
        towers = []
        with tf.variable_scope(tf.get_variable_scope()):
            parts = zip(tf.split(images, count), tf.split(labels, count), strict=True)
            for i, part in enumerate(parts):
                with tf.device("/cpu:0"), tf.name_scope(f"tower_{i}") as scope:
                    loss = tower_loss(scope, *part)
                    tf.get_variable_scope().reuse_variables()
                    towers.append(optimizer.compute_gradients(loss))
        train = optimizer.apply_gradients(average_gradients(towers), global_step=step)
        rng = np.random.default_rng(0)
        session = tf.Session()
        session.run(tf.global_variables_initializer())
        for v in tf.trainable_variables():
            v.load(rng.normal(size=v.shape.as_list(), scale=0.1), session)
        feeds = {images: rng.uniform(size=(16, 6, 6, 3)), labels: rng.integers(0, 10, 16)}
        total = tf.add_n([tf.reduce_mean(x) for x in tf.get_collection("losses")]) / count
        losses = [session.run([total, train], feeds)[0] for _ in range(30)]
        names = [v.name for v in tf.trainable_variables()]
        weights = session.run(tf.trainable_variables())
        assert session.run(step) == 30
        return names, losses, weights


def test_towers_share_variables_and_average_gradients():
    (names, losses, weights), (_, other_losses, others) = (
        train_in_towers(count) for count in (1, 4)
    )
    assert names == ["conv1/w:0", "conv1/biases:0", "logits/Matrix:0", "logits/bias:0"]
    assert losses[-1] < losses[0]
    np.testing.assert_allclose(losses, other_losses, rtol=1e-4)
    for one, other in zip(weights, others, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


# -- a recurrent network, unrolled ---------------------------------------------------------------


def test_an_unrolled_network_learns_a_text(initialized):
    text, num_hidden, length = "to be or not to be ", 24, 6
    letters = sorted(set(text))
    ids = np.array([letters.index(c) for c in text * 3])
    inputs = tf.placeholder(tf.int32, [None, length])
    targets = tf.placeholder(tf.int32, [None, length])
    state = initial = tf.placeholder(tf.float32, [None, num_hidden])
    outputs = []
    with tf.variable_scope("RNN", initializer=tf.random_normal_initializer(stddev=0.1)) as scope:
        for t, x in enumerate(tf.split(tf.one_hot(inputs, len(letters)), length, axis=1)):
            if t > 0:
                scope.reuse_variables()
            wide = tf.concat([tf.squeeze(x, [1]), state], 1)
            w = tf.get_variable("w", [len(letters) + num_hidden, num_hidden])
            state = tf.tanh(tf.matmul(wide, w) + tf.get_variable("b", [num_hidden]))
            outputs.append(tf.matmul(state, tf.get_variable("out", [num_hidden, len(letters)])))
    logits = tf.stack(outputs, 1)
    loss = tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(logits=logits, labels=targets)
    )
    variables = tf.trainable_variables()
    assert [v.name for v in variables] == ["RNN/w:0", "RNN/b:0", "RNN/out:0"]
    gradients, norm = tf.clip_by_global_norm(tf.gradients(loss, variables), 5.0)
    train = tf.train.AdamOptimizer(0.03).apply_gradients(zip(gradients, variables, strict=True))
    windows = np.stack([ids[i : i + length + 1] for i in range(len(text))])
    feeds = {
        inputs: windows[:, :-1],
        targets: windows[:, 1:],
        initial: np.zeros((len(text), num_hidden)),
    }
    session = initialized()
    first = session.run([loss, norm], feeds)
    for _ in range(60):
        session.run(train, feeds)
    assert session.run(loss, feeds) < 0.5 < first[0] and first[1] > 0


# -- averages of what was trained ----------------------------------------------------------------


def test_a_model_is_evaluated_with_its_moving_averages(tmp_path, initialized):
    x = np.random.default_rng(0).normal(size=(16, 4))
    y = x.sum(1, keepdims=True)
    step = tf.train.get_or_create_global_step()
    loss = tf.reduce_mean(tf.square(linear(tf.constant(x, tf.float32), 1, "model") - y))
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=step)
    averages = tf.train.ExponentialMovingAverage(0.5, step)
    with tf.control_dependencies([train]):
        train = averages.apply(tf.trainable_variables())
    session = initialized()
    for _ in range(20):
        session.run(train)
    v = tf.trainable_variables()[0]
    average, plain = session.run([averages.average(v), v])
    path = tf.train.Saver().save(session, str(tmp_path / "model.ckpt"), global_step=step)
    assert path.endswith("-20") and (average != plain).any()
    with tf.Graph().as_default(), tf.Session() as session:
        linear(tf.constant(x, tf.float32), 1, "model")
        averages = tf.train.ExponentialMovingAverage(0.5)
        names = averages.variables_to_restore()
        assert sorted(names) == [
            f"model/{name}/ExponentialMovingAverage" for name in ("Matrix", "bias")
        ]
        tf.train.Saver(names).restore(session, tf.train.latest_checkpoint(str(tmp_path)))
        assert (session.run(tf.trainable_variables()[0]) == average).all()
