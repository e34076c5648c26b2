"""Reverse-mode differentiation: a walk over operations that looks their gradients up.

`gradients` visits, consumers before producers, the operations that lie between `xs` and `ys`, and
asks each for the gradients of its inputs. It names no op but ``add_n``, ``ones_like``,
``zeros_like`` and what sparse gradients are joined with; every other rule stands beside its op.

- A gradient flows along floating and complex tensors only. It stops silently at an op whose
  definition says ``NO_GRADIENT`` (TensorFlow's ``NotDifferentiable``), at integer and bool
  tensors and at `stop_gradients`. An integer tensor by itself has the gradient one.
- To a tape what an update of a variable gives is the variable's value, as in TensorFlow 2; to
  `gradients` it has the gradient of its op, which is none for most, as in TensorFlow 1.
- An `IndexedSlices` stays sparse: two are added up by concatenation (`sum_of_slices`). Only an op
  that passes its gradient on as it is (``PASS_GRADIENT``) receives one; for all others it is made
  dense, which warns when the dense tensor is large, and not computed of sources that are all small.
- In the body of a function a captured tensor stands for the outer one, and the walk goes on there.
- Effects of a run are ordered by data and program order (see `daskvars.execution`), so there are no
  races that `gate_gradients` would have to prevent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from enum import Enum
from typing import Any

from daskvars import shapes
from daskvars.dtypes import variant
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.gradient_registry import gradient_of
from daskvars.graph.definitions.opdef import NO_GRADIENT, PASS_GRADIENT
from daskvars.graph.indexed_slices import Gradient, IndexedSlices
from daskvars.graph.interpreter import builder_for
from daskvars.graph.scopes.device import DeviceSpec
from daskvars.graph.scopes.name_scope import entered_graph
from daskvars.graph.tensor import Operation, Tensor
from daskvars.ops.array.constant import ones_like, shape as shape_of, size, zeros_like
from daskvars.ops.array.joining import concat, stack, unstack
from daskvars.ops.array.ranges import range as range_
from daskvars.ops.array.reshaping import reshape
from daskvars.ops.control.map_fn import map_fn
from daskvars.ops.control.subgraphs import is_differentiable, use_gradients
from daskvars.ops.control.tensor_lists import list_sum
from daskvars.ops.gather_scatter.sparse_gradients import densify, sum_of_slices
from daskvars.ops.math.arithmetic import add_n
from daskvars.surface.accepted import accepts


class AggregationMethod:
    """Ways to add up gradients, as TensorFlow names them; all of them are one ``add_n`` here.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.constant(3.0)
    ...     (dx,) = tf.gradients(x * x, x, aggregation_method=AggregationMethod.EXPERIMENTAL_TREE)
    ...     float(sess.run(dx))
    6.0
    """

    ADD_N = 0
    DEFAULT = ADD_N
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2


class UnconnectedGradients(Enum):
    """What the gradient of a value is by one that it does not depend on: None, or zeros.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x, other = tf.constant(3.0), tf.constant([1.0, 2.0])
    ...     zeros = tf.gradients(x * x, other, unconnected_gradients=UnconnectedGradients.ZERO)
    ...     tf.gradients(x * x, other), sess.run(zeros)[0].tolist()
    ([None], [0.0, 0.0])
    """

    NONE = "none"
    ZERO = "zero"


@accepts("gate_gradients")
def gradients(
    ys: Any,
    xs: Any,
    grad_ys: Any = None,
    name: str | None = "gradients",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: int | None = None,
    stop_gradients: Any = None,
    unconnected_gradients: str | UnconnectedGradients = UnconnectedGradients.NONE,
) -> list[Gradient | None]:
    """Return the gradients of the sum of `ys` with respect to each of `xs`.

    Args:
      ys: a tensor or a list of them, [...] floating or complex.
      xs: a tensor or Variable or a list of them.
      grad_ys: the gradients of `ys`, shaped and typed as these; by default ones.
      name: name scope of the new operations; those for an op are under ``<name>/<op>_grad``.
      colocate_gradients_with_ops: place each gradient on the device of its op; one on a GPU has it
        there anyhow, where no device is asked for here.
      aggregation_method: one of `AggregationMethod`.
      stop_gradients: tensors taken as constants.
      unconnected_gradients: an `UnconnectedGradients`, or its value.

    Returns:
      A list as long as `xs`: a Tensor of the shape and dtype of x, an IndexedSlices where only
      rows of x were used, or None where `ys` do not depend on x.

    Raises:
      RuntimeError: they are tensors of the eager program, which forget how they were computed; a
        `GradientTape` remembers.
      ValueError: `grad_ys` do not fit `ys`, or a gradient does not fit its input.
      TypeError: the dtype of a y and of its gradient do not go together.

    Source: TensorFlow 1.15, ``tf.gradients``.

    >>> with dv.Graph().as_default():
    ...     x = dv.constant(3.0, name="x")
    ...     dv.gradients(x * x, x)[0].op.name
    'gradients/AddN'
    """
    _check_history("gradients", ys, xs)
    return backpropagated(
        ys,
        xs,
        grad_ys,
        name,
        colocate_gradients_with_ops,
        aggregation_method,
        stop_gradients,
        unconnected_gradients,
    )


def _check_history(function: str, ys: Any, xs: Any) -> None:
    """Raise RuntimeError for the eager program.

    Whether a gradient is found would depend on whether somebody has looked at a value before.
    """
    if builder_for((*_as_list(ys), *_as_list(xs))).is_eager:
        raise RuntimeError(
            f"{function}() is not supported when eager execution is enabled: a tensor forgets how "
            "it was computed when its value is. Compute ys under a GradientTape, or in a function, "
            "and use tape.gradient(ys, xs)."
        )


def backpropagated(
    ys: Any,
    xs: Any,
    grad_ys: Any = None,
    name: str | None = "gradients",
    colocate_gradients_with_ops: bool = False,
    aggregation_method: int | None = None,
    stop_gradients: Any = None,
    unconnected_gradients: str | UnconnectedGradients = UnconnectedGradients.NONE,
    seen: Callable[[Operation], bool] | None = None,
) -> list[Gradient | None]:
    """Return what `gradients` does, also of eager tensors, whose history somebody holds.

    With `seen`, what operations made that it is false of is a constant.
    """
    ys, xs = _as_list(ys), _as_list(xs)
    if unconnected_gradients not in (*UnconnectedGradients, "none", "zero"):
        raise ValueError(f"Unknown value for unconnected_gradients: {unconnected_gradients!r}")
    if aggregation_method not in (None, 0, 1, 2):
        raise ValueError(f"Invalid aggregation_method specified {aggregation_method}.")
    builder = builder_for((*ys, *xs))
    with entered_graph(builder), builder.name_scope(name or "gradients"):
        # Nobody has seen a read that is made here: a variable is what a tape has seen.
        targets = [_value_of(y) if seen is None else _element_of(y) for y in ys]
        sources = [_element_of(x) for x in xs]
        _check_graph(builder, sources)
        stops = [_element_of(t) for t in _as_list(stop_gradients)]
        walk = _Walk(builder, sources, stops, colocate_gradients_with_ops, seen)
        walk.visit(targets, _checked_grad_ys(targets, grad_ys))
        found = [walk.result(source) for source in sources]
        if UnconnectedGradients(unconnected_gradients) is UnconnectedGradients.ZERO:
            found = [
                zeros_like(_value_of(x)) if dx is None else dx
                for x, dx in zip(xs, found, strict=True)
            ]
    return found


@accepts("gate_gradients")
def hessians(
    ys: Any,
    xs: Any,
    name: str = "hessians",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: int | None = None,
) -> list[Tensor]:
    """Return the second derivatives of the sum of `ys` with respect to each of `xs`.

    Args:
      ys: a tensor or a list of them, [...] floating.
      xs: a tensor or Variable or a list of them; where the shape is known beforehand, the rows
        of its matrix are computed side by side, else one after another in a loop.
      name: name scope of the new operations.
      colocate_gradients_with_ops, gate_gradients, aggregation_method: see `gradients`.

    Returns:
      A list as long as `xs` of tensors [*x.shape, *x.shape].

    Raises:
      RuntimeError: they are tensors of the eager program, see `gradients`.
      ValueError: `ys`, or their gradients, do not depend on an x.

    >>> with dv.Graph().as_default(), dv.Session() as session:
    ...     x = dv.constant([1.0, 2.0])
    ...     y = session.run(hessians(dv.reduce_sum(x * x * x), x)[0])
    >>> y.tolist()
    [[6.0, 0.0], [0.0, 12.0]]
    """
    _check_history("hessians", ys, xs)
    xs = _as_list(xs)
    options: dict[str, Any] = {
        "colocate_gradients_with_ops": colocate_gradients_with_ops,
        "aggregation_method": aggregation_method,
    }
    builder = builder_for((*_as_list(ys), *xs))
    with entered_graph(builder), builder.name_scope(name):
        return [
            _hessian(first, x, options)
            for first, x in zip(gradients(ys, xs, **options), xs, strict=True)
        ]


def _hessian(first: Gradient | None, x: Any, options: dict[str, Any]) -> Tensor:
    def row(entry: Tensor) -> Tensor:
        second = gradients(entry, x, **options)[0]
        if second is None:
            raise ValueError(f"hessians: the first derivative does not depend on {x!r}")
        return densify(second)

    if first is None:
        raise ValueError(f"hessians: the ys do not depend on {x!r}")
    entries, shape = reshape(densify(first), [-1]), _element_of(x).spec.shape
    if shapes.is_known(shape):
        return reshape(stack([row(entry) for entry in unstack(entries)]), [*shape, *shape])
    rows = map_fn(lambda i: row(entries[i]), range_(size(entries)), entries.dtype)
    return reshape(rows, concat([shape_of(x)] * 2, 0))


def _body_gradients(ys: Any, xs: list[Tensor], grad_ys: Any) -> list[Gradient | None]:
    """Return the gradients of the body of a branch or loop, whose inputs `xs` are independent."""
    return gradients(ys, xs, grad_ys, stop_gradients=xs)


use_gradients(_body_gradients)


def why_none(y: Tensor, xs: Sequence[Any]) -> str:
    """Say why a tensor of a graph has no gradient with respect to any of `xs`."""
    sources = [_element_of(x) for x in xs]
    walk = _Walk(builder_for((y,)), sources, [], False)
    depend: set[Operation] = {source.op for source in sources}
    ends = []
    for op in walk._producers_first([y]):
        if op not in depend and any(t.op in depend for t in map(walk._followed, op.inputs)):
            depend.add(op)
            if not any(map(walk._is_path, op.inputs)):
                continue
            if gradient_of(op) is not NO_GRADIENT and any(map(is_differentiable, op.outputs)):
                walk.live[op] = gradient_of(op)
            else:
                ends.append(f"{op.name!r} ({op.type})")
    if y.op not in depend:
        return f"{y.name} does not depend on them"
    if not ends:
        given = [
            f"{s.op.name!r} ({s.spec.dtype.base_dtype.name})" for s in sources if s.op in depend
        ]
        return f"{y.name} depends only on {', '.join(given[:3])}, which can have no gradient"
    return f"on the way to {y.name} the gradient ends at {', '.join(ends[:3])}, which has none"


class _Walk:
    """One reverse walk: which operations it visits, and the gradients met on the way."""

    def __init__(
        self,
        builder: Any,
        sources: list[Tensor],
        stops: list[Tensor],
        colocate: bool,
        seen: Callable[[Operation], bool] | None = None,
    ) -> None:
        self.builder = builder
        # By the ids of tensors, as all that follows: those of eager code have no hash.
        self.sources = set(map(id, sources))
        self.stops = set(map(id, stops))
        self.colocate = colocate
        self.seen = seen
        self.outer = _captured(builder, sources)
        self.largest = max([shapes.size(source.spec.shape) or 0 for source in sources], default=0)
        self.live: dict[Operation, Any] = {}  # with their gradients
        self.kept: list[Any] = []  # the tensors, so that they keep their ids
        self.received: dict[int, list[Gradient]] = {}
        self.results: dict[int, Gradient | None] = {}

    def visit(self, targets: list[Tensor], grad_ys: list[Gradient | None]) -> None:
        """Carry the gradients of `targets` back to the sources."""
        order = self._producers_first(targets)
        self.kept = [(op.inputs, op.outputs) for op in order]
        for op in order:
            gradient = self._gradient_of(op)
            if gradient is not NO_GRADIENT and any(map(self._is_path, op.inputs)):
                self.live[op] = gradient
        for i, (y, dy) in enumerate(zip(targets, grad_ys, strict=True)):
            if self._is_path(y) or id(self._followed(y)) in self.sources:
                self._receive(y, ones_like(y, name=f"grad_ys_{i}") if dy is None else dy)
        for op in reversed(order):
            if op in self.live:
                self._visit_op(op)

    def result(self, source: Tensor) -> Gradient | None:
        """Return the gradient of a source, None where there is no path to it."""
        if id(source) not in self.results:
            self.results[id(source)] = self._total(source)
        return self.results[id(source)]

    def _gradient_of(self, op: Operation) -> Any:
        is_update = self.seen is not None and getattr(op.opdef.pattern, "writes", False)
        return PASS_GRADIENT if is_update else gradient_of(op)

    def _visit_op(self, op: Operation) -> None:
        dys = [None if id(t) in self.stops else self._taken(t) for t in op.outputs]
        if all(dy is None for dy in dys):
            return
        gradient = self.live[op]
        if gradient is PASS_GRADIENT and dys[0] is not None:  # its only result
            self._receive(op.inputs[0], dys[0])
            return
        with self.builder.name_scope(f"{op.name}_grad"), self._place(op):
            found = _input_gradients(op, gradient, dys, self.largest)
            for t, dx in zip(op.inputs, found, strict=True):
                if dx is not None and self._is_path(t):
                    _check_fits(op, t, dx)
                    self._receive(t, dx)

    def _place(self, op: Operation) -> AbstractContextManager[None]:
        """Return the block in which gradients of an op are made.

        One on a GPU has them there unless a device is asked for, as in TensorFlow, where a GPU does
        what nobody placed: anywhere else they would be left to NumPy.
        """
        if self.colocate:
            return self.builder.colocate_with(op, True)
        is_free = bool(op.device) and not self.builder.places_ops
        if is_free and DeviceSpec.from_string(op.device).device_type == "GPU":
            return self.builder.device(op.device)
        return nullcontext()

    def _receive(self, tensor: Tensor, gradient: Gradient) -> None:
        self.received.setdefault(id(self._followed(tensor)), []).append(gradient)

    def _taken(self, output: Tensor) -> Gradient | None:
        total = self._total(output)
        if id(output) in self.sources:
            self.results[id(output)] = total
        return total if is_differentiable(output) else None

    def _total(self, tensor: Tensor) -> Gradient | None:
        parts = self.received.pop(id(tensor), ())
        if len(parts) < 2:
            return _total(parts, self.largest)
        is_together = len({part.device for part in parts}) == 1
        with self._place(parts[0].op if is_together else tensor.op):
            return _total(parts, self.largest)

    def _is_path(self, tensor: Tensor) -> bool:
        """Whether a gradient of `tensor` is of use to some source."""
        t = self._followed(tensor)
        reaches = id(t) in self.sources or (t.op in self.live and id(t) not in self.stops)
        return reaches and is_differentiable(t)

    def _followed(self, tensor: Tensor) -> Tensor:
        """Return the outer tensor for the input of a function that captured it."""
        while id(tensor) in self.outer and id(tensor) not in self.sources:
            tensor = self.outer[id(tensor)]
        return tensor

    def _producers_first(self, targets: list[Tensor]) -> list[Operation]:
        """Return all operations that `targets` depend on, each after those that it depends on."""
        order: list[Operation] = []
        seen: set[Operation] = set()
        stack = [(op, False) for op in self._producers(targets)]
        while stack:
            op, is_complete = stack.pop()
            if is_complete:
                order.append(op)
            elif op not in seen:
                seen.add(op)
                stack.append((op, True))
                stack.extend((producer, False) for producer in self._producers(op.inputs))
        return order

    def _producers(self, tensors: Iterable[Tensor]) -> list[Operation]:
        followed = [self._followed(tensor) for tensor in tensors]
        found = [tensor.op for tensor in followed if id(tensor) not in self.stops]
        return found if self.seen is None else [op for op in found if self.seen(op)]


def _captured(builder: Any, sources: list[Tensor]) -> dict[int, Tensor]:
    """Return inner (its id) -> outer tensor, for the functions to be left to reach all sources."""
    outer: dict[int, Tensor] = {}
    inside: set[Any] = set()
    graph = builder
    while hasattr(graph, "captures"):
        inside.add(graph)
        if all(source.op.graph in inside for source in sources):
            break
        outer.update((id(inner), tensor) for tensor, inner in graph.captures.items())
        graph = graph.outer
    return outer


def _input_gradients(
    op: Operation, gradient: Any, dys: list[Gradient | None], largest: int
) -> Sequence[Gradient | None]:
    """Ask the op for the gradients of its inputs; those of trailing operands are None.

    Where nothing depends on a result, its gradient is zeros; that of a branch's stays None, as
    zeros of the result's shape would ask the branch to compute it.
    """
    has_branches = getattr(op.opdef.pattern, "choose", None) is not None
    for i, (dy, output) in enumerate(zip(dys, op.outputs, strict=True)):
        if dy is not None:
            dys[i] = densify(dy, largest=largest)
        elif is_differentiable(output) and output.spec.dtype is not variant and not has_branches:
            dys[i] = zeros_like(output)
    found = gradient(op, *dys)
    found = tuple(found) if isinstance(found, tuple | list) else (found,)
    operands = len(op.attrs.get("operands", ()))
    if len(found) != len(op.inputs) - operands:
        raise ValueError(
            f"Num gradients {len(found)} generated for op {op.name!r} ({op.type}) do not match "
            f"num inputs {len(op.inputs) - operands}"
        )
    return found + (None,) * operands


def _check_fits(op: Operation, x: Tensor, dx: Gradient) -> None:
    """Check a gradient against the input that it belongs to, and tell it the input's shape."""
    if dx.dtype.base_dtype is not x.dtype.base_dtype:
        raise TypeError(
            f"The gradient of {op.name!r} ({op.type}) with respect to {x.name!r} has dtype "
            f"{dx.dtype.name}, not the input's {x.dtype.base_dtype.name}"
        )
    if isinstance(dx, IndexedSlices) or dx.spec.shape == x.spec.shape:
        return
    if not shapes.compatible(x.spec.shape, dx.spec.shape):
        index = [t is x for t in op.inputs].index(True)
        raise ValueError(
            "Incompatible shapes between op input and calculated input gradient. Forward "
            f"operation: {op.name} ({op.type}). Input index: {index}. Original input "
            f"shape: {x.shape}. Calculated input gradient shape: {dx.shape}"
        )
    dx.set_shape(x.shape)


def _total(parts: Sequence[Gradient], largest: int) -> Gradient | None:
    """Add gradients up; sparse ones stay so among themselves."""
    if not parts:
        return None
    if len(parts) == 1:
        return parts[0]
    sparse = [part for part in parts if isinstance(part, IndexedSlices)]
    if len(sparse) == len(parts):
        return sum_of_slices(sparse)
    dense = [densify(part, largest=largest) for part in parts]
    return list_sum(dense) if dense[0].spec.dtype is variant else add_n(dense)


def _check_graph(builder: Any, sources: list[Tensor]) -> None:
    """Refuse tensors of another graph: there is no way to them, which would look like no effect."""
    if not hasattr(builder, "captures"):
        for source in sources:
            if source.op.graph is not builder.graph:
                builder.capture(source)


def _checked_grad_ys(ys: list[Tensor], grad_ys: Any) -> list[Gradient | None]:
    given = [None] * len(ys) if grad_ys is None else _as_list(grad_ys)
    if len(given) != len(ys):
        raise ValueError(f"Passed {len(given)} grad_ys for {len(ys)} ys")
    return [_checked_grad_y(i, y, dy) for i, (y, dy) in enumerate(zip(ys, given, strict=True))]


def _checked_grad_y(i: int, y: Tensor, dy: Any) -> Gradient | None:
    dtype = y.dtype.base_dtype
    if dy is None:
        if dtype.is_complex:
            raise TypeError(f"Gradients of complex tensors must set grad_ys (y.dtype = {dtype!r})")
        if not (dtype.is_floating or dtype.is_integer):
            raise TypeError(
                f"Tensor {y.name!r} with type {dtype.name} must be numeric to obtain a default "
                "gradient"
            )
        return None
    if not isinstance(dy, IndexedSlices):
        dy = convert_to_tensor(dy, preferred_dtype=dtype, name=f"grad_ys_{i}")
    if dy.dtype.base_dtype.is_complex != dtype.is_complex:
        kind, wanted = ("complex", "complex") if dtype.is_complex else ("real", "real or integer")
        raise TypeError(
            f"Gradient type {dy.dtype.name} generated for {kind}-valued tensor {y.name!r} with "
            f"type {dtype.name} must be {wanted}"
        )
    if not shapes.compatible(y.spec.shape, shapes.as_tuple(dy.shape)):
        if y.op.type == "Reshape" and _holds_as_many(y, dy):
            return reshape(dy, y.shape)  # TensorFlow's gradient of a reshape takes any shape
        raise ValueError(f"grad_ys[{i}] has shape {dy.shape}, but {y.name!r} has shape {y.shape}")
    return dy


def _holds_as_many(y: Tensor, dy: Gradient) -> bool:
    wanted, found = y.shape.num_elements(), dy.shape.num_elements()
    return wanted is not None and wanted == found and isinstance(dy, Tensor)


def _as_list(values: Any) -> list[Any]:
    if values is None:
        return []
    return list(values) if isinstance(values, list | tuple) else [values]


def _value_of(y: Any) -> Tensor:
    return convert_to_tensor(y.values if isinstance(y, IndexedSlices) else y)


def _element_of(x: Any) -> Tensor:
    """Return the tensor at which the gradient of `x` gathers: of a variable, its handle."""
    if isinstance(x, IndexedSlices):
        x = x.values
    return x._as_graph_element() if hasattr(x, "_as_graph_element") else convert_to_tensor(x)
