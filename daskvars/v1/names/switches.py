"""Switches between TensorFlow 1 and 2 that programs turn at their start: graphs are always built.

What asks for TensorFlow-1 behaviour has it already; what asks for eager execution is told where
that is.
"""

from __future__ import annotations

__all__ = [
    "disable_control_flow_v2",
    "disable_eager_execution",
    "disable_resource_variables",
    "disable_tensor_equality",
    "disable_v2_behavior",
    "disable_v2_tensorshape",
    "enable_eager_execution",
    "enable_resource_variables",
    "enable_v2_behavior",
    "executing_eagerly",
    "resource_variables_enabled",
]


def disable_v2_behavior() -> None:
    """Do nothing: `daskvars.v1` behaves as TensorFlow 1."""


disable_control_flow_v2 = disable_eager_execution = disable_v2_behavior
disable_tensor_equality = disable_v2_tensorshape = disable_v2_behavior


def enable_eager_execution(
    config: object = None, device_policy: object = None, execution_mode: object = None
) -> None:
    """Say where eager execution is.

    Raises:
      RuntimeError: always.
    """
    raise RuntimeError(
        "daskvars.v1 builds graphs. Eager code says `import daskvars as dv` and uses the same "
        "names from there, without sessions; both may be used in one process."
    )


def enable_v2_behavior() -> None:
    """Say where eager execution is. Raises RuntimeError."""
    enable_eager_execution()


def executing_eagerly() -> bool:
    """Return False: what is called through `daskvars.v1` builds a graph."""
    return False


def enable_resource_variables() -> None:
    """Do nothing: there is one kind of variable, whose reads are as consistent as theirs."""


def disable_resource_variables() -> None:
    """Do nothing: see `enable_resource_variables`."""


def resource_variables_enabled() -> bool:
    """Return False: variables print and compare as TensorFlow 1's reference variables."""
    return False
