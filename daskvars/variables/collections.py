"""Lists of variables kept by the program, and ops that initialize and check many at once."""

from __future__ import annotations

from collections.abc import Sequence

from daskvars.dtypes import string
from daskvars.graph.scopes.collections import GraphKeys
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Operation, Tensor
from daskvars.ops.array.constant import constant
from daskvars.ops.array.joining import stack
from daskvars.ops.array.slicing import slice as first_part
from daskvars.ops.control.dependencies import Assert, group, no_op, with_dependencies
from daskvars.ops.gather_scatter.gather import boolean_mask
from daskvars.ops.math.comparison import equal, logical_not
from daskvars.ops.math.reduce import reduce_all
from daskvars.ops.state.assign import is_variable_initialized
from daskvars.shapes import is_known
from daskvars.variables.colocation import owner
from daskvars.variables.variable import Variable


def global_variables(scope: str | None = None) -> list[Variable]:
    """Return the variables that sessions share and savers save, in the order they were made.

    Args:
      scope: a regular expression that their names must begin with.

    >>> with dv.Graph().as_default():
    ...     a, b = dv.get_variable("a/w", [2]), dv.get_variable("b/w", [2], trainable=False)
    ...     dv.global_variables() == [a, b], dv.global_variables("b/") == [b]
    (True, True)
    """
    return owner().get_collection(GraphKeys.GLOBAL_VARIABLES, scope)


def local_variables(scope: str | None = None) -> list[Variable]:
    """Return the variables that a process keeps for itself; see `global_variables`.

    Args:
      scope: see `global_variables`.

    >>> with dv.Graph().as_default():
    ...     count = dv.get_local_variable("count", [], initializer=dv.zeros_initializer())
    ...     dv.local_variables() == [count], dv.global_variables()
    (True, [])
    """
    return owner().get_collection(GraphKeys.LOCAL_VARIABLES, scope)


def trainable_variables(scope: str | None = None) -> list[Variable]:
    """Return the variables that optimizers train by default; see `global_variables`.

    >>> with tf.Graph().as_default():
    ...     v = tf.get_variable("v", [1])
    ...     step = tf.Variable(0, trainable=False)
    ...     tf.trainable_variables() == [v]
    True
    """
    return owner().get_collection(GraphKeys.TRAINABLE_VARIABLES, scope)


def model_variables(scope: str | None = None) -> list[Variable]:
    """Return the variables that a model needs for inference; see `global_variables`.

    Args:
      scope: see `global_variables`.

    >>> with dv.Graph().as_default():
    ...     keys = ["variables", "model_variables"]
    ...     w, rate = dv.get_variable("w", [2], collections=keys), dv.get_variable("rate", [])
    ...     dv.model_variables() == [w]
    True
    """
    return owner().get_collection(GraphKeys.MODEL_VARIABLES, scope)


def moving_average_variables(scope: str | None = None) -> list[Variable]:
    """Return the variables that have moving averages; see `global_variables`.

    Args:
      scope: see `global_variables`.

    >>> with dv.Graph().as_default():
    ...     w, b = dv.get_variable("w", [2]), dv.get_variable("b", [2])
    ...     _ = dv.train.ExponentialMovingAverage(0.9).apply([w])
    ...     dv.moving_average_variables() == [w]
    True
    """
    return owner().get_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, scope)


def variables_initializer(var_list: Sequence[Variable], name: str = "init") -> Operation:
    """Return an operation that assigns the initial values of `var_list`.

    In the eager program, where variables have values from the start, it does nothing.

    Args:
      var_list: the variables.
      name: name of the operation.

    >>> with dv.Graph().as_default(), dv.Session() as sess:
    ...     v, w = dv.Variable(1.0, name="v"), dv.Variable(2.0, name="w")
    ...     sess.run(dv.variables_initializer([v]))
    ...     sess.run(dv.report_uninitialized_variables()).tolist()
    [b'w']
    """
    initializers = [v.initializer for v in var_list if v.initializer is not None]
    return group(*initializers, name=name) if initializers else no_op(name=name)


def global_variables_initializer() -> Operation:
    """Return an operation that initializes the global variables that there are now.

    >>> with tf.Graph().as_default():
    ...     v = tf.get_variable("v", [2], initializer=tf.ones_initializer())
    ...     init = tf.global_variables_initializer()
    ...     with tf.Session() as sess:
    ...         sess.run(init)
    ...         sess.run(v).tolist()
    [1.0, 1.0]
    """
    return variables_initializer(global_variables())


def local_variables_initializer() -> Operation:
    """Return an operation that initializes the local variables that there are now.

    >>> with dv.Graph().as_default(), dv.Session() as sess:
    ...     count = dv.get_local_variable("count", [], initializer=dv.ones_initializer())
    ...     sess.run(dv.local_variables_initializer())
    ...     float(sess.run(count))
    1.0
    """
    return variables_initializer(local_variables())


def tables_initializer(name: str = "init_all_tables") -> Operation:
    """Return an operation that runs what is in the collection of tables' initializers.

    Args:
      name: name of the operation.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     table = tf.contrib.lookup.index_table_from_tensor(["a", "b"])
    ...     sess.run(tf.tables_initializer())
    ...     sess.run(table.lookup(tf.constant(["b", "c"]))).tolist()
    [1, -1]
    """
    return group(*owner().get_collection(GraphKeys.TABLE_INITIALIZERS), name=name)


def report_uninitialized_variables(
    var_list: Sequence[Variable] | None = None, name: str = "report_uninitialized_variables"
) -> Tensor:
    """Return the names of the variables that have no value.

    Args:
      var_list: the variables to look at, by default all global and local ones.
      name: name scope of the ops.

    Returns:
      [n] string, names of operations without ":0", in the order of `var_list`; [0] if all have one.

    >>> with dv.Graph().as_default(), dv.Session() as sess:
    ...     v, w = dv.get_variable("v", [2]), dv.get_variable("w", [2])
    ...     sess.run(w.initializer)
    ...     sess.run(dv.report_uninitialized_variables()).tolist()
    [b'v']
    """
    if var_list is None:
        var_list = global_variables() + local_variables()
    with name_scope(name):
        names = constant([v.op.name for v in var_list], dtype=string, shape=[len(var_list)])
        if not var_list:
            return names
        initialized = stack([is_variable_initialized(v) for v in var_list])
        return boolean_mask(names, logical_not(initialized))


def assert_variables_initialized(var_list: Sequence[Variable] | None = None) -> Tensor | None:
    """Return a tensor that cannot be computed unless all variables have values.

    Args:
      var_list: the variables to look at, by default all global and local ones.

    Returns:
      [n] bool of no meaning, or None if there are no variables.

    Raises:
      FailedPreconditionError: (when run) some have none; all of them are named.

    >>> with dv.Graph().as_default(), dv.Session() as sess:
    ...     v, w = dv.get_variable("v", [2]), dv.get_variable("w", [2])
    ...     sess.run(w.initializer)
    ...     try:
    ...         sess.run(dv.assert_variables_initialized())
    ...     except dv.errors.FailedPreconditionError as error:
    ...         "'v'" in str(error), "'w'" in str(error)
    (True, False)
    """
    if var_list is None:
        var_list = global_variables() + local_variables()
    if not var_list:
        return None
    with name_scope("assert_variables_initialized"):
        looked_at = stack([_looked_at(v) for v in var_list])
        # What nobody needs is not computed, save for an assertion.
        return with_dependencies([Assert(True, [looked_at])], looked_at)


def _looked_at(variable: Variable) -> Tensor:
    """Return something that takes the variable's value to compute, but little of it."""
    value = variable.read_value()
    shape = value.spec.shape
    if is_known(shape):
        value = first_part(value, [0] * len(shape), [min(1, n) for n in shape])
    return reduce_all(equal(value, value))
