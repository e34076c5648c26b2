"""Ops on variables: the handle, reading, assigning, scattering.

A variable's handle is a tensor of a ``_ref`` dtype that stands for the key under which the state
holds the value. Ops with an `Effect` pattern take it as their first input; lowering puts the
value of that moment in its place, so that a program has no hidden state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

from daskvars import dtypes, shapes
from daskvars.dtypes import DType
from daskvars.graph.definitions.opdef import (
    NO_GRADIENT,
    PASS_GRADIENT,
    UNDEFINED_GRADIENT,
    NoGradient,
    OpDef,
    Spec,
    UndefinedGradient,
    without_gradient,
)
from daskvars.graph.definitions.patterns import (
    Effect,
    Elementwise,
    Opaque,
    Pattern,
    ScatterInto,
    Source,
)
from daskvars.graph.interpreter import apply, builder_for
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Operation, Tensor, TensorLike, VariableLike
from daskvars.kernels.control import count_up_to as count_kernels
from daskvars.kernels.gather_scatter import segments as segment
from daskvars.ops.array.reshaping import identity
from daskvars.ops.rules import axes
from daskvars.ops.rules.families import elementwise
from daskvars.shapes import Shape
from daskvars.surface.accepted import ACCEPTED, accepts
from daskvars.surface.signatures import Argument, Family, with_example


def _handle(
    inputs: Sequence[Spec], key: str, dtype: DType, shape: Shape, chunks: Any, container: Any
) -> Spec:
    return Spec(dtype._as_ref, shape)


VARIABLE = without_gradient("VariableV2", "", _handle, None, pattern=Source())


def variable_handle(
    builder: Any, key: str, dtype: DType, shape: Shape, chunks: Any = None
) -> Tensor:
    """Return the handle of the variable called `key`, by an operation of that name.

    Args:
      builder: the program that the variable belongs to.
      key: scope-qualified name in the state, unique in a graph.
      shape: its shape, None where not known before it is assigned.
      chunks: layout in Dask's notation, None for one chunk.
    """
    attrs = {
        "key": builder.state_key(key),
        "dtype": dtype,
        "shape": shape,
        "chunks": chunks,
        "container": builder.container_name,
    }
    return builder.create(VARIABLE, (), attrs, Spec(dtype._as_ref, shape), key).outputs[0]


def _of_handle(inputs: Sequence[Spec], newest: bool = False) -> Spec:
    handle = inputs[0]
    return Spec(handle.dtype.base_dtype, handle.shape)


READ = OpDef(
    "ReadVariable", "ref:T", _of_handle, Effect(Elementwise(), reads=True), None, PASS_GRADIENT
)


_of_newest: ContextVar[bool] = ContextVar("reads_of_newest", default=False)


@contextmanager
def reading_newest() -> Iterator[None]:
    """Have reads made inside be of the newest version also where a run is on an older one.

    That matters for asynchronous training (`lowering.rewrites.split_update`): what an update makes
    of a variable's value it makes of the newest.
    """
    token = _of_newest.set(True)
    try:
        yield
    finally:
        _of_newest.reset(token)


def read_variable(handle: Tensor, name: str | None = None) -> Tensor:
    """Return the variable's value of this place in the program."""
    return apply(READ, handle, name=name, **_how_to_read())


def first_read(builder: Any, handle: Tensor, name: str) -> Operation:
    """Return the operation `name` that gives the value of a new variable of `builder`."""
    return builder.create(READ, (handle,), _how_to_read(), _of_handle((handle.spec,)), name)


def _how_to_read() -> dict[str, Any]:
    return {"newest": True} if _of_newest.get() else {}


PASSED_IN = elementwise(
    "ReadPassedIn", "value:T", None, PASS_GRADIENT, infer=lambda inputs: inputs[0]
)


def value_passed_in(value: Tensor, name: str | None = None) -> Tensor:
    """Return the value of a variable that is read around a branch or loop and used in it.

    An op of its own: it is turned into `READ` where the body assigns the variable as well.
    """
    return apply(PASSED_IN, value, name=name)


IS_INITIALIZED = without_gradient(
    "IsVariableInitialized",
    "ref:T",
    infer=lambda inputs: Spec(dtypes.bool, ()),
    kernel=None,
    pattern=Effect(Opaque(), presence=True),
)


def _assigned(inputs: Sequence[Spec], validate_shape: bool = True) -> Spec:
    handle, value = inputs[0], inputs[1]
    if validate_shape and not shapes.compatible(handle.shape, value.shape):
        raise ValueError(shapes.difference(handle.shape, value.shape))
    if value.shape and not value.dtype.is_ref:
        return value
    return Spec(handle.dtype.base_dtype, value.shape if value.shape else handle.shape)


ASSIGN = without_gradient(
    "Assign", "ref:T, value:T", _assigned, None, pattern=Effect(Elementwise(), writes=True)
)

_CHANGED = Effect(Elementwise(), reads=True, writes=True)
ASSIGN_ADD = without_gradient("AssignAdd", "ref:N, value:N", _assigned, "add", _CHANGED)
ASSIGN_SUB = without_gradient("AssignSub", "ref:N, value:N", _assigned, "subtract", _CHANGED)


def first_assignment(builder: Any, handle: Tensor, value: Tensor, name: str) -> Operation:
    """Return the operation `name` that initializes a new variable of `builder`.

    Args:
      builder: the program that the variable belongs to.
      value: its initial value, whose dtype and shape are those of the handle.
      name: the full name of the operation.

    Raises:
      ValueError: `value` is of another graph.
    """
    if value.op.graph is not builder.graph:
        value = builder.capture(value)
    spec = _assigned((handle.spec, value.spec))
    return builder.create(ASSIGN, (handle, value), {"validate_shape": True}, spec, name)


def apply_to_variable(definition: OpDef, ref: Any, *inputs: Any, **options: Any) -> Tensor:
    """Apply an op to a variable; to one that another op has changed, after that.

    Args:
      definition: the op, whose first input is the handle.
      ref: the variable, or in a graph the result of an op that changes one.
      *inputs: the op's other inputs.
      **options: its attributes, and the name of the operation.

    Raises:
      AttributeError: `ref` is neither.
    """
    changed = _changed_by(ref)
    if changed is None:
        return apply(definition, handle_of(ref), *inputs, **options)
    with builder_for((changed,)).control_dependencies([ref]):
        return apply(definition, changed, *inputs, **options)


def _changed_by(ref: Any) -> Tensor | None:
    """Return the handle of the variable whose new value is `ref`, which an op of a graph gives."""
    if type(ref) is not Tensor or ref.op.multiple:  # which give the value of before, too
        return None
    pattern = ref.op.opdef.pattern
    return ref.op.inputs[0] if isinstance(pattern, Effect) and pattern.writes else None


def handle_of(ref: VariableLike) -> Any:
    """Return the handle of a variable. Raises AttributeError for anything else."""
    handle = getattr(ref, "handle", ref)
    if not isinstance(handle, Tensor) or not handle.spec.dtype.is_ref:
        raise AttributeError(
            f"{ref!r} is no variable, so it has no value to change. Give the Variable itself; rows "
            "of it are changed by scatter_update."
        )
    return handle


def _has_parts(ref: Any) -> bool:
    """Return whether `ref` is several variables that stand for one array."""
    return not isinstance(ref, Tensor) and hasattr(ref, "_get_variable_list")


def is_variable_initialized(variable: VariableLike, name: str | None = None) -> Tensor:
    """Return a scalar bool tensor: whether the variable has a value.

    Args:
      variable: a Variable, of any dtype and shape.
      name: name of the operation, by default "IsVariableInitialized".

    >>> v = dv.Variable([1.0, 2.0, 3.0])
    >>> bool(is_variable_initialized(v))
    True
    """
    return apply(IS_INITIALIZED, handle_of(variable), name=name)


@accepts("use_locking")
def assign(
    ref: Any,
    value: TensorLike,
    validate_shape: bool | None = None,
    use_locking: bool | None = None,
    name: str | None = None,
) -> Tensor:
    """Set a variable.

    Args:
      ref: the Variable, or a slice of one; one in parts gives a list of their new values. In a
        graph also what another assignment gives: this one is made after it.
      value: its new value, of the same dtype and shape.
      validate_shape: False lets the value have another shape.
      name: name of the operation.

    Returns:
      The new value, of the shape and dtype of the variable.

    Raises:
      ValueError: the shapes differ.
      TypeError: the dtypes differ.
      AttributeError: `ref` is no variable, but a value computed from one, say.

    >>> v = dv.Variable([1.0, 2.0, 3.0])
    >>> print(assign(v, [4.0, 5.0, 6.0]))
    [4. 5. 6.]
    """
    if _has_parts(ref) or hasattr(ref, "bounds"):
        return ref.assign(value, name=name)
    return apply_to_variable(
        ASSIGN, ref, value, name=name, validate_shape=validate_shape is not False
    )


@accepts("use_locking")
def assign_add(
    ref: Any, value: TensorLike, use_locking: bool | None = None, name: str | None = None
) -> Tensor:
    """Add `value` to a variable and return the new value. See `assign`.

    >>> v = dv.Variable([1.0, 2.0, 3.0])
    >>> print(assign_add(v, [1.0, 1.0, 1.0]))
    [2. 3. 4.]
    """
    if _has_parts(ref):
        return ref.assign_add(value, name=name)
    return apply_to_variable(ASSIGN_ADD, ref, value, name=name)


@accepts("use_locking")
def assign_sub(
    ref: Any, value: TensorLike, use_locking: bool | None = None, name: str | None = None
) -> Tensor:
    """Subtract `value` from a variable and return the new value. See `assign`.

    >>> v = dv.Variable([1.0, 2.0, 3.0])
    >>> print(assign_sub(v, [1.0, 1.0, 1.0]))
    [0. 1. 2.]
    """
    if _has_parts(ref):
        return ref.assign_sub(value, name=name)
    return apply_to_variable(ASSIGN_SUB, ref, value, name=name)


def _scattered(inputs: Sequence[Spec], **attrs: Any) -> Spec:
    handle, ids, updates = inputs
    if handle.shape == ():
        raise ValueError("Shape must be at least rank 1 but is rank 0: a scalar has no rows")
    if handle.shape is not None and ids.shape is not None:
        wanted = (*ids.shape, *handle.shape[1:])
        if not shapes.compatible(wanted, updates.shape) and updates.shape != ():
            raise ValueError(
                f"updates of shape {shapes.TensorShape(updates.shape)} do not fit indices of shape "
                f"{shapes.TensorShape(ids.shape)} into a variable of shape "
                f"{shapes.TensorShape(handle.shape)}: wanted {shapes.TensorShape(wanted)}"
            )
    return Spec(handle.dtype.base_dtype, handle.shape)


class Scatter(Protocol):
    """A function that changes rows of a variable and returns its new value."""

    def __call__(
        self,
        ref: VariableLike,
        indices: TensorLike,
        updates: TensorLike,
        use_locking: bool | None = None,
        name: str | None = None,
    ) -> Tensor: ...


SCATTERS = Family(
    {
        "ref": Argument("the Variable, of rank 1 or more.", type="VariableLike"),
        "indices": Argument("[...] int32 or int64, rows."),
        "updates": Argument(
            "[*indices.shape, *ref.shape[1:]] of the dtype of the variable, or a scalar for all."
        ),
        "use_locking": Argument(ACCEPTED["use_locking"].text, None, "bool"),
        "name": Argument('name of the operation, by default "{type}".', None, "str"),
    },
    returns="The variable's new value, of its shape and dtype.",
    raises="ValueError: the shapes do not fit.\n"
    "InvalidArgumentError: (when run) an index is outside the variable's rows.",
    result="Tensor",
)
EXAMPLE = """v = dv.Variable([4.0, 2.0, 4.0])
dv.{name}(v, [0, 0], [2.0, 8.0]).numpy().tolist() -> {result}"""


def scattering(
    family: Family,
    module: str,
    name: str,
    type: str,
    mode: str,
    example: str,
    pattern: Pattern,
    **rules: Any,
) -> Callable[[str, list[Any]], Any]:
    """Define an op that changes a variable at some places.

    Args:
      family: what the function takes: a variable, places, what comes there.
      module, name: of the function.
      type: of the op.
      mode: how elements change.
      example: of the docstring, with ``{name}`` and ``{result}``.
      pattern: of the kernel.
      **rules: the op's other rules.

    Returns:
      What gives the function, by its docstring's first line and its example's result.
    """
    effect = Effect(pattern, reads=True, writes=True)
    definition = without_gradient(
        type, "ref:T, indices:I, updates:T", pattern=effect, block=axes.into_rows_of_block, **rules
    )

    def call(given: dict[str, Any]) -> Tensor:
        operands = given["ref"], given["indices"], given["updates"]
        return apply_to_variable(definition, *operands, name=given["name"], mode=mode)

    def documented(summary: str, result: list[Any]) -> Any:
        order = "ref indices updates use_locking name"
        doc = with_example(summary, example.format(name=name, result=result))
        return family.function(module, name, order, call, doc, type=type)

    return documented


_OF_ROWS = {
    "infer": _scattered,
    "kernel": segment.scatter_rows,
    "in_place": segment.scatter_rows_into,
    "check": segment.check_rows,
}


def _scatter(
    type: str, mode: str, gradient: NoGradient | UndefinedGradient = NO_GRADIENT
) -> Callable[[str, list[Any]], Scatter]:
    name, pattern, rules = f"scatter_{mode}", ScatterInto(), {**_OF_ROWS, "gradient": gradient}
    return scattering(SCATTERS, __name__, name, type, mode, EXAMPLE, pattern, **rules)


scatter_update = _scatter("ScatterUpdate", "update", UNDEFINED_GRADIENT)(
    "Set rows of a variable, ``ref[indices] = updates``; of two for one row the last counts.",
    [8.0, 2.0, 4.0],
)
scatter_add = _scatter("ScatterAdd", "add")(
    "Add to rows of a variable; repeated indices add up.", [14.0, 2.0, 4.0]
)
scatter_sub = _scatter("ScatterSub", "sub")(
    "Subtract from rows of a variable, for repeated indices each.", [-6.0, 2.0, 4.0]
)
scatter_mul = _scatter("ScatterMul", "mul")(
    "Multiply rows of a variable, for repeated indices by each.", [64.0, 2.0, 4.0]
)
scatter_div = _scatter("ScatterDiv", "div")(
    "Divide rows of a variable, for repeated indices by each.", [0.25, 2.0, 4.0]
)
scatter_min = _scatter("ScatterMin", "min", UNDEFINED_GRADIENT)(
    "Set rows of a variable to the smallest of themselves and the updates.", [2.0, 2.0, 4.0]
)
scatter_max = _scatter("ScatterMax", "max", UNDEFINED_GRADIENT)(
    "Set rows of a variable to the largest of themselves and the updates.", [8.0, 2.0, 4.0]
)


def _counted(inputs: Sequence[Spec], *, limit: int) -> tuple[Spec, ...]:
    spec = Spec(inputs[0].dtype.base_dtype, ())
    return spec, spec


COUNT_UP_TO = without_gradient(
    "CountUpTo",
    "ref:I",
    infer=_counted,
    kernel=count_kernels.count_up_to,
    pattern=Effect(Opaque(), reads=True, writes=True),
)


def count_up_to(ref: VariableLike, limit: int, name: str | None = None) -> Tensor:
    """Add one to a scalar integer variable and return the value from before.

    Args:
      ref: a Variable, [] int32 or int64.
      limit: int, at which it counts no further.
      name: name of the operation, by default "CountUpTo".

    Raises:
      OutOfRangeError: (when run) the variable has reached `limit`.

    >>> v = dv.Variable(0)
    >>> int(count_up_to(v, 3)), int(v)
    (0, 1)
    """
    with name_scope(name, "CountUpTo", [ref]) as scope:
        # What has the name gives the value from before: the first output of an update is the new
        # one.
        _, before = apply(COUNT_UP_TO, handle_of(ref), name="Update", limit=limit)
        return identity(before, name=scope)
