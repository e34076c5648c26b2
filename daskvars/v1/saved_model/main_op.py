"""Operations to be run when a model has been loaded."""

from __future__ import annotations

from daskvars.graph.interpreter import builder_for
from daskvars.graph.scopes.default_graph import in_graph
from daskvars.graph.tensor import Operation
from daskvars.ops.control.dependencies import control_dependencies
from daskvars.v1.sessions.scaffold import local_initializer

__all__ = ["main_op", "main_op_with_restore"]


def main_op() -> Operation:
    """Return an operation that initializes local variables and tables.

    Source: TensorFlow 1.15, ``tf.saved_model.main_op.main_op``.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     count = tf.get_local_variable("count", initializer=3)
    ...     sess.run(tf.saved_model.main_op.main_op())
    ...     int(sess.run(count))
    3
    """
    return _main_op()


def main_op_with_restore(restore_op_name: str) -> Operation:
    """Return one that does so after an operation that restores.

    Args:
      restore_op_name: name of that operation, ``saver.saver_def.restore_op_name``.

    Source: TensorFlow 1.15, ``tf.saved_model.main_op.main_op_with_restore``.

    >>> with tf.Graph().as_default() as graph, tf.Session() as sess:
    ...     w = tf.get_variable("w", initializer=1.0)
    ...     restored = w.assign(5.0, name="restore")
    ...     sess.run(tf.saved_model.main_op.main_op_with_restore("restore"))
    ...     float(sess.run(w))
    5.0
    """
    return _main_op_with_restore(restore_op_name)


_main_op = in_graph(local_initializer)


@in_graph
def _main_op_with_restore(restore_op_name: str) -> Operation:
    with control_dependencies([builder_for(()).get_operation_by_name(restore_op_name)]):
        return _main_op()
