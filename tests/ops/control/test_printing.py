"""`print`, and the Python functions that a graph calls."""

import sys

import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf


# What TensorFlow 2.21 prints.
@pytest.mark.parametrize(
    "value, summarize, text",
    [
        (np.arange(3), 3, "[0 1 2]"),
        (np.arange(7), 3, "[0 1 2 ... 4 5 6]"),
        (np.arange(7), -1, "[0 1 2 3 4 5 6]"),
        (np.arange(7), None, "[0 1 2 3 4 5 6]"),
        (np.arange(8).reshape(2, 2, 2), 3, "[[[0 1]\n  [2 3]]\n\n [[4 5]\n  [6 7]]]"),
        (np.arange(10).reshape(5, 2), 1, "[[0 1]\n ...\n [8 9]]"),
        (np.float32([2, 0.1, 1e-10]), 3, "[2 0.1 1e-10]"),
        (np.float32([1 / 3, 1e6, 123456.7]), 3, "[0.333333343 1e+06 123456.703]"),
        (np.float64([1 / 3, 1e6, 123456.7]), 3, "[0.33333333333333331 1000000 123456.7]"),
        (np.float16([1 / 3, np.inf, np.nan]), 3, "[0.333251953 inf nan]"),
        ([True, False], 3, "[1 0]"),
        (["a", "b c"], 3, '["a" "b c"]'),
        ("plain", 3, "plain"),
        ([[]], 3, "[[]]"),
    ],
)
def test_arrays_print_as_in_tensorflow(sess, capsys, value, summarize, text):
    sess.run(tf.print(tf.constant(value), summarize=summarize))
    assert capsys.readouterr().err == text + "\n"


def test_the_first_runs_print(capsys):
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [])
        y = tf.Print(x * x, [x], "x is ", first_n=2, name="shown")
        slope = tf.gradients(y, x)
        never = tf.Print(x, [x], "never", first_n=0)
        for _ in range(2):  # each session counts its own runs
            with tf.Session() as session:
                for i in range(4):
                    assert session.run([y, slope, never], {x: i}) == [i * i, [2 * i], i]
            assert capsys.readouterr().err == "x is [0]\nx is [1]\n"
    assert y.name == "shown:0"


def test_the_first_turns_of_a_loop_print(sess, capsys):
    last = tf.while_loop(lambda n: n < 5, lambda n: tf.Print(n, [n], "n ", first_n=2) + 1, [0])
    assert sess.run(last) == 5
    assert capsys.readouterr().err == "n [0]\nn [1]\n"


def test_the_first_calls_of_a_function_print(capsys):
    shown = dv.function(lambda x: dv.Print(x, [x], "x is ", first_n=1))
    for i in range(3):
        assert float(shown(np.float32(i))) == i
    assert capsys.readouterr().err == "x is [0]\n"


# What TensorFlow 2.21 prints.
@pytest.mark.parametrize(
    "value, summarize, text",
    [
        (np.float32([1, -2.5, 1e10, np.nan]), None, "[1 -2.5 1e+10...]"),
        (np.float32([1, -2.5, 1e10, np.nan]), -1, "[1 -2.5 1e+10 nan]"),
        (np.arange(8).reshape(2, 2, 2), 3, "[[[0 1][2...]]...]"),
        (np.arange(8).reshape(2, 2, 2), 4, "[[[0 1][2 3]]...]"),
        (np.arange(4.0).reshape(2, 2), 4, "[[0 1][2 3]]"),
        ([True, False], None, "[1 0]"),
        ("text", None, "[text]"),
        (["a 'b'", 'c\n"\\', "\x01é"], None, "[a \\'b\\' c\\n\\\"\\\\ \\001é]"),
        (b"\xff", None, r"[\377]"),
        (np.zeros([0]), None, "[]"),
    ],
)
def test_print_and_assert_show_arrays_as_tensorflow_does(sess, capsys, value, summarize, text):
    x = tf.constant(value)
    sess.run(tf.Print(x, [x], "x is ", summarize=summarize))
    assert capsys.readouterr().err == f"x is {text}\n"
    with pytest.raises(tf.errors.InvalidArgumentError) as found:
        sess.run(tf.Assert(False, ["wrong:", x], summarize=summarize))
    assert f"assertion failed: [wrong:] {text}" in str(found.value)


def test_tensors_print_within_text_and_structures(sess, capsys):
    x = tf.constant([1, 2])
    op = tf.print("a", {"k": x, "b": [x[0]]}, None, x, sep="|", end="!", output_stream=sys.stdout)
    assert (op.type, op.outputs) == ("PrintV2", ())
    assert sess.run(op) is None
    assert capsys.readouterr().out == "a|{'b': [1], 'k': [1 2]}|None|[1 2]!"


def test_printing_goes_to_a_file_and_happens_in_eager_code(tmp_path, capsys):
    path = tmp_path / "printed"
    for i in range(2):
        dv.print("step", dv.constant(i), output_stream=f"file://{path}")
    dv.print("done")
    dv.sync()
    assert path.read_text() == "step 0\nstep 1\n"
    assert capsys.readouterr().err == "done\n"
    with pytest.raises(ValueError, match="Output stream must be"):
        dv.print("x", output_stream="stderr")


class Weird(Exception):
    """An error of the user's own."""


@pytest.mark.parametrize(
    "raised, error",
    [
        (ValueError, "InvalidArgumentError"),
        (TypeError, "InvalidArgumentError"),
        (StopIteration, "OutOfRangeError"),
        (MemoryError, "ResourceExhaustedError"),
        (NotImplementedError, "UnimplementedError"),
        (Weird, "UnknownError"),
    ],
)
def test_an_exception_of_a_python_function_has_the_class_that_tensorflow_gives_it(
    sess, raised, error
):
    def fail():
        raise raised("blah")

    op = tf.py_func(fail, [], [])
    with pytest.raises(getattr(tf.errors, error), match=f"{raised.__name__}: blah") as found:
        sess.run(op)
    assert "in fail\n" in str(found.value)  # the traceback is part of the message, as TensorFlow's


@pytest.mark.parametrize(
    "result, dtype, error, message",
    [
        ({"a": 1}, tf.int64, tf.errors.UnimplementedError, "Unsupported object type dict"),
        (np.zeros(1, [("a", "f4")]), tf.float32, tf.errors.UnimplementedError, "numpy type"),
        (1, tf.float32, tf.errors.InvalidArgumentError, "dtype int64, but float32 was declared"),
        ((1, 2), tf.int64, tf.errors.InvalidArgumentError, "returned 2 values, but 1"),
        (np.ma.masked_less([1, 2], 2), tf.int64, tf.errors.InvalidArgumentError, "1 of 2 elements"),
    ],
)
def test_results_that_are_no_tensors_are_refused(sess, result, dtype, error, message):
    y = tf.py_func(lambda: result, [], dtype)
    with pytest.raises(error, match=message):
        sess.run(y)


def test_results_may_be_in_another_order_of_bytes(sess):
    swapped = tf.py_func(lambda: np.arange(3, dtype=">f4"), [], tf.float32)
    assert sess.run(swapped * 2.0).tolist() == [0, 2, 4]


def test_text_from_python_functions_is_bytes(sess):
    mixed = tf.py_func(lambda: np.array([b"a", "b"], object), [], tf.string)
    padded = tf.py_func(lambda: [["this", "is"]], [], [tf.string])[0]
    joined = tf.py_func(lambda x, y: x + y, [mixed, padded], tf.string)
    assert sess.run(joined).tolist() == [b"athis", b"bis"]


def test_a_call_without_results_is_an_operation_if_stateful(sess):
    seen = []
    stateful = tf.py_func(seen.append, [tf.constant(3)], [])
    stateless = tf.py_func(seen.append, [tf.constant(3)], [], stateful=False)
    assert sess.run(stateful) is None
    assert seen == [3]
    assert sess.run(stateless) == []
