"""`reset`: a notebook's cells run again as if for the first time, and nothing is mixed up."""

import copy
import functools
import gc

import numpy as np
import pytest

import daskvars as dv
from daskvars.execution.eager import EAGER_CONTEXT
from tests import fresh


@pytest.fixture(autouse=True)
def _begun_anew():
    dv.reset()
    yield
    dv.reset()


def _cell():
    with dv.variable_scope("model"):
        w = dv.get_variable("w", [2], initializer=dv.ones_initializer())
    layer = dv.layers.Dense(1)
    layer(np.ones((1, 2), "f4"))
    return w, layer, dv.Variable(1.0, name="v")


def test_a_cell_gives_the_same_names_each_time():
    names = []
    for _ in range(3):
        kept = _cell()
        names.append(sorted(v.name for v in dv.global_variables()))
        dv.reset()
        assert dv.global_variables() == dv.trainable_variables() == []
    assert names[0] == names[1] == names[2]
    assert "model/w:0" in names[0] and "v:0" in names[0] and len(kept) == 3


def test_what_exists_already_says_how():
    _cell()
    with pytest.raises(ValueError, match="already exists") as error, dv.variable_scope("model"):
        dv.get_variable("w", [2])
    told = str(error.value)
    assert __file__ in told and "reuse=AUTO_REUSE" in told and " reset() first" in told


def test_what_is_still_held_works_on_and_keeps_its_value():
    old, layer, v = _cell()
    doubled = dv.function(functools.partial(dv.multiply, old, 2.0))
    assert doubled().numpy().tolist() == [2.0, 2.0]
    before = layer(np.ones((1, 2), "f4")).numpy()
    dv.reset()
    new, *_ = _cell()
    assert new.name == old.name and new.key != old.key
    new.assign([7.0, 7.0])
    old.assign_add([1.0, 1.0])
    assert (old.numpy().tolist(), new.numpy().tolist()) == ([2.0, 2.0], [7.0, 7.0])
    assert doubled().numpy().tolist() == [4.0, 4.0] and float(v) == 1.0
    assert np.array_equal(layer(np.ones((1, 2), "f4")), before)
    key = old.key
    assert key not in [found.key for found in dv.global_variables()]
    del old, doubled
    gc.collect()
    dv.sync()
    assert new.numpy().tolist() == [7.0, 7.0]


def test_values_recorded_before_are_computed():
    v = dv.Variable([1.0, 2.0])
    later = v * 3.0
    v.assign([0.0, 0.0])
    dv.reset()
    assert later.numpy().tolist() == [3.0, 6.0] and v.numpy().tolist() == [0.0, 0.0]


def test_a_checkpoint_of_before_is_restored_under_the_same_names(tmp_path):
    old, *_ = _cell()
    old.assign([3.0, 4.0])
    path = dv.train.Saver().save(None, str(tmp_path / "model"))
    dv.reset()
    new, *_ = _cell()
    dv.train.Saver().restore(None, path)
    assert new.numpy().tolist() == [3.0, 4.0]


def test_the_seed_is_forgotten_and_scopes_are_left_before():
    dv.set_random_seed(3)
    first = dv.random_uniform([2]).numpy().tolist()
    dv.reset()
    dv.set_random_seed(3)
    assert dv.random_uniform([2]).numpy().tolist() == first
    with dv.variable_scope("s"), pytest.raises(AssertionError, match="inside a scope, 's'"):
        dv.reset()


# -- layers ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [None, "replaced"])
def test_the_weights_of_a_layer_go_when_it_does(name):
    gc.disable()  # by reference counts alone: nobody waits for a collection
    try:
        layer = dv.layers.Dense(2, name=name, kernel_regularizer=dv.l2_regularizer(0.1))
        layer(np.ones((1, 3), "f4"))
        layer = dv.layers.Dense(2, name=name)
        layer(np.ones((1, 3), "f4"))
        found = dv.trainable_variables()
    finally:
        gc.enable()
    assert len(found) == 2 and found[0] is layer.kernel and found[1] is layer.bias


def test_a_layer_beside_one_that_is_held_warns():
    first = dv.layers.Dense(2, name="twice")
    first(np.ones((1, 3), "f4"))
    second = dv.layers.Dense(2, name="twice")
    with pytest.warns(UserWarning, match=r"'twice_1', and twice/kernel:0, .*daskvars.reset\(\)"):
        second(np.ones((1, 3), "f4"))
    assert len(dv.trainable_variables()) == 4  # both are there to be trained


def test_the_functional_form_keeps_its_variables():
    x = np.ones((1, 3), "f4")
    first = dv.layers.dense(x, 2, name="shared")
    gc.collect()
    assert len(dv.trainable_variables()) == 2
    assert np.array_equal(first, dv.layers.dense(x, 2, name="shared", reuse=True))


def test_a_partitioned_weight_goes_too():
    with dv.variable_scope("cut", partitioner=dv.fixed_size_partitioner(2)):
        layer = dv.layers.Dense(2, name="d")
        layer(np.ones((1, 4), "f4"))
    assert len(dv.trainable_variables()) == 4
    assert isinstance(layer.kernel, dv.PartitionedVariable)
    del layer
    gc.collect()
    assert dv.trainable_variables() == []


# -- copies ------------------------------------------------------------------------------------


def test_a_copy_of_a_variable_is_another():
    v = dv.Variable(np.arange(6.0), chunks=4, name="copied", constraint=dv.abs)
    w = dv.Variable(1.0, trainable=False, name="still")
    model = {"v": v, "w": w, "t": v * 2.0}
    twin = copy.deepcopy(model)
    twin["v"].assign_add(np.ones(6))
    assert v.numpy().tolist() == [0, 1, 2, 3, 4, 5] and twin["v"].numpy()[0] == 1.0
    assert twin["v"].name == "copied_1:0" and twin["v"].chunks == v.chunks
    assert twin["v"].constraint is dv.abs and not twin["w"].trainable
    assert twin["t"] is model["t"]
    assert [u.name for u in dv.trainable_variables()] == ["copied:0", "copied_1:0"]
    assert [u.name for u in dv.global_variables()] == [
        "copied:0",
        "still:0",
        "copied_1:0",
        "still_1:0",
    ]
    assert copy.deepcopy([v, v])[0].name == "copied_2:0"
    both = copy.deepcopy([v, v])
    assert both[0] is both[1]


def test_a_copy_of_a_layer_has_variables_of_its_own():
    layer = dv.layers.Dense(2, kernel_regularizer=dv.l2_regularizer(1.0), name="kept")
    model = dv.layers.Layer(name="of_layers")
    model.scale, model.layers = dv.Variable(2.0), [layer]
    layer(np.ones((1, 4), "f4"))
    twin = copy.deepcopy(model)
    assert [v.name for v in twin.weights][1:] == ["kept/kernel_1:0", "kept/bias_1:0"]
    twin.set_weights([5.0, np.zeros((4, 2)), np.ones(2)])
    assert float(model.scale) == 2.0 and layer.kernel.numpy().any()
    assert twin.layers[0](np.ones((1, 4), "f4")).numpy().tolist() == [[1.0, 1.0]]
    assert float(twin.losses[0]) == 0.0 < float(model.losses[0])


def test_a_variable_of_a_graph_is_not_copied():
    with dv.Graph().as_default():
        v = dv.Variable(1.0, name="fixed")
        with pytest.raises(NotImplementedError, match="Variable fixed cannot be copied"):
            copy.deepcopy(v)
        x = dv.constant(1.0)
        assert copy.deepcopy([x])[0] is x
    eager = dv.Variable(1.0)

    @dv.function
    def copies():
        return copy.deepcopy(eager).value()

    with pytest.raises(NotImplementedError, match="in a function copy before"):
        copies()


# -- tensors that are looked at, or used, where they have no value -----------------------------


def test_a_tensor_inside_a_function_says_whose_it_is():
    leaked = []

    @dv.function
    def step(x):
        leaked.append(dv.multiply(x, 2.0, name="twice"))
        return x

    step(np.ones(2, "f4"))
    (tensor,) = leaked
    assert not hasattr(tensor, "numpy")
    for look, error in (
        (lambda: tensor.numpy(), AttributeError),
        (lambda: int(tensor), TypeError),
        (lambda: float(tensor), TypeError),
        (lambda: np.asarray(tensor), NotImplementedError),
    ):
        with pytest.raises(error, match=r"twice:0 .*'step'.*[Rr]eturn it"):
            look()
    for use in (lambda: tensor + 1.0, lambda: dv.function(lambda: tensor + 1.0)()):
        with pytest.raises(ValueError, match=r"twice:0.*inside 'step'.*Return it"):
            use()
    with dv.Graph().as_default(), pytest.raises(ValueError, match="inside 'step'"):
        _ = tensor + 1.0


def test_a_tensor_of_another_graph_says_which():
    with dv.Graph().as_default():
        a = dv.constant(1.0, name="first_here")
    with dv.Graph().as_default():
        b = dv.constant(1.0, name="first_there")
        with pytest.raises(ValueError, match=r"'first_\w+', made at .*test_reset.py:\d+ is not"):
            _ = a + b
        with pytest.raises(AttributeError, match=r"first_there:0 has no numpy.*session.run"):
            b.numpy()


@pytest.mark.slow
def test_the_first_cell_of_a_process_is_not_another():
    """A process that never resets names and keys variables as before."""
    program = "import daskvars as dv; v = dv.Variable(1.0, name='v'); dv.reset(); del v; dv.sync();"
    program += "w = dv.Variable(2.0, name='v'); print(w.name, w.key, float(w))"
    assert fresh.run(program) == "v:0 v 2.0\n"


def test_a_variable_of_a_name_that_had_another_shape_is_restored(tmp_path) -> None:
    dv.reset()
    first = dv.Variable([3.0, 4.0])
    saver = dv.train.Saver({"v": first})
    saver.restore(None, str(saver.save(None, str(tmp_path / "first"))))
    assert first.numpy().tolist() == [3.0, 4.0]
    second = dv.Variable(np.ones((8, 2), "f4"), name="second")
    path = str(dv.train.Saver({"v": second}).save(None, str(tmp_path / "second")))
    name = first.name
    del first, saver
    dv.reset()
    again = dv.Variable(np.zeros((8, 2), "f4"), chunks=(2, 2))
    assert again.name == name
    dv.train.Saver({"v": again}).restore(None, path)
    assert again.numpy().sum() == 16.0


def _drawn_by_functions():
    """Return what two functions draw, in turns: their operations have one name and one place."""
    first, second = (dv.function(lambda n: dv.random_uniform([4]) + n) for _ in range(2))
    return [f(n).numpy().tolist() for n in (0.0, 0.0, 1.0) for f in (first, second)]


@pytest.mark.parametrize("begin_anew", [dv.reset, lambda: None])
def test_functions_made_after_the_seed_draw_the_same_again(begin_anew):
    found = []
    for _ in range(3):
        begin_anew()
        dv.set_random_seed(7)
        found.append(_drawn_by_functions())
    assert found[0] == found[1] == found[2]
    assert len({tuple(numbers) for numbers in found[0]}) == 6  # each call has its own


def test_a_function_that_is_still_held_goes_on_drawing():
    dv.set_random_seed(7)
    held = dv.function(lambda: dv.random_uniform([4]))
    before = [held().numpy().tolist() for _ in range(2)]
    dv.reset()
    dv.set_random_seed(7)
    fresh_one = dv.function(lambda: dv.random_uniform([4]))
    assert held().numpy().tolist() not in before
    assert [fresh_one().numpy().tolist() for _ in range(2)] == before


def _in_branch():
    return dv.cond(dv.reduce_all(True), lambda: dv.random_uniform([4]), lambda: dv.zeros([4]))


def _in_layer():
    return dv.layers.dropout(dv.ones([32]), 0.5, training=True)


def _in_dataset():
    numbers = dv.data.Dataset.range(4).map(lambda n: dv.random_uniform([]))
    return dv.stack(list(numbers))


@pytest.mark.parametrize(
    "draw", [dv.function(_in_branch), dv.function(_in_layer), _in_dataset], ids=lambda f: f.__name__
)
def test_the_seed_is_that_of_functions_and_datasets_too(draw, monkeypatch):
    function = getattr(draw, "python_function", None)
    found = {}
    for seed, entropy in (7, 1), (7, 2), (8, 3):  # a process has entropy of its own
        monkeypatch.setattr(EAGER_CONTEXT.engine, "_entropy", entropy)
        dv.reset()
        dv.set_random_seed(seed)
        made = [dv.function(function) if function else draw for _ in range(2)]
        found[seed, entropy] = [one().numpy().tolist() for one in made]
    assert found[7, 1] == found[7, 2]
    assert len({str(numbers) for drawn in found.values() for numbers in drawn}) == 4


def _noisy(x):
    return x * dv.random_uniform([4], seed=3) + dv.random_uniform([4])


def test_a_function_under_a_tape_draws_anew_in_each_call():
    step, x = dv.function(_noisy), dv.Variable(np.ones(4, "f4"))
    found = []
    for _ in range(3):
        with dv.GradientTape() as tape:
            y = step(x)
        found += [y.numpy().tolist(), tape.gradient(y, x).numpy().tolist()]
    assert len(set(map(tuple, found))) == 6


def test_a_gradient_in_a_function_under_a_tape_is_that_of_the_numbers_drawn():
    w = dv.Variable(2.0)

    @dv.function
    def step(x):
        with dv.GradientTape() as inner:
            y = dv.reduce_sum(x * dv.random_uniform([4]) * w)
        return y, inner.gradient(y, w)

    for _ in range(2):
        with dv.GradientTape() as tape:
            y, slope = step(np.ones(4, "f4"))
        assert float(y) == pytest.approx(2.0 * float(slope)) == 2.0 * float(tape.gradient(y, w))


def test_draws_in_a_branch_of_a_function_under_a_tape_are_refused():
    step = dv.function(_in_branch)
    with dv.GradientTape(), pytest.raises(NotImplementedError, match="open the tape in the func"):
        step()
