"""The base class: names, variables, sharing, losses, updates, input checks, copies."""

import copy

import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf
from tests.sessions import initialized, run

pytestmark = pytest.mark.usefixtures("graph")


class Scale(tf.layers.Layer):
    def build(self, input_shape):
        self.w = self.add_weight("w", [], initializer=tf.ones_initializer())
        super().build(input_shape)

    def call(self, inputs):
        return tf.multiply(inputs, self.w, name="scaled")


def names(variables):
    return [v.name for v in variables]


@pytest.mark.parametrize(
    "layer_names, scopes",
    [([None, None], ["scale", "scale_1"]), (["a", "a", "b"], ["a", "a_1", "b"])],
)
def test_scopes_are_named_after_layers_and_made_unique(layer_names, scopes):
    layers = [Scale(name=name) for name in layer_names]
    outputs = [layer(tf.ones([2])) for layer in layers]
    assert [layer.scope_name for layer in layers] == scopes
    assert names(tf.trainable_variables()) == [f"{s}/w:0" for s in scopes]
    assert [y.op.name for y in outputs] == [f"{s}/scaled" for s in scopes]


def test_unnamed_layers_are_counted():
    assert [Scale().name for _ in range(2)] == ["scale_1", "scale_2"]


def test_a_layer_follows_variable_scopes_but_not_name_scopes():
    with tf.name_scope("n"), tf.variable_scope("v"):
        layer = Scale()
        layer(tf.ones([2]))
    assert layer.variables[0].name == "v/scale/w:0"


def test_later_calls_share_the_variables():
    layer = Scale()
    first, second = layer(tf.ones([2])), layer(tf.ones([3]))
    assert len(tf.global_variables()) == 1
    assert [first.op.name, second.op.name] == ["scale/scaled", "scale/scaled_1"]


def test_reuse_shares_what_another_layer_made():
    Scale(_scope="s")(tf.ones([2]))
    shared = Scale(_scope="s", _reuse=True)
    shared(tf.ones([2]))
    assert names(shared.variables) == ["s/w:0"]
    assert len(tf.global_variables()) == 1
    with pytest.raises(ValueError, match="already exists"):
        Scale(_scope="s")(tf.ones([2]))


def test_a_scope_object_in_place_of_a_name():
    with tf.variable_scope("here") as scope:
        pass
    tf.layers.dense(tf.ones([1, 2]), 3, name=scope)
    assert names(tf.global_variables()) == ["here/kernel:0", "here/bias:0"]


def test_trainable_and_other_variables():
    layer = tf.layers.Layer(name="l")
    a, b = layer.add_variable("a", [2]), layer.add_variable("b", [2], trainable=False)
    assert (layer.trainable_variables, layer.non_trainable_variables) == ([a], [b])
    assert tf.trainable_variables() == [a]
    assert layer.variables == [a, b]
    layer.trainable = False
    assert (layer.trainable_variables, layer.non_trainable_variables) == ([], [a, b])


def test_regularizers_of_variables_are_losses_once():
    options = {"kernel_regularizer": tf.l2_regularizer(0.5), "name": "d"}
    x = tf.ones([1, 2])
    tf.layers.dense(x, 3, kernel_initializer=tf.ones_initializer(), **options)
    tf.layers.dense(x, 3, reuse=True, **options)
    (loss,) = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
    assert loss.op.name.startswith("d/kernel/Regularizer/")
    assert run(loss) == 1.5


def test_losses_and_updates_by_input():
    layer = tf.layers.Dense(2, activity_regularizer=tf.reduce_sum)
    a, b = tf.ones([1, 2]), tf.ones([3, 2])
    layer(a), layer(b)
    assert layer.losses == tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
    assert layer.get_losses_for(a) == layer.losses[:1]
    update = tf.no_op()
    layer.add_update(update)
    assert (layer.get_updates_for(None), layer.get_updates_for(a)) == ([update], [])
    assert layer.get_losses_for(None) == []
    before = tf.ones([1, 2])
    between = tf.exp(before)
    after = layer(between)
    assert layer.get_losses_for(before) == layer.get_losses_for([between]) == layer.losses[2:]
    assert layer.get_losses_for([after, tf.ones([])]) == layer.losses[2:]
    layer(a)
    layer(a)
    assert tf.get_collection(tf.GraphKeys.UPDATE_OPS) == [update]


@pytest.mark.parametrize(
    "spec, bad, message",
    [
        ({"ndim": 2}, [1.0], "expected ndim=2, found ndim=1"),
        ({"min_ndim": 2}, [1.0], "expected min_ndim=2"),
        ({"max_ndim": 1}, [[1.0]], "expected max_ndim=1"),
        ({"dtype": "int32"}, [1.0], "expected dtype=int32"),
        ({"axes": {-1: 2}}, [1.0, 2.0, 3.0], r"expected axis -1 .* value 2 .* \[3\]"),
        ({"shape": (None, 3)}, [[1.0, 2.0]], r"expected shape=\(None, 3\)"),
    ],
)
def test_inputs_are_checked(spec, bad, message):
    layer = Scale(name="checked")
    layer.input_spec = tf.layers.InputSpec(**spec)
    with pytest.raises(ValueError, match=f"Input 0 of layer checked .*{message}"):
        layer(tf.constant(bad))


def test_a_rank_must_be_known_where_it_is_checked():
    with pytest.raises(ValueError, match="requires a defined rank"):
        tf.layers.Dense(2)(tf.placeholder(tf.float32))


def test_a_layer_belongs_to_one_graph():
    layer = Scale()
    layer(tf.ones([2]))
    with tf.Graph().as_default(), pytest.raises(ValueError, match="graph are not the same"):
        layer(tf.ones([2]))


def test_a_call_must_give_something():
    class Nothing(tf.layers.Layer):
        def call(self, inputs):
            return None

    with pytest.raises(ValueError, match="not None"):
        Nothing()(tf.ones([2]))


def test_nested_inputs_and_the_scope_argument():
    class Pair(tf.layers.Layer):
        def call(self, inputs, scope=None):
            return {"sum": inputs["a"] + inputs["b"], "scope": tf.constant(scope.name)}

    result = Pair(name="pair")({"a": tf.ones([2]), "b": tf.ones([2])})
    with tf.Session() as sess:
        assert sess.run(result)["scope"] == b"pair"


def test_a_copy_shares_the_variables():
    layer = Scale()
    layer(tf.ones([2]))
    other = copy.deepcopy(layer)
    assert other.variables == layer.variables
    assert other.scope_name == layer.scope_name
    other(tf.ones([2]))
    assert len(tf.global_variables()) == 1


def test_unknown_arguments_are_refused():
    with pytest.raises(TypeError, match="not understood: 'units'"):
        tf.layers.Layer(units=3)


def test_a_custom_getter_sees_every_variable():
    seen = []

    def getter(getter, name, *args, **kwargs):
        seen.append(name)
        return getter(name, *args, **kwargs)

    with tf.variable_scope("s", custom_getter=getter):
        tf.layers.dense(tf.ones([1, 2]), 3)
    assert seen == ["s/dense/kernel", "s/dense/bias"]


def test_classes_of_both_namespaces_are_one():
    assert isinstance(Scale(), dv.layers.Layer)
    assert isinstance(tf.layers.Dense(1), tf.layers.Layer)
    assert not isinstance(tf.layers.Dense(1), tf.layers.Flatten)


def test_partitioned_kernels_are_used_whole():
    with tf.variable_scope("s", partitioner=tf.fixed_size_partitioner(2)):
        layer = tf.layers.Dense(3, kernel_initializer=tf.ones_initializer(), use_bias=False)
        y = layer(tf.ones([1, 4]))
    assert names(tf.global_variables()) == ["s/dense/kernel/part_0:0", "s/dense/kernel/part_1:0"]
    np.testing.assert_array_equal(run(y), [[4.0, 4.0, 4.0]])


def test_a_graph_with_layers_is_saved_and_imported(tmp_path):
    x = tf.placeholder(tf.float32, [2, 3], name="x")
    tf.layers.batch_normalization(tf.layers.dense(x, 2), training=True)
    with initialized() as sess:
        path = tf.train.Saver().save(sess, str(tmp_path / "m"))
        names = [v.name for v in tf.global_variables()]
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.train.import_meta_graph(f"{path}.meta").restore(sess, path)
        assert [v.name for v in tf.global_variables()] == names
        assert tf.global_variables()[0].synchronization is tf.VariableSynchronization.AUTO


def _layers_with_weights():
    """Every layer that makes weights to multiply its inputs with, and the rank of the inputs."""
    cells = dict.fromkeys(("BasicRNNCell", "GRUCell", "LSTMCell", "BasicLSTMCell"), 2)
    plain = {"Dense": 2, "BatchNormalization": 2, "LayerNormalization": 2}
    convolutions = {
        name: int(name[name.index("D") - 1]) + 2
        for name in dir(tf.layers)
        if name.lower() != name and "Conv" in name and "D" in name
    }
    assert len(convolutions) >= 7
    return [*cells.items(), *plain.items(), *convolutions.items()]


@pytest.mark.parametrize("name, rank", _layers_with_weights())
@pytest.mark.parametrize("dtype", ["int32", "uint8", "bool"])
@pytest.mark.parametrize("given", [None, "int64", "float32"])
def test_weights_are_not_multiplied_with_integers(name, rank, dtype, given):
    in_cells = hasattr(tf.nn.rnn_cell, name)
    made = getattr(tf.nn.rnn_cell if in_cells else dv.layers, name)
    sizes = {"filters": 2, "kernel_size": 2} if "Conv" in name else {}
    sizes = {"num_units": 2} if in_cells else {"units": 2} if name == "Dense" else sizes
    layer = made(**sizes, name="cast_me", dtype=given)
    x = tf.zeros([3] * rank, dtype)
    with pytest.raises(TypeError, match=f"cast_me.*{given if given == 'int64' else dtype}.*cast"):
        layer(x, tf.zeros([3, 2])) if in_cells else layer(x)
    assert not layer.weights and not tf.global_variables()


@pytest.mark.parametrize("function", ["dense", "batch_normalization", "conv1d", "conv2d"])
def test_functional_layers_refuse_integers_too(function):
    rank = {"conv1d": 3, "conv2d": 4}.get(function, 2)
    sizes = {"dense": (2,), "conv1d": (2, 2), "conv2d": (2, 2)}.get(function, ())
    with pytest.raises(TypeError, match=r"int32.*cast"):
        getattr(tf.layers, function)(tf.zeros([3] * rank, tf.int32), *sizes)
    assert not tf.global_variables()


def test_a_recurrent_network_of_integers_is_refused():
    cell = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.GRUCell(2)])
    with pytest.raises(TypeError, match=r"int32.*cast"):
        tf.nn.dynamic_rnn(cell, tf.zeros([2, 3, 4], tf.int32), dtype=tf.float32)


def test_a_users_weight_does_not_become_an_integer_because_the_input_is_one():
    class Counted(tf.layers.Layer):
        def build(self, input_shape):
            self.add_weight("seen", [], "int64", tf.zeros_initializer(), trainable=False)
            self.scale = self.add_weight("scale", [])

        def call(self, inputs):
            return inputs * self.scale

    layer = Counted(name="counted")
    with pytest.raises(TypeError, match=r"'scale' of layer 'counted'.*int32.*give.*cast"):
        layer(tf.constant([1]))
    assert [v.dtype.base_dtype for v in layer.weights] == [tf.int64]
    assert Counted(dtype="int32")(tf.constant([1])).dtype is tf.int32


def test_complex_inputs_have_complex_weights():
    ones = tf.ones_initializer()
    layer = dv.layers.Dense(2, kernel_initializer=ones, use_bias=False)
    assert layer(tf.zeros([1, 3], tf.complex64)).dtype is tf.complex64
    assert layer.kernel.dtype.base_dtype is tf.complex64


def test_weights_are_got_and_set():
    layer = Scale(name="scale")
    layer(tf.ones([2]))
    with initialized():
        layer.set_weights([5.0])
        assert layer.get_weights() == [5.0]
        with pytest.raises(ValueError, match=r"of scale takes arrays of shapes \[\(\)\], found \["):
            layer.set_weights([[1.0, 2.0]])
