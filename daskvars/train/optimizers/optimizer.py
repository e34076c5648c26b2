"""Optimizer: gradients in, updates of variables out.

`minimize` is `compute_gradients` followed by `apply_gradients`. The latter is a template, whose
steps a subclass fills in: `_create_slots`, `_prepare`, `_apply_dense` and `_apply_sparse` per
variable, `_finish`. `daskvars.train.optimizers.update_rule` fills in all but the formula.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from daskvars import shapes
from daskvars.backpropagation import gradients, why_none
from daskvars.dtypes import DType, bfloat16, float16, float32, float64
from daskvars.errors import enumerated
from daskvars.execution.tape import GradientTape
from daskvars.graph.by_identity import ByVariable
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.indexed_slices import Gradient, IndexedSlices
from daskvars.graph.interpreter import builder_for
from daskvars.graph.scopes.collections import GraphKeys
from daskvars.graph.scopes.name_scope import entered_graph
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.ops.array.reshaping import ensure_shape
from daskvars.ops.control.dependencies import control_dependencies, group
from daskvars.ops.gather_scatter.gather import deduplicate
from daskvars.ops.state.assign import assign_add, reading_newest
from daskvars.surface.accepted import accepts
from daskvars.surface.one_line import ShownByArguments
from daskvars.train.optimizers import slots
from daskvars.variables import colocation
from daskvars.variables.colocation import owner
from daskvars.variables.tracking import Trackable
from daskvars.variables.variable import Variable

LOSS_OF_EAGER = (
    "`loss` passed to Optimizer.compute_gradients should be a function when eager execution is "
    "enabled: it is called where its gradients are recorded. Write minimize(lambda: loss_of(x)), "
    "with all of the model's computation inside."
)
EAGER_CAUSES = (
    "what the function returns must be computed from them by ops with a gradient; argmax, "
    "comparisons, casts to integers, stop_gradient and numpy() end it"
)
_PACKAGE = __name__.partition(".")[0] + "."
GradsAndVars = Iterable[tuple[Gradient | None, Variable]]


@accepts("use_locking")
class Optimizer(Trackable, ShownByArguments):
    """Base of all optimizers.

    Args:
      name: name of the operations and slots.

    Raises:
      ValueError: `name` is empty.

    Source: TensorFlow 1.15, ``tf.train.Optimizer``.

    >>> v = dv.Variable([1.0, 2.0])
    >>> optimizer = dv.train.GradientDescentOptimizer(0.5)
    >>> pairs = optimizer.compute_gradients(lambda: dv.reduce_sum(v * v), [v])
    >>> optimizer.apply_gradients([(dv.clip_by_norm(g, 2.0), w) for g, w in pairs])
    >>> [round(x, 4) for x in v.numpy().tolist()]
    [0.5528, 1.1056]
    """

    _always_shown = ("learning_rate",)
    # What is waited for before gradients are used. Runs have no races, so that all are one.
    GATE_NONE = 0
    GATE_OP = 1
    GATE_GRAPH = 2

    def __init__(self, use_locking: bool, name: str) -> None:
        if not name:
            raise ValueError("Must specify the optimizer name")
        self._use_locking = use_locking
        self._name = name
        self._slots: dict[str, dict[Any, Variable]] = {}
        self._non_slot_dict: dict[tuple[str, Any], Variable] = {}

    def __setattr__(self, name: str, value: Any) -> None:
        # No optimizer of this package would look at it; a program's own may, and one of
        # TensorFlow 1 may keep there for itself what it has given.
        is_rate = name in ("learning_rate", "lr")
        if is_rate and type(self).__module__.startswith(_PACKAGE) and builder_for(()).is_eager:
            raise AttributeError(
                f"the learning rate of {type(self).__name__} is what it was given: give it a "
                "variable, as in rate = dv.Variable(0.1, trainable=False), and change that by "
                "rate.assign(0.01); or a function that returns the rate"
            )
        super().__setattr__(name, value)

    def get_name(self) -> str:
        """Return the name."""
        return self._name

    def build(self, var_list: Variable | Iterable[Any] | None = None) -> None:
        """Make the slots of variables, and the optimizer's other variables, before they are used.

        `apply_gradients` makes those that are missing. In eager code that is too late for a
        restore of what an optimizer kept; in a graph, for an initializer that was made before.

        Args:
          var_list: the Variables to be trained, by default those in ``TRAINABLE_VARIABLES``.

        Raises:
          ValueError: there are no variables.

        >>> w = dv.Variable([1.0, 2.0], name="w")
        >>> optimizer = dv.train.MomentumOptimizer(0.1, 0.9)
        >>> optimizer.build([w])
        >>> [v.shape.as_list() for v in optimizer.variables()]
        [[2]]
        """
        variables = _chosen(var_list)
        with entered_graph(builder_for(tuple(variables))):
            self._create_slots(variables)
        self._resume_restores()

    # -- the two halves ---------------------------------------------------------------------

    def minimize(
        self,
        loss: Tensor | Callable[[], Tensor],
        global_step: Variable | None = None,
        var_list: Variable | Iterable[Any] | None = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: int | None = None,
        colocate_gradients_with_ops: bool = False,
        name: str | None = None,
        grad_loss: TensorLike | None = None,
    ) -> Operation | None:
        """Add operations that change variables so as to make `loss` smaller.

        Args:
          loss: a tensor, floating; in the eager program a function that returns one.
          global_step: a scalar integer Variable to add one to.
          var_list: the Variables to change, by default those in ``TRAINABLE_VARIABLES``.
          gate_gradients: one of the ``GATE_`` constants.
          aggregation_method: see `gradients`.
          colocate_gradients_with_ops: see `gradients`.
          name: name of the operation, by default the optimizer's.
          grad_loss: the gradient of the loss, by default one.

        Returns:
          The Operation that does one step; None in the eager program, where it is done.

        Raises:
          ValueError: there is nothing to train, or the loss depends on none of it.
          RuntimeError: the loss is an eager tensor, whose past is not kept: give a function.

        >>> v = dv.Variable(1.0)
        >>> dv.train.GradientDescentOptimizer(0.25).minimize(lambda: v * v, var_list=[v])
        >>> float(v)
        0.5
        """
        if isinstance(loss, Tensor) and loss.graph is None:
            raise RuntimeError(LOSS_OF_EAGER)
        grads_and_vars = self.compute_gradients(  # by name: subclasses take the rest as **kwargs
            loss,
            var_list=var_list,
            gate_gradients=gate_gradients,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
            grad_loss=grad_loss,
        )
        if all(gradient is None for gradient, _ in grads_and_vars):
            variables = [v for _, v in grads_and_vars]
            cause = why_none(loss, variables) if isinstance(loss, Tensor) else EAGER_CAUSES
            raise ValueError(
                "No gradients provided for any variable, check your graph for ops that do not "
                f"support gradients, between variables {[str(v) for v in variables]} and "
                f"loss {loss}: {cause}."
            )
        return self.apply_gradients(grads_and_vars, global_step=global_step, name=name)

    def compute_gradients(
        self,
        loss: Tensor | Callable[[], Tensor],
        var_list: Variable | Iterable[Any] | None = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: int | None = None,
        colocate_gradients_with_ops: bool = False,
        grad_loss: TensorLike | None = None,
    ) -> list[tuple[Gradient | None, Variable]]:
        """Return (gradient, variable) for each variable. See `minimize`.

        Raises:
          RuntimeError: `loss` is a tensor of the eager program.
          ValueError: there are no variables, or something has a dtype that cannot be trained.
        """
        if gate_gradients not in (self.GATE_NONE, self.GATE_OP, self.GATE_GRAPH):
            raise ValueError(
                "gate_gradients must be one of: Optimizer.GATE_NONE, Optimizer.GATE_OP, "
                f"Optimizer.GATE_GRAPH, not {gate_gradients}"
            )
        if callable(loss):
            return self._traced_gradients(loss, var_list, grad_loss)
        builder = builder_for((loss,))
        if builder.is_eager:
            raise RuntimeError(LOSS_OF_EAGER)
        self._assert_valid_dtypes([loss] if grad_loss is None else [loss, grad_loss])
        with entered_graph(builder):
            variables = _chosen(var_list)
            found = gradients(
                loss,
                variables,
                grad_ys=grad_loss,
                aggregation_method=aggregation_method,
                gate_gradients=gate_gradients == self.GATE_OP,
                colocate_gradients_with_ops=colocate_gradients_with_ops,
            )
        pairs = list(zip(found, variables, strict=True))
        self._assert_valid_dtypes([v for gradient, v in pairs if gradient is not None])
        return pairs

    def _traced_gradients(
        self, loss: Callable[[], Tensor], var_list: Variable | Iterable[Any] | None, grad_loss: Any
    ) -> list[tuple[Gradient | None, Variable]]:
        with GradientTape() as tape:
            tape.watch(() if var_list is None else _chosen(var_list))
            value = loss()
        variables = _chosen(var_list)
        if var_list is None:  # a counter that nobody said was not to be trained is none of them
            kinds = [(v, v.dtype.base_dtype) for v in variables]
            variables = [v for v, of in kinds if of.is_floating or of.is_complex] or variables
        pairs = list(zip(tape.gradient(value, variables, grad_loss), variables, strict=True))
        # By default those are trained that the loss depends on, of all that the program has.
        used = [pair for pair in pairs if pair[0] is not None] if var_list is None else pairs
        return used or pairs

    def apply_gradients(
        self,
        grads_and_vars: GradsAndVars,
        global_step: Variable | None = None,
        name: str | None = None,
    ) -> Operation | None:
        """Add operations that apply gradients to variables.

        Args:
          grads_and_vars: pairs as `compute_gradients` returns them; a None gradient is left out.
          global_step: a scalar integer Variable to add one to.
          name: name of the operation, by default the optimizer's.

        Returns:
          The Operation that does one step; None in the eager program, where it is done.

        Raises:
          TypeError: a gradient is no tensor, nor can it become one; `global_step` is no Variable.
          ValueError: there are no variables, or no gradient, or a graph is to change variables of
            the eager program.
        """
        pairs = _checked(grads_and_vars)
        if global_step is not None and not isinstance(global_step, Variable | Tensor):
            raise TypeError(
                f"global_step must be a scalar integer Variable, as get_or_create_global_step() "
                f"makes it; found {global_step!r}"
            )
        variables = [v for gradient, v in pairs if gradient is not None]
        builder = builder_for((*(g for g, _ in pairs if g is not None), *variables))
        _check_graph(variables, builder, self._name)
        with entered_graph(builder):
            self._create_slots(variables)
            self._resume_restores()
            with builder.name_scope(name or self._name) as scope, reading_newest():
                self._prepare()
                updates = [self._update(g, v, builder) for g, v in pairs if g is not None]
                step = self._finished(updates, global_step, scope)
        if builder.is_eager:
            return None
        train_ops = builder.get_collection_ref(GraphKeys.TRAIN_OP)
        if step not in train_ops and builder is owner():  # no op of a function's or branch's body
            train_ops.append(step)
        return step

    def _update(self, gradient: Any, variable: Variable, builder: Any) -> Any:
        if not isinstance(variable, Variable):
            raise NotImplementedError(f"Trying to update a Tensor: {variable}. Give a Variable.")
        is_sparse = isinstance(gradient, IndexedSlices)
        _check_shape(gradient, variable)
        if is_sparse and variable.constraint is not None:
            raise RuntimeError("Cannot use a constraint function on a sparse variable.")
        with builder.name_scope("update_" + variable.op.name), colocation.colocate_with(variable):
            if is_sparse:
                return self._apply_sparse_duplicate_indices(gradient, variable)
            if not shapes.is_known(gradient.spec.shape):
                gradient = ensure_shape(gradient, variable.handle.spec.shape)
            update = self._apply_dense(gradient, variable)
            if variable.constraint is None:
                return update
            with control_dependencies([update]):
                return variable.assign(variable.constraint(variable.read_value()))

    def _finished(self, updates: list[Any], global_step: Variable | None, scope: str) -> Operation:
        if global_step is None:
            step: Any = self._finish(updates, scope)
            return step.op if isinstance(step, Tensor) else step
        finished = [self._finish(updates, "update")]
        with control_dependencies(finished), colocation.colocate_with(global_step):
            return assign_add(global_step, 1, name=scope).op

    # -- slots ------------------------------------------------------------------------------

    def get_slot(self, var: Variable, name: str) -> Variable | None:
        """Return the slot `name` of `var`, None where there is none."""
        return self._slots.get(name, {}).get(_key(var))

    def _made_slot(self, var: Variable, name: str) -> Variable:
        """Return a slot of `var` that `_create_slots` has made."""
        return self._slots[name][_key(var)]

    def get_slot_names(self) -> list[str]:
        """Return the names of the slots, sorted."""
        return sorted(self._slots)

    def variables(self) -> list[Variable]:
        """Return the optimizer's own variables in the present graph, sorted by name."""
        graph = self._graph_of_variables()
        found = list(self._non_slot_dict.values())
        for by_variable in self._slots.values():
            found.extend(by_variable.values())
        return sorted((v for v in found if _key(v).graph is graph), key=lambda v: v.name)

    def _tracked_children(self) -> dict[str, Any]:
        graph = self._graph_of_variables()
        return {name: v for (name, of), v in self._non_slot_dict.items() if of is graph}

    def _tracked_slots(self) -> Iterator[tuple[Operation, str, Variable]]:
        for name, by_variable in sorted(self._slots.items()):
            for op, slot in by_variable.items():
                yield op, name, slot

    def _graph_of_variables(self) -> Any:
        """Return the graph (None: the eager program) that variables made now belong to."""
        return owner().graph

    def _slot_dict(self, slot_name: str) -> dict[Any, Variable]:
        return self._slots.setdefault(slot_name, ByVariable())

    def _get_or_make_slot(
        self, var: Variable, val: Tensor, slot_name: str, op_name: str
    ) -> Variable:
        """Return the slot of `var`, made with the value `val` if need be."""
        return self._slot(var, slot_name, lambda: slots.create_slot(var, val, op_name))

    def _get_or_make_slot_with_initializer(
        self, var: Variable, initializer: Any, shape: Any, dtype: Any, slot_name: str, op_name: str
    ) -> Variable:
        """Return the slot of `var`, made with an initializer if need be."""

        def make() -> Variable:
            return slots.create_slot_with_initializer(var, initializer, shape, dtype, op_name)

        return self._slot(var, slot_name, make)

    def _zeros_slot(self, var: Variable, slot_name: str, op_name: str) -> Variable:
        """Return the slot of `var`, made of zeros if need be."""
        return self._slot(var, slot_name, lambda: slots.create_zeros_slot(var, op_name))

    def _slot(self, var: Variable, slot_name: str, make: Callable[[], Variable]) -> Variable:
        named = self._slot_dict(slot_name)
        key = _key(var)
        if key not in named:
            with colocation.colocate_with(var):
                named[key] = make()
        return named[key]

    def _create_non_slot_variable(
        self, initial_value: Any, name: str, colocate_with: Variable
    ) -> Variable:
        """Return the variable `name` that belongs to the optimizer as a whole, made if need be."""
        key = (name, _key(colocate_with).graph)
        if key not in self._non_slot_dict:
            with colocation.colocate_with(colocate_with):
                self._non_slot_dict[key] = Variable(initial_value, name=name, trainable=False)
        return self._non_slot_dict[key]

    def _get_non_slot_variable(self, name: str, graph: Any = None) -> Variable | None:
        return self._non_slot_dict.get((name, graph))

    def _non_slot_variables(self) -> Iterable[Variable]:
        return self._non_slot_dict.values()

    # -- what subclasses fill in ------------------------------------------------------------

    def _valid_dtypes(self) -> set[DType]:
        return {float16, bfloat16, float32, float64}

    def _assert_valid_dtypes(self, tensors: Iterable[Any]) -> None:
        valid = self._valid_dtypes()
        for tensor in tensors:
            if tensor.dtype.base_dtype not in valid:
                raise ValueError(
                    f"Invalid type {tensor.dtype.base_dtype!r} for {tensor.name}, expected: "
                    f"{sorted(valid, key=str)}."
                )

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        """Make the slots for `var_list`."""

    def _prepare(self) -> None:
        """Make the tensors that all updates share, such as the learning rate."""

    def _apply_dense(self, grad: Tensor, var: Variable) -> Any:
        """Return the update of `var` for a dense gradient."""
        return self._resource_apply_dense(grad, var)

    def _resource_apply_dense(self, grad: Tensor, handle: Variable) -> Any:
        """Do as `_apply_dense`: for optimizers written for TensorFlow's resource variables."""
        raise NotImplementedError(f"{type(self).__name__} has no _apply_dense")

    def _apply_sparse_duplicate_indices(self, grad: IndexedSlices, var: Variable) -> Any:
        """Return the update of `var` for a sparse gradient in which an index may repeat."""
        return self._resource_apply_sparse_duplicate_indices(grad.values, var, grad.indices)

    def _resource_apply_sparse_duplicate_indices(
        self, grad: Tensor, handle: Variable, indices: Tensor
    ) -> Any:
        summed, unique = deduplicate(grad, indices)
        known = handle.shape.as_list() if handle.shape.is_fully_defined() else None
        shape = None if known is None else convert_to_tensor(known, name="dense_shape")
        return self._apply_sparse(IndexedSlices(summed, unique, shape), handle)

    def _apply_sparse(self, grad: IndexedSlices, var: Variable) -> Any:
        """Return the update of `var` for a sparse gradient of distinct indices."""
        return self._resource_apply_sparse(grad.values, var, grad.indices)

    def _resource_apply_sparse(self, grad: Tensor, handle: Variable, indices: Tensor) -> Any:
        """Do as `_apply_sparse`: for optimizers written for TensorFlow's resource variables."""
        raise NotImplementedError(f"{type(self).__name__} has no _apply_sparse")

    def _finish(self, update_ops: list[Any], name_scope: str) -> Operation:
        """Return an operation, named `name_scope`, that does all updates."""
        return group(*update_ops, name=name_scope)

    def _call_if_callable(self, param: Any) -> Any:
        return param() if callable(param) else param

    def _hyperparameter(self, value: Any, name: str) -> Tensor:
        """Return a number, tensor, Variable or a callable that gives one as a floating scalar."""
        value = self._call_if_callable(value)
        if value is None or isinstance(value, str | bytes):
            raise TypeError(
                f"{name} of {type(self).__name__} must be a number, a floating scalar tensor or a "
                f"callable that gives one; found {value!r}."
            )
        found = convert_to_tensor(float(value) if isinstance(value, int) else value, name=name)
        if found.shape.ndims:
            raise ValueError(
                f"{name} of {type(self).__name__} must be one number for all variables; found a "
                f"tensor of shape {found.shape}"
            )
        return found


def _check_shape(gradient: Gradient, variable: Variable) -> None:
    """Refuse a gradient that would be spread over its variable, as sums are."""
    wanted = variable.handle.spec.shape
    if isinstance(gradient, IndexedSlices):
        found = shapes.as_tuple(gradient.shape)
    else:
        found = gradient.spec.shape
    if not shapes.compatible(wanted, found):
        raise ValueError(
            f"the gradient for variable {variable.name!r} of shape {wanted} has shape {found}: "
            "gradients and variables are paired in one order, as in "
            "zip(tape.gradient(loss, variables), variables)"
        )


def _key(variable: Variable) -> Operation:
    """Return what stays the same of a variable however often it is wrapped: its operation."""
    return variable.op


def _chosen(var_list: Any) -> list[Variable]:
    """Return the variables to train: those listed, by default all that are trainable."""
    if var_list is None:
        var_list = owner().get_collection(GraphKeys.TRAINABLE_VARIABLES)
    variables = _flattened(var_list)
    if not variables:
        raise ValueError("No variables to optimize.")
    return variables


def _flattened(var_list: Any) -> list[Any]:
    """Return the variables of nested containers; a single one counts as a list of it."""
    if isinstance(var_list, dict):
        var_list = var_list.values()
    elif isinstance(var_list, Variable | Tensor):
        return [var_list]
    if not isinstance(var_list, Iterable) or isinstance(var_list, str | bytes):
        raise TypeError(
            f"var_list: expected Variables, found {var_list!r} of type {type(var_list).__name__}. "
            "Give the variables themselves, as trainable_variables() lists them."
        )
    return [variable for item in var_list for variable in _flattened(item)]


def checked_pair(pair: Any) -> tuple[Any, Any]:
    """Return a gradient and its variable; raise TypeError for anything else."""
    wanted = "apply_gradients takes pairs (gradient, variable), as compute_gradients gives them"
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise TypeError(f"{wanted}; found {pair!r}. Write zip(gradients, variables).")
    gradient, variable = pair
    if isinstance(gradient, Variable) and not isinstance(variable, Variable):
        raise TypeError(
            f"{wanted}; found the variable {gradient.name!r} in the place of the gradient. "
            "Swap the two: zip(gradients, variables)."
        )
    return gradient, variable


def _check_graph(variables: Sequence[Any], builder: Any, optimizer: str) -> None:
    """Refuse to make a graph's operations that change variables of the eager program."""
    if not builder.is_plain:
        return
    eager = [variable.name for variable in variables if getattr(variable, "graph", 0) is None]
    if eager:
        raise ValueError(
            f"{optimizer} makes its step in a graph, as daskvars.v1 does without "
            f"enable_eager_execution(), but is to change variables of the eager program: "
            f"{enumerated(eager)}. Use the optimizers of daskvars.train"
        )


def _checked(grads_and_vars: GradsAndVars) -> list[tuple[Gradient | None, Variable]]:
    pairs = []
    for pair in grads_and_vars:
        gradient, variable = checked_pair(pair)
        if gradient is not None and not isinstance(gradient, Tensor | IndexedSlices):
            try:
                gradient = convert_to_tensor(gradient, dtype=variable.dtype.base_dtype)
            except (TypeError, ValueError) as error:
                raise TypeError(
                    f"Gradient must be convertible to a Tensor or IndexedSlices, or None: "
                    f"{gradient!r}"
                ) from error
        pairs.append((gradient, variable))
    if not pairs:
        raise ValueError("No variables provided.")
    if all(gradient is None for gradient, _ in pairs):
        raise ValueError(f"No gradients provided for any variable: {[str(v) for _, v in pairs]}.")
    return pairs
