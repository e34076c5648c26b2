"""What stands at the start of TensorFlow-1 programs, and what they compare or switch."""

import pytest

import daskvars.v1 as tf


def test_the_module_is_its_own_compat_v1():
    assert tf.compat.v1 is tf
    with tf.compat.v1.Session() as session:
        assert session.run(tf.compat.v1.constant(3)) == 3


def test_versions_compare_as_tensorflow_1():
    assert tf.__version__ == tf.VERSION == "1.15.0"
    assert tf.__version__.startswith("1.")


def test_switches():
    for name in ("v2_behavior", "eager_execution", "v2_tensorshape", "control_flow_v2"):
        assert getattr(tf, f"disable_{name}")() is None
    assert tf.executing_eagerly() is False
    for switch in (tf.enable_eager_execution, tf.enable_v2_behavior):
        with pytest.raises(RuntimeError, match="import daskvars as dv"):
            switch()
    with pytest.raises(RuntimeError, match=r"tf\.equal"):
        tf.enable_tensor_equality()
    tf.enable_control_flow_v2()
    assert tf.control_flow_v2_enabled() is False


def test_sizes_are_numbers_where_they_are_asked_to_be():
    unknown, known = tf.TensorShape([None, 4]), tf.zeros([2, 3]).shape
    tf.enable_v2_tensorshape()
    try:
        assert unknown[0] is None
        assert [*known, unknown[1] / 2, known[1:]] == [2, 3, 2.0, [3]]
        assert (str(unknown), repr(unknown)) == ("(None, 4)", "TensorShape([None, 4])")
        assert unknown.dims[1].value == 4
    finally:
        tf.disable_v2_tensorshape()
    assert unknown[0].value is None


def test_names_that_are_in_several_namespaces():
    assert tf.queue.FIFOQueue is not None
    assert tf.errors.OpError is tf.OpError
    for name in ("PaddingFIFOQueue", "PriorityQueue", "QueueBase", "RandomShuffleQueue"):
        assert isinstance(getattr(tf.queue, name), type)
        assert getattr(tf.io, name).__name__ == name
    assert tf.initializers.tables_initializer().name == "init_all_tables"
    for name in ("all", "fixed_unigram", "learned_unigram", "log_uniform", "uniform"):
        assert callable(getattr(tf.random, f"{name}_candidate_sampler"))


@pytest.mark.parametrize("initializer", [tf.tables_initializer, tf.initialize_all_tables])
def test_tables_are_what_is_in_their_collection(initializer):
    assert initializer().name == "init_all_tables"
    table = tf.Variable([b"word"])
    tf.add_to_collection(tf.GraphKeys.TABLE_INITIALIZERS, table.initializer)
    with tf.Session() as session:
        assert session.run(initializer()) is None
        assert session.run(table) == [b"word"]


def test_flags_are_found_both_ways():
    assert tf.flags is tf.app.flags
    assert isinstance(tf.flags.FLAGS, tf.flags.FlagValues)
