"""A tape that watches what it is told, and no more."""

import warnings

import numpy as np
import pytest

import daskvars as dv


def test_gradients_are_to_what_is_watched_and_what_depends_on_it():
    v, w, x = dv.Variable(2.0), dv.Variable(3.0), dv.constant(5.0)
    with dv.GradientTape(persistent=True, watch_accessed_variables=False) as tape:
        tape.watch([v])
        inner, other = v * w, w * x
        y = inner * inner + other
    dv_, dw, dx, d_inner, d_other = tape.gradient(y, [v, w, x, inner, other])
    assert (float(dv_), float(d_inner)) == (36.0, 12.0)
    assert (dw, dx, d_other) == (None, None, None)
    zero = tape.gradient(y, w, unconnected_gradients="zero")
    assert float(zero) == 0.0


def test_a_tape_that_watches_nothing_has_no_gradients():
    v = dv.Variable(2.0)
    with dv.GradientTape(watch_accessed_variables=False) as tape:
        y = v * v
    assert tape.gradient(y, [v, y]) == [None, None]


def test_a_function_trains_what_is_watched():
    v, w = dv.Variable([1.0, 2.0]), dv.Variable(3.0)

    @dv.function
    def step():
        with dv.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(v)
            loss = dv.reduce_sum(v * w)
        gradients = tape.gradient(loss, [v, w])
        assert gradients[1] is None
        v.assign_sub(gradients[0])

    step()
    assert v.numpy().tolist() == [-2.0, -1.0]


def test_what_is_forgotten_is_not_watched():
    v = dv.Variable(2.0)
    with dv.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(v)
        tape.reset()
        y = v * v
    assert tape.gradient(y, v) is None
    with pytest.raises(RuntimeError, match="non-persistent"):
        tape.gradient(y, v)


def test_jacobians_have_a_derivative_for_each_pair():
    x, w = dv.Variable([[1.0, 2.0], [3.0, 4.0]]), dv.Variable([1.0, -1.0])
    with dv.GradientTape(persistent=True) as tape:
        y = dv.matmul(x * x, dv.reshape(w, [2, 1]))
        z = dv.square(x)
    by_x, by_w = tape.jacobian(y, [x, w])
    assert by_x.shape.as_list() == [2, 1, 2, 2]
    assert by_x.numpy()[:, 0].tolist() == [[[2, -4], [0, 0]], [[0, 0], [6, -8]]]
    assert by_w.numpy().tolist() == [[[1, 4]], [[9, 16]]]
    assert tape.jacobian(z, w) is None
    rows = tape.batch_jacobian(z, x)
    assert rows.numpy().tolist() == [[[2, 0], [0, 4]], [[6, 0], [0, 8]]]
    table = dv.Variable([[1.0], [2.0]])
    with dv.GradientTape() as tape:
        picked = dv.gather(table, [1, 1, 0])
    assert tape.jacobian(picked, table).numpy().ravel().tolist() == [0, 1, 0, 1, 1, 0]
    with dv.GradientTape(persistent=True) as tape:
        none, no_columns = w[:0] * 2.0, x[:, :0] * 2.0
    assert tape.jacobian(none, w).shape == [0, 2] and tape.jacobian(none, x) is None
    assert tape.batch_jacobian(no_columns, x).shape == [2, 0, 2]


def test_jacobians_of_what_does_not_fit_are_refused():
    x = dv.Variable([1.0, 2.0])
    with dv.GradientTape(persistent=True) as tape:
        y = dv.reduce_sum(x)
    with pytest.raises(ValueError, match="with as many rows, found \\[\\] and \\[2\\]"):
        tape.batch_jacobian(y, x)


def test_of_whole_numbers_a_warning_tells_that_they_have_no_gradient():
    count, v = dv.Variable(2, name="count"), dv.Variable(3.0)
    with dv.GradientTape() as tape:
        y = dv.cast(count * count, dv.float32) * v
    with pytest.warns(UserWarning, match=r"gradient to 'count:0' is None: it is of int32") as told:
        dcount, dv_ = tape.gradient(y, [count, v])
    assert len(told) == 1 and dcount is None and float(dv_) == 4.0
    with warnings.catch_warnings():  # nobody asked for a count to be trained
        warnings.simplefilter("error")
        dv.train.GradientDescentOptimizer(1.0).minimize(lambda: dv.cast(count, dv.float32) * v)
    assert float(v) == 1.0


@pytest.mark.parametrize("how", ["eager", "looked at", "function"])
def test_what_was_computed_outside_of_the_block_is_constant(how):
    """Whether it has been done or not, which only the clock can tell."""
    v = dv.Variable(2.0)

    def gradients():
        done = float if how == "looked at" else lambda value: value
        before, (outer, tape) = v * v, [dv.GradientTape(persistent=True) for _ in "12"]
        done(before)
        with outer:
            around = v * v
            with tape:
                within = v * v
                with tape.stop_recording():
                    stopped = v * v
                product = within * v
                found = [before * v, around * v, stopped * v, product]
            after = product * v
        forgetful = dv.GradientTape()
        with forgetful:
            square = v * v
            forgetful.reset()
            cube = square * v
        done(after)
        return (
            [tape.gradient(target, v) for target in found],
            [outer.gradient(target, v) for target in (*found, after)],
            [forgetful.gradient(cube, v)],
            tape.gradient(after, v),
            tape.gradient(after, product),
        )

    in_block, in_outer, in_forgetful, *none = (
        dv.function(gradients) if how == "function" else gradients
    )()
    assert list(map(float, in_block)) == [4.0, 4.0, 4.0, 12.0]
    assert list(map(float, in_outer)) == [4.0, 12.0, 12.0, 12.0, 32.0]
    assert float(in_forgetful[0]) == 4.0
    assert none == [None, None]
    with dv.GradientTape(persistent=True) as tape:
        v.assign_add(1.0)
    assert float(tape.gradient(v, v)) == 1.0 and tape.gradient(v, dv.Variable(1.0)) is None


def test_what_an_update_gives_is_the_variable():
    def slopes():
        with dv.GradientTape() as tape:
            tape.watch(x)
            rows = v.scatter_update(dv.IndexedSlices(x[:1], [0]))
            loss = dv.reduce_sum(v.assign(x) * 2.0 + rows * v.assign_add(x))
        return tape.gradient(loss, [v, x], unconnected_gradients="zero")

    for how in (slopes, dv.function(slopes)):
        v, x = dv.Variable([1.0, 2.0]), dv.constant([3.0, 4.0])
        assert [slope.numpy().tolist() for slope in how()] == [[11.0, 12.0], [0.0, 0.0]]


def test_sources_are_tensors_and_variables():
    tape = dv.GradientTape()
    with tape:
        y = dv.square(np.ones(2))
    with pytest.raises(TypeError, match=r"found array\(\[1., 1.\]\) of type ndarray: compute from"):
        tape.gradient(y, [np.ones(2)])


def test_a_tape_without_a_block_has_seen_nothing():
    tape = dv.GradientTape()
    with pytest.raises(RuntimeError, match="its block"):
        tape.gradient(dv.Variable(2.0) * 2.0, [])
    with pytest.raises(RuntimeError, match="in its own block"), tape.stop_recording():
        pass


def test_the_gradient_of_sorted_numbers_is_numbers():
    x = dv.constant([3.0, 1.0, 2.0])
    with dv.GradientTape() as tape:
        y = dv.sort(x) * [1.0, 2.0, 3.0]
    assert tape.gradient(y, x).numpy().tolist() == [3.0, 1.0, 2.0]


def test_what_is_not_to_be_trained_is_watched_when_that_is_said():
    v, w = dv.Variable(2.0), dv.Variable(3.0, trainable=False)
    with dv.GradientTape() as tape:
        y = v * w
    assert tape.watched_variables() == (v,)
    assert [d if d is None else float(d) for d in tape.gradient(y, [v, w])] == [3.0, None]
    with dv.GradientTape() as tape:
        tape.watch(w)
        y = v * w
    assert tape.watched_variables() == (v, w)
    assert float(tape.gradient(y, w)) == 2.0
    dv.train.GradientDescentOptimizer(0.5).minimize(lambda: v * w, var_list=[w])
    assert float(w) == 2.0


@pytest.mark.parametrize("compiled", [False, True])
def test_watched_variables_are_those_used(compiled):
    v, w, unused = dv.Variable(2.0), dv.Variable(3.0), dv.Variable(0.0)

    def names():
        with dv.GradientTape() as tape:
            dv.cond(v > 0.0, lambda: w * 2.0, lambda: w)
        return [variable.name for variable in tape.watched_variables()]

    found = []
    (dv.function(lambda: found.extend(names())) if compiled else lambda: found.extend(names()))()
    assert found == [v.name, w.name]
    assert unused.name not in found


def test_a_watch_that_comes_late_says_so():
    x = dv.constant(3.0)
    with dv.GradientTape() as tape:
        y = x * x
        with pytest.warns(UserWarning, match=r"used before watch\(\) of it: gradients go through"):
            tape.watch(x)
        y += x
    assert float(tape.gradient(y, x)) == 7.0
