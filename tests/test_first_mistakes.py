"""What is told after the mistakes that are made most: a table of them.

Each message names the thing, says what was wanted and what was found, and what to do.
"""

import functools
import os

import dask.array
import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf
from daskvars.v1.names.not_here import INSTEAD, NOT_HERE
from tests import fresh

EAGER = dv.constant([1.0])  # made outside of any graph
MISTAKES = []


def mistake(error, words, eager=False):
    """Take a function that makes a mistake, with what its message must hold, split by "|"."""

    def taken(function):
        MISTAKES.append(pytest.param(function, error, words, eager, id=function.__name__))
        return function

    return taken


@mistake(tf.errors.FailedPreconditionError, "conv1/w|global_variables_initializer")
def uninitialized():
    with tf.variable_scope("conv1"):
        w = tf.get_variable("w", [2])
    tf.Session().run(w)


@mistake(ValueError, "'x:0'|(3, 7)|(?, 784)")
def wrong_feed_shape():
    x = tf.placeholder(tf.float32, [None, 784], name="x")
    tf.Session().run(x * 2, {x: np.zeros([3, 7])})


@mistake(tf.errors.InvalidArgumentError, "'x'|[?,784]|feed_dict={'x:0'")
def missing_feed():
    x = tf.placeholder(tf.float32, [None, 784], name="x")
    tf.Session().run(x * 2)


@mistake((TypeError, ValueError), "int32|'a'")
def text_for_numbers():
    x = tf.placeholder(tf.int32, [2], name="x")
    tf.Session().run(x * 2, {x: ["a", "b"]})


@mistake(TypeError, "x:0|array")
def tensor_fed():
    x = tf.placeholder(tf.float32, [2], name="x")
    tf.Session().run(x * 2, {x: tf.zeros([2])})


@mistake(ValueError, "a/v|test_first_mistakes.py|reuse=True|another name")
def same_name_twice():
    with tf.variable_scope("a"):
        tf.get_variable("v", [1])
        tf.get_variable("v", [1])


@mistake(ValueError, "dense/kernal|AUTO_REUSE|did you mean 'dense/kernel'")
def missing_name_reused():
    tf.get_variable("dense/kernel", [1])
    with tf.variable_scope("dense", reuse=True):
        tf.get_variable("kernal", [1])


@mistake(ValueError, "fc/MatMul|[3,4]|[5,6]")
def matrices_that_do_not_fit():
    with tf.variable_scope("fc"):
        tf.matmul(tf.zeros([3, 4]), tf.zeros([5, 6]))


@mistake(TypeError, "Mul|int32|float32|cast")
def types_that_do_not_fit():
    tf.multiply(tf.Variable(1, name="steps"), tf.constant(0.5))


@mistake(TypeError, "None|gradient")
def gradient_of_nothing():
    x, y = tf.Variable(1.0), tf.Variable(2.0)
    tf.Session().run(tf.gradients(x * 2.0, [y]))


@mistake(TypeError, "Call it|global_variables_initializer(...)")
def function_fetched():
    tf.Session().run(tf.global_variables_initializer)


@mistake(TypeError, "3.5|string or Tensor")
def number_fetched():
    tf.Session().run(3.5)


@mistake(ValueError, "c:0|Session(graph=")
def other_graph():
    with tf.Graph().as_default():
        c = tf.constant(1.0, name="c")
    tf.Session().run(c)


@mistake(ValueError, "eager|numpy()|feed it")
def eager_value_in_a_graph():
    tf.add(tf.constant([2.0]), EAGER)


@mistake(ValueError, "eager|numpy()")
def eager_value_fetched():
    tf.Session().run(EAGER)


@mistake(TypeError, "loss:0|session.run")
def graph_value_looked_at():
    float(tf.constant(1.0, name="loss"))


@mistake(TypeError, "cond(...)")
def branch_on_a_tensor():
    if tf.constant(1.0) > 0:
        raise AssertionError("a graph's tensor has no truth")


@mistake(TypeError, "concat(values, axis)")
def values_second():
    tf.concat(1, [tf.zeros([2, 2]), tf.zeros([2, 2])])


@mistake(
    tf.errors.FailedPreconditionError,
    "v/Adam|v/Adam_1|beta1_power|beta2_power|after the last variable is made",
)
def slots_made_after_the_initializer():
    v = tf.Variable(1.0, name="v")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(tf.train.AdamOptimizer().minimize(v * v))


# -- chunks ---------------------------------------------------------------------------------------


@mistake(ValueError, "'table|0|(4, 3)|-1 takes the whole axis", eager=True)
def no_rows_in_a_chunk():
    dv.Variable(np.zeros([4, 3]), chunks=0, name="table")


@mistake(ValueError, "'table|(-2, 3)|(4, 3)|1 row or more", eager=True)
def fewer_than_no_rows_in_a_chunk():
    dv.Variable(np.zeros([4, 3]), chunks=(-2, 3), name="table")


@mistake(ValueError, "'table|((2, -2, 4), 3)|found -2", eager=True)
def a_chunk_taken_back():
    dv.Variable(np.zeros([4, 3]), chunks=((2, -2, 4), 3), name="table")


@mistake(ValueError, "'emb/table'|((2, 3), (3,))|(4, 3)|do not add up")
def chunks_that_do_not_add_up():
    with tf.variable_scope("emb"):
        tf.get_variable("table", [4, 3], chunks=((2, 3), 3))


@mistake(ValueError, "'table|(2, 3, 1)|(4, 3)|same length", eager=True)
def chunks_of_another_rank():
    dv.Variable(np.zeros([4, 3]), chunks=(2, 3, 1), name="table")


@mistake(ValueError, "'table|'tiny'|byte unit", eager=True)
def chunks_of_no_size():
    dv.Variable(np.zeros([4, 3]), chunks="tiny", name="table")


@mistake(ValueError, "table|<unknown>|chunks=")
def chunks_of_no_shape():
    x = tf.placeholder(tf.float32)
    tf.Variable(x, validate_shape=False, chunks=2, name="table")


# -- values and dtypes ----------------------------------------------------------------------------


@mistake(TypeError, "Python objects|object object|astype(", eager=True)
def array_of_anything():
    dv.constant(np.array([object()]))


@mistake(TypeError, "got 1 of type 'int'|Python objects|astype(", eager=True)
def numbers_as_objects():
    dv.constant(np.array([1, 2], object))


@mistake(TypeError, "'Add'|'sum/loss'|int32|float32|cast()")
def dtypes_of_a_sum():
    with tf.name_scope("sum"):
        tf.add(tf.constant([1.0]), tf.constant([1]), name="loss")


@mistake(TypeError, "'fc/MatMul'|float32|float64|cast()")
def dtypes_of_a_product():
    with tf.name_scope("fc"):
        tf.matmul(tf.zeros([2, 2]), tf.zeros([2, 2], tf.float64))


@mistake(TypeError, "'labels'|float32|int32, int64|cast()", eager=True)
def labels_that_are_no_classes():
    dv.nn.sparse_softmax_cross_entropy_with_logits(labels=dv.ones([1]), logits=dv.zeros([1, 3]))


@mistake(TypeError, "int32|1.5|'float'", eager=True)
def half_an_integer():
    dv.constant(1.5, dv.int32)


@mistake(ValueError, "rectangular|Every row needs the same length", eager=True)
def rows_of_different_lengths():
    dv.constant([[1.0], [1.0, 2.0]])


@mistake(tf.errors.InvalidArgumentError, "5|[0, 3)|row 0|SparseSoftmax", eager=True)
def label_beyond_the_classes():
    labels = dv.constant([5])
    dv.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=dv.zeros([1, 3])).numpy()


@mistake(tf.errors.InvalidArgumentError, "indices[0] = 9|[0, 4)|words", eager=True)
def word_beyond_the_table():
    dv.layers.Embedding(4, 2, name="words")(dv.constant([9])).numpy()


@mistake(tf.errors.InvalidArgumentError, "the loss|NaN|CheckNumerics|test_first_mistakes.py")
def not_a_number():
    tf.Session().run(tf.check_numerics(tf.log(tf.constant(-1.0)), "the loss"))


# -- shapes ---------------------------------------------------------------------------------------


@mistake(ValueError, "'w|'Assign'|[3]|[4]", eager=True)
def assigned_another_shape():
    dv.Variable(np.zeros([3]), name="w").assign(np.zeros([4]))


@mistake(ValueError, "'w|'Assign'|[3]|[4]")
def assigned_another_shape_in_a_graph():
    tf.Variable(np.zeros([3]), name="w").assign(np.zeros([4]))


@mistake(tf.errors.InvalidArgumentError, "'w'|[3]|[4]|test_first_mistakes.py")
def assigned_another_shape_when_run():
    x = tf.placeholder(tf.float64, [None])
    tf.Session().run(tf.Variable(np.zeros([3]), name="w").assign(x), {x: np.zeros([4])})


@mistake(ValueError, "'w|'AssignAdd'|[3]|[4]", eager=True)
def added_another_shape():
    dv.Variable(np.zeros([3]), name="w").assign_add(np.zeros([4]))


@mistake(TypeError, "'w|'Assign'|int32|float64|cast()", eager=True)
def assigned_another_dtype():
    dv.Variable(np.zeros([3]), name="w").assign(dv.constant([1, 2, 3]))


@mistake(ValueError, "'add'|[2,3]|[4]|broadcasting", eager=True)
def shapes_that_do_not_broadcast():
    dv.add(dv.zeros([2, 3]), dv.zeros([4]), name="add")


@mistake(ValueError, "6 elements|[4,2]|8 elements|Reshape", eager=True)
def reshaped_to_another_size():
    dv.reshape(dv.zeros([2, 3]), [4, 2])


@mistake(ValueError, "ConcatV2|[2,3]|[3,4]", eager=True)
def joined_with_another_width():
    dv.concat([dv.zeros([2, 3]), dv.zeros([3, 4])], 0)


@mistake(ValueError, "dimension 5|2 dimension|[-2, 2)", eager=True)
def axis_that_is_not_there():
    dv.reduce_sum(dv.zeros([2, 3]), axis=5)


@mistake(ValueError, "'split'|divisible by 2|5", eager=True)
def halves_of_five():
    dv.split(dv.zeros([5]), 2, name="split")


@mistake(ValueError, "w|<unknown>|Give a shape")
def variable_without_a_shape():
    tf.get_variable("w")


@mistake(ValueError, "a/v|(2,)|(1,)|test_first_mistakes.py")
def shared_with_another_shape():
    with tf.variable_scope("a", reuse=tf.AUTO_REUSE):
        tf.get_variable("v", [1])
        tf.get_variable("v", [2])


# -- layers ---------------------------------------------------------------------------------------


@mistake(TypeError, "'pixels'|Dense|int64|cast(x, float32)", eager=True)
def layer_of_integers():
    dv.layers.Dense(3, name="pixels")(np.array([[1, 2]]))


@mistake(TypeError, "'activaton'|Dense|did you mean 'activation'", eager=True)
def argument_misspelt():
    dv.layers.Dense(3, activaton="relu")


@mistake(ValueError, "'rleu'|did you mean 'relu'", eager=True)
def activation_misspelt():
    dv.layers.Dense(3, activation="rleu")


@mistake(ValueError, "layer fc|min_ndim=2|ndim=1|(4,)", eager=True)
def layer_of_a_vector():
    dv.layers.Dense(3, name="fc")(dv.zeros([4]))


@mistake(ValueError, "layer c1|ndim=4|ndim=3|(3, 28, 28)")
def one_image_without_a_batch():
    tf.layers.conv2d(tf.zeros([3, 28, 28]), 8, 3, name="c1")


@mistake(ValueError, "layer fc|axis -1|4|[1, 5]", eager=True)
def layer_used_on_another_width():
    layer = dv.layers.Dense(3, name="fc")
    layer(dv.zeros([1, 4]))
    layer(dv.zeros([1, 5]))


@mistake(ValueError, "Dense|last dimension|(?, ?)")
def width_that_is_not_known():
    tf.layers.dense(tf.placeholder(tf.float32, [None, None]), 3)


# -- training -------------------------------------------------------------------------------------


@mistake(TypeError, "(gradient, variable)|the variable 'w|Swap", eager=True)
def pairs_swapped():
    w = dv.Variable(1.0, name="w")
    dv.train.GradientDescentOptimizer(0.1).apply_gradients([(w, dv.constant(1.0))])


@mistake(TypeError, "(gradient, variable)|zip(gradients, variables)", eager=True)
def gradients_without_variables():
    dv.train.GradientDescentOptimizer(0.1).apply_gradients([dv.constant(1.0)])


@mistake(ValueError, "w:0|Const:0 does not depend on them")
def loss_of_nothing():
    tf.Variable(1.0, name="w")
    tf.train.GradientDescentOptimizer(0.1).minimize(tf.constant(2.0))


@mistake(ValueError, "Integers:0|depends only on 'n' (int32), which can have no gradient")
def loss_of_integers():
    n = tf.Variable(3, name="n")
    loss = tf.multiply(tf.cast(n, tf.float32), 2.0, name="Integers")
    tf.train.GradientDescentOptimizer(0.1).minimize(loss, var_list=[n])


@mistake(
    TypeError, "global_step must be a scalar integer Variable|found 3|get_or_create_global_step"
)
def number_for_a_global_step():
    w = tf.Variable([1.0, 2.0], name="w")
    tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(w), global_step=3)


@mistake(TypeError, "'while': what cond returns|is int32|x > 0")
def loop_while_an_integer():
    tf.while_loop(lambda n: 3, lambda n: n + 1, [0])


@mistake(ValueError, "'while': what cond returns|rank 0|(2,)|reduce_all")
def loop_while_several_are_true():
    tf.while_loop(lambda x: x < 3.0, lambda x: x + 1.0, [tf.zeros([2])])


@mistake(ValueError, "'while': cond must return one scalar bool, got 2")
def loop_while_two_things():
    tf.while_loop(lambda n: (n < 3, n < 4), lambda n: n + 1, [0])


@mistake(TypeError, "'cond': pred|is int32")
def branch_by_an_integer():
    tf.cond(tf.constant(1), lambda: 1, lambda: 2)


@mistake(ValueError, "'cond': pred|rank 0|(2,)")
def branch_by_several():
    tf.cond(tf.constant([True, False]), lambda: 1, lambda: 2)


@mistake(tf.errors.InvalidArgumentError, "'cond'|scalar bool|(1,)")
def branch_by_several_when_run():
    pred = tf.placeholder(tf.bool, name="pred")
    tf.Session().run(tf.cond(pred, lambda: 1, lambda: 2), {pred: [True]})


@mistake(tf.errors.InvalidArgumentError, "'while'|scalar bool|(1,)")
def loop_while_several_when_run():
    x = tf.placeholder(tf.float32, name="x")
    last = tf.while_loop(
        lambda x: x < 3.0, lambda x: x + 1.0, [x], shape_invariants=[tf.TensorShape(None)]
    )
    tf.Session().run(last, {x: [1.0]})


@mistake(tf.errors.InvalidArgumentError, "not invertible|op 'singular'|made at")
def inverse_of_a_constant_that_has_none():
    tf.Session().run(tf.matrix_inverse(tf.zeros([2, 2]), name="singular"))


@mistake(ValueError, "concat|at least one tensor|empty list")
def nothing_to_concatenate():
    tf.concat([], 0)


@mistake(ValueError, "w:0|ends at 'ArgMax' (ArgMax), which has none")
def loss_behind_an_argmax():
    w = tf.Variable([1.0, 2.0], name="w")
    loss = tf.cast(tf.argmax(w * 2.0), tf.float32)
    tf.train.GradientDescentOptimizer(0.1).minimize(loss)


@mistake(ValueError, "w:0|ends at 'ToInt32' (Cast), which has none")
def loss_behind_a_cast():
    w = tf.Variable([1.0, 2.0], name="w")
    loss = tf.reduce_sum(tf.cast(tf.to_int32(w), tf.float32))
    tf.train.GradientDescentOptimizer(0.1).minimize(loss)


@mistake(ValueError, "'w|argmax|numpy()", eager=True)
def eager_loss_of_nothing():
    w = dv.Variable(1.0, name="w")
    dv.train.GradientDescentOptimizer(0.1).minimize(lambda: dv.constant(2.0), var_list=[w])


@mistake(AttributeError, "learning rate of AdamOptimizer|rate.assign(0.01)", eager=True)
def rate_set_later():
    dv.train.AdamOptimizer(0.1).learning_rate = 0.01


@mistake(TypeError, "targets|1.0 of type float|numpy()", eager=True)
def gradient_of_a_number():
    w = dv.Variable(1.0, name="w")
    with dv.GradientTape() as tape:
        loss = float(w * w)
    tape.gradient(loss, w)


@mistake(
    ValueError, "gradient for variable 'w|of shape (2, 3) has shape (3,)|one order", eager=True
)
def gradient_of_another_variable():
    w = dv.Variable(np.zeros((2, 3), "f4"), name="w")
    dv.train.AdamOptimizer(0.1).apply_gradients([(dv.ones([3]), w)])


@mistake(ValueError, "variable 'rows|(4, 3)|(None, 1)", eager=True)
def gradient_of_narrow_rows():
    rows = dv.Variable(np.zeros((4, 3), "f4"), name="rows")
    slices = dv.IndexedSlices(dv.ones([2, 1]), dv.constant([0, 1]))
    dv.train.MomentumOptimizer(0.1, 0.9).apply_gradients([(slices, rows)])


@mistake(TypeError, "watch()|ndarray|dv.constant", eager=True)
def watched_array():
    with dv.GradientTape() as tape:
        tape.watch(np.ones(2))


@mistake(TypeError, "@custom_gradient|(results, gradient)|doubled returned", eager=True)
def custom_gradient_without_one():
    @dv.custom_gradient
    def doubled(x):
        return x * 2.0

    doubled(dv.ones([2]))


@mistake(TypeError, "function()|found 3", eager=True)
def function_of_a_number():
    dv.function(3)


@mistake(ValueError, "strides|number|'SAME'", eager=True)
def padding_in_the_place_of_strides():
    dv.nn.conv2d(dv.ones([1, 2, 2, 1]), dv.ones([1, 1, 1, 1]), "SAME")


@mistake(ValueError, "learning_rate of AdamOptimizer|one number|(2,)", eager=True)
def learning_rate_for_each():
    w = dv.Variable([1.0, 2.0], name="w")
    dv.train.AdamOptimizer([0.1, 0.2]).minimize(lambda: dv.reduce_sum(w * w), var_list=[w])


@mistake(ValueError, "layer named|expected dtype=float32|float64|cast(x, float32)", eager=True)
def layer_of_doubles():
    layer = dv.layers.Dense(2, name="named")
    layer(np.ones([1, 2], "f4"))
    layer(np.ones([1, 2]))


@mistake(TypeError, "layer empty|tensor|None", eager=True)
def layer_of_nothing():
    dv.layers.Dense(2, name="empty")(None)


@mistake(TypeError, "/gpu:0|found 3", eager=True)
def device_by_number():
    with dv.device(3):
        pass


@mistake(TypeError, "shard|dim=(2, 2)|parts=None", eager=True)
def shard_of_two_dimensions():
    dv.shard(dv.ones([4]), (2, 2))


@mistake(dv.errors.InvalidArgumentError, "batch_size|at least 1|found None", eager=True)
def batches_of_no_size():
    dv.data.batches(np.ones([4, 2]), None)


@mistake(dv.errors.InvalidArgumentError, "epochs|at least 0|found -1", eager=True)
def batches_for_ever():
    dv.data.batches(np.ones([4, 2]), 2, epochs=-1)


@mistake(dv.errors.InvalidArgumentError, "batches()|without rows|[1, 2, 3]", eager=True)
def batches_of_a_list():
    dv.data.batches([1, 2, 3], 2)


@mistake(TypeError, "batch_size|integer|None", eager=True)
def dataset_in_batches_of_no_size():
    dv.data.Dataset.range(3).batch(None)


@mistake(ValueError, "[-1]|>= 0|'Normal/sample/random_normal'", eager=True)
def fewer_draws_than_none():
    dv.distributions.Normal(0.0, 1.0).sample(-1)


@mistake(TypeError, "size|whole number|'a'", eager=True)
def size_by_name():
    dv.zeros([2, "a"])


@mistake(RuntimeError, "function|minimize(lambda:", eager=True)
def eager_loss_that_is_computed():
    w = dv.Variable(1.0, name="w")
    dv.train.GradientDescentOptimizer(0.1).minimize(w * w)


@mistake(RuntimeError, "persistent=True", eager=True)
def tape_used_twice():
    w = dv.Variable(1.0, name="w")
    with dv.GradientTape() as tape:
        y = w * w
    tape.gradient(y, w)
    tape.gradient(y, w)


@mistake(TypeError, "var_list|'w'|trainable_variables()")
def names_for_variables():
    w = tf.Variable(1.0, name="w")
    tf.train.GradientDescentOptimizer(0.1).minimize(w * w, var_list=["w"])


@mistake(TypeError, "learning_rate|GradientDescentOptimizer|'0.1'|number", eager=True)
def learning_rate_of_text():
    w = dv.Variable(1.0, name="w")
    dv.train.GradientDescentOptimizer("0.1").minimize(lambda: w * w, var_list=[w])


@mistake(ValueError, "softmax_cross_entropy_with_logits|named arguments|labels=", eager=True)
def labels_by_position():
    dv.nn.softmax_cross_entropy_with_logits(dv.zeros([1, 3]), dv.zeros([1, 3]))


@mistake(RuntimeError, "finalized|test_first_mistakes.py|before the training loop")
def operation_made_in_the_loop():
    tf.get_default_graph().finalize()
    tf.constant(2.0)


@mistake(tf.errors.InvalidArgumentError, "seed=5|shuffle=True", eager=True)
def seed_without_a_shuffle():
    dv.data.batches(np.zeros(4), 2, seed=5)


@mistake(tf.errors.InvalidArgumentError, "same number of rows|4|5", eager=True)
def labels_for_other_images():
    dv.data.batches((np.zeros(4), np.zeros(5)), 2)


# -- sessions, feeds and fetches ------------------------------------------------------------------


@mistake(TypeError, "feed_dict|3|placeholder|'x:0'")
def fed_a_number():
    tf.Session().run(tf.constant(1.0), {3: 1.0})


@mistake(TypeError, "feed_dict|'x'|'x:0'")
def fed_an_operation():
    x = tf.placeholder(tf.float32, name="x")
    tf.Session().run(x * 2.0, {"x": 1.0})


@mistake(TypeError, "feed_dict|'imgaes:0'|did you mean 'images'")
def feed_misspelt():
    x = tf.placeholder(tf.float32, name="images")
    tf.Session().run(x * 2.0, {"imgaes:0": 1.0})


@mistake(TypeError, "feed_dict|dictionary|[1.0]")
def fed_a_list():
    tf.Session().run(tf.constant(1.0), [1.0])


@mistake(ValueError, "x:0|sizes of chunks|(nan,)|compute_chunk_sizes()")
def fed_chunks_of_unknown_sizes():
    x = tf.placeholder(tf.float64, [None], name="x")
    rows = dask.array.from_array(np.arange(5.0))
    tf.Session().run(x * 2.0, {x: rows[rows > 2.0]})


@mistake(ValueError, "'los:0'|did you mean 'loss'")
def fetch_misspelt():
    tf.constant(1.0, name="loss")
    tf.Session().run("los:0")


@mistake(ValueError, "'trian'|did you mean 'train'")
def operation_misspelt():
    tf.no_op(name="train")
    tf.Session().run("trian")


@mistake(RuntimeError, "closed Session|Make another|restore or initialize")
def session_that_was_closed():
    with tf.Session() as session:
        pass
    session.run(tf.constant(1.0))


@mistake(ValueError, "No default session|with sess.as_default()")
def evaluated_without_a_session():
    tf.constant(1.0).eval()


@mistake(tf.errors.FailedPreconditionError, "accuracy/total|local_variables_initializer()")
def local_variables_forgotten():
    _, update = tf.metrics.accuracy(tf.constant([1]), tf.constant([1]))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(update)


@mistake(tf.errors.UnavailableError, "grpc://nowhere:1|tf.train.Server|Client")
def target_that_nobody_serves():
    tf.Session("grpc://nowhere:1").run(tf.constant(1.0))


@mistake(TypeError, "'seal_evry_s'|did you mean 'seal_every_s'", eager=True)
def knob_misspelt():
    dv.config.set(seal_evry_s=1.0)


@mistake(ValueError, "'gpu99x'|/device:")
def device_misspelt():
    with tf.device("gpu99x"):
        tf.constant(1.0)


# -- checkpoints ----------------------------------------------------------------------------------


def saved_model():
    """Save a variable `w` [3] of 1 as the checkpoint ``model-1``."""
    with tf.Graph().as_default(), tf.Session() as session:
        session.run(tf.get_variable("w", [3]).initializer)
        tf.train.Saver().save(session, "./model", global_step=1)


@mistake(ValueError, "modle-1|did you mean 'model-1'")
def checkpoint_misspelt():
    saved_model()
    tf.get_variable("w", [3])
    tf.train.Saver().restore(tf.Session(), "modle-1")


@mistake(ValueError, "runs/model-1|no directory")
def checkpoint_in_a_directory_that_is_not_there():
    tf.get_variable("w", [3])
    tf.train.Saver().restore(tf.Session(), "runs/model-1")


@mistake(ValueError, "save_path|None|latest_checkpoint()")
def checkpoint_of_an_empty_directory():
    tf.get_variable("w", [3])
    tf.train.Saver().restore(tf.Session(), tf.train.latest_checkpoint(os.getcwd()))


@mistake(tf.errors.NotFoundError, "model-1|kernel|nothing was assigned")
def checkpoint_of_another_model():
    saved_model()
    tf.get_variable("kernel", [3])
    tf.train.Saver().restore(tf.Session(), "model-1")


@mistake(tf.errors.InvalidArgumentError, "w: wanted (4,), stored (3,)|nothing was assigned")
def checkpoint_of_another_shape():
    saved_model()
    tf.get_variable("w", [4])
    tf.train.Saver().restore(tf.Session(), "model-1")


@mistake(TypeError, "Session|None")
def saved_without_a_session():
    tf.get_variable("w", [3])
    tf.train.Saver().save(None, "model")


@mistake(ValueError, "No variables to save")
def nothing_to_save():
    tf.train.Saver()


# -- Python for a graph ---------------------------------------------------------------------------


@mistake(TypeError, "x:0|unstack(t)|while_loop(")
def loop_over_a_tensor():
    for _ in tf.placeholder(tf.float32, [None], name="x"):
        pass


@mistake(TypeError, "cond(|where(", eager=True)
def branch_in_a_function():
    dv.function(lambda x: x if x > 0 else -x)(dv.constant(1.0))


@mistake(NotImplementedError, "c:0|symbolic|session")
def array_of_a_tensor_of_a_graph():
    np.asarray(tf.constant([1.0], name="c"))


@mistake(ValueError, "cond|float32|int32|same type")
def branches_of_different_types():
    tf.cond(tf.constant(True), lambda: tf.constant(1.0), lambda: tf.constant(1))


@mistake(ValueError, "loop variables|1 and 2")
def loop_that_gives_more_than_it_takes():
    tf.while_loop(lambda i: i < 3, lambda i: (i + 1, i), [tf.constant(0)])


@mistake(ValueError, "'my name!'|letters, digits")
def name_with_a_blank():
    tf.constant(1.0, name="my name!")


@pytest.mark.parametrize(("make", "error", "words", "eager"), MISTAKES)
def test_an_error_says_what_and_what_to_do(make, error, words, eager, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error) as raised:
        if eager:
            make()
        else:
            with tf.Graph().as_default():
                make()
    missing = [word for word in words.split("|") if word not in str(raised.value)]
    assert not missing, f"{missing} not in: {raised.value}"


def test_the_table_is_long():
    assert len(MISTAKES) >= 60


@pytest.mark.parametrize("part", ["keras"])
def test_absent_parts_say_where_to_look(part):
    with pytest.raises(AttributeError, match=f"no '{part}': [a-z]+ "):
        getattr(tf, part)


def test_a_closed_session_and_misspelt_names():
    with tf.Session() as session:
        pass
    with pytest.raises(RuntimeError, match="closed Session"):
        session.run(tf.constant(1.0))
    for name in ("Varibale", "varibale_scope", "get_varaible", "placehoder"):
        with pytest.raises(AttributeError, match="did you mean"):
            getattr(tf, name)


UNGUARDED = """
import daskvars as dv
from distributed import Client

client = Client(n_workers=1, threads_per_worker=1, dashboard_address=None, host="127.0.0.1")
print(dv.Variable([1.0]).numpy())
"""


@pytest.mark.cluster
def test_a_program_without_a_guard_is_told_of_it(tmp_path):
    program = tmp_path / "train.py"
    program.write_text(UNGUARDED)
    found = fresh.python(program, after=fresh.PACKAGE)
    assert found.status
    told = f'under `if __name__ == "__main__":`. A process of its cluster has imported {program}'
    assert told in found.said
    assert "bootstrapping phase" not in found.said


def test_what_tensorflow_has_and_is_missing_is_said_so():
    for namespace, names in NOT_HERE.items():
        module = tf
        for part in filter(None, [namespace]):
            module = getattr(module, part)
        for name in names.split():
            with pytest.raises(AttributeError, match=f"has no '{name}': TensorFlow 1 has it"):
                getattr(module, name)
    for path, hint in INSTEAD.items():
        *namespace, name = path.split(".")
        with pytest.raises(AttributeError, match=f"has no '{name}': ") as caught:
            getattr(functools.reduce(getattr, namespace, tf), name)
        assert str(caught.value).endswith(hint)
    with pytest.raises(AttributeError, match="leave it out, operations raise errors themselves"):
        tf.errors.raise_exception_on_not_ok_status  # noqa: B018
    with pytest.raises(AttributeError, match=r"v1\.nn has no 'max_pol' \(did you mean 'max_pool'"):
        tf.nn.max_pol  # noqa: B018
