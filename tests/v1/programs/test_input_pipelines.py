"""Programs as they were written for TensorFlow 1, fed by `tf.data`; nothing in them is changed."""

import os

import numpy as np
import pytest

import daskvars.v1 as tf


def separable(count, seed=0):
    rng = np.random.RandomState(seed)
    features = rng.normal(size=(count, 4)).astype(np.float32)
    return features, (features.sum(axis=1) > 0).astype(np.int64)


def linear(features, labels):
    logits = tf.layers.dense(features, 2, name="logits", reuse=tf.AUTO_REUSE)
    loss = tf.losses.sparse_softmax_cross_entropy(labels=labels, logits=logits)
    right = tf.equal(tf.argmax(logits, 1), labels)
    return loss, tf.reduce_mean(tf.cast(right, tf.float32))


def test_arrays_are_fed_to_the_initializer():
    """The guide's program for arrays that are too large to be constants of the graph."""
    features, labels = separable(500)

    features_placeholder = tf.placeholder(features.dtype, features.shape)
    labels_placeholder = tf.placeholder(labels.dtype, labels.shape)

    dataset = tf.data.Dataset.from_tensor_slices((features_placeholder, labels_placeholder))
    dataset = dataset.map(lambda x, y: (x * 2.0, y))
    dataset = dataset.shuffle(buffer_size=500, seed=1)
    dataset = dataset.batch(64)
    iterator = dataset.make_initializable_iterator()
    next_features, next_labels = iterator.get_next()

    loss, accuracy = linear(next_features, next_labels)
    global_step = tf.train.get_or_create_global_step()
    train_op = tf.train.AdamOptimizer(0.05).minimize(loss, global_step=global_step)

    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(8):
            feed = {features_placeholder: features, labels_placeholder: labels}
            sess.run(iterator.initializer, feed_dict=feed)
            found = []
            while True:
                try:
                    _, value = sess.run([train_op, accuracy])
                    found.append(value)
                except tf.errors.OutOfRangeError:
                    break
            assert len(found) == 8
        assert np.mean(found) > 0.95
        assert sess.run(global_step) == 64


def test_training_and_validation_by_handle():
    """The guide's program of a feedable iterator: one is repeated, the other begins anew."""
    training_dataset = (
        tf.data.Dataset.from_tensor_slices(separable(320)).shuffle(320, seed=2).repeat().batch(32)
    )
    validation_dataset = tf.data.Dataset.from_tensor_slices(separable(96, seed=1)).batch(32)

    handle = tf.placeholder(tf.string, shape=[])
    iterator = tf.data.Iterator.from_string_handle(
        handle, training_dataset.output_types, training_dataset.output_shapes
    )
    loss, accuracy = linear(*iterator.get_next())
    train_op = tf.train.GradientDescentOptimizer(0.5).minimize(loss)

    training_iterator = training_dataset.make_one_shot_iterator()
    validation_iterator = validation_dataset.make_initializable_iterator()

    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        training_handle = sess.run(training_iterator.string_handle())
        validation_handle = sess.run(validation_iterator.string_handle())
        for _ in range(3):
            for _ in range(20):
                sess.run(train_op, feed_dict={handle: training_handle})
            sess.run(validation_iterator.initializer)
            found = [sess.run(accuracy, {handle: validation_handle}) for _ in range(3)]
            with pytest.raises(tf.errors.OutOfRangeError):
                sess.run(accuracy, {handle: validation_handle})
    assert np.mean(found) > 0.9


def _int64_feature(value):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=[value]))


def _bytes_feature(value):
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))


def convert_to(images, labels, path):
    """TensorFlow's example of MNIST in records writes them so."""
    with tf.python_io.TFRecordWriter(path) as writer:
        for index in range(len(images)):
            image_raw = images[index].tobytes()
            example = tf.train.Example(
                features=tf.train.Features(
                    feature={
                        "height": _int64_feature(images.shape[1]),
                        "width": _int64_feature(images.shape[2]),
                        "label": _int64_feature(int(labels[index])),
                        "image_raw": _bytes_feature(image_raw),
                    }
                )
            )
            writer.write(example.SerializeToString())


def decode(serialized_example):
    features = tf.parse_single_example(
        serialized_example,
        features={
            "image_raw": tf.FixedLenFeature([], tf.string),
            "label": tf.FixedLenFeature([], tf.int64),
        },
    )
    image = tf.decode_raw(features["image_raw"], tf.uint8)
    image.set_shape(64)
    return image, tf.cast(features["label"], tf.int32)


def normalize(image, label):
    return tf.cast(image, tf.float32) * (1.0 / 255) - 0.5, label


def test_images_in_records(tmp_path):
    """TensorFlow's `fully_connected_reader`, on smaller images, with a monitored session."""
    rng = np.random.RandomState(0)
    labels = rng.randint(0, 2, 300)
    images = (rng.randint(0, 100, (300, 8, 8)) + 100 * labels[:, None, None]).astype(np.uint8)
    filename = os.path.join(str(tmp_path), "train.tfrecords")
    convert_to(images, labels, filename)

    with tf.name_scope("input"):
        dataset = tf.data.TFRecordDataset(filename)
        dataset = dataset.map(decode).map(normalize, num_parallel_calls=2)
        dataset = dataset.shuffle(1000 + 3 * 50, seed=5)
        dataset = dataset.repeat(2)
        dataset = dataset.batch(50)
        dataset = dataset.prefetch(tf.data.experimental.AUTOTUNE)
        image_batch, label_batch = dataset.make_one_shot_iterator().get_next()
    assert image_batch.shape.as_list() == [None, 64]

    hidden = tf.layers.dense(image_batch, 16, tf.nn.relu, name="hidden1")
    logits = tf.layers.dense(hidden, 2, name="softmax_linear")
    loss = tf.losses.sparse_softmax_cross_entropy(labels=label_batch, logits=logits)
    global_step = tf.train.get_or_create_global_step()
    train_op = tf.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=global_step)

    losses = []
    with tf.train.MonitoredTrainingSession(checkpoint_dir=str(tmp_path / "model")) as sess:
        while not sess.should_stop():
            losses.append(sess.run([train_op, loss])[1])
    assert len(losses) == 12
    assert losses[-1] < losses[0]
    path = tf.train.latest_checkpoint(str(tmp_path / "model"))
    assert tf.train.load_variable(path, "global_step") == 12


def test_lines_of_several_files(tmp_path):
    """The guide's program for text: each file without its header and its comments."""
    for name, rows in (("a", "x,y\n1,2\n#no\n3,4\n"), ("b", "x,y\n5,6\n")):
        (tmp_path / f"{name}.csv").write_text(rows)
    filenames = sorted(tf.gfile.Glob(str(tmp_path / "*.csv")))

    dataset = tf.data.Dataset.from_tensor_slices(filenames)
    dataset = dataset.flat_map(
        lambda filename: (
            tf.data.TextLineDataset(filename)
            .skip(1)
            .filter(lambda line: tf.not_equal(tf.substr(line, 0, 1), "#"))
        )
    )
    dataset = dataset.map(lambda line: tf.stack(tf.decode_csv(line, [[0.0], [0.0]])))
    rows = dataset.batch(8).make_one_shot_iterator().get_next()
    with tf.Session() as sess:
        assert sess.run(rows).tolist() == [[1, 2], [3, 4], [5, 6]]
