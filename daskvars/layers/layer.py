"""Layer: variables made once, by name under a scope of its own, and a function of them."""

from __future__ import annotations

import copy
import inspect
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, ClassVar

import numpy
from numpy.typing import NDArray

from daskvars.chunk_grid import ChunksLike
from daskvars.dtypes import DTypeLike, as_dtype, float32
from daskvars.errors import did_you_mean
from daskvars.graph import nest
from daskvars.graph.by_identity import is_among
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.interpreter import builder_for
from daskvars.graph.scopes.collections import GraphKeys
from daskvars.graph.scopes.name_scope import entered_graph
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.layers.by_name import constraint_of, initializer_of, regularizer_of
from daskvars.layers.input_spec import check_inputs
from daskvars.layers.layer_losses import LayerLosses, collect
from daskvars.shapes import ShapeLike
from daskvars.surface.forwarding import forwards
from daskvars.surface.one_line import ShownByArguments
from daskvars.variables.colocation import building_in, colocate_with, owner
from daskvars.variables.initializers import InitializerLike
from daskvars.variables.partitions.partitioned_variable import PartitionedVariable, parts_of
from daskvars.variables.scopes.variable_scope import VariableScope, get_variable, variable_scope
from daskvars.variables.scopes.variable_store import default_store
from daskvars.variables.synchronization import (
    VariableAggregation,
    VariableSynchronization,
    resolved_trainable,
)
from daskvars.variables.tracking import identity, once
from daskvars.variables.variable import Variable

_OF_A_GRAPH = Tensor | Variable | PartitionedVariable
_SET_BY_BUILDING = (
    *("_trainable_weights", "_non_trainable_weights", "_weights_by_name", "_regularizers"),
    *("_dtype", "_dtype_is_inputs", "built"),
)
_training: ContextVar[Any] = ContextVar("training", default=None)  # of the layer that calls others


class Layer(ShownByArguments, LayerLosses):
    """What all layers are: a subclass makes its variables in `build` and computes in `call`.

    The variables are made by the first call, under a variable scope named after the layer, which
    is made unique. Later calls share them. In eager code they go when the layer does: a layer that
    is made again, as by a notebook cell, leaves nothing of the one before in
    `trainable_variables()`, and it warns if that one is still held somewhere.

    A layer may be made of others: what layers and variables are attributes of it, also in lists,
    tuples and dicts, is its own. Its variables, losses and updates are followed by theirs, and
    setting `trainable` sets it for all of them. One whose `call` takes ``training``, and is not
    given it, has that of the layer that calls it.

    Args:
      trainable: whether its variables are trained by default.
      name: its name, by default that of the class in snake case. In place of the name, a
        `VariableScope` may be given.
      dtype: dtype of its variables, by default that of the first input.
      activity_regularizer: function of the output that gives a loss.
      **kwargs: `_scope`, a name or scope that holds the variables as it is; `_reuse`, whether they
        exist already (True, AUTO_REUSE).

    Raises:
      TypeError: there are other arguments.

    >>> class Scale(dv.layers.Layer):
    ...     def build(self, input_shape):
    ...         self.factor = self.add_weight("factor", [], initializer=dv.ones_initializer())
    ...         super().build(input_shape)
    ...     def call(self, inputs):
    ...         return inputs * self.factor
    >>> scale = Scale(name="scale")
    >>> scale([1.0, 2.0]).numpy().tolist(), [v.name for v in scale.variables]
    ([1.0, 2.0], ['scale/factor:0'])
    >>> class Network(dv.layers.Layer):
    ...     def __init__(self):
    ...         super().__init__(name="network")
    ...         self.layers = [dv.layers.Dense(4, use_bias=False), Scale()]
    ...     def call(self, inputs):
    ...         for layer in self.layers:
    ...             inputs = layer(inputs)
    ...         return inputs
    >>> network = Network()
    >>> network([[1.0, 2.0]]).shape.as_list(), [v.name for v in network.trainable_variables]
    ([1, 4], ['network/dense/kernel:0', 'network/scale/factor:0'])
    """

    floating_inputs: ClassVar[bool] = False
    """Whether the inputs must be floating or complex: those that weights are multiplied with."""

    _untracked = frozenset(
        {
            *("_trainable_weights", "_non_trainable_weights", "_weights_by_name"),
            *("_losses", "_updates", "_unconditional", "_regularizers"),
        }
    )

    def __init__(
        self,
        trainable: bool = True,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        activity_regularizer: Callable[[Any], Any] | None = None,
        **kwargs: Any,
    ) -> None:
        unknown = set(kwargs) - {"_scope", "_reuse"}
        if unknown:
            name = sorted(unknown)[0]
            hint = did_you_mean(name, inspect.signature(type(self)).parameters)
            raise TypeError(
                f"Keyword argument not understood: {name!r} of {type(self).__name__}{hint}"
            )
        super().__init__()
        self._trainable = trainable
        self.built = False
        self.input_spec: Any = None
        self.activity_regularizer = activity_regularizer
        self._trainable_weights: list[Any] = []
        self._non_trainable_weights: list[Any] = []
        self._dtype = None if dtype is None else as_dtype(dtype).base_dtype
        self._dtype_is_inputs = False
        self._reuse = kwargs.get("_reuse")
        self._is_functional = "_reuse" in kwargs  # nobody will hold it, but its variables
        self._program = owner()
        parameters = inspect.signature(self.call).parameters
        self._call_takes_scope = "scope" in parameters
        self._training_place = list(parameters).index("training") if "training" in parameters else 0
        self._training_default = parameters["training"].default if self._training_place else None
        class_name = _snake_case(type(self).__name__)
        given = name.name if isinstance(name, VariableScope) else name
        self._base_name = given or class_name
        self._weights_by_name: dict[str, Any] = {}
        self._is_building = False
        self._is_named = given is not None
        self._name = given or _unique_name(class_name)
        self._scope: VariableScope | None = None
        scope = kwargs.get("_scope")
        if scope:
            with variable_scope(scope) as self._scope:
                pass

    # -- what it is ---------------------------------------------------------------------------

    name: str = forwards(
        "_name",
        "The name given, or the class's with a number. `scope_name` is that of the variables.",
    )

    @property
    def dtype(self) -> str | None:
        """The name of the dtype of the variables, None before it is known."""
        return None if self._dtype is None else self._dtype.name

    @property
    def scope_name(self) -> str:
        """The name of the variable scope. Raises ValueError before the first call."""
        if self._scope is None:
            raise ValueError(
                f"No name available for layer scope because the layer {self._name!r} has not been "
                "used yet. The scope name is determined the first time the layer is called."
            )
        return self._scope.name

    @property
    def trainable_weights(self) -> list[Any]:
        """The variables to train, its own before those of layers inside.

        There are none if the layer is not trainable, and none of a layer inside that is not.
        """
        return self._trained_weights()

    @property
    def non_trainable_weights(self) -> list[Any]:
        """All other variables."""
        trained = set(map(identity, self._trained_weights()))
        found: list[Any] = []
        for layer, held in self._walked(lambda layer: layer is self or not _says_weights(layer)):
            if layer is not self and _says_weights(layer):
                found += layer.weights
            else:
                found += [w for part in layer._own_weights(held) for w in part]
        return [w for w in once(found) if identity(w) not in trained]

    def _trained_weights(self) -> list[Any]:
        found: list[Any] = []

        def enters(layer: Any) -> bool:
            return layer.trainable and (layer is self or not _says_weights(layer))

        for layer, held in self._walked(enters):
            if layer is not self and _says_weights(layer):
                found += layer.trainable_weights
            elif layer.trainable:
                found += layer._own_weights(held)[0]
        return once(found)

    def _own_weights(self, held: list[Any]) -> tuple[list[Any], list[Any]]:
        """Return the variables to train and the others that are not those of layers inside.

        Args:
          held: the variables that are attributes.
        """
        trained, rest = list(self._trainable_weights), list(self._non_trainable_weights)
        known = set(map(identity, trained + rest))
        for variable in (part for whole in held for part in parts_of(whole)):
            if identity(variable) not in known:
                (trained if getattr(variable, "trainable", False) else rest).append(variable)
        return trained, rest

    def _has_made(self, variable: Any) -> bool:
        made = self._trainable_weights + self._non_trainable_weights
        return is_among(parts_of(variable)[0], made)

    @property
    def weights(self) -> list[Any]:
        """All variables, those to train first."""
        return once(self.trainable_weights + self.non_trainable_weights)

    trainable_variables: list[Any] = forwards(
        "trainable_weights", "The variables to train; none if the layer is not trainable."
    )
    non_trainable_variables: list[Any] = forwards("non_trainable_weights", "All other variables.")
    variables: list[Any] = forwards("weights", "All variables, those to train first.")

    def count_params(self) -> int:
        """Return the number of elements of all variables. Raises ValueError before `build`."""
        if not self.built:
            raise ValueError(
                f"You tried to call `count_params` on {self._name}, but the layer isn't built. "
                "Call it on an input, or its `build` with the shape of one."
            )
        return sum(int(numpy.prod(w.get_shape().as_list(), dtype=int)) for w in self.weights)

    def get_weights(self) -> list[NDArray[Any]]:
        """Return the values of all variables, in a graph those of the default session.

        Source: TensorFlow 1.15, ``tf.keras.layers.Layer.get_weights``.

        >>> dense = dv.layers.Dense(1, kernel_initializer=dv.ones_initializer())
        >>> outputs = dense([[3.0, 4.0]])
        >>> [w.tolist() for w in dense.get_weights()]
        [[[1.0], [1.0]], [0.0]]
        """
        return [variable.eval() for variable in self.weights]

    def set_weights(self, weights: Sequence[Any]) -> None:
        """Set all variables, in a graph those of the default session.

        Args:
          weights: an array for each of `weights`, in their order.

        Raises:
          ValueError: there are more or fewer, or one has another shape; none is set then.

        Source: TensorFlow 1.15, ``tf.keras.layers.Layer.set_weights``.
        """
        wanted = [tuple(variable.get_shape()) for variable in self.weights]
        found = [numpy.shape(value) for value in weights]
        if wanted != found:
            raise ValueError(
                f"set_weights() of {self._name} takes arrays of shapes {wanted}, found {found}"
            )
        for variable, value in zip(self.weights, weights, strict=True):
            variable.load(value)

    def compute_output_shape(self, input_shape: ShapeLike) -> Any:
        """Return the shape of the output for an input of that shape.

        Raises:
          NotImplementedError: the class does not say.
        """
        raise NotImplementedError(f"{type(self).__name__} does not say its output shape")

    # -- variables ----------------------------------------------------------------------------

    def add_weight(
        self,
        name: str,
        shape: ShapeLike,
        dtype: DTypeLike | None = None,
        initializer: InitializerLike | str | None = None,
        regularizer: Callable[[Any], Any] | str | None = None,
        trainable: bool | None = None,
        constraint: Callable[[Any], Any] | str | None = None,
        use_resource: bool | None = None,
        synchronization: VariableSynchronization | None = None,
        aggregation: VariableAggregation | None = None,
        partitioner: Callable[..., Any] | None = None,
        chunks: ChunksLike | None = None,
    ) -> Any:
        """Make a variable of the layer, or share it where the layer shares, and return it.

        Args:
          name: name under the layer's scope.
          dtype: by default the layer's, else float32.
          trainable: whether it is one of the trainable ones, if the layer is trainable.
          initializer, regularizer, constraint: see `get_variable`; or the name of one, as Keras has
            them: "he_normal", "l2", "non_neg".
          shape, use_resource, synchronization, aggregation, partitioner, chunks: see
            `get_variable`.

        Raises:
          TypeError: it would have the dtype of the layer's input, which is not floating.
          ValueError: the layer is built and has no such variable; or it is to be trained, though
            synchronized ``ON_READ``.
        """
        if dtype is None and self._dtype_is_inputs:
            _check_floating(
                self._dtype,
                f"Weight {name!r} of layer {self._name!r}, which has the dtype of "
                "the layer's input,",
                "give the weight a dtype, or cast the input",
            )
        if trainable and synchronization is VariableSynchronization.ON_READ:
            raise ValueError(
                "Synchronization value can be set to VariableSynchronization.ON_READ only for "
                "non-trainable variables. You have specified trainable=True and "
                "synchronization=VariableSynchronization.ON_READ."
            )
        penalty = regularizer_of(regularizer)
        trainable = resolved_trainable(trainable, synchronization)
        program = owner()
        before = program.version
        self._set_scope(None)
        make: Callable[..., Any] = get_variable  # of either result, with a partitioner or without
        with self._entered(self.built or self._reuse):
            variable = make(
                name,
                shape,
                as_dtype(dtype or self._dtype or float32),
                initializer_of(initializer),
                trainable=trainable and self.trainable,
                constraint=constraint_of(constraint),
                use_resource=use_resource,
                synchronization=synchronization,
                aggregation=aggregation,
                partitioner=partitioner,
                chunks=chunks,
            )
        if self._has_made(variable):
            return variable
        if program.is_eager and not self._is_functional:
            default_store(program).forget(variable)
        parts = parts_of(variable)
        if penalty is not None and parts[0].op.id >= before:  # shared ones have their loss
            for part in parts:
                self._regularize(name, part, penalty)
        # A custom getter may have made it otherwise than asked for.
        is_trained = trainable and (getattr(parts[0], "trainable", False) or not self.trainable)
        return self._added(name, variable, is_trained)

    def _keep(self, variable: Any, is_trained: bool) -> None:
        kept = self._trainable_weights if is_trained else self._non_trainable_weights
        kept.extend(parts_of(variable))

    def _added(self, name: str, variable: Any, is_trained: bool) -> Any:
        self._keep(variable, is_trained)
        self._weights_by_name[name] = variable
        if not self._is_building:
            self._resume_restores()
        return variable

    def add_variable(self, name: str, shape: ShapeLike, *args: Any, **kwargs: Any) -> Any:
        """Make a variable; the older name of `add_weight`."""
        return self.add_weight(name, shape, *args, **kwargs)

    def _regularize(self, name: str, variable: Variable, regularizer: Callable[[Any], Any]) -> None:
        program = owner()
        if program.is_eager:
            self._regularizers.append(partial(regularizer, variable))  # which a copy of it copies
            return
        scope = f"{self.scope_name}/{name}/Regularizer/"
        with building_in(program), colocate_with(variable), program.name_scope(scope):
            loss = regularizer(variable)
        if loss is not None:
            self.add_loss(loss)

    def _set_scope(self, scope: Any) -> VariableScope:
        """Return the scope of the variables, opened once by the name that `scope` gives."""
        if self._scope is not None:
            return self._scope
        if self._reuse:
            opened = variable_scope(self._base_name if scope is None else scope)
        else:
            opened = variable_scope(scope, default_name=self._base_name)
        with opened as found:
            self._scope = found
        if self._is_named and not self._is_functional and owner().is_eager:
            self._warn_of_namesakes()
        return found

    def _warn_of_namesakes(self) -> None:
        """Warn where a layer of that name, which this one is perhaps to replace, has weights."""
        parent = self.scope_name.rpartition("/")[0]
        full = f"{parent}/{self._base_name}" if parent else self._base_name
        alike = f"{re.escape(full)}(_\\d+)?/"
        trained = owner().get_collection(GraphKeys.TRAINABLE_VARIABLES, alike)
        if full != self.scope_name and trained:
            names = ", ".join([v.name for v in trained])
            warnings.warn(
                f"There is a layer {self._base_name!r} already: the variables of the new one are "
                f"under {self.scope_name!r}, and {names} stay in trainable_variables() while "
                "something holds them. If this is a notebook cell run again, call "
                "daskvars.reset() first; else give the layer another name.",
                stacklevel=2,
            )

    @contextmanager
    def _entered(self, reuse: Any) -> Iterator[VariableScope]:
        """Open the layer's variable scope, and the name scope that was first opened with it."""
        opened = variable_scope(self._scope, reuse=reuse, auxiliary_name_scope=False)
        with opened as scope, builder_for(()).name_scope(scope.original_name_scope or None):
            yield scope

    # -- calling ------------------------------------------------------------------------------

    def build(self, input_shape: ShapeLike) -> None:
        """Make the variables; called once, before the first `call`."""
        self.built = True

    def call(self, inputs: TensorLike, *args: Any, **kwargs: Any) -> Any:
        """Compute the output."""
        return inputs

    def __call__(self, inputs: TensorLike, *args: Any, **kwargs: Any) -> Any:
        """Return the output for `inputs`; further arguments are those of `call`.

        Raises:
          TypeError: an input is not floating, and has weights to be multiplied with.
          ValueError: an input does not fit `input_spec`, or belongs to another graph than the
            variables, or `call` returns None.
        """
        with entered_graph(builder_for(tuple(nest.flatten(inputs)))):
            inputs = _tensors(inputs)
            self._check_dtypes(inputs)
            self._check_program()
            if self._program.is_eager:
                self._losses = []  # of the last call
            self._set_scope(kwargs.pop("scope", None))
            with self._entered(True if self.built else self._reuse) as scope:
                if not self.built:
                    self._build_for(inputs)
                if self._call_takes_scope:
                    kwargs["scope"] = scope
                check_inputs(self.input_spec, inputs, self._name)
                token = _training.set(self._phase_of(args, kwargs))
                try:
                    outputs = self.call(inputs, *args, **kwargs)
                finally:
                    _training.reset(token)
                if outputs is None:
                    raise ValueError(
                        f"A layer's `call` method should return a Tensor or a list of Tensors, not "
                        f"None (layer: {self._name})."
                    )
                self._regularize_outputs(outputs, inputs)
            collect(GraphKeys.UPDATE_OPS, self._updates)
        return outputs

    def _phase_of(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the `training` of a call; where it is not given, that of the layer that calls this
        one, which becomes an argument of a `call` that takes it."""
        place = self._training_place
        if not place:
            return _training.get()
        if place <= len(args) and "training" not in kwargs:
            return args[place - 1]
        if kwargs.get("training") is None and _training.get() is not None:
            kwargs["training"] = _training.get()
        return kwargs.get("training", self._training_default)

    def apply(self, inputs: TensorLike, *args: Any, **kwargs: Any) -> Any:
        """Return the output for `inputs`, as calling the layer does."""
        return self(inputs, *args, **kwargs)

    def _check_dtypes(self, inputs: Any) -> None:
        if not self.floating_inputs:
            return
        named = f"layer {self._name!r} ({type(self).__name__})"
        if self._dtype is not None:
            _check_floating(
                self._dtype, f"The dtype of {named}", "give it a floating one, and cast its input"
            )
        for number, tensor in enumerate(nest.flatten(inputs)):
            _check_floating(
                getattr(tensor, "dtype", float32),
                f"Input {number} of {named}, which multiplies it with weights,",
                "cast it first",
            )

    def _check_program(self) -> None:
        program = owner()
        if program is not self._program and self.weights:
            raise ValueError(
                "Input graph and Layer graph are not the same: the variables of layer "
                f"{self._name} belong to another graph or to the "
                "eager program. Make a layer in each graph."
            )
        self._program = program

    def _build_for(self, inputs: Any) -> None:
        check_inputs(self.input_spec, inputs, self._name)
        before = {name: copy.copy(vars(self)[name]) for name in _SET_BY_BUILDING}
        tensors = nest.flatten(inputs)
        if self._dtype is None and tensors and hasattr(tensors[0], "dtype"):
            self._dtype = tensors[0].dtype.base_dtype
            self._dtype_is_inputs = True
        self._is_building = True
        try:
            self.build(nest.map_structure(_shape_of, inputs))
        except BaseException:
            if self._program.is_eager:  # what it has made stays in a graph, as all operations do
                made = set(self._weights_by_name) - set(before["_weights_by_name"])
                for name in made:
                    _drop(self._weights_by_name[name], self._program)
                vars(self).update(before)
            raise
        finally:
            self._is_building = False
        self.built = True
        self._resume_restores()

    def _tracked_children(self) -> dict[str, Any]:
        return self._weights_by_name | super()._tracked_children()

    def _resume_restores(self) -> None:
        for restore in self._restores:
            restore.resume(self, begins=True)

    def _regularize_outputs(self, outputs: Any, inputs: Any) -> None:
        if self.activity_regularizer is None:
            return
        for output in nest.flatten(outputs):
            with builder_for((output,)).name_scope("ActivityRegularizer"):
                loss = self.activity_regularizer(output)
            self.add_loss(loss, inputs=inputs)

    def __reduce__(self) -> str | tuple[Any, ...]:
        raise TypeError(
            f"the layer {self.name!r} cannot be pickled: its variables belong to the program. "
            "Make the layer anew, and take the values of its variables along in a checkpoint "
            "(train.Saver, train.Checkpoint)"
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> Layer:
        """Return a copy with variables of its own, in eager code.

        In a graph it shares variables and tensors, which belong to that.
        """
        new = type(self).__new__(type(self))
        memo[id(self)] = new
        for key, value in vars(self).items():
            if key == "_restores":  # they are of this layer, not of the copy
                continue
            shared = key == "_program" or (
                not self._program.is_eager
                and any(isinstance(v, _OF_A_GRAPH) for v in nest.flatten(value))
            )
            if key == "_scope" or (shared and isinstance(value, list)):
                value = copy.copy(value)
            elif not shared:
                value = copy.deepcopy(value, memo)
            vars(new)[key] = value
        return new


def _shape_of(value: Any) -> Any:
    """Return the shape of an input, None of what is no tensor."""
    return value.get_shape() if hasattr(value, "get_shape") else None


def _drop(variable: Any, program: Any) -> None:
    """Have the names of a variable that eager code made, and will not use, be free again."""
    default_store(program).drop(variable)
    for part in parts_of(variable):
        program.release(part.op.name)


def _says_weights(layer: Any) -> bool:
    """Return whether a class says by itself what its variables are, so that none are looked for."""
    names = ("trainable_weights", "non_trainable_weights")
    return any(getattr(type(layer), name) is not getattr(Layer, name) for name in names)


def _check_floating(dtype: Any, what: str, advice: str) -> None:
    if not (dtype.is_floating or dtype.is_complex):
        raise TypeError(
            f"{what} must be floating, but is {dtype.base_dtype.name}; {advice}, as in "
            "cast(x, float32)"
        )


def _tensors(inputs: Any) -> Any:
    """Return arrays, numbers and nested lists of numbers as tensors, anything else as it is."""
    leaves = nest.flatten(inputs)
    if leaves and all(isinstance(v, int | float) for v in leaves):
        return convert_to_tensor(inputs)
    arrays = numpy.ndarray | numpy.generic | int | float
    return nest.map_structure(
        lambda v: convert_to_tensor(v) if isinstance(v, arrays) else v, inputs
    )


def _snake_case(class_name: str) -> str:
    """Return ``MaxPooling2D`` as ``max_pooling2d``."""
    words = re.sub(r"(.)([A-Z][a-z0-9]+)", r"\1_\2", class_name)
    name = re.sub(r"([a-z])([A-Z])", r"\1_\2", words).lower()
    return f"private{name}" if name.startswith("_") else name


def _unique_name(name: str) -> str:
    """Return `name` with the number of layers of that name in the program."""
    counts = owner().notes.setdefault("layer_names", {})
    counts[name] = counts.get(name, 0) + 1
    return f"{name}_{counts[name]}"
