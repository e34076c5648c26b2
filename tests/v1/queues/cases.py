"""Programs of queues that TensorFlow has run: their results are in `tensorflow.json`.

Run as a program by a Python that has TensorFlow, this file writes it:
``python tests/v1/queues/cases.py > tests/v1/queues/tensorflow.json``.
A case gives what it fetched, and the class and text of what its runs raised.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
import threading
from pathlib import Path
from typing import Any

import numpy as np

CASES: dict[str, Any] = {}


def case(function: Any) -> Any:
    CASES[function.__name__] = function
    return function


class Log:
    """What a program's runs gave, one after the other."""

    def __init__(self, tf: Any, sess: Any) -> None:
        self.tf, self.sess = tf, sess
        self.lines: list[Any] = []

    def run(self, fetches: Any, feeds: Any = None) -> None:
        try:
            self.lines.append(plain(self.sess.run(fetches, feeds)))
        except self.tf.errors.OpError as error:
            self.lines.append([type(error).__name__, said(error.message)])


def plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in sorted(value.items())}
    if value is None:
        return None
    found = np.asarray(value)
    items = found.tolist()
    return [
        str(found.dtype),
        list(found.shape),
        json.loads(json.dumps(items, default=bytes.decode)),
    ]


def said(message: str) -> str:
    """The text of an error without places in the program, and what depends on who was first."""
    found = re.search(r"\n(.*)\n\t \[\[", message)
    text = found[1] if found else message.partition("\n")[0].partition(" (operation ")[0]
    text = re.sub(r" \(requested \d+, current size \d+\)| \[op '.*'\]", "", text)
    return re.sub(r"'_\d+_", "'", text).strip()


@case
def first_in_first_out(tf, log):
    queue = tf.FIFOQueue(5, [tf.int32, tf.string], [[], []])
    log.run(queue.enqueue([1, "a"]))
    log.run(queue.enqueue_many([[2, 3, 4], ["b", "c", "d"]]))
    log.run(queue.dequeue())
    log.run(queue.size())
    log.run(queue.dequeue_many(2))
    log.run(queue.is_closed())


@case
def closed(tf, log):
    queue = tf.FIFOQueue(5, tf.float32, [[2]])
    log.run(queue.enqueue_many([[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]]))
    log.run(queue.close())
    log.run(queue.is_closed())
    log.run(queue.dequeue_many(2))
    log.run(queue.dequeue_many(2))
    log.run(queue.size())
    log.run(queue.dequeue_up_to(2))
    log.run(queue.dequeue_up_to(2))
    log.run(queue.dequeue())
    log.run(queue.enqueue([[1.0, 2.0]]))
    log.run(queue.enqueue_many([[[1.0, 2.0]]]))
    log.run(queue.close())


@case
def nothing_is_dequeued(tf, log):
    queue = tf.FIFOQueue(5, [tf.float32, tf.string], [[2], []])
    log.run(queue.dequeue_many(0))
    log.run(queue.dequeue_up_to(0))
    log.run(queue.enqueue_many([np.zeros((0, 2), np.float32), np.zeros(0, str)]))
    log.run(queue.size())
    count = tf.placeholder(tf.int32, [])
    log.run(queue.dequeue_many(count), {count: -1})


@case
def other_shapes(tf, log):
    queue = tf.FIFOQueue(5, tf.float32, [[2]])
    x = tf.placeholder(tf.float32)
    log.run(queue.enqueue([x]), {x: [1.0, 2.0]})
    log.run(queue.enqueue([x]), {x: [1.0, 2.0, 3.0]})
    log.run(queue.enqueue_many([x]), {x: [[1.0], [2.0]]})
    free = tf.FIFOQueue(5, tf.float32)
    log.run(free.enqueue([x]), {x: [1.0, 2.0, 3.0]})
    log.run(free.enqueue([x]), {x: 4.0})
    log.run(free.dequeue())
    log.run(free.dequeue())


@case
def names(tf, log):
    queue = tf.FIFOQueue(5, [tf.int32, tf.float32], [[], []], names=["i", "f"])
    log.run(queue.enqueue({"f": 2.0, "i": 1}))
    log.run(queue.enqueue_many({"i": [2, 3], "f": [4.0, 5.0]}))
    log.run(queue.dequeue())
    log.run(queue.dequeue_many(2))


@case
def padded(tf, log):
    queue = tf.PaddingFIFOQueue(5, [tf.int32, tf.string], [[None, 2], [None]])
    x, y = tf.placeholder(tf.int32), tf.placeholder(tf.string)
    log.run(queue.enqueue([x, y]), {x: [[1, 2]], y: ["a", "b"]})
    log.run(queue.enqueue([x, y]), {x: [[3, 4], [5, 6]], y: ["c"]})
    log.run(queue.enqueue([x, y]), {x: [[3, 4, 5]], y: ["c"]})
    log.run(queue.enqueue([x, y]), {x: np.zeros((0, 2)), y: []})
    log.run(queue.dequeue_many(2))
    log.run(queue.dequeue())


@case
def by_priority(tf, log):
    queue = tf.PriorityQueue(9, [tf.string], [[]])
    log.run(queue.enqueue_many([[5, 3, 9, -1], ["e", "c", "i", "a"]]))
    log.run(queue.enqueue([4, "d"]))
    log.run(queue.dequeue_many(3))
    log.run(queue.dequeue())
    log.run(queue.close())
    log.run(queue.dequeue_many(1))
    log.run(queue.dequeue_up_to(1))


@case
def shuffled_takes_all(tf, log):
    queue = tf.RandomShuffleQueue(20, 4, tf.int32, [[]])
    log.run(queue.enqueue_many([list(range(10))]))
    first = log.sess.run(queue.dequeue_many(6))
    log.run(queue.size())
    log.run(queue.close())
    rest = log.sess.run(queue.dequeue_up_to(9))
    log.lines.append([len(first), len(rest), sorted([*first.tolist(), *rest.tolist()])])
    log.run(queue.dequeue())


@case
def from_a_list(tf, log):
    queues = [tf.FIFOQueue(5, tf.int32, [[]]) for _ in range(2)]
    index = tf.placeholder(tf.int32, [])
    chosen = tf.FIFOQueue.from_list(index, queues)
    enqueue = chosen.enqueue([7 + index])
    for i in (0, 1, 1):
        log.run(enqueue, {index: i})
    log.run([queue.size() for queue in queues])
    log.run(chosen.dequeue(), {index: 1})


@case
def waiting_for_room(tf, log):
    queue = tf.FIFOQueue(2, tf.int32, [[]])
    enqueue = queue.enqueue_many([list(range(7))])
    thread = threading.Thread(target=log.sess.run, args=(enqueue,))
    thread.start()
    log.run(queue.dequeue_many(4))
    log.run(queue.dequeue_many(3))
    thread.join()
    log.run(queue.size())


@case
def more_than_there_is_room_for(tf, log):
    queue = tf.FIFOQueue(2, tf.int32, [[]])
    many = queue.dequeue_many(5)
    thread = threading.Thread(target=log.run, args=(many,))
    thread.start()
    for i in range(3):
        log.sess.run(queue.enqueue([i]))
    log.sess.run(queue.close())
    thread.join()
    log.run(queue.size())
    log.run(queue.dequeue_up_to(5))


@case
def sums_in_order(tf, log):
    queue = tf.FIFOQueue(9, tf.float32, [[]])
    v = tf.Variable(1.0)
    log.sess.run(v.initializer)
    with tf.control_dependencies([v.assign_add(1.0)]):
        enqueue = queue.enqueue([v.read_value() * 10.0])
    log.run([enqueue, v])
    with tf.control_dependencies([enqueue]):
        size = queue.size()
    log.run(size)
    log.run(tf.reduce_sum(queue.dequeue_many(2)) + v)


def start(tf, log):
    """Start the runners; return what ends them."""
    log.sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(log.sess, coord)

    def end():
        coord.request_stop()
        coord.join(threads)

    return end


@case
def batches(tf, log):
    x = np.arange(14, dtype=np.float32).reshape(7, 2)
    row, number = tf.train.slice_input_producer([x, np.arange(7)], num_epochs=1, shuffle=False)
    pair = tf.train.batch([row, number * 10], 3, allow_smaller_final_batch=True)
    end = start(tf, log)
    for _ in range(4):
        log.run(pair)
    end()


@case
def batches_without_rest(tf, log):
    number = tf.train.range_input_producer(5, num_epochs=2, shuffle=False).dequeue()
    found = tf.train.batch({"n": number, "half": number / 2}, 4, capacity=3)
    end = start(tf, log)
    for _ in range(3):
        log.run(found)
    end()


@case
def batches_of_rows(tf, log):
    rows = tf.train.limit_epochs(tf.constant([[1.0], [2.0], [3.0]]), 2)
    found = tf.train.batch([rows], 2, enqueue_many=True)
    end = start(tf, log)
    for _ in range(4):
        log.run(found)
    end()


@case
def batches_that_are_filled_up(tf, log):
    number = tf.train.range_input_producer(5, num_epochs=1, shuffle=False).dequeue()
    found = tf.train.batch([tf.range(number)], 5, dynamic_pad=True)
    end = start(tf, log)
    log.run(found)
    end()


@case
def batches_of_some(tf, log):
    number = tf.train.range_input_producer(9, num_epochs=1, shuffle=False).dequeue()
    odd = tf.train.maybe_batch([number], tf.equal(number % 2, 1), 4)
    rows = tf.train.limit_epochs(tf.range(6), 1)
    high = tf.train.maybe_batch([rows], rows > 2, 3, enqueue_many=True)
    end = start(tf, log)
    log.run([odd, high])
    end()


@case
def shuffled_batches_have_all(tf, log):
    number = tf.train.range_input_producer(8, num_epochs=1, seed=3).dequeue()
    found = tf.train.shuffle_batch([number], 4, 20, 2, seed=5)
    end = start(tf, log)
    log.lines.append(sorted([*log.sess.run(found).tolist(), *log.sess.run(found).tolist()]))
    log.run(found)
    end()


@case
def joined(tf, log):
    lists = [[tf.constant(i), tf.constant([i / 2])] for i in range(2)]
    found = tf.train.batch_join([[tf.train.limit_epochs(a, 3), b] for a, b in lists], 6)
    end = start(tf, log)
    log.lines.append([sorted(part.ravel().tolist()) for part in log.sess.run(found)])
    log.run(found)
    end()


@case
def limits(tf, log):
    limited = tf.train.limit_epochs([7], 2)
    log.sess.run(tf.local_variables_initializer())
    for _ in range(3):
        try:
            log.run(limited)
        except tf.errors.OutOfRangeError:
            log.lines.append("end")


def files(contents):
    """Write files, and enter their folder: keys have their names."""
    folder = tempfile.mkdtemp()
    for name, content in contents.items():
        Path(folder, name).write_bytes(content)
    os.chdir(folder)
    return list(contents)


def reading(tf, log, reader, names, count, up_to=None):
    queue = tf.train.string_input_producer(names, num_epochs=1, shuffle=False)
    record = reader.read(queue) if up_to is None else reader.read_up_to(queue, up_to)
    numbers = [reader.num_records_produced(), reader.num_work_units_completed()]
    end = start(tf, log)
    for _ in range(count):
        log.run(record)
        log.run(numbers)
    end()


@case
def lines_of_files(tf, log):
    names = files({"a": b"1,2\r\n3\n", "b": b"", "c": b"x\n\nlast"})
    reading(tf, log, tf.TextLineReader(), names, 6)


@case
def lines_without_heads(tf, log):
    names = files({"a": b"head\n1\n2\n", "b": b"head\n3\n"})
    reading(tf, log, tf.TextLineReader(skip_header_lines=1), names, 4)


@case
def several_lines(tf, log):
    names = files({"a": b"1\n2\n3\n4\n5\n", "b": b"6\n"})
    reading(tf, log, tf.TextLineReader(), names, 5, up_to=2)


@case
def whole_files(tf, log):
    reading(tf, log, tf.WholeFileReader(), files({"a": b"1\n2", "b": b""}), 3)


@case
def names_themselves(tf, log):
    reading(tf, log, tf.IdentityReader(), ["a", "b"], 3, up_to=2)


@case
def equal_records(tf, log):
    names = files({"a": b"HH123456F", "b": b"HHabcF"})
    reading(tf, log, tf.FixedLengthRecordReader(3, 2, 1), names, 4)


@case
def records_that_overlap(tf, log):
    names = files({"a": b"HH123456F", "b": b"HHabcF"})
    reading(tf, log, tf.FixedLengthRecordReader(3, 2, 1, 1), names, 5)


@case
def missing_files(tf, log):
    queue = tf.train.string_input_producer(["nowhere"], num_epochs=1)
    value = tf.WholeFileReader().read(queue)[1]
    end = start(tf, log)
    try:
        log.sess.run(value)
    except tf.errors.NotFoundError:
        log.lines.append("not found")
    end()


def results(tf: Any) -> dict[str, Any]:
    found, here = {}, os.getcwd()
    for name, program in CASES.items():
        os.chdir(here)
        with tf.Graph().as_default(), tf.Session() as sess:
            log = Log(tf, sess)
            program(tf, log)
            found[name] = log.lines
    os.chdir(here)
    return found


if __name__ == "__main__":
    import tensorflow.compat.v1 as tensorflow

    tensorflow.disable_eager_execution()
    Path(__file__).with_name("tensorflow.json").write_text(json.dumps(results(tensorflow)) + "\n")
