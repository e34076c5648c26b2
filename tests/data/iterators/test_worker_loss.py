"""Pipelines on clusters: the same bits on any number of workers, killed ones or restored ones."""

import dask.array as da
import fsspec
import numpy as np
import pytest
import zarr

import daskvars.v1 as tf
from daskvars import config
from tests.clusters import kill_a_worker, running

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(120)]
ROWS, COLUMNS, WORDS, BATCH = 96, 6, 50, 16
STEPS, SAVED, KILLED = 9, 2, (3, 7)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with rows of features and words: in Zarr arrays, and in TFRecord files."""
    folder = tmp_path_factory.mktemp("rows")
    rng = np.random.default_rng(0)
    features = rng.normal(size=(ROWS, COLUMNS)).astype("f4")
    words = rng.integers(0, WORDS, ROWS)
    for name, values in (("features", features), ("words", words)):
        zarr.create_array(folder / name, data=values, chunks=(20, *values.shape[1:]))
    for number, part in enumerate(np.array_split(np.arange(ROWS), 3)):
        with tf.python_io.TFRecordWriter(str(folder / f"{number}.tfrecord")) as writer:
            for row in part:
                writer.write(words[row].tobytes() + features[row].tobytes())
        lines = [",".join(map(str, [*features[row], words[row]])) for row in part]
        (folder / f"{number}.csv").write_text("\n".join(["a line of names", *lines]))
    return folder


def read(folder, name):
    return zarr.open_array(folder / name, mode="r")


def stored_in_order(folder):
    arrays = tuple(read(folder, name) for name in ("features", "words"))
    return tf.data.Dataset.from_tensor_slices(arrays).repeat().batch(BATCH)


def stored_and_shuffled(folder):
    arrays = tuple(da.from_zarr(str(folder / name)) for name in ("features", "words"))
    dataset = tf.data.Dataset.from_tensor_slices(arrays).shuffle(40, seed=3)
    return dataset.map(lambda x, word: (x * 2.0, word), 2).repeat().batch(BATCH)


def parsed_record(record):
    word = tf.decode_raw(tf.substr(record, 0, 8), tf.int64)[0]
    x = tf.reshape(tf.decode_raw(tf.substr(record, 8, 4 * COLUMNS), tf.float32), [COLUMNS])
    return x + tf.random_uniform([COLUMNS], seed=4), word


def records(folder):
    names = [str(folder / f"{number}.tfrecord") for number in range(3)]
    dataset = tf.data.Dataset.from_tensor_slices(names)
    dataset = dataset.interleave(tf.data.TFRecordDataset, cycle_length=3, block_length=2)
    return dataset.shuffle(30, seed=1).map(parsed_record, 2).repeat().batch(BATCH)


def lines(folder):
    def parsed(line):
        *x, word = tf.decode_csv(line, [[0.0]] * COLUMNS + [[0]])
        return tf.stack(x) / 3.0, tf.cast(word, tf.int64)

    names = [str(folder / f"{number}.csv") for number in range(3)]
    dataset = tf.data.Dataset.from_tensor_slices(names)
    dataset = dataset.flat_map(lambda name: tf.data.TextLineDataset(name).skip(1))
    return dataset.map(parsed, 2).shuffle(30, seed=1).batch(BATCH).repeat()


def drawn_windows_of_records(folder):
    names = [str(folder / f"{number}.tfrecord") for number in range(3)]
    several = [tf.data.TFRecordDataset(name).map(parsed_record, 2).repeat() for name in names]
    drawn = tf.data.experimental.sample_from_datasets(several, [0.5, 0.3, 0.2], seed=1)
    windows = drawn.window(BATCH, shift=BATCH // 2, drop_remainder=True)
    return windows.flat_map(
        lambda x, word: tf.data.Dataset.zip((x.batch(BATCH), word.batch(BATCH)))
    )


PIPELINES = [lines, stored_in_order, stored_and_shuffled, records, drawn_windows_of_records]


def trained(pipeline, folder, between=lambda step, session, saver: None, restored=None):
    """Return what each step gives: the sum of its element's words, its loss, and all variables."""
    found = []
    with tf.Graph().as_default(), config.set(batch_parts=2, seal_every_s=0.0):
        tf.set_random_seed(7)
        iterator = pipeline(folder).prefetch(2).make_one_shot_iterator()
        x, words = iterator.get_next()
        tf.add_to_collection(
            tf.GraphKeys.SAVEABLE_OBJECTS,
            tf.data.experimental.make_saveable_from_iterator(iterator),
        )
        start = np.random.default_rng(1).normal(size=(WORDS, COLUMNS)).astype("f4")
        table = tf.get_variable("table", initializer=start, chunks=(WORDS // 2, COLUMNS))
        score = tf.reduce_sum(tf.nn.embedding_lookup(table, words) * x, axis=1)
        loss = tf.reduce_mean(tf.square(score - 1.0))
        train = tf.train.AdagradOptimizer(0.1).minimize(loss)
        saver = tf.train.Saver()
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            if restored is not None:
                saver.restore(session, restored)
            for step in range(STEPS if restored is None else STEPS - SAVED):
                between(step, session, saver)
                found.append(session.run([tf.reduce_sum(words), loss, train])[:2])
            variables = session.run(tf.global_variables())
    return found, [values.tobytes() for values in variables]


@pytest.fixture(scope="module")
def expected(place):
    """What each pipeline gives in this process."""
    return {pipeline: trained(pipeline, place) for pipeline in PIPELINES}


@pytest.fixture(scope="module")
def workers():
    with running(2) as client:
        yield client


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_elements_are_those_of_this_process_though_workers_are_killed(
    pipeline, place, expected, workers
):
    def between(step, session, saver):
        if step in KILLED:
            kill_a_worker(workers)

    with workers.as_current():
        assert trained(pipeline, place, between) == expected[pipeline]


def test_one_worker_gives_the_same(place, expected):
    with running(1) as client, client.as_current():
        for pipeline in PIPELINES:
            assert trained(pipeline, place) == expected[pipeline]


def numbers_of_lines(folder):
    (folder / "numbers").write_text("1\n2\nthree\n4\r\n\n6\n7")
    lines = tf.data.TextLineDataset(str(folder / "numbers"))
    return lines.map(lambda line: tf.string_to_number(line, tf.int64)).batch(2)


def damaged_records(folder):
    names = [str(folder / f"{number}.damaged") for number in range(2)]
    for name in names:
        with tf.python_io.TFRecordWriter(name) as writer:
            for number in range(7):
                writer.write(b"%d" % number)
    with open(names[0], "r+b") as file:
        file.seek(4 * 17 + 12)
        file.write(b"x")
    return tf.data.TFRecordDataset(names).shuffle(4, seed=1).batch(2)


def fixed_records(folder):
    (folder / "fixed").write_bytes(b"headaabbccddeeff.")
    records = tf.data.FixedLengthRecordDataset(str(folder / "fixed"), 2, 4, 1)
    return records.shard(2, 1).repeat(2).batch(4)


@pytest.mark.parametrize("dataset", [numbers_of_lines, damaged_records, fixed_records])
def test_what_cannot_be_made_is_passed_by_on_workers_too(dataset, tmp_path, workers):
    def found():
        elements = []
        with tf.Graph().as_default():
            element = dataset(tmp_path).make_one_shot_iterator().get_next()
            with tf.Session() as session:
                while True:
                    try:
                        elements.append(session.run(element).tolist())
                    except tf.errors.OutOfRangeError:
                        return elements
                    except tf.errors.OpError as error:
                        elements.append(type(error))

    here = found()
    with workers.as_current():
        assert found() == here


def test_a_file_that_workers_do_not_see_is_named(workers):
    with fsspec.open("memory://few.txt", "w") as file:
        file.write("one\ntwo\n")
    with tf.Graph().as_default(), tf.Session() as session:
        lines = tf.data.TextLineDataset("memory://few.txt").batch(2)
        element = lines.make_one_shot_iterator().get_next()
        with (
            workers.as_current(),
            pytest.raises(
                tf.errors.NotFoundError, match=r"few.txt.*worker at tcp.*each must see the file"
            ),
        ):
            session.run(element)


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_a_checkpoint_has_the_position_here_and_on_workers(
    pipeline, place, expected, workers, tmp_path
):
    path = str(tmp_path / "model")

    def between(step, session, saver):
        if step == SAVED:
            saver.save(session, path)
            kill_a_worker(workers)

    steps, variables = expected[pipeline]
    with workers.as_current():
        assert trained(pipeline, place, between) == expected[pipeline]
        assert trained(pipeline, place, restored=path) == (steps[SAVED:], variables)
    assert trained(pipeline, place, restored=path) == (steps[SAVED:], variables)
