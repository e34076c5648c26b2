"""Eager code: recorded, run late, and impossible to tell from immediate execution."""

import gc
import threading
import weakref

import numpy as np
import pytest

import daskvars as dv
from daskvars import lowering
from daskvars.errors import FailedPreconditionError, InvalidArgumentError
from daskvars.execution import eager_records
from daskvars.execution.eager import EAGER_CONTEXT
from daskvars.execution.eager_records import LARGE_BYTES, TURN_OPS
from daskvars.execution.engine import events
from tests.interrupted import interrupted_at
from tests.waiting import wait_until


def test_values_appear_when_looked_at():
    x = dv.constant([1.0, 2.0])
    y = x * 3.0
    assert y.value is None
    assert y.numpy().tolist() == [3.0, 6.0]
    assert float(dv.reduce_sum(y)) == 9.0
    assert bool(dv.reduce_all(y > 1.0))
    assert [float(v) for v in y] == [3.0, 6.0]
    assert f"{dv.constant(2.0) + 1.0:.1f}" == "3.0"
    assert np.asarray(y).sum() == 9.0


def test_shape_mistakes_raise_at_the_call():
    with pytest.raises(ValueError, match=r"Dimensions must be equal|Incompatible shapes"):
        dv.constant([1.0, 2.0]) + dv.constant([1.0, 2.0, 3.0])
    with pytest.raises(TypeError):
        dv.constant([1.0]) + dv.constant([1])


def test_reads_and_assignments_keep_program_order():
    v = dv.Variable(1.0)
    before = v + 0.0
    v.assign_add(10.0)
    middle = v + 0.0
    v.assign(v * 2.0)
    after = v.read_value()
    assert (float(before), float(middle), float(after)) == (1.0, 11.0, 22.0)
    before = v + 1.0
    v.assign(0.0)
    dv.sync()
    assert float(before) == 23.0


def test_unused_work_is_never_run():
    calls = []

    def note(x):
        calls.append(1)
        return x

    dv.py_func(note, [dv.constant(1.0)], dv.float32, stateful=False)
    dv.sync()
    assert calls == []
    kept = dv.py_func(note, [dv.constant(1.0)], dv.float32, stateful=False)
    dv.sync()
    assert calls == [1]
    assert kept.value is not None


def test_an_evaluated_tensor_drops_its_history():
    x = dv.constant(np.ones(10))
    y = x * 2.0
    inner = weakref.ref(y)
    z = y + 1.0
    z.numpy()
    del y
    gc.collect()
    assert inner() is None


def test_gradients_of_gradients():
    x = dv.Variable(3.0)
    with dv.GradientTape() as outer:
        with dv.GradientTape() as inner:
            y = x * x * x
        (dx,) = inner.gradient(y, [x])
    d2x = outer.gradient(dx, x)
    assert float(dx) == 27.0
    assert float(d2x) == 18.0


def test_a_value_looked_at_inside_the_tape_does_not_break_it():
    v = dv.Variable(2.0)
    with dv.GradientTape() as tape:
        y = v * v
        assert float(y) == 4.0
        z = y * v
        dv.sync()
    assert float(tape.gradient(z, v)) == 12.0


def test_a_tape_is_used_once_unless_persistent():
    v = dv.Variable(2.0)
    with dv.GradientTape() as tape:
        y = v * v
    tape.gradient(y, v)
    with pytest.raises(RuntimeError, match="persistent=True"):
        tape.gradient(y, v)
    with dv.GradientTape(persistent=True) as tape:
        y = v * v
    assert float(tape.gradient(y, v)) == float(tape.gradient(y, v)) == 4.0


def test_a_training_loop_is_compiled_once_and_holds_no_memory():
    rng = np.random.default_rng(0)
    w = dv.Variable(np.zeros((3, 1)))
    x, y = rng.normal(size=(20, 3)), rng.normal(size=(20, 1))
    optimizer = dv.train.AdamOptimizer(0.1)
    counts = []
    for _ in range(8):
        with dv.GradientTape() as tape, dv.name_scope("forward"):
            loss = dv.reduce_mean(dv.square(dv.matmul(dv.constant(x), w) - y))
        optimizer.apply_gradients([(tape.gradient(loss, w), w)])
        float(loss)
        counts.append(lowering.num_lowerings)
    assert counts[-1] == counts[2]
    assert len(EAGER_CONTEXT.here.record.ops if EAGER_CONTEXT.here.record else []) < 200


def trained(num_steps, look_every):
    """Train a small network; return the losses looked at, the plans made, and the variables."""
    rng = np.random.default_rng(0)
    layers = [dv.layers.Dense(8, activation=dv.nn.relu) for _ in range(3)]
    data = [rng.normal(size=(4, 8)).astype(np.float32) for _ in range(num_steps)]
    optimizer = dv.train.MomentumOptimizer(0.1, 0.9)
    for layer in layers:
        layer(data[0])
    weights = [w for layer in layers for w in layer.trainable_variables]
    for w in weights:
        w.assign(rng.normal(size=w.shape).astype(np.float32))
    before, losses = [], []
    for number, x in enumerate(data):
        with dv.GradientTape() as tape:
            h = x
            for layer in layers:
                h = layer(h)
            loss = dv.reduce_mean(dv.square(h - x))
        gradients = tape.gradient(loss, weights)
        optimizer.apply_gradients(list(zip(gradients, weights, strict=True)))
        if look_every and number % look_every == 0:
            losses.append(float(loss))
        before.append(lowering.num_lowerings)
    return losses, before[-1] - before[3], [w.numpy().tobytes() for w in weights]


def test_a_loop_that_looks_at_nothing_has_the_plans_of_one_that_does(eager):
    every, few_plans, expected = trained(40, 1)
    some, plans, found = trained(40, 10)
    assert (some, found) == (every[::10], expected)
    assert plans <= few_plans + 4
    _, plans, found = trained(40, None)
    assert found == expected
    assert plans <= few_plans + 2


def test_a_turn_ends_where_the_program_comes_back_but_not_within_a_tape(eager):
    runs = []
    w = dv.Variable(np.eye(4, dtype=np.float32))
    with events.subscribed(runs.append):
        found = []
        for _ in range(8 * TURN_OPS):
            h = dv.matmul(w, w)
            found.append(dv.reduce_sum(h))
        dv.sync()
        assert len(runs) > 8
        assert len({id(run.plan) for run in runs if isinstance(run, events.RunFinished)}) <= 4
        runs.clear()
        with dv.GradientTape() as tape:
            h = w
            for _ in range(TURN_OPS):
                h = dv.matmul(h, w)
                h = dv.nn.relu(h)
        assert not runs
        tape.gradient(h, w).numpy()
        assert sum(isinstance(run, events.RunFinished) for run in runs) == 1
    assert {float(value) for value in found} == {4.0}


def test_what_a_record_is_given_is_bounded(monkeypatch):
    """Arrays that nobody has any more, for assignments that nobody looks at."""
    v = dv.Variable(np.zeros(LARGE_BYTES // 4, np.float32))
    dv.sync()
    monkeypatch.setattr(eager_records, "GIVEN_BYTES", 3 * LARGE_BYTES)
    runs = []
    with events.subscribed(runs.append):
        for _ in range(10):
            v.assign_add(np.ones(v.shape, np.float32))
        assert len(EAGER_CONTEXT.here.record.ops) <= 3
        assert sum(isinstance(run, events.RunFinished) for run in runs) == 3
        runs.clear()
        batch = dv.constant(np.ones(v.shape, np.float32))
        dv.sync()
        runs.clear()
        for _ in range(10):
            v.assign_add(batch)  # one value, however often
        assert not runs
    assert v.numpy().max() == 20.0


@pytest.mark.parametrize("turn", ["constant", "result"])
def test_a_value_goes_with_its_last_tensor(turn):
    """Not when the garbage collector comes by, which arrays of gigabytes do not call."""
    double = dv.function(lambda x: x * 2.0)
    tensor = dv.constant(np.ones(100, np.float32))
    if turn == "result":
        tensor = double(tensor)
    assert float(tensor[0]) == (2.0 if turn == "result" else 1.0)
    op, value = tensor.op, weakref.ref(tensor.value)
    again = op.outputs[0]
    assert again is tensor
    del tensor, again
    assert op.outputs[0].numpy().shape == (100,)  # as long as the operation is there
    gc.disable()
    try:
        del op
        assert value() is None
    finally:
        gc.enable()


def test_a_failing_op_raises_where_its_value_is_wanted_and_what_was_called_before_it_is_done():
    v, w = dv.Variable(1.0), dv.Variable(1.0, name="not_done")
    dv.sync()
    v.assign_add(1.0)
    before = v * 10.0
    bad = dv.check_numerics(dv.constant(np.nan), "not a number")
    w.assign_add(1.0)
    with pytest.raises(InvalidArgumentError, match="not a number") as failed:
        w.numpy()
    assert failed.value.__notes__ == [
        "What was called after it is not done, and variables are as they were then: not_done"
    ]
    assert (float(v), float(before), float(w)) == (2.0, 20.0, 1.0)
    for use in (bad.numpy, lambda: bad + 1.0, lambda: w.assign_add(bad)):
        v.assign_add(1.0)
        with pytest.raises(RuntimeError, match="the run that was to compute it failed") as used:
            use()
        assert used.value.__cause__ is failed.value
    assert (float(v), float(w)) == (5.0, 1.0)


def test_of_ops_that_fail_the_first_that_was_called_raises():
    v, table = dv.Variable(1), dv.constant([1.0, 2.0])
    dv.sync()
    found = []
    for index in (0, 7, 8, 9):
        v.assign_add(1)
        found.append(dv.gather(table, index))
    with pytest.raises(InvalidArgumentError, match="= 7 is not in"):
        found[-1].numpy()
    assert int(v) == 3


def test_what_is_done_once_is_not_done_again_where_an_op_fails(capfd):
    v = dv.Variable(1.0)
    dv.sync()
    v.assign_add(1.0)
    dv.print("seen")
    bad = dv.gather([1.0], 7)
    with pytest.raises(InvalidArgumentError, match="is not in") as failed:
        bad.numpy()
    assert "is one run, and undone" in failed.value.__notes__[0]
    assert float(v) == 1.0
    assert capfd.readouterr().err.count("seen") <= 1


def test_variables_that_a_failing_run_was_to_begin_have_their_initial_values():
    first = dv.Variable([1.0, 2.0], name="first")
    first.assign_add([1.0, 1.0])
    bad = dv.gather(first, [7])
    second = dv.Variable([3.0, 6.0], name="second")
    second.assign_add([1.0, 1.0])
    third = dv.Variable(second.read_value() * 3.0, name="third")  # of what is not done
    drawn = dv.Variable(dv.random_uniform([3], seed=1), name="drawn")
    with pytest.raises(InvalidArgumentError, match="is not in") as failed:
        bad.numpy()
    assert failed.value.__notes__[0].endswith("as they were then: second, third")
    assert first.numpy().tolist() == [2.0, 3.0]
    assert second.numpy().tolist() == [3.0, 6.0]
    assert (drawn.numpy() > 0).all()
    with pytest.raises(FailedPreconditionError, match="uninitialized value third"):
        third.numpy()


def test_a_variable_of_which_the_initial_value_fails_has_none_and_others_have():
    fine = dv.Variable(1.0, name="fine")
    failing = dv.Variable(dv.check_numerics(dv.constant(np.nan), "not a number"), name="failing")
    failing.assign(2.0)
    with pytest.raises(InvalidArgumentError, match="not a number") as failed:
        dv.sync()
    assert failed.value.__notes__[0].endswith("as they were then: failing")
    assert float(fine) == 1.0
    with pytest.raises(FailedPreconditionError, match="uninitialized value failing"):
        failing.numpy()


def test_a_name_that_no_store_takes_is_refused_where_the_variable_is_made():
    other = dv.Variable(1.0)
    with pytest.raises(InvalidArgumentError, match="has an empty segment; write 'a/b'"):
        dv.Variable(1.0, name="a//b")
    with dv.Graph().as_default(), pytest.raises(InvalidArgumentError, match="rename that scope"):
        dv.get_variable("..", [2])
    assert float(other) == 1.0


def test_dropped_variables_free_their_values():
    v = dv.Variable(np.zeros(1000))
    key = v.key
    dv.sync()
    assert key in EAGER_CONTEXT.engine.values
    del v
    gc.collect()
    wait_until(lambda: key not in EAGER_CONTEXT.engine.values, "it is freed, though nothing is run")


def test_random_ops_differ_from_call_to_call_and_repeat_with_a_seed():
    def draw():
        dv.set_random_seed(9)
        return [dv.random_uniform([2]).numpy().tolist() for _ in range(3)]

    first = draw()
    assert first == draw()
    assert first[0] != first[1]


def test_a_graph_and_eager_code_live_side_by_side():
    v = dv.Variable(1.0)
    with dv.Graph().as_default():
        c = dv.constant(2.0) * 4.0
        with dv.Session() as session:
            assert session.run(c) == 8.0
        with pytest.raises(ValueError, match="same graph"):
            dv.add(c, v)
    assert float(v + 1.0) == 2.0


def test_an_attribute_is_told_from_one_that_only_equals_it():
    x = dv.constant([-1.0, 2.0])
    flat = [dv.nn.leaky_relu(x * 1.0, alpha=alpha).numpy() for alpha in (0.0, -0.0, 0.0)]
    assert [np.signbit(row).tolist() for row in flat] == [
        [True, False],
        [False, False],
        [True, False],
    ]


@pytest.mark.parametrize("wrap", [None, dv.function], ids=["eager", "function"])
def test_python_functions_are_called_in_the_order_of_the_code(wrap):
    called, threads = [], set()

    def note(value):
        threads.add(threading.current_thread())
        called.append(float(value))
        return value

    def several(x):
        return [dv.py_func(note, [x + float(i)], dv.float32) for i in range(4)]

    found = (wrap(several) if wrap else several)(dv.constant(0.0))
    assert [float(y) for y in found] == [0.0, 1.0, 2.0, 3.0]
    assert called == [0.0, 1.0, 2.0, 3.0]
    assert len(threads) == 1


def test_a_python_function_is_called_at_once_and_sees_what_was_recorded_before():
    seen, before = [], dv.Variable(3.0) * 2.0
    body = lambda x: dv.numpy_function(lambda v: v + before.numpy(), [x], dv.float32)  # noqa: E731
    dv.numpy_function(lambda v: seen.append(v + before.numpy()), [dv.Variable(1.0) * 1.0], [])
    assert seen == [7.0]
    before = before + 1.0
    assert dv.map_fn(body, dv.Variable([1.0, 2.0]) * 1.0).numpy().tolist() == [8.0, 9.0]
    around = dv.numpy_function(
        lambda v: body(v).numpy(), [before * 1.0], dv.float32, stateful=False
    )
    assert around.numpy() == 14.0


def test_eager_tensors_forget_so_a_tape_is_asked_for():
    w = dv.Variable(3.0)
    y = w * w
    for function in (dv.gradients, dv.hessians):
        with pytest.raises(RuntimeError, match="GradientTape"):
            function(y, w)
    with dv.GradientTape() as tape:
        y = w * w
    assert float(y) == 9.0
    assert float(tape.gradient(y, w)) == 6.0
    assert float(dv.function(lambda: dv.gradients(w * w, w)[0])()) == 6.0


def test_ctrl_c_leaves_an_eager_program_that_goes_on():
    total, scope = dv.Variable(1.0), EAGER_CONTEXT.get_name_scope()

    def step():
        with dv.name_scope("outer"):
            with dv.GradientTape() as tape:
                loss = total * 2.0
            total.assign_add(tape.gradient(loss, total))
        return total.numpy()

    step()  # lowered once
    known = step()
    for place in range(1, 50_000, 17):
        with interrupted_at(place) as is_done:
            step()
        assert EAGER_CONTEXT.get_name_scope() == scope, place
        assert total.numpy() in (known, known + 2.0), place
        known = total.numpy()
        if is_done():
            break
    assert is_done() and place > 100
    assert not EAGER_CONTEXT._records


def test_a_tape_whose_block_never_ended_records_no_more_once_it_is_gone():
    """As where Ctrl-C comes just when the block ends."""
    tape = dv.GradientTape()
    tape.__enter__()
    x = dv.constant(2.0) * 3.0
    assert x.op.is_held
    del tape
    gc.collect()
    y = x + 1.0
    assert not x.op.is_held and not y.op.is_held
    assert float(y) == 7.0


@pytest.mark.parametrize("place", [100, 500, 1000])
def test_variables_that_a_run_was_to_begin_when_ctrl_c_came_have_their_initial_values(place):
    v = dv.Variable(5.0)
    v.assign_add(1.0)
    with interrupted_at(place):
        v.numpy()
    assert v.numpy() in (5.0, 6.0)


def test_ctrl_c_says_what_is_undone(monkeypatch):
    v = dv.Variable(1.0, name="interrupted_variable")
    v.numpy()
    v.assign_add(1.0)

    def interrupt(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt) as raised:
        patched.setattr(EAGER_CONTEXT.engine, "acquire", interrupt)
        v.numpy()
    assert "variables are as they were before: interrupted_variable" in raised.value.__notes__[0]
    assert v.numpy() == 1.0


def test_no_graph_that_is_complete_stops_eager_code():
    EAGER_CONTEXT.finalize()  # as what finalizes the graph that is there does, outside of any
    v = dv.Variable(1.0)
    v.assign_add(2.0)
    assert float(v) == 3.0
