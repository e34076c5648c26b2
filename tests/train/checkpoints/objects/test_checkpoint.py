"""Object-based checkpoints: what is saved under which key, what is restored when, what is said.

Keys, what is restored, and the beginnings of messages are those of TensorFlow 2.21's ``compat.v1``.
"""

from __future__ import annotations

import gc
import json
import logging
import os
from pathlib import Path

import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf
from daskvars.errors import NotFoundError, RestoreError, StoreError
from daskvars.state.external.tensorflow.object_graph import KEY, parse, serialized
from tests import clusters
from tests.tensorflow_python import printed_by_tensorflow

GOLDEN = Path(__file__).parents[3] / "state" / "external" / "tensorflow" / "golden"
VALUE = "/.ATTRIBUTES/VARIABLE_VALUE"


def keys(path):
    """The keys of a checkpoint, without what is in all of them."""
    found = [name for name, _ in dv.train.list_variables(path)]
    assert found[0] == KEY
    return [name.removesuffix(VALUE) for name in found[1:]]


class Net(dv.layers.Layer):
    """Layers in attributes, lists and dicts, made before the first call and in `build`."""

    def __init__(self):
        super().__init__()
        self.first = dv.layers.Dense(4, activation=dv.nn.relu)
        self.blocks = [dv.layers.Dense(3), dv.layers.BatchNormalization()]
        self.heads = {"out": dv.layers.Dense(1)}

    def build(self, input_shape):
        self.scale = self.add_weight("factor", [], initializer=dv.ones_initializer())
        self.late = dv.layers.Dense(3)
        super().build(input_shape)

    def call(self, inputs):
        found = self.late(inputs) * self.scale
        for layer in (self.first, *self.blocks, self.heads["out"]):
            found = layer(found)
        return found


# -- keys and values ------------------------------------------------------------------------------


def test_keys_are_paths_of_attributes(tmp_path):
    shared = dv.Variable(1.0)
    checkpoint = dv.train.Checkpoint(
        items=[dv.Variable(1.0), [dv.Variable(2.0)]],
        table={"a": dv.Variable(3.0), "b/c.d": dv.Variable(4.0)},
        pair=(dv.Variable(5.0),),
        one=shared,
        same=shared,
    )
    path = checkpoint.save(tmp_path / "m")
    assert path == str(tmp_path / "m-1")
    wanted = ["items/0", "items/1/0", "one", "pair/0", "save_counter", "table/a", "table/b.Sc..d"]
    assert keys(path) == wanted
    assert (tmp_path / "checkpoint").read_text().splitlines()[0] == 'model_checkpoint_path: "m-1"'
    assert dv.train.latest_checkpoint(tmp_path) == path
    assert int(checkpoint.save_counter) == 1
    assert dv.train.load_variable(path, "table/b.Sc..d" + VALUE) == 4.0


def test_what_an_optimizer_keeps_is_under_its_variable(tmp_path):
    v = dv.Variable([1.0, 2.0])
    optimizer = dv.train.AdamOptimizer(0.1)
    optimizer.minimize(lambda: dv.reduce_sum(v * v), var_list=[v])
    path = dv.train.Checkpoint(v=v, opt=optimizer).write(str(tmp_path / "m"))
    slots = [f"v/.OPTIMIZER_SLOT/opt/{name}" for name in "mv"]
    assert keys(path) == ["opt/beta1_power", "opt/beta2_power", "v", *slots]
    assert os.listdir(tmp_path) == ["m"]  # no number, nothing on record


def test_restored_is_what_was_saved_and_the_counter_goes_on(tmp_path):
    v, w = dv.Variable([1.0, 2.0]), dv.Variable(3.0)
    checkpoint = dv.train.Checkpoint(v=v, w=w)
    for prefix in ("m", "one.zip"):
        path = checkpoint.save(str(tmp_path / prefix))
        other = dv.train.Checkpoint(v=dv.Variable([0.0, 0.0]), w=dv.Variable(0.0))
        other.restore(path).assert_consumed().run_restore_ops()
        assert other.v.numpy().tolist() == [1.0, 2.0] and float(other.w) == 3.0
    assert path == str(tmp_path / "one-2.zip") and os.path.isfile(path)
    assert other.save(str(tmp_path / "next")) == str(tmp_path / "next-3")


def test_a_value_that_does_not_fit_changes_nothing(tmp_path, caplog):
    path = dv.train.Checkpoint(v=dv.Variable([1.0, 2.0]), w=dv.Variable(1.0)).save(
        str(tmp_path / "m")
    )
    other = dv.train.Checkpoint(v=dv.Variable([0.0, 0.0, 0.0]), w=dv.Variable(0))
    with pytest.raises(RestoreError, match=r"(?s)v/.ATTRIBUTES.*wanted \(3,\).*wanted int32"):
        other.restore(path)
    assert other.w.numpy() == 0
    del other
    gc.collect()
    assert not caplog.records


def test_what_is_no_object_is_refused():
    with pytest.raises(ValueError, match="`Checkpoint` was expecting a trackable object"):
        dv.train.Checkpoint(v=3)
    with pytest.raises(AttributeError, match="save_counter"):
        dv.train.Checkpoint(save_counter=dv.Variable(1))
    with pytest.raises(ValueError, match="use keys of text"):
        dv.train.Checkpoint(d={(1, 2): dv.Variable(1.0)})


def test_variables_of_another_program_are_refused(tmp_path):
    with tf.Graph().as_default():
        built = tf.Variable(1.0, name="built")
    with pytest.raises(ValueError, match="built:0 are not of the eager program"):
        dv.train.Checkpoint(v=built).save(str(tmp_path / "m"))
    eager = dv.Variable(1.0, name="eager")
    with tf.Graph().as_default(), tf.Session(), pytest.raises(ValueError, match="not of its graph"):
        tf.train.Checkpoint(v=eager).write(str(tmp_path / "m"))
    assert os.listdir(tmp_path) == []


def test_a_path_without_a_checkpoint_is_said(tmp_path):
    checkpoint = dv.train.Checkpoint(v=dv.Variable(1.0))
    with pytest.raises(NotFoundError, match="Failed to find any matching files for"):
        checkpoint.restore(str(tmp_path / "m"))


# -- what a status says ---------------------------------------------------------------------------


def test_a_value_that_nobody_takes(tmp_path):
    path = dv.train.Checkpoint(v=dv.Variable(1.0), w=dv.Variable(2.0)).save(str(tmp_path / "m"))
    status = dv.train.Checkpoint(v=dv.Variable(0.0)).restore(path)
    assert status.assert_existing_objects_matched() is status.assert_nontrivial_match() is status
    with pytest.raises(AssertionError, match=r"Unresolved object in checkpoint \(root\).w: w/"):
        status.assert_consumed()


def test_a_variable_that_gets_nothing(tmp_path):
    path = dv.train.Checkpoint(v=dv.Variable(1.0)).save(str(tmp_path / "m"))
    status = dv.train.Checkpoint(v=dv.Variable(0.0), x=dv.Variable(5.0)).restore(path)
    words = "Found 1 Python objects that were not bound to checkpointed values"
    for check in (status.assert_consumed, status.assert_existing_objects_matched):
        with pytest.raises(AssertionError, match=words):
            check()
    status = dv.train.Checkpoint(x=dv.Variable(5.0)).restore(path).expect_partial()
    with pytest.raises(AssertionError, match="Nothing except the root object matched"):
        status.assert_nontrivial_match()


def test_without_a_checkpoint():
    status = dv.train.Checkpoint(v=dv.Variable(1.0)).restore(None)
    for check in (status.assert_consumed, status.assert_existing_objects_matched):
        with pytest.raises(AssertionError, match=r"No checkpoint specified \(save_path=None\)"):
            check()
    with pytest.raises(AssertionError, match="so no restore ops are available"):
        status.run_restore_ops()
    status.initialize_or_restore()


def test_one_object_where_there_were_two_and_two_where_there_was_one(tmp_path, caplog):
    shared = dv.Variable(1.0)
    path = dv.train.Checkpoint(a=shared, b=shared).save(str(tmp_path / "m"))
    other = dv.train.Checkpoint(b=dv.Variable(9.0))
    other.restore(path).assert_consumed()
    assert float(other.b) == 1.0
    both = dv.train.Checkpoint(a=dv.Variable(9.0), b=dv.Variable(10.0))
    status = both.restore(path)
    assert [float(both.a), float(both.b)] == [1.0, 10.0]
    with pytest.raises(AssertionError, match="Found 1 Python objects"):
        status.assert_existing_objects_matched()
    assert [r.message for r in caplog.records if "Inconsistent references" in r.message] != []


def test_values_that_nobody_took_are_told_when_the_objects_go(tmp_path, caplog):
    path = dv.train.Checkpoint(v=dv.Variable(1.0), w=dv.Variable(2.0)).save(str(tmp_path / "m"))
    for is_partial in (True, False):
        other = dv.train.Checkpoint(v=dv.Variable(0.0))
        status = other.restore(path)
        if is_partial:
            status.expect_partial()
        del other, status
        gc.collect()
        assert [r.levelno for r in caplog.records] == ([] if is_partial else [logging.WARNING])
    assert "(root).w" in caplog.text and "(root).v" not in caplog.text


# -- restored later -------------------------------------------------------------------------------


def test_objects_that_come_after_the_restore(tmp_path):
    path = dv.train.Checkpoint(
        v=dv.Variable(1.0), items=[dv.Variable(2.0)], table={"a": dv.Variable(3.0)}
    ).save(str(tmp_path / "m"))
    other = dv.train.Checkpoint(items=[], table={})
    status = other.restore(path)
    other.v = dv.Variable(0.0)
    other.items.append(dv.Variable(0.0))
    other.table["a"] = dv.Variable(0.0)
    assert [float(x) for x in (other.v, other.items[0], other.table["a"])] == [1.0, 2.0, 3.0]
    status.assert_consumed()


def test_a_list_that_was_given_is_not_changed_elsewhere(tmp_path):
    for given, change in (
        ([dv.Variable(1.0)], lambda items: items.append(dv.Variable(2.0))),
        ({"a": dv.Variable(1.0)}, lambda items: items.update(a=dv.Variable(2.0))),
    ):
        checkpoint = dv.train.Checkpoint(items=given)
        checkpoint.save(str(tmp_path / "m"))
        change(checkpoint.items)
        checkpoint.save(str(tmp_path / "m"))
        change(given)
        with pytest.raises(ValueError, match="was changed since, which the checkpoint does not"):
            checkpoint.save(str(tmp_path / "m"))


@pytest.mark.parametrize("compiled", [False, True])
def test_training_goes_on_with_the_same_bits(tmp_path, compiled):
    dv.reset()
    x = dv.constant(np.random.default_rng(0).normal(size=(8, 3)), dv.float32)

    def made():
        return Net(), dv.train.AdamOptimizer(0.05), dv.Variable(0, trainable=False)

    def train(net, optimizer, step, times):
        def once():
            optimizer.minimize(lambda: dv.reduce_mean(dv.square(net(x) - 1.0)), global_step=step)

        call = dv.function(once) if compiled else once
        for _ in range(times):
            call()

    def checkpoint(net, optimizer, step):
        return dv.train.Checkpoint(net=net, optimizer=optimizer, step=step)

    first = made()
    train(*first, 3)
    path = checkpoint(*first).save(str(tmp_path / "m"))
    train(*first, 3)
    second = made()
    status = checkpoint(*second).restore(path)
    assert int(second[2]) == 3
    train(*second, 3)  # makes weights and slots, with the values of the checkpoint
    status.assert_consumed()
    names = keys(path)
    for name in ("net/factor", "net/late/kernel", "net/blocks/1/moving_mean", "net/heads/out/bias"):
        assert name in names
    assert "net/late/kernel/.OPTIMIZER_SLOT/optimizer/m" in names
    paths = [
        checkpoint(*pair).write(str(tmp_path / n)) for pair, n in ((first, "a"), (second, "b"))
    ]
    for name, _ in dv.train.list_variables(paths[0])[1:]:
        values = [dv.train.load_variable(p, name) for p in paths]
        np.testing.assert_array_equal(*values, err_msg=name)
    assert int(second[2]) == 6


def test_a_copied_layer_waits_for_nothing(tmp_path):
    import copy

    layer = dv.layers.Dense(2)
    layer(np.ones((1, 3), "f4"))
    path = dv.train.Checkpoint(layer=layer).write(str(tmp_path / "m"))
    other = dv.layers.Dense(2, kernel_initializer=dv.zeros_initializer())
    dv.train.Checkpoint(layer=other).read(path).expect_partial()
    copied = copy.deepcopy(other)
    copied(np.ones((1, 3), "f4"))
    other(np.ones((1, 3), "f4"))
    assert not copied.kernel.numpy().any()
    np.testing.assert_array_equal(other.kernel.numpy(), layer.kernel.numpy())


def test_the_newest_restore_of_a_root_counts(tmp_path):
    v = dv.Variable(1.0)
    checkpoint = dv.train.Checkpoint(v=v)
    first = checkpoint.save(str(tmp_path / "m"))
    v.assign(2.0)
    second = checkpoint.save(str(tmp_path / "m"))
    other = dv.train.Checkpoint()
    for path in (first, second):
        other.restore(path).expect_partial()
    other.v = dv.Variable(0.0)
    assert float(other.v) == 2.0 and len(other._restores) == 1


# -- graphs ---------------------------------------------------------------------------------------


def test_a_graph_is_saved_and_restored_in_sessions(tmp_path):
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        v = tf.Variable([1.0, 2.0])
        checkpoint = tf.train.Checkpoint(v=v)
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value"):
            checkpoint.save(str(tmp_path / "m"), session=sess)
        sess.run(v.initializer)
        path = checkpoint.save(str(tmp_path / "m"), session=sess)
        assert path == str(tmp_path / "m-2")  # the failed one was counted
        assert [x.name for x in tf.global_variables()] == ["Variable:0", "save_counter:0"]
        before = len(graph.get_operations())
        with sess.as_default():
            assert checkpoint.save(str(tmp_path / "m")) == str(tmp_path / "m-3")
        assert len(graph.get_operations()) == before
    with tf.Graph().as_default():
        other = tf.train.Checkpoint(v=tf.Variable([0.0, 0.0]), x=tf.Variable(5.0))
        status = other.restore(path)
        with pytest.raises(ValueError, match="Cannot restore objects of a graph without a session"):
            status.run_restore_ops()
        sess = tf.Session()
        status.initialize_or_restore(sess)
        found = sess.run([other.v, other.x, other.save_counter])
        assert [np.ravel(x).tolist() for x in found] == [[1.0, 2.0], [5.0], [2]]
        other.restore(None).initialize_or_restore(sess)
        assert sess.run(other.save_counter) == 0


def test_a_layer_of_a_graph_that_is_called_later_begins_with_the_values(tmp_path):
    def model():
        layer = tf.layers.Dense(2)
        return layer, tf.train.Checkpoint(layer=layer)

    with tf.Graph().as_default(), tf.Session() as sess:
        layer, checkpoint = model()
        y = layer(tf.ones([1, 3]))
        sess.run(tf.global_variables_initializer())
        wanted, path = sess.run(y), checkpoint.save(str(tmp_path / "m"), sess)
    with tf.Graph().as_default(), tf.Session() as sess:
        layer, checkpoint = model()
        status = checkpoint.restore(path)
        y = layer(tf.ones([1, 3]))
        sess.run(tf.global_variables_initializer())
        np.testing.assert_array_equal(sess.run(y), wanted)
        sess.run(layer.kernel.assign(tf.zeros([3, 2])))
        status.assert_consumed().run_restore_ops(sess)
        np.testing.assert_array_equal(sess.run(y), wanted)


def test_partitioned_variables_and_iterators(tmp_path):
    def model(name, parts):
        w = tf.get_variable(name, [10, 2], partitioner=tf.fixed_size_partitioner(parts))
        iterator = tf.data.Dataset.range(10).make_one_shot_iterator()
        checkpoint = tf.train.Checkpoint(w=w, iterator=iterator)
        return tf.convert_to_tensor(w), iterator.get_next(), checkpoint

    with tf.Graph().as_default(), tf.Session() as sess:
        w, element, checkpoint = model("first", 2)
        sess.run(tf.global_variables_initializer())
        assert [sess.run(element) for _ in range(2)] == [0, 1]
        path, wanted = checkpoint.save(str(tmp_path / "m"), sess), sess.run(w)
    assert dict(dv.train.list_variables(path))["w" + VALUE] == [10, 2]
    with tf.Graph().as_default(), tf.Session() as sess:
        w, element, checkpoint = model("second", 5)
        checkpoint.restore(path).assert_consumed().initialize_or_restore(sess)
        np.testing.assert_array_equal(sess.run(w), wanted)
        assert sess.run(element) == 2


def test_an_eager_iterator_goes_on(tmp_path):
    numbers = dv.data.Dataset.range(10).shuffle(10)
    first = iter(numbers)
    for _ in range(3):
        next(first)
    path = dv.train.Checkpoint(iterator=first).save(str(tmp_path / "m"))
    second = iter(numbers)
    dv.train.Checkpoint(iterator=second).restore(path).assert_consumed()
    assert [int(x) for x in first] == [int(x) for x in second]


# -- what others wrote ----------------------------------------------------------------------------


def test_what_a_saver_wrote_goes_by_names(tmp_path):
    dv.reset()
    with tf.Graph().as_default(), tf.Session() as sess:
        for name in ("named", "unused", "later/kernel", "later/bias"):
            tf.get_variable(name, initializer=[[7.0, 8.0]] if "kernel" in name else [7.0, 8.0])
        sess.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(sess, str(tmp_path / "m"))
    layer = dv.layers.Dense(2, name="later")
    checkpoint = dv.train.Checkpoint(
        v=dv.Variable([0.0, 0.0], name="named"), layer=layer, x=dv.Variable(1.0, name="elsewhere")
    )
    status = checkpoint.restore(path)
    assert type(status).__name__ == "NameBasedSaverStatus"
    assert checkpoint.v.numpy().tolist() == [7.0, 8.0]
    layer(np.ones((1, 1), "f4"))
    assert layer.kernel.numpy().tolist() == [[7.0, 8.0]]
    with pytest.raises(AssertionError, match=r"Object not restored: .*elsewhere"):
        status.assert_consumed()
    with tf.Graph().as_default(), tf.Session() as sess:
        v = tf.Variable([0.0, 0.0], name="named")
        tf.train.Checkpoint(v=v).restore(path).assert_consumed().initialize_or_restore(sess)
        assert sess.run(v).tolist() == [7.0, 8.0]


def test_what_tensorflow_wrote_is_restored():
    wanted = json.loads((GOLDEN / "objects.json").read_text())
    model = dv.train.Checkpoint(
        kernel=dv.Variable([0.0, 0.0]),
        layers=[dv.train.Checkpoint(), dv.train.Checkpoint(bias=dv.Variable(0.0))],
        tables={"a/b.c": dv.Variable([0, 0], dtype=dv.int64)},
    )
    optimizer = dv.train.MomentumOptimizer(0.5, 0.9)
    trained = [model.kernel, model.layers[1].bias]
    checkpoint = dv.train.Checkpoint(model=model, optimizer=optimizer)
    status = checkpoint.restore(str(GOLDEN / "objects-1"))
    optimizer.build(trained)
    status.assert_consumed()
    found = {
        "model/kernel": model.kernel,
        "model/layers/1/bias": model.layers[1].bias,
        "model/tables/a.Sb..c": model.tables["a/b.c"],
        "save_counter": checkpoint.save_counter,
        "model/kernel/.OPTIMIZER_SLOT/optimizer/momentum": optimizer.get_slot(
            trained[0], "momentum"
        ),
        "model/layers/1/bias/.OPTIMIZER_SLOT/optimizer/momentum": optimizer.get_slot(
            trained[1], "momentum"
        ),
    }
    assert {name + VALUE: v.numpy().tolist() for name, v in found.items()} == wanted


READS = """
import sys
import tensorflow.compat.v1 as tf
kernel = tf.Variable(tf.zeros([3, 4]))
optimizer = tf.train.AdamOptimizer(0.05)
layer = tf.train.Checkpoint(kernel=kernel, bias=tf.Variable(tf.zeros([4])))
checkpoint = tf.train.Checkpoint(layer=layer, optimizer=optimizer)
status = checkpoint.restore(sys.argv[1])
optimizer.apply_gradients([(tf.zeros([3, 4]), kernel), (tf.zeros([4]), layer.bias)])
status.assert_consumed()
print(float(tf.reduce_sum(optimizer.get_slot(kernel, "v"))) > 0)
"""


@pytest.mark.slow
def test_tensorflow_restores_objects_that_are_exported(tmp_path):
    layer, optimizer = dv.layers.Dense(4), dv.train.AdamOptimizer(0.05)
    optimizer.minimize(lambda: dv.reduce_sum(layer(np.ones((2, 3), "f4"))))
    path = dv.train.Checkpoint(layer=layer, optimizer=optimizer).save(str(tmp_path / "m"))
    dv.train.export_checkpoint(path, str(tmp_path / "model.ckpt"))
    assert printed_by_tensorflow(READS, tmp_path / "model.ckpt") == "True"


def test_a_damaged_graph_of_objects_is_said(tmp_path):
    path = dv.train.Checkpoint(v=dv.Variable(1.0), w=[dv.Variable(2.0)]).save(str(tmp_path / "m"))
    data = dv.train.load_variable(path, KEY)
    assert serialized(parse(data)) == data
    for end in range(len(data)):
        for altered in (data[:end], data[:end] + bytes([data[end] ^ 0x41]) + data[end + 1 :]):
            try:
                nodes = parse(altered)
            except ValueError:
                continue
            assert all(0 <= n < len(nodes) for node in nodes for n in node.children.values())
    with tf.Graph().as_default(), tf.Session() as sess:
        damaged = tf.Variable(data[:-1])
        sess.run(damaged.initializer)
        tf.train.Saver({KEY: damaged}).save(sess, str(tmp_path / "damaged"))
    with pytest.raises(StoreError, match="is no graph of objects"):
        dv.train.Checkpoint(v=dv.Variable(1.0)).restore(str(tmp_path / "damaged"))


# -- on workers -----------------------------------------------------------------------------------


@pytest.mark.cluster
def test_workers_write_and_read_objects(tmp_path):
    with (
        clusters.running() as client,
        client.as_current(),
        tf.Graph().as_default(),
        tf.Session() as sess,
    ):
        table = tf.get_variable("table", [8, 2], chunks=(4, 2))
        checkpoint = tf.train.Checkpoint(table=table)
        sess.run(tf.global_variables_initializer())
        wanted = sess.run(table)
        paths = [checkpoint.save(str(tmp_path / name), sess) for name in ("m", "one.zip")]
        for path in paths:
            sess.run(table.assign(tf.zeros([8, 2])))
            checkpoint.restore(path).assert_consumed().run_restore_ops(sess)
            np.testing.assert_array_equal(sess.run(table), wanted)
    dv.reset()
    for path in paths:
        other = dv.train.Checkpoint(table=dv.Variable(np.zeros((8, 2), "f4"), chunks=(2, 2)))
        other.restore(path).assert_consumed()
        np.testing.assert_array_equal(other.table.numpy(), wanted)
