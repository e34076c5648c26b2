"""What an op is: one expression that carries every rule about it, and the registry of them all.

An `OpDef` *requires* its shape rule, access pattern, kernel and gradient, so that no engine can
meet an op that lacks one. Engines look rules up here; none of them names an op.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NoReturn

from daskvars import dtypes
from daskvars.dtypes import COMPLEX, FLOATING, INDEX, INTEGER, NUMERIC, REAL, DType, string
from daskvars.graph.definitions.patterns import Opaque, Pattern
from daskvars.shapes import Shape
from daskvars.surface.loading import load_until


class Spec(NamedTuple):
    """What is known of a tensor before it is computed: dtype and (partly known) shape.

    Attributes:
      dtype: the `DType`.
      shape: tuple of sizes, None for one that is not known; None if the rank is not.

    >>> with dv.Graph().as_default():
    ...     dv.placeholder(dv.float32, [None, 3]).spec
    Spec(dtype=tf.float32, shape=(None, 3))
    """

    dtype: DType
    shape: Shape


class NoGradient:
    """The gradient of an op that has none (`NO_GRADIENT`): differentiation stops there."""

    def __repr__(self) -> str:
        return "NO_GRADIENT"


NO_GRADIENT = NoGradient()


class PassGradient:
    """The gradient of an op that gives its first input on: dense or sparse, it goes on as it is."""

    def __call__(self, op: Any, dy: Any) -> Any:
        return dy

    def __repr__(self) -> str:
        return "PASS_GRADIENT"


PASS_GRADIENT = PassGradient()


class UndefinedGradient:
    """The gradient of an op that has one, which nobody wrote (`UNDEFINED_GRADIENT`).

    Where there is a way through it, None would say that nothing depends on what is differentiated.
    """

    def __call__(self, op: Any, *dys: Any) -> NoReturn:
        raise LookupError(
            f"No gradient defined for operation {op.name!r} (op type: {op.type}). Register one "
            "with RegisterGradient, or end the way to it with stop_gradient."
        )

    def __repr__(self) -> str:
        return "UNDEFINED_GRADIENT"


UNDEFINED_GRADIENT = UndefinedGradient()

# The letters of a signature: the dtypes that a type variable may take.
TYPE_CLASSES: Mapping[str, frozenset[DType] | None] = {
    "A": None,
    "T": None,
    "N": NUMERIC,
    "P": NUMERIC | {string},
    "F": FLOATING | COMPLEX,
    "D": FLOATING,
    "R": REAL,
    "Z": INTEGER,
    "I": INDEX,
    "B": frozenset({dtypes.bool}),
    "S": frozenset({string}),
}
_ARGUMENT = re.compile(r"(?P<many>\*?)(?P<name>\w+):(?P<type>[ATNPFDRZIBS])(?P<number>\d*)$")


class Argument(NamedTuple):
    """One declared input: its name, type variable, allowed dtypes, and whether it repeats."""

    name: str
    variable: str
    allowed: frozenset[DType] | None
    many: bool


def parse_signature(text: str) -> tuple[Argument, ...]:
    """Parse ``"x:N, y:N"``: equal variables (letter and digit) must have equal dtypes.

    Letters: A any and unlike (each such input may have its own dtype), T any, N numeric, P numeric
    or string, F floating or complex, D floating, R real numeric, Z integer, I int32 or int64,
    B bool, S string. ``*values:T`` takes any number of inputs and stands last.
    """
    arguments = []
    for part in filter(None, (p.strip() for p in text.split(","))):
        match = _ARGUMENT.match(part)
        if match is None:
            raise ValueError(f"signature {text!r}: cannot read {part!r}; write name:T")
        letter = match["type"]
        variable = "" if letter == "A" else letter + match["number"]
        arguments.append(
            Argument(match["name"], variable, TYPE_CLASSES[letter], bool(match["many"]))
        )
    return tuple(arguments)


@dataclass(frozen=True, eq=False)
class OpDef:
    """The definition of one op.

    Args:
      type: TensorFlow's name of the op, "MatMul"; also the default name of its operations.
      signature: its tensor inputs, "a:N, b:N" (see `parse_signature`).
      infer: ``infer(inputs: tuple[Spec, ...], **attrs) -> Spec`` (or a tuple of Specs, and then
        the kernel returns a tuple). Raises ValueError on shapes that do not fit. Dimensions may
        be None, shapes too.
      pattern: its access pattern (`daskvars.graph.definitions.patterns`).
      kernel: the name of a function of the array namespace that takes the inputs and the attrs
        ("exp"), or a pure function ``kernel(xp, *arrays, **attrs)`` of `daskvars.kernels`; None
        where the results are the first inputs themselves (of an `Effect`: after the handle).
      gradient: ``gradient(op, *dys)`` -> one tensor, IndexedSlices or None per input (or a single
        one for an op of one input), or `NO_GRADIENT`, or `UNDEFINED_GRADIENT`, which raises.
      operands: attributes that may also come as tensors; these follow the declared inputs, their
        names are in ``attrs["operands"]``, and the kernel receives them as attributes all the same.
      block: ``block(attrs, Block) -> attrs`` where attributes depend on which block is computed.
      static: ``static(partial_values, specs, attrs) -> value | None`` for ops that shapes are made
        with: the output's value as far as it is known when the graph is built, as nested tuples in
        which None is unknown. Ops without this rule are known where all their inputs are.
      static_of_specs: `static` tells it by the specs alone: nobody looks for the values.
      in_place: ``in_place(xp, out, *inputs, **attrs)``, a kernel that changes its first input to
        the result instead of making a new array; only for ops that write a variable.
      check: ``check(xp, *inputs, **attrs)`` raises where the kernel would: what it accepts, the
        kernel and `in_place` cannot fail on.
      attributes: name -> `Kind` of attributes, for what is read from a file; None where they are
        those that the library's ops share (`daskvars.graph.records.attribute_kinds`).
      valid: ``valid(inputs, attrs)`` raises ValueError for attributes that do not fit together, or
        the inputs, in a way that neither `infer` nor their kinds can tell; for what is read.
      trusted: the kernel was tested to give what `infer` says; where it was not, updates of
        variables that may not fail half-way do not rest on it.
      same_if_same_shape: where the shapes of input and output are equal, the result is the input.
      seeded: the kernel draws random numbers: its first argument is a key, a tuple of two ints.
      summed: ``summed(inputs, attrs) -> OpDef | None``: the op, without attributes, that makes the
        sum of several results of the inputs of all of them; None where that is no better.

    >>> with dv.Graph().as_default():
    ...     definition = dv.tanh(0.5).op.opdef
    >>> definition.type, definition.signature, definition.kernel, definition.pattern
    ('Tanh', 'x:F', 'tanh', Elementwise(linear=False))
    """

    type: str
    signature: str
    infer: Callable[..., Spec | tuple[Spec, ...]]
    pattern: Pattern
    kernel: str | Callable[..., Any] | None
    gradient: Callable[..., Any] | NoGradient
    operands: tuple[str, ...] = ()
    block: Callable[..., dict[str, Any]] | None = None
    static: Callable[..., Any] | None = None
    static_of_specs: bool = False
    in_place: Callable[..., None] | None = None
    check: Callable[..., None] | None = None
    attributes: Mapping[str, Any] | None = None
    valid: Callable[..., None] | None = None
    trusted: bool = True
    same_if_same_shape: bool = False
    seeded: bool = False
    summed: Callable[[Sequence[Spec], Mapping[str, Any]], OpDef | None] | None = None
    arguments: tuple[Argument, ...] = field(init=False)
    takes_anything: bool = field(init=False)  # whether inputs of any dtypes are right

    def __post_init__(self) -> None:
        arguments = parse_signature(self.signature)
        object.__setattr__(self, "arguments", arguments)
        free = all(argument.allowed is None and not argument.many for argument in arguments)
        object.__setattr__(self, "takes_anything", free and len(arguments) < 2)
        self._register()

    def _register(self) -> None:
        if self.type in REGISTRY:
            raise ValueError(f"op {self.type!r} is already registered; choose another type name")
        REGISTRY[self.type] = self

    @property
    def name(self) -> str:
        """The type, as TensorFlow's OpDef calls it."""
        return self.type

    @property
    def input_arg(self) -> tuple[Argument, ...]:
        """The declared inputs, as TensorFlow's OpDef calls them."""
        return self.arguments

    def __repr__(self) -> str:
        return f"OpDef({self.type!r})"

    def __reduce__(self) -> Any:
        return opdef, (self.type,)


def without_gradient(
    type: str,
    signature: str,
    infer: Callable[..., Spec | tuple[Spec, ...]],
    kernel: str | Callable[..., Any] | None,
    pattern: Pattern = Opaque(),  # noqa: B008  (it is immutable)
    gradient: NoGradient | UndefinedGradient = NO_GRADIENT,
    **rules: Any,
) -> OpDef:
    """Define an op at which differentiation stops, or raises; as a rule it takes its inputs whole.

    Args:
      type, signature, infer, kernel, pattern, gradient: see `OpDef`.
    """
    return OpDef(type, signature, infer, pattern, kernel, gradient, **rules)


class UnregisteredOp(OpDef):
    """An op of a type that nobody registered: operations of it are built, and cannot run.

    Args:
      dtypes: of its results, whose shapes are not known.
    """

    def __init__(self, type: str, dtypes: tuple[DType, ...]) -> None:
        specs = tuple([Spec(dtype, None) for dtype in dtypes])
        super().__init__(
            type,
            "*inputs:A",
            infer=lambda inputs, **attrs: specs,
            pattern=Opaque(pure=False),
            kernel=None,
            gradient=UNDEFINED_GRADIENT,
        )

    def _register(self) -> None:
        """It stays unknown."""

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"Op type not registered {self.type!r}: it cannot be sent anywhere")


REGISTRY: dict[str, OpDef] = {}


def registered(type: str) -> OpDef | None:
    """Return the definition of the op `type`, None without one.

    What defines ops need not be loaded before: an op may be named by a file, by `Graph.create_op`
    or by `RegisterGradient` before any function of its module is.
    """
    load_until(lambda: type in REGISTRY)
    return REGISTRY.get(type)


def opdef(type: str) -> OpDef:
    """Return the registered definition of `type`. Raises KeyError naming it."""
    found = registered(type)
    if found is None:
        raise KeyError(type)
    return found
