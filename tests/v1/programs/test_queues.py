"""A program of queues, whole: rows of CSV files, read by threads, train a model until they end."""

import numpy as np

import daskvars.v1 as tf


def test_lines_of_files_train_a_model(tmp_path):
    rng = np.random.default_rng(1)
    weights = np.array([2.0, -1.0])
    for part in range(3):
        x = rng.normal(size=(40, 2))
        rows = np.column_stack([x, x @ weights + 0.5])
        np.savetxt(tmp_path / f"part{part}.csv", rows, "%.6f", ",", header="a,b,y", comments="")

    names = tf.train.match_filenames_once(str(tmp_path / "part*.csv"))
    queue = tf.train.string_input_producer(names, num_epochs=4, seed=1)
    _, line = tf.TextLineReader(skip_header_lines=1).read(queue)
    row = tf.stack(tf.decode_csv(line, [[0.0]] * 3))
    features, labels = tf.train.shuffle_batch(
        [row[:2], row[2]], 8, capacity=100, min_after_dequeue=20, num_threads=2, seed=1
    )
    w = tf.get_variable("w", [2, 1], initializer=tf.zeros_initializer())
    b = tf.get_variable("b", [], initializer=tf.zeros_initializer())
    predictions = tf.squeeze(tf.matmul(features, w), 1) + b
    loss = tf.losses.mean_squared_error(labels, predictions)
    step = tf.train.get_or_create_global_step()
    train_op = tf.train.GradientDescentOptimizer(0.2).minimize(loss, global_step=step)
    summary = tf.summary.merge_all()
    init = tf.group(tf.global_variables_initializer(), tf.local_variables_initializer())

    with tf.Session() as sess:
        sess.run(init)
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess=sess, coord=coord)
        try:
            while not coord.should_stop():
                sess.run([train_op, summary])
        except tf.errors.OutOfRangeError:
            pass
        finally:
            coord.request_stop()
        coord.join(threads)
        assert sess.run(step) == 3 * 40 * 4 // 8
        found = sess.run([w, b])
    np.testing.assert_allclose(np.ravel(found[0]), weights, atol=1e-3)
    np.testing.assert_allclose(found[1], 0.5, atol=1e-3)
