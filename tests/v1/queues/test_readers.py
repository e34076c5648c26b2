"""States of readers: one goes on where another was, and what is no state is refused."""

import pytest

import daskvars.v1 as tf


@pytest.fixture
def names(tmp_path):
    """Two files, of five lines and of two."""
    files = [tmp_path / "five.txt", tmp_path / "two.txt"]
    for path, count in zip(files, (5, 2), strict=True):
        path.write_text("".join(f"{path.stem} {n}\n" for n in range(count)))
    return [str(path) for path in files]


def test_a_reader_goes_on_where_another_was(sess, names):
    queues = [tf.FIFOQueue(9, tf.string, [[]]) for _ in range(2)]
    readers = [tf.TextLineReader(name=f"reader_{n}") for n in range(2)]
    (_, line), (_, again) = (reader.read(q) for reader, q in zip(readers, queues, strict=True))
    counts = readers[1].num_records_produced(), readers[1].num_work_units_completed()
    sess.run(queues[0].enqueue_many([names]))
    first = [sess.run(line) for _ in range(3)]
    assert readers[0].supports_serialize
    state = sess.run(readers[0].serialize_state())
    assert isinstance(state, bytes)
    sess.run(readers[1].restore_state(state))
    sess.run(queues[1].enqueue_many([names[1:]]))  # the work in hand is in the state
    rest = [sess.run(again) for _ in range(4)]
    assert first + rest == [b"five %d" % n for n in range(5)] + [b"two 0", b"two 1"]
    assert sess.run(counts) == (7, 1)


def test_between_two_works_and_at_the_beginning(sess):
    queue = tf.FIFOQueue(9, tf.string, [[]])
    reader = tf.IdentityReader(name="mine")
    value = reader.read(queue)[1]
    state, produced = reader.serialize_state(), reader.num_records_produced()
    sess.run(queue.enqueue_many([["a", "b", "c"]]))
    beginning = sess.run(state)
    assert sess.run(value) == b"a"
    after_one = sess.run(state)
    assert sess.run(value) == b"b"
    for kept, count in ((after_one, 1), (beginning, 0)):
        sess.run(reader.restore_state(kept))
        assert sess.run(produced) == count
    assert sess.run(value) == b"c"


@pytest.mark.parametrize(
    "change",
    [
        lambda state: state[1:],
        lambda state: state[:-1],
        lambda state: state + b"more",
        lambda state: b"\xff" + state,
        lambda state: b"[null, 1, 2]",
        lambda state: b"[null, 1, 2, -3]",
        lambda state: b"[null, 1, 2, true]",
        lambda state: b"[7, 1, 2, 3]",
        lambda state: b"",
    ],
)
def test_what_is_no_state_is_refused(sess, change):
    reader = tf.IdentityReader(name="mine")
    state = change(sess.run(reader.serialize_state()))
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="Could not parse state for IdentityReader 'mine'"
    ):
        sess.run(reader.restore_state(state))
    assert sess.run(reader.num_records_produced()) == 0


def test_a_state_is_one_string(sess):
    reader = tf.WholeFileReader()
    for state in ([], [b"a", b"b"]):
        with pytest.raises(ValueError, match="not compatible"):
            reader.restore_state(state)
