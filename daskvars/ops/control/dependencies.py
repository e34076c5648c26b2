"""Ops that group, order, print, check and call Python. Branches and loops are in `branching`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from typing import Any

from daskvars.dtypes import DType, DTypeLike, as_dtype, int64
from daskvars.graph import nest
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import OpDef, Spec, without_gradient
from daskvars.graph.definitions.patterns import Opaque
from daskvars.graph.indexed_slices import IndexedSlices
from daskvars.graph.interpreter import apply, apply_op, builder_for
from daskvars.graph.scopes.context import device
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.kernels.control import checks as check_kernels, flow as control_kernels
from daskvars.ops.array.reshaping import identity
from daskvars.ops.rules.shapes import like_first
from daskvars.surface.accepted import accepts

NO_OP = without_gradient("NoOp", "", lambda inputs: (), None)


def no_op(name: str | None = None) -> Operation:
    """Return an operation that does nothing; it can have control inputs.

    Args:
      name: name of the operation, by default "NoOp".

    >>> no_op()
    <tf.Operation 'NoOp' type=NoOp>
    """
    return apply_op(NO_OP, name=name)


def control_dependencies(control_inputs: Iterable[Any] | None) -> Any:
    """Return a context manager: ops made inside run after `control_inputs`.

    A read of a variable made inside sees what the control inputs assign. None forgets the
    blocks around it. Eager code runs in order anyway.

    >>> with dv.Graph().as_default(), dv.Session() as sess:
    ...     v = dv.Variable(1.0)
    ...     with dv.control_dependencies([dv.assign_add(v, 2.0)]):
    ...         after = dv.identity(v)
    ...     sess.run(v.initializer)
    ...     float(sess.run(after))
    3.0
    """
    builder = builder_for(tuple(control_inputs) if control_inputs is not None else ())
    return nullcontext() if builder.is_eager else builder.control_dependencies(control_inputs)


def group(*inputs: Any, name: str | None = None) -> Operation:
    """Return an operation that is done when all `inputs` (tensors, operations, nested) are.

    Args:
      *inputs: tensors and operations, in lists, tuples and dicts.
      name: name of the operation, by default "group_deps".

    Returns:
      The operation. Of inputs on one device it is there; of inputs on several it waits for one on
      each.

    Raises:
      TypeError: one of them is something else, None say.

    >>> with tf.Graph().as_default():
    ...     v = tf.get_variable("v", [], initializer=tf.zeros_initializer())
    ...     both = tf.group(v.initializer, name="both")
    >>> both.name
    'both'
    """
    items = nest.flatten(list(inputs))
    for item in items:
        if not isinstance(item, Operation | Tensor | IndexedSlices) and not hasattr(item, "device"):
            raise TypeError(f"Expected tf.group() expected Tensor objects not None or {type(item)}")
    by_device: dict[str, list[Any]] = {}
    for item in items:
        by_device.setdefault(item.device or "", []).append(item)
    if len(by_device) < 2:
        return _done(items, next(iter(by_device), ""), name or "group_deps")
    with name_scope(name, "group_deps") as scope:
        parts = [_done(by_device[place], place) for place in sorted(by_device)]
        with control_dependencies(parts):
            return no_op(name=scope)


def _done(items: Sequence[Any], place: str, name: str | None = None) -> Operation:
    with control_dependencies(items), device(place):
        return no_op(name=name)


@accepts("name")
def tuple_(
    tensors: Sequence[Any], name: str | None = None, control_inputs: Sequence[Any] | None = None
) -> list[Any]:
    """Return the tensors, none of which is available before all of them are computed.

    Args:
      tensors: tensors and `IndexedSlices`; None stays None.
      control_inputs: operations and tensors that all wait for as well.

    Returns:
      A list of the same tensors, shapes and dtypes; None where there was None.

    Raises:
      ValueError: there is no tensor among them.

    >>> [int(x) for x in tuple([1, 2])]
    [1, 2]
    """
    given = [t for t in tensors if t is not None]
    if not given:
        raise ValueError(f"Must have at least one Tensor: {tensors}")
    waits = [t.values if isinstance(t, IndexedSlices) else t for t in given]
    with control_dependencies([*waits, *(control_inputs or ())]):
        gate = group(*waits)
    with control_dependencies([gate]):
        return [
            IndexedSlices(identity(t.values), t.indices, t.dense_shape)
            if isinstance(t, IndexedSlices)
            else None
            if t is None
            else identity(t)
            for t in tensors
        ]


def with_dependencies(
    dependencies: Sequence[Any], output: TensorLike, name: str | None = None
) -> Tensor:
    """Return `output`, available only after `dependencies`."""
    with control_dependencies(dependencies):
        return identity(output, name=name or "control_dependency")


ASSERT = without_gradient(
    "Assert",
    "condition:B, *data:A",
    infer=lambda inputs, *, summarize: (),
    kernel=check_kernels.check,
    pattern=Opaque(pure=False, only_checks=True),
)


def Assert(
    condition: TensorLike,
    data: Sequence[Any],
    summarize: int | None = None,
    name: str | None = None,
) -> Operation:
    """Return an operation that fails the run, with `data`, unless `condition` is true.

    A failing run changes no variable, wherever in it the assertion stands.

    Args:
      condition: scalar bool.
      data: tensors that the error shows, of any dtypes.
      summarize: how many elements of each it shows, by default 3; all if negative.
      name: name of the operation, by default "Assert".

    Raises:
      InvalidArgumentError: (when run) the condition is false.

    >>> x = dv.constant([1.0, -2.0])
    >>> try:
    ...     _ = dv.Assert(dv.reduce_all(x > 0.0), ["not positive:", x])
    ...     dv.sync()
    ... except dv.errors.InvalidArgumentError as error:
    ...     print(str(error).splitlines()[0])
    assertion failed: [not positive:] [1 -2] [op 'Assert']
    """
    return apply_op(ASSERT, condition, *data, name=name, summarize=summarize)


def _printing(type: str, signature: str, kernel: Callable[..., Any]) -> OpDef:
    """Define an op that gives its first input on, and prints others."""
    pattern = Opaque(pure=False, view=True)
    return OpDef(type, signature, like_first, pattern, kernel, _first)


def _first(op: Operation, dy: Tensor) -> list[Any]:
    return [dy] + [None] * (len(op.inputs) - 1)


PRINT = _printing("Print", "input:T, *data:A", control_kernels.write)
RUN_NUMBER = without_gradient(
    "RunNumber", "", lambda inputs: Spec(int64, ()), control_kernels.run_number, seeded=True
)
PRINT_FIRST = _printing("PrintFirst", "input:T, number:I, *data:A", control_kernels.write_first)


def Print(
    input_: TensorLike,
    data: Sequence[Any],
    message: str | None = None,
    first_n: int | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Return `input_`, printing `data` to standard error (of the worker) when it is computed.

    Args:
      input_: [...] any dtype.
      data: tensors to print, of any dtypes.
      message: what is printed before them.
      first_n: in how many runs of a session or `function` it prints, the first ones, where a turn
        of a loop counts as a run; in all if it is None or negative. A run that is repeated after
        the loss of a worker keeps its number.
      summarize: how many elements of each are printed, by default 3; all if negative.
      name: name of the operation, by default "Print".

    Returns:
      [...] as `input_`.

    >>> import sys, contextlib
    >>> x = dv.constant([1.0, 2.0])
    >>> with contextlib.redirect_stderr(sys.stdout):
    ...     float(dv.reduce_sum(dv.Print(x, [x, 7], "x is ")))
    x is [1 2][7]
    3.0
    """
    attrs = {"message": message or "", "summarize": summarize}
    if first_n is None or first_n < 0:
        return apply(PRINT, input_, *data, name=name, **attrs)
    with name_scope(name, "Print", [input_, *data]) as scope:
        number = apply(RUN_NUMBER, name="number")
        return apply(PRINT_FIRST, input_, number, *data, name=scope, first_n=first_n, **attrs)


def called(inputs: Sequence[Spec], *, dtypes: Sequence[DType], **attrs: Any) -> tuple[Spec, ...]:
    """Return what is known of the results of a Python function: their dtypes."""
    return tuple(Spec(dtype, None) for dtype in dtypes)


def _py_func_op(type: str, pure: bool) -> OpDef:
    pattern = Opaque(pure=pure, beside=control_kernels.PYTHON_BESIDE)
    return without_gradient(type, "*inp:A", called, control_kernels.call_python, pattern)


PY_FUNC, PY_FUNC_STATELESS = _py_func_op("PyFunc", False), _py_func_op("PyFuncStateless", True)


def py_func(
    func: Callable, inp: Sequence[Any], Tout: Any, stateful: bool = True, name: str | None = None
) -> Any:
    """Call a Python function on the values of tensors.

    Args:
      func: takes NumPy arrays, and scalars (bytes for text), returns arrays of the dtypes `Tout`.
        On a cluster it runs on a
        worker, where it may run more than once (after the loss of a worker). Functions of one run
        that need nothing of each other, by inputs or control dependencies, run at the same time.
      inp: the tensors.
      Tout: a dtype, or a list of them, of the results.
      stateful: False lets a call be left out whose result nobody needs.
      name: name of the operation.

    Returns:
      A tensor of unknown shape, or a list of them (an Operation when `Tout` is empty and the call
      is stateful).

    >>> print(py_func(lambda x: x + 1, [[1, 2]], dv.int32))
    [2 3]
    """
    single = not isinstance(Tout, list | tuple)
    dtypes = tuple(as_dtype(t) for t in ([Tout] if single else Tout))
    opdef = PY_FUNC if stateful else PY_FUNC_STATELESS
    op = apply_op(opdef, *inp, name=name or "PyFunc", function=func, dtypes=dtypes)
    if single:
        return op.outputs[0]
    return list(op.outputs) if dtypes or not stateful else op


def numpy_function(
    func: Callable,
    inp: Sequence[Any],
    Tout: DTypeLike | Sequence[DTypeLike],
    name: str | None = None,
    stateful: bool = True,
) -> Any:
    """Call a Python function of NumPy arrays. See `py_func`.

    Source: TensorFlow 1.15, ``tf.numpy_function``.

    >>> print(numpy_function(lambda x: x + 1, [[1, 2]], dv.int32))
    [2 3]
    """
    return py_func(func, inp, Tout, stateful, name)


def check_numerics(tensor: TensorLike, message: str, name: str | None = None) -> Tensor:
    """Return `tensor`; the run fails with `message` if it holds NaN or infinity.

    Args:
      tensor: [...] floating.
      message: what the error says first.
      name: name of the operation, by default "CheckNumerics".

    Returns:
      A tensor of the shape, dtype and value of `tensor`.

    Raises:
      InvalidArgumentError: (when run) there is a NaN or an infinity.

    >>> print(check_numerics([1.0, 2.0], "a loss"))
    [1. 2.]
    """
    return apply(CHECK_NUMERICS, convert_to_tensor(tensor), name=name, message=message)


CHECK_NUMERICS = OpDef(
    "CheckNumerics",
    "tensor:F",
    infer=lambda inputs, *, message: inputs[0],
    pattern=Opaque(pure=False, only_checks=True, view=True),
    kernel=check_kernels.finite,
    gradient=lambda op, dy: check_numerics(dy, op.attrs["message"] + " (in its gradient)"),
)
