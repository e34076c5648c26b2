"""A tape that watches what it is told, and no more."""

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
