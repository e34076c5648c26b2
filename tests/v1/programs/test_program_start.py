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
