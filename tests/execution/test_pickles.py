"""What is a value can be pickled; what has a meaning only in its program says so, by its name."""

import copy
import pickle

import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf


def again(value):
    return pickle.loads(pickle.dumps(value))


@pytest.mark.parametrize(
    "value",
    [
        np.float32([[1.5, 2.5]]),
        np.int64(7),
        np.array([True, False]),
        np.array([b"a", b"longer"], object),
        np.array([1.5, 2.5]).astype(dv.bfloat16.as_numpy_dtype),
    ],
    ids=["float32", "scalar", "bool", "string", "bfloat16"],
)
def test_an_eager_tensor_is_its_value(value):
    tensor = dv.constant(value)
    found = again(tensor)
    assert found.dtype == tensor.dtype
    assert found.shape == tensor.shape
    np.testing.assert_array_equal(found.numpy(), tensor.numpy())


def test_what_is_not_computed_yet_is_computed():
    variable = dv.Variable([1.0, 2.0])
    product = variable * 3.0
    variable.assign([0.0, 0.0])
    assert again({"product": [product]})["product"][0].numpy().tolist() == [3.0, 6.0]


def test_a_tensor_from_a_pickle_is_like_any_other():
    tensor = again(dv.constant(3.0))
    with dv.GradientTape() as tape:
        tape.watch(tensor)
        square = tensor * tensor
    assert tape.gradient(square, tensor).numpy() == 6.0


def test_sparse_tensors_and_indexed_slices_are_pickled_with_their_tensors():
    sparse = again(dv.SparseTensor([[1]], [5.0], [3]))
    assert dv.sparse.to_dense(sparse).numpy().tolist() == [0.0, 5.0, 0.0]


def test_a_function_with_a_tensor_in_its_closure_runs_anywhere():
    offset = dv.constant([10.0, 20.0])
    found = dv.py_function(lambda x: x + again(offset), [dv.constant([1.0, 2.0])], dv.float32)
    assert found.numpy().tolist() == [11.0, 22.0]


@pytest.mark.parametrize("is_eager", [True, False])
def test_a_variable_and_its_layer_say_what_to_take_along(is_eager):
    with dv.Graph().as_default() if not is_eager else dv.name_scope(None):
        layer = dv.layers.Dense(2, name="hidden")
        layer(dv.ones([1, 2]))
        for thing, name in ((layer.kernel, "hidden.*/kernel"), (layer, "hidden")):
            with pytest.raises(TypeError, match=rf"{name}.* cannot be pickled: .*checkpoint"):
                pickle.dumps(thing)


def test_a_tensor_of_a_graph_says_that_it_has_no_value():
    with tf.Graph().as_default():
        tensor = tf.constant(1.0, name="one")
        with pytest.raises(TypeError, match=r"'one:0' cannot be pickled: .*export_meta_graph"):
            pickle.dumps(tensor)


def test_a_graph_says_what_is_data():
    with tf.Graph().as_default() as graph:
        tf.constant(1.0, name="one")
    with pytest.raises(TypeError, match=r"1 operation.* cannot be pickled.*as_graph_def"):
        pickle.dumps(graph)
    assert again(graph.as_graph_def()).node[0].name == "one"


def test_an_optimizer_that_has_slots_is_copied_with_them_and_says_that_it_is_not_pickled():
    v, optimizer = dv.Variable([1.0, 2.0], name="trained"), dv.train.MomentumOptimizer(0.5, 0.9)
    assert again(optimizer).variables() == []
    optimizer.apply_gradients([(dv.ones([2]), v)])
    with pytest.raises(TypeError, match=r"'trained' cannot be pickled, nor .* slots .* checkpoint"):
        pickle.dumps(optimizer)
    copied = copy.deepcopy(optimizer)
    optimizer.apply_gradients([(dv.ones([2]), v)])
    assert copied.get_slot(v, "momentum").numpy().tolist() == [1.0, 1.0]
    v.assign([0.0, 0.0])
    copied.apply_gradients([(dv.ones([2]), v)])
    np.testing.assert_allclose(v.numpy(), [-0.95, -0.95])
    assert optimizer.get_slot(v, "momentum").numpy().tolist() == pytest.approx([1.9, 1.9])
    averages = dv.train.ExponentialMovingAverage(0.5)
    averages.apply([v])
    for order in (["v", "it", "mean"], ["it", "mean", "v"]):
        whole = {"v": v, "it": optimizer, "mean": averages}
        made = copy.deepcopy({key: whole[key] for key in order})
        slot = made["it"].get_slot(made["v"], "momentum")
        assert slot.numpy().tolist() == pytest.approx([1.9, 1.9])
        assert made["it"].get_slot(v, "momentum") is None
        assert made["mean"].average(made["v"]).numpy().tolist() == v.numpy().tolist()


def test_a_function_is_copied_with_what_it_is_bound_to():
    class Model:
        def __init__(self):
            self.w = dv.Variable(2.0)
            self.call = dv.function(self.product, name="call")

        def product(self, x):
            return self.w * x

    model = Model()
    assert float(model.call(dv.constant(3.0))) == 6.0
    copied = copy.deepcopy(model)
    model.w.assign(0.0)
    assert float(copied.call(dv.constant(3.0))) == 6.0 and copied.call.name == "call"
    assert again(dv.function(dv.square)).python_function is dv.square
