"""`tf.Module`: what is found in it, and the names of what it makes."""

import pytest

import daskvars.v1 as tf

pytestmark = pytest.mark.usefixtures("graph")


class Part(tf.Module):
    def __init__(self, name=None):
        super().__init__(name)
        with self.name_scope:
            fixed = tf.Variable(2.0, trainable=False, name="z")
            self.w = [tf.Variable(1.0, name="w"), {"z": fixed}]


class HTTPBlock(tf.Module):
    def __init__(self):
        super().__init__()
        with self.name_scope:
            self.b = Part()
            self.a = Part("inner")
            self.layer = tf.layers.Dense(2)
            self.again = self.b
            self.layer(tf.ones([1, 2]))

    @tf.Module.with_name_scope
    def __call__(self, x):
        """Return a product."""
        return self.b.w[0] * x


def names(variables):
    return [variable.op.name for variable in variables]


def test_what_is_in_a_module():
    block = HTTPBlock()
    parts = ["http_block/inner/w", "http_block/inner/z", "http_block/part/w", "http_block/part/z"]
    assert names(block.variables) == [*parts, "dense/kernel", "dense/bias"]
    trained = [*parts[::2], "dense/kernel", "dense/bias"]
    assert names(block.trainable_variables) == trained
    assert block.submodules == (block.a, block.b, block.layer)
    paths = block._flatten(predicate=lambda value: value is block.b.w[0], with_path=True)
    assert [path for path, _ in paths] == [("again", "w", 0), ("b", "w", 0)]
    alone = block._flatten(recursive=False, predicate=lambda value: isinstance(value, tf.Module))
    assert list(alone) == [block.a, block.b]


def test_names_are_those_of_the_scope():
    block, other = HTTPBlock(), HTTPBlock()
    assert (block.name, other.name) == ("http_block", "http_block")
    assert block(2.0).op.name == "http_block/mul"
    assert other(2.0).op.name == "http_block_1/mul"
    assert block.__call__.__doc__ == "Return a product."
    with pytest.raises(ValueError, match="'a b' is not a valid module name"):
        Part("a b")


def test_a_checkpoint_has_what_is_in_a_module(sess, tmp_path):
    part = Part()
    sess.run(tf.global_variables_initializer())
    sess.run(part.w[0].assign(7.0))
    path = tf.train.Checkpoint(part=part).save(str(tmp_path / "c"), session=sess)
    sess.run(part.w[0].assign(0.0))
    tf.train.Checkpoint(part=part).restore(path).run_restore_ops(sess)
    assert sess.run(part.w[0]) == 7.0


def test_a_metaclass_of_the_programs_own():
    class Meta(type):
        pass

    class Special(tf.Module, metaclass=Meta):
        pass

    assert Special().variables == ()
