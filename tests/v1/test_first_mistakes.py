"""What a newcomer is told: the name, what was wanted and found, and what to do."""

import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf

EAGER = dv.constant([1.0])  # made outside of any graph


def uninitialized():
    with tf.variable_scope("conv1"):
        w = tf.get_variable("w", [2])
    tf.Session().run(w)


def wrong_feed_shape():
    x = tf.placeholder(tf.float32, [None, 784], name="x")
    tf.Session().run(x * 2, {x: np.zeros([3, 7])})


def missing_feed():
    x = tf.placeholder(tf.float32, [None, 784], name="x")
    tf.Session().run(x * 2)


def text_for_numbers():
    x = tf.placeholder(tf.int32, [2], name="x")
    tf.Session().run(x * 2, {x: ["a", "b"]})


def tensor_fed():
    x = tf.placeholder(tf.float32, [2], name="x")
    tf.Session().run(x * 2, {x: tf.zeros([2])})


def same_name_twice():
    with tf.variable_scope("a"):
        tf.get_variable("v", [1])
        tf.get_variable("v", [1])


def missing_name_reused():
    tf.get_variable("dense/kernel", [1])
    with tf.variable_scope("dense", reuse=True):
        tf.get_variable("kernal", [1])


def matrices_that_do_not_fit():
    with tf.variable_scope("fc"):
        tf.matmul(tf.zeros([3, 4]), tf.zeros([5, 6]))


def types_that_do_not_fit():
    tf.multiply(tf.Variable(1, name="steps"), tf.constant(0.5))


def gradient_of_nothing():
    x, y = tf.Variable(1.0), tf.Variable(2.0)
    tf.Session().run(tf.gradients(x * 2.0, [y]))


def function_fetched():
    tf.Session().run(tf.global_variables_initializer)


def number_fetched():
    tf.Session().run(3.5)


def other_graph():
    with tf.Graph().as_default():
        c = tf.constant(1.0, name="c")
    tf.Session().run(c)


def eager_value_in_a_graph():
    tf.add(tf.constant([2.0]), EAGER)


def eager_value_fetched():
    tf.Session().run(EAGER)


def graph_value_looked_at():
    float(tf.constant(1.0, name="loss"))


def branch_on_a_tensor():
    if tf.constant(1.0) > 0:
        raise AssertionError("a graph's tensor has no truth")


def values_second():
    tf.concat(1, [tf.zeros([2, 2]), tf.zeros([2, 2])])


def slots_made_after_the_initializer():
    v = tf.Variable(1.0, name="v")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(tf.train.AdamOptimizer().minimize(v * v))


@pytest.mark.parametrize(
    ("mistake", "error", "words"),
    [
        (uninitialized, tf.errors.FailedPreconditionError, "conv1/w|global_variables_initializer"),
        (wrong_feed_shape, ValueError, "'x:0'|(3, 7)|(?, 784)"),
        (missing_feed, tf.errors.InvalidArgumentError, "'x'|[?,784]|feed_dict={'x:0'"),
        (text_for_numbers, (TypeError, ValueError), "int32|'a'"),
        (tensor_fed, TypeError, "x:0|array"),
        (same_name_twice, ValueError, "a/v|test_first_mistakes.py|reuse=True|another name"),
        (missing_name_reused, ValueError, "dense/kernal|AUTO_REUSE|did you mean 'dense/kernel'"),
        (matrices_that_do_not_fit, ValueError, "fc/MatMul|[3,4]|[5,6]"),
        (types_that_do_not_fit, TypeError, "Mul|int32|float32|cast"),
        (gradient_of_nothing, TypeError, "None|gradient"),
        (function_fetched, TypeError, "Call it|global_variables_initializer(...)"),
        (number_fetched, TypeError, "3.5|string or Tensor"),
        (other_graph, ValueError, "c:0|Session(graph="),
        (eager_value_in_a_graph, ValueError, "eager|numpy()|feed it"),
        (eager_value_fetched, ValueError, "eager|numpy()"),
        (graph_value_looked_at, TypeError, "loss:0|session.run"),
        (branch_on_a_tensor, TypeError, "cond(...)"),
        (values_second, TypeError, "concat(values, axis)"),
        (
            slots_made_after_the_initializer, tf.errors.FailedPreconditionError,
            "v/Adam|v/Adam_1|beta1_power|beta2_power|after the last variable is made",
        ),
    ],
)  # fmt: skip
def test_an_error_says_what_and_what_to_do(mistake, error, words):
    with pytest.raises(error) as raised:
        mistake()
    missing = [word for word in words.split("|") if word not in str(raised.value)]
    assert not missing, f"{missing} not in: {raised.value}"


@pytest.mark.parametrize(
    "part", ["contrib", "data", "keras", "estimator", "sparse_placeholder", "test"]
)
def test_absent_parts_say_where_to_look(part):
    with pytest.raises(AttributeError, match=f"no '{part}': [a-z]+ "):
        getattr(tf, part)


def test_a_closed_session_and_misspelt_names():
    with tf.Session() as session:
        pass
    with pytest.raises(RuntimeError, match="closed Session"):
        session.run(tf.constant(1.0))
    for name in ("Varibale", "varibale_scope", "get_varaible", "placehoder"):
        with pytest.raises(AttributeError, match="did you mean"):
            getattr(tf, name)
