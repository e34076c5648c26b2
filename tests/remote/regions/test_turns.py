"""Turns of a loop that do not need one another: what is made at once has the bits of each alone."""

import numpy as np
import pytest

import daskvars.v1 as tf
from daskvars.remote.regions import compilation

ROWS = np.random.default_rng(1).random((25, 5, 3), dtype=np.float32)


@pytest.fixture
def made(monkeypatch):
    """Of loops that were compiled which way they go, and whether their turns are made at once."""
    found = []
    turns_apart = compilation.turns_apart

    def noted(attrs, several):
        together = turns_apart(attrs, several)
        found.append(("backward" if "num_grads" in attrs else "forward", together is not None))
        return together

    monkeypatch.setattr(compilation, "turns_apart", noted)
    return found


def of_rows(function, rows=ROWS):
    """Return, of two runs, what a function gives of rows, and its gradients."""
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(3)
        given = tf.placeholder(tf.float32, [None, *rows.shape[1:]])
        weights = tf.constant(ROWS[0].T + 0.5)
        result = function(given, weights)
        gradients = [g for g in tf.gradients(result * result, [given, weights]) if g is not None]
        found = [session.run([result, *gradients], {given: rows}) for _ in range(2)]
    return [value for values in found for value in values]


def task(weights):
    """Return a step of gradient descent on one row, and what it is worth on another."""

    def adapted(row):
        def loss(w):
            hidden = tf.nn.relu(tf.matmul(row, w) + tf.reduce_mean(w, 0))
            return tf.reduce_mean(tf.square(hidden - 0.3))

        return loss(weights - 0.1 * tf.gradients(loss(weights), weights)[0])

    return adapted


def by_hand(rows, weights):
    """Return rows of a loop that goes through every second one, to a limit that the run tells."""
    out = tf.TensorArray(tf.float32, tf.shape(rows)[0])

    def body(i, limit, out):
        row = tf.matmul(rows[i], weights) * tf.cast(i, tf.float32)
        return i + 2, limit, out.write(i, tf.nn.relu(row))

    limit = tf.shape(rows)[0] - 1
    return tf.while_loop(lambda i, limit, _: i < limit, body, (1, limit, out))[2].stack()


def drawn(row):
    """Return a row with noise, of which a first half is taken where a coin says so."""
    row = row * tf.random_uniform([5, 3]) + tf.random_normal([], 0.5)
    side = tf.random_uniform([]) < 0.5
    return tf.cond(side, lambda: row * tf.random_uniform([2])[0], lambda: tf.reverse(row, [0]))


def likeliest(row):
    """Return what a row is likeliest to be, and of its entries the largest in all."""
    found = tf.nn.softmax(row) + tf.nn.log_softmax(row, axis=0)
    return tf.one_hot(tf.argmax(found, 1), 3) * tf.reduce_max(row) + tf.reduce_logsumexp(row)


APART = {
    "adapted": lambda rows, weights: tf.map_fn(task(weights), rows, tf.float32),
    "turned": lambda rows, weights: tf.map_fn(
        lambda row: (
            tf.reduce_sum(tf.transpose(row) * 0.3 + tf.exp(weights), 0)
            + tf.reduce_sum(tf.matmul(row * 1.1, tf.exp(row), transpose_b=True))
        ),
        rows,
        tf.float32,
    ),
    "by hand": by_hand,
    "chosen": lambda rows, weights: tf.map_fn(likeliest, rows),
    "drawn": lambda rows, weights: tf.map_fn(drawn, rows),
}


@pytest.mark.parametrize("name", APART)
def test_turns_made_at_once_have_the_bits_of_each_alone(made, monkeypatch, name):
    found = of_rows(APART[name])
    assert {way for way, _ in made} == {"forward", "backward"}
    assert all(together for _, together in made)
    monkeypatch.setattr(compilation, "turns_apart", lambda *args: None)
    for value, wanted in zip(found, of_rows(APART[name]), strict=True):
        np.testing.assert_array_equal(value, wanted, strict=True)


def printed(row):
    with tf.control_dependencies([tf.print("a row")]):
        return row * 2.0


def read_before(rows, weights):
    out = tf.TensorArray(tf.float32, tf.shape(rows)[0], clear_after_read=False).write(0, rows[0])
    body = lambda i, out: (i + 1, out.write(i, out.read(i - 1) + rows[i]))  # noqa: E731
    return tf.while_loop(lambda i, _: i < tf.shape(rows)[0], body, (1, out))[1].stack()


@pytest.mark.parametrize(
    "function",
    [
        lambda rows, weights: tf.scan(lambda a, row: a * 0.5 + row, rows),
        lambda rows, weights: tf.map_fn(printed, rows),
        read_before,
    ],
    ids=["scanned", "printed", "read"],
)
def test_turns_that_need_one_another_or_are_seen_are_made_one_by_one(made, function):
    of_rows(function, ROWS[:6])
    assert ("forward", True) not in made


def test_the_turn_that_fails_tells_of_it(made):
    def chosen(rows, weights):
        return tf.map_fn(lambda row: tf.gather(row * 1.0, tf.cast(row[0, 0], tf.int32)), rows)

    rows = np.where(np.arange(25)[:, None, None] == 17, np.float32(7), ROWS)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"= 7 is not in \[0, 5\).*'map/while"):
        of_rows(chosen, rows)
    assert ("forward", True) in made
