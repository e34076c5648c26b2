"""`custom_gradient`: whose gradient is used, variables, branches, chunks."""

import contextlib

import dask.array
import numpy
import pytest

import daskvars as dv
import daskvars.v1 as tf
from tests.sessions import run


@tf.custom_gradient
def tenfold(x):
    return x * 2.0, lambda dy: 10.0 * dy


def test_the_gradient_is_the_one_given(graph):
    x = tf.constant([1.0, 2.0])
    y = tenfold(x)
    values = run([y, *tf.gradients(y * 3.0, x)])
    assert [v.tolist() for v in values] == [[2.0, 4.0], [30.0, 30.0]]


def test_many_results_have_one_gradient_together(graph):
    seen = []

    @tf.custom_gradient
    def both(a, b):
        def gradient(da, db):
            seen.append((da, db))
            return da + db, 2.0 * db

        return (a + b, {"product": a * b}), gradient

    a, b = tf.constant(2.0), tf.constant(5.0)
    total, rest = both(a, b)
    assert run([total, rest]) == [7.0, {"product": 10.0}]
    assert run(tf.gradients(total, [a, b])) == [1.0, 0.0]
    assert len(seen) == 1


def with_variable(takes):
    def function(x):
        with tf.variable_scope("f", reuse=tf.AUTO_REUSE):
            w = tf.get_variable("w", [], initializer=tf.constant_initializer(3.0))

        def gradient(dy, variables=None):
            assert variables == [w]
            return dy, [100.0 * dy]

        return x * w, gradient if takes else lambda dy: dy

    return tf.custom_gradient(function)


def test_variables_have_gradients_too(graph):
    x = tf.constant(2.0)
    y = with_variable(True)(x)
    assert run([y, *tf.gradients(y, [x, *tf.trainable_variables()])]) == [6.0, 1.0, 100.0]


def test_variables_must_be_taken(graph):
    with pytest.raises(TypeError, match=r"'variables'.*reads f/w"):
        with_variable(False)(tf.constant(2.0))


def test_what_a_tensor_from_outside_was_made_of_needs_no_gradient(graph):
    """A gradient that has a gradient of its own, and looks at the result, as StyleGAN's do."""

    @tf.custom_gradient
    def leaky(x):
        y = tf.maximum(x, 0.1 * x)

        @tf.custom_gradient
        def gradient(dy):
            return tf.where(y >= 0, dy, 0.1 * dy), lambda ddx: tf.where(y >= 0, ddx, 0.1 * ddx)

        return y, gradient

    w = tf.get_variable("w", [2], initializer=tf.constant_initializer([3.0, -3.0]))
    x = tf.constant([2.0, 2.0])
    slope = tf.gradients(leaky(x * w), x)[0]  # w, and a tenth of w
    values = run([slope, *tf.gradients(tf.square(slope), w)])
    numpy.testing.assert_allclose(values, [[3.0, -0.3], [6.0, -0.06]], rtol=1e-6)


def test_the_gradient_function_gives_one_per_argument(graph):
    x = tf.constant(2.0)
    y = tf.custom_gradient(lambda x: (x, lambda dy: [dy, dy]))(x)
    with pytest.raises(ValueError, match="expected to return 1"):
        tf.gradients(y, x)


def test_in_branches_and_loops(graph):
    x = tf.constant(2.0)
    y = tf.cond(x > 0.0, lambda: tenfold(x), lambda: x)
    z = tf.while_loop(lambda i, v: i < 2, lambda i, v: (i + 1, tenfold(v)), [0, x])[1]
    assert run([y, z, *tf.gradients(y, x), *tf.gradients(z, x)]) == [4.0, 8.0, 10.0, 100.0]


def test_blocks_stay_blocks(graph):
    x = tf.placeholder(tf.float32, [None])
    y = tf.exp(tenfold(tf.negative(x)))
    value = dask.array.from_array(numpy.arange(8.0, dtype="float32"), chunks=4)
    with tf.Session() as sess:
        assert numpy.allclose(sess.run(y, {x: value}), numpy.exp(-2.0 * numpy.arange(8.0)))
        assert "2 tasks" in sess.explain(y, {x: value})


def test_eager_code_and_second_derivatives():
    @dv.custom_gradient
    def cube(x):
        return x * x * x, lambda dy: 3.0 * x * x * dy

    x = dv.constant(2.0)
    with dv.GradientTape(persistent=True) as tape:
        y = cube(x)
        first = tape.gradient(y, x)
    assert float(first) == 12.0


def test_gradients_pass_through_an_assign_but_not_to_its_variable(graph):
    x = tf.get_variable("x", initializer=1.0)
    z = tf.get_variable("z", initializer=3.0)
    y = tf.grad_pass_through(lambda v: tf.assign(x, v))(z**2)
    dz, dx = tf.gradients(y, [z, x])
    through = tf.grad_pass_through(lambda v: x * v)(z)
    assert dx is None and tf.gradients(through, x) == [None]
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert sess.run([y, dz]) == [9.0, 6.0]


@pytest.mark.parametrize("module", [tf, dv], ids=["graph", "eager"])
def test_a_function_computed_again_for_its_gradient(module):
    calls = []
    with tf.Graph().as_default() if module is tf else contextlib.nullcontext() as graph:
        w = module.Variable([3.0, 4.0], name="w")

        def f(x, power):
            calls.append(x)
            return module.tanh(x * w) ** power

        def both(f):
            x = w * 0.1  # the argument depends on the variable as well
            if module is tf:
                return tf.gradients(f(x, power=2.0), [x, w])
            with dv.GradientTape() as tape:
                y = f(w * 0.1, power=2.0)
            return tape.gradient(y, [w])

        def second(f):
            if module is tf:
                return tf.gradients(both(f), w)
            with dv.GradientTape() as tape:
                first = both(f)
            return tape.gradient(first, [w])

        wanted, found = both(f), both(module.recompute_grad(f))
        assert len(calls) == 3
        wanted, found = wanted + second(f), found + second(module.recompute_grad(f))
        if module is tf:
            with tf.Session(graph=graph) as sess:
                sess.run(tf.global_variables_initializer())
                wanted, found = sess.run([wanted, found])
        numpy.testing.assert_allclose(numpy.array(found), numpy.array(wanted), 1e-6)
