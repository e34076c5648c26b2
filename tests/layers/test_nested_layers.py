"""Layers made of layers: their variables, losses and updates, and what setting `trainable` does."""

import enum

import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf

KERNEL_LOSS = tf.contrib.layers.l2_regularizer(0.5)


def names(variables):
    return [v.name.removesuffix(":0") for v in variables]


class Holder(dv.layers.Layer):
    """Calls its layers, however they are held, in the order of `order`."""

    def __init__(self, *order, **attributes):
        super().__init__(name=attributes.pop("name", None))
        for name, value in attributes.items():
            setattr(self, name, value)
        self._order = order

    def call(self, inputs):
        for name in self._order or vars(self):
            value = getattr(self, name)
            if isinstance(value, dv.layers.Layer):
                inputs = value(inputs)
        return inputs


def dense(name, **options):
    return dv.layers.Dense(2, use_bias=False, name=name, **options)


class Block(dv.layers.Layer):
    """A layer as programs write it: dense, normalized, scaled by a variable of its own."""

    def __init__(self, name=None):
        super().__init__(name=name)
        self.dense = dv.layers.Dense(3, kernel_regularizer=KERNEL_LOSS, name="dense")
        self.norm = dv.layers.BatchNormalization(name="norm")
        self.scale = dv.Variable(2.0, name="scale")
        self.count = dv.Variable(0.0, name="count", trainable=False)

    def build(self, input_shape):
        self.shift = self.add_weight("shift", [], initializer=dv.zeros_initializer())
        super().build(input_shape)

    def call(self, inputs, training=True):
        return self.norm(self.dense(inputs), training=training) * self.scale + self.shift


TRAINED = [
    *("b/shift", "scale", "b/dense/kernel", "b/dense/bias"),
    *("b/norm/gamma", "b/norm/beta"),
]
REST = ["count", "b/norm/moving_mean", "b/norm/moving_variance"]


def check_variables(block):
    assert names(block.trainable_variables) == names(block.trainable_weights) == TRAINED
    assert names(block.non_trainable_variables) == names(block.non_trainable_weights) == REST
    assert names(block.variables) == names(block.weights) == TRAINED + REST
    assert block.count_params() == 1 + 1 + 6 + 3 + 6 + 1 + 6


def check_the_switch(block):
    block.trainable = False
    assert not block.dense.trainable and not block.norm.trainable
    assert block.trainable_variables == block.dense.trainable_variables == []
    assert set(names(block.non_trainable_variables)) == {*TRAINED, *REST}
    assert len(block.variables) == len(TRAINED + REST)
    block.trainable = True
    check_variables(block)
    block.dense.trainable = False
    assert names(block.trainable_variables) == [n for n in TRAINED if "dense" not in n]
    assert len(block.variables) == len(TRAINED + REST)


class TestEagerCode:
    @pytest.fixture(autouse=True)
    def names_are_free(self):
        dv.reset()

    def test_variables_and_the_switch(self):
        block = Block("b")
        assert names(block.variables) == ["scale", "count"], "the others come with the first call"
        block(dv.ones([4, 2]))
        check_variables(block)
        check_the_switch(block)

    def test_losses_are_of_now(self):
        block = Block()
        block(dv.ones([4, 2]))
        assert block.updates == [], "they are applied at once"
        block.dense.kernel.assign(dv.ones([2, 3]))
        (loss,) = block.losses
        assert loss.numpy() == 0.5 * 6 / 2

    def test_a_step_trains_all(self):
        model = Holder("first", "second", first=Block(), second=Block())
        x = dv.constant(np.random.default_rng(0).normal(size=[8, 2]).astype("float32"))
        model(x)
        before = [v.numpy() for v in model.trainable_variables]
        with dv.GradientTape() as tape:
            loss = dv.reduce_mean((model(x) - 1.0) ** 3) + dv.add_n(model.losses)
        gradients = tape.gradient(loss, model.trainable_variables)
        dv.train.AdamOptimizer(0.1).apply_gradients(
            zip(gradients, model.trainable_variables, strict=True)
        )
        after = [v.numpy() for v in model.trainable_variables]
        assert len(after) == len(gradients) == 12
        is_trained = [(a != b).any() for a, b in zip(before, after, strict=True)]
        # What a normalization takes away again (two biases and a shift) has gradients of what was
        # rounded, which may all be 0.
        assert is_trained == [g.numpy().any() for g in gradients]
        assert sum(is_trained) >= 12 - 3

    def test_a_build_that_fails_leaves_nothing(self):
        class Sized(dv.layers.Layer):
            def build(self, input_shape):
                self.w = self.add_weight("w", [input_shape[-1], 2], regularizer="l2")
                if input_shape[-1] != 3:
                    raise ValueError("three columns")

            def call(self, inputs):
                return dv.matmul(inputs, self.w)

        layer = Sized(name="sized")
        with pytest.raises(ValueError, match="three columns"):
            layer(np.ones([1, 2]))
        assert not layer.built
        for _ in range(2):
            layer(dv.ones([1, 3]))
        assert [(v.name, v.dtype) for v in layer.weights] == [("sized/w:0", dv.float32)]
        assert len(layer.losses) == 1

    def test_a_replaced_attribute_is_asked_for_anew(self):
        model = Holder("layer", layer=dense("old"))
        model(dv.ones([1, 2]))
        model.layer = dense("new")
        model.layer(dv.ones([1, 2]))
        assert model.variables == [model.layer.kernel]
        del model.layer
        assert model.variables == []


@pytest.mark.usefixtures("graph")
class TestGraphs:
    def test_variables_and_the_switch(self):
        block = Block("b")
        block(tf.ones([4, 2]))
        check_variables(block)
        assert {*names(tf.trainable_variables())} == {*TRAINED}
        check_the_switch(block)

    def test_a_layer_switched_off_before_its_first_call(self):
        block = Holder("inner", inner=dense("d"))
        block.trainable = False
        block(tf.ones([1, 2]))
        assert tf.trainable_variables() == block.trainable_variables == []
        block.trainable = True
        assert block.trainable_variables == [block.inner.kernel]

    def test_losses_and_updates(self):
        block = Block()
        x = tf.ones([4, 2])
        block(x)
        assert block.losses == tf.losses.get_regularization_losses()
        assert block.updates == tf.get_collection(tf.GraphKeys.UPDATE_OPS)
        assert (len(block.losses), len(block.updates)) == (1, 2)
        assert (block.get_losses_for(None), block.get_losses_for(x)) == (block.losses, [])
        assert (block.get_updates_for(None), block.get_updates_for(x)) == ([], block.updates)

    def test_a_loss_added_again_counts_once(self):
        block = Block()
        block(tf.ones([4, 2]))
        block.add_loss(block.dense.losses)
        assert len(block.losses) == 1

    def test_a_step_trains_all(self):
        model = Holder("first", "second", first=Block(), second=Block())
        x = tf.constant(np.random.default_rng(0).normal(size=[8, 2]).astype("float32"))
        loss = tf.reduce_mean((model(x) - 1.0) ** 3) + tf.add_n(model.losses)
        optimizer = tf.train.AdamOptimizer(0.1)
        step = optimizer.minimize(loss, var_list=model.trainable_variables)
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            before = sess.run(model.trainable_variables)
            sess.run([step, model.updates])
            after = sess.run(model.trainable_variables)
        assert len(after) == 12
        assert all((a != b).any() for a, b in zip(before, after, strict=True))


class Color(enum.Enum):
    RED = 1


@pytest.fixture(params=["eager", "in_a_graph"])
def mode(request):
    if request.param == "eager":
        yield
    else:
        with tf.Graph().as_default():
            yield


@pytest.mark.usefixtures("mode")
class TestWhatIsFound:
    def test_parts_of_partitioned_variables_which_are_trained(self):
        with tf.variable_scope("s", partitioner=tf.fixed_size_partitioner(2)):
            model = Holder(layer=dense("d"))
            loss = dv.reduce_sum(model(dv.ones([1, 4])))
        assert model.trainable_variables == model.variables == list(model.layer.kernel)
        if loss.graph is None:
            with dv.GradientTape() as tape:
                loss = dv.reduce_sum(model(dv.ones([1, 4])))
            assert all(g is not None for g in tape.gradient(loss, model.variables))
            model.set_weights([w + 1.0 for w in model.get_weights()])

    def test_lists_and_dicts(self):
        parts = [dense("a"), {"x": dense("b"), Color.RED: (dense("c"), [dv.Variable(1.0)])}]
        model = Holder(parts=parts, last={"d": dense("d")})
        inner = [parts[0], parts[1]["x"], parts[1][Color.RED][0], model.last["d"]]
        for layer in inner:
            layer(dv.ones([1, 2]))
        (own,) = parts[1][Color.RED][1]
        assert model.variables == [own, *(layer.kernel for layer in inner)]
        model.trainable = False
        assert not any(layer.trainable for layer in inner)
        model.trainable = True
        parts.append(dense("e"))
        parts[-1](dv.ones([1, 2]))
        assert model.variables[-2:] == [parts[-1].kernel, inner[-1].kernel], (
            "in order of attributes"
        )

    def test_what_several_hold_counts_once(self):
        shared = dense("shared", kernel_regularizer=KERNEL_LOSS)
        left, right = Holder(layer=shared), Holder(layer=shared, kernels=[])
        model = Holder("left", "right", left=left, right=right, again=[shared])
        model(dv.ones([1, 2]))
        right.kernels.append(shared.kernel)
        assert len(model.variables) == len(model.losses) == 1
        left.trainable = False
        assert model.trainable_variables == [shared.kernel], "it is an attribute of the other"
        assert model.non_trainable_variables == []

    def test_a_circle_ends(self):
        first, second = dense("first"), dense("second")
        model = Holder("first", "second", first=first, second=second)
        everything = [model, first, second]
        for layer in everything:
            layer.registry = everything
        everything.append(everything[1:])
        model(dv.ones([1, 2]))
        assert model.variables == first.variables == [first.kernel, second.kernel]
        assert second.variables == [second.kernel, first.kernel]
        second.trainable = False
        assert not model.trainable and not first.trainable

    def test_a_list_in_itself_ends(self):
        model = Holder()
        model.things = [1, dense("d")]
        model.things.insert(0, model.things)
        assert model.variables == [] and model.losses == []

    def test_other_objects_keep_their_variables(self):
        model = Holder("layer", layer=dense("d"), optimizer=dv.train.MomentumOptimizer(0.1, 0.9))
        model(dv.ones([1, 2]))
        gradient = dv.ones([2, 2])
        model.optimizer.apply_gradients([(gradient, model.layer.kernel)])
        assert len(model.optimizer.variables()) == 1
        assert model.variables == [model.layer.kernel]

    def test_a_class_that_says_its_variables_is_believed(self):
        class Adapted(Holder):
            @property
            def trainable_weights(self):
                return self.adapter.trainable_weights

            @property
            def non_trainable_weights(self):
                return self.adapter.non_trainable_weights + self.base.weights

        adapted = Adapted("base", "adapter", base=dense("base"), adapter=dense("adapter"))
        model = Holder("inner", inner=adapted)
        model(dv.ones([1, 2]))
        assert model.trainable_variables == adapted.trainable_variables == [adapted.adapter.kernel]
        assert model.non_trainable_variables == [adapted.base.kernel]
        model.trainable = False
        assert model.trainable_variables == []
        assert len(model.variables) == 2

    def test_wrappers_have_what_is_set_on_them_besides_the_cell(self):
        class Projected(dv.nn.rnn_cell.ResidualWrapper):
            def __init__(self, cell):
                super().__init__(cell)
                self.projection = dense("p")

            def __call__(self, inputs, state, scope=None):
                output, state = super().__call__(inputs, state, scope)
                return self.projection(output), state

        cell = dv.nn.rnn_cell.MultiRNNCell([Projected(dv.nn.rnn_cell.GRUCell(2))] * 2)
        cell(dv.ones([1, 2]), cell.zero_state(1, dv.float32))
        assert len(cell.trainable_variables) == len(cell.variables) == 5
        cell.trainable = False
        assert cell.trainable_variables == []
        assert len(cell.non_trainable_variables) == 5

    def test_a_wrapped_cell_that_is_no_layer(self):
        class Plain:
            state_size = output_size = 1

            def __init__(self):
                self.trainable_weights = [dv.Variable(1.0)]

            def zero_state(self, batch_size, dtype):
                return dv.zeros([batch_size, 1], dtype)

            def __call__(self, inputs, state, scope=None):
                return inputs * self.trainable_weights[0], state

        cell = dv.nn.rnn_cell.ResidualWrapper(Plain())
        assert len(cell.trainable_variables) == len(cell.variables) == 1
        cell.trainable = False
        assert (len(cell.trainable_variables), len(cell.variables)) == (0, 1)


def test_layers_inside_have_the_phase_of_the_layer_that_calls_them():
    class Phase(dv.layers.Layer):
        def call(self, inputs, training=False):
            return inputs + (1.0 if training else 0.0)

    class Between(dv.layers.Layer):
        def __init__(self):
            super().__init__()
            self.inner = Phase()

        def call(self, inputs):
            return self.inner(inputs)

    class Outer(dv.layers.Layer):
        def __init__(self):
            super().__init__()
            self.inner, self.between = Phase(), Between()

        def call(self, inputs, training=False):
            told = self.inner(inputs, training=False) + self.inner(inputs, False)
            return self.between(inputs) + 10.0 * told

    outer = Outer()
    found = [float(outer(0.0, **told)) for told in ({}, {"training": True}, {"training": False})]
    assert found + [float(outer(0.0, True)), float(outer.inner(0.0))] == [0.0, 1.0, 0.0, 1.0, 0.0]
