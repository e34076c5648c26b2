"""Checks that numbers are finite."""

from __future__ import annotations

from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.interpreter import builder_for
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.ops.control.dependencies import (
    CHECK_NUMERICS,
    check_numerics,
    control_dependencies,
    group,
)
from daskvars.ops.rules.axes import either


def verify_tensor_all_finite(
    t: TensorLike | None = None,
    msg: str | None = None,
    name: str | None = None,
    x: TensorLike | None = None,
    message: str | None = None,
) -> Tensor:
    """Return a tensor; the run fails with a message if it holds a NaN or an infinity.

    Args:
      t: [...] floating.
      msg: the message.
      name: name scope of the operations, by default "VerifyFinite".
      x: another name of `t`.
      message: another name of `msg`.

    Returns:
      A tensor of the shape, dtype and value of `t`.

    Raises:
      InvalidArgumentError: (when run) there is a NaN or an infinity.

    Source: TensorFlow 1.15, ``tf.verify_tensor_all_finite``.

    >>> float(verify_tensor_all_finite(1.5, "the loss"))
    1.5
    """
    value, text = either(t, x, "t", "x"), either(msg, message, "msg", "message")
    with name_scope(name, "VerifyFinite", [value]):
        return check_numerics(convert_to_tensor(value, name="t"), message=text or "")


def add_check_numerics_ops() -> Operation:
    """Return an operation that fails the run where a floating tensor of the graph is not finite.

    Each check names its tensor.

    Raises:
      ValueError: the graph has branches or loops, within which it cannot check.
      RuntimeError: in eager code, which has no graph; use `check_numerics`.
      InvalidArgumentError: (when run) a tensor has infinities or what is no number.

    Source: TensorFlow 1.15, ``tf.add_check_numerics_ops``.

    >>> with dv.Graph().as_default(), dv.Session() as sess:
    ...     y = dv.log(dv.constant(0.0), name="y")
    ...     try:
    ...         sess.run([y, dv.add_check_numerics_ops()])
    ...     except dv.errors.InvalidArgumentError as error:
    ...         "y:0" in str(error)
    True
    """
    graph = builder_for(())
    if graph.is_eager:
        raise RuntimeError(
            "add_check_numerics_ops() checks a graph, and eager code has none: put "
            "check_numerics(x, message) where x is computed"
        )
    checks: list[Tensor] = []
    for op in graph.get_operations():
        if op.attrs.get("branches"):
            raise ValueError(
                "`tf.add_check_numerics_ops() is not compatible with TensorFlow control flow "
                "operations such as `tf.cond()` or `tf.while_loop()`. The graph has "
                f"{op.name!r} ({op.type}). Put check_numerics(x, message) where x is computed."
            )
        for tensor in op.outputs if op.opdef is not CHECK_NUMERICS else ():
            if tensor.dtype.is_floating and not tensor.dtype.is_ref:
                with control_dependencies(checks[-1:]):
                    checks.append(check_numerics(tensor, message=tensor.name))
    return group(*checks)
