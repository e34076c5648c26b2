"""Switches between TensorFlow 1 and 2 that programs turn at their start: graphs are always built.

What asks for TensorFlow-1 behaviour has it already; what asks for eager execution is told where
that is. The sizes of static shapes may be numbers.
"""

from __future__ import annotations

from daskvars.shapes import TensorShape

__all__ = [
    "control_flow_v2_enabled",
    "disable_control_flow_v2",
    "disable_eager_execution",
    "disable_resource_variables",
    "disable_tensor_equality",
    "disable_v2_behavior",
    "disable_v2_tensorshape",
    "enable_control_flow_v2",
    "enable_eager_execution",
    "enable_resource_variables",
    "enable_tensor_equality",
    "enable_v2_behavior",
    "enable_v2_tensorshape",
    "executing_eagerly",
    "resource_variables_enabled",
]


def disable_v2_behavior() -> None:
    """Do nothing: `daskvars.v1` behaves as TensorFlow 1.

    >>> tf.disable_v2_behavior()
    >>> tf.executing_eagerly()
    False
    """


disable_control_flow_v2 = disable_eager_execution = disable_v2_behavior
disable_tensor_equality = disable_v2_behavior


def enable_control_flow_v2() -> None:
    """Do nothing: there is one kind of loops and branches, whose bodies are graphs as in v2.

    >>> tf.enable_control_flow_v2()
    >>> tf.control_flow_v2_enabled()
    False
    """


def control_flow_v2_enabled() -> bool:
    """Return False: programs that ask do what TensorFlow 1 needs.

    >>> tf.control_flow_v2_enabled()
    False
    """
    return False


def enable_tensor_equality() -> None:
    """Say that ``==`` of tensors is whether they are the same tensor.

    Raises:
      RuntimeError: always.

    >>> tf.enable_tensor_equality()
    Traceback (most recent call last):
    RuntimeError: In daskvars.v1 a == b is whether a and b are the same tensor. Elements are ...
    """
    raise RuntimeError(
        "In daskvars.v1 a == b is whether a and b are the same tensor. Elements are compared by "
        "tf.equal(a, b)."
    )


def enable_v2_tensorshape() -> None:
    """Let the items of static shapes be ints and None, in place of `Dimension`.

    >>> tf.enable_v2_tensorshape()
    >>> tf.TensorShape([None, 3]), tf.TensorShape([None, 3])[1] / 2
    (TensorShape([None, 3]), 1.5)
    >>> tf.disable_v2_tensorshape()
    >>> tf.TensorShape([None, 3])
    TensorShape([Dimension(None), Dimension(3)])
    """
    TensorShape.give_numbers(True)


def disable_v2_tensorshape() -> None:
    """Let the items of static shapes be `Dimension`s, as they are at first.

    >>> tf.disable_v2_tensorshape()
    >>> tf.TensorShape([3])[0]
    Dimension(3)
    """
    TensorShape.give_numbers(False)


def enable_eager_execution(
    config: object = None, device_policy: object = None, execution_mode: object = None
) -> None:
    """Say where eager execution is.

    Args:
      config, device_policy, execution_mode: TensorFlow's, not looked at.

    Raises:
      RuntimeError: always.

    >>> tf.enable_eager_execution()
    Traceback (most recent call last):
    RuntimeError: daskvars.v1 builds graphs. Eager code says `import daskvars as dv` ...
    """
    raise RuntimeError(
        "daskvars.v1 builds graphs. Eager code says `import daskvars as dv` and uses the same "
        "names from there, without sessions; both may be used in one process."
    )


def enable_v2_behavior() -> None:
    """Say where eager execution is.

    Raises:
      RuntimeError: always.

    >>> tf.enable_v2_behavior()
    Traceback (most recent call last):
    RuntimeError: daskvars.v1 builds graphs. Eager code says `import daskvars as dv` ...
    """
    enable_eager_execution()


def executing_eagerly() -> bool:
    """Return False: what is called through `daskvars.v1` builds a graph.

    >>> tf.executing_eagerly()
    False
    """
    return False


def enable_resource_variables() -> None:
    """Do nothing: there is one kind of variable, whose reads are as consistent as theirs.

    >>> tf.enable_resource_variables()
    >>> with tf.Graph().as_default():
    ...     tf.get_variable("w", [2])
    <tf.Variable 'w:0' shape=(2,) dtype=float32_ref>
    """


def disable_resource_variables() -> None:
    """Do nothing: see `enable_resource_variables`.

    >>> tf.disable_resource_variables()
    >>> tf.resource_variables_enabled()
    False
    """


def resource_variables_enabled() -> bool:
    """Return False: variables print and compare as TensorFlow 1's reference variables.

    >>> tf.resource_variables_enabled()
    False
    """
    return False
