"""Variable: a handle to an array that the state holds under the variable's name."""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import dask.array
from numpy.typing import NDArray

from daskvars.chunk_grid import ChunksLike
from daskvars.dtypes import DType, DTypeLike, as_dtype
from daskvars.graph.by_identity import Reference, is_among, note_copy
from daskvars.graph.convert import register_tensor_conversion_function
from daskvars.graph.interpreter import builder_for
from daskvars.graph.scopes.device import DeviceLike
from daskvars.graph.scopes.stacks import SessionLike
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.ops.protocols.array_protocols import ArrayProtocols
from daskvars.ops.protocols.dask_collection import DaskCollection
from daskvars.ops.protocols.operators import override_operators
from daskvars.ops.state.assign import (
    first_assignment,
    first_read,
    is_variable_initialized,
    read_variable,
    variable_handle,
)
from daskvars.shapes import ShapeLike, TensorShape
from daskvars.surface.accepted import accepts
from daskvars.surface.forwarding import forwards
from daskvars.surface.notebooks import ShownInNotebooks
from daskvars.variables import initial_value as initial_values
from daskvars.variables.arguments import (
    checked_constraint,
    checked_shape,
    collections_of,
    dtype_in_second_place,
    variable_name,
)
from daskvars.variables.chunks import layout_of
from daskvars.variables.colocation import building_in, owner, place
from daskvars.variables.partitions.slices import SaveSliceInfo
from daskvars.variables.reading import read_around
from daskvars.variables.scopes.creators import MadeByCreators
from daskvars.variables.synchronization import (
    VariableAggregation,
    VariableSynchronization,
    resolved_trainable,
)
from daskvars.variables.updates import VariableUpdates
from daskvars.variables.variable_def import SaveSliceInfoDef, VariableDef


def _augmented(symbol: str, operate: Callable[[Any, Any], Tensor]) -> Any:
    """Return the method of an augmented assignment, which makes a tensor and changes no variable.

    As in TensorFlow that is an error, but for graphs, where programs of old have it.
    """

    def augmented(self: Variable, other: TensorLike) -> Tensor:
        said = (
            f"`variable {symbol}= value` does not change the variable {self.name!r}: "
            "`variable.assign_add(value)` and its like do. For a new tensor write "
            f"`tensor = variable {symbol} value`"
        )
        if self.graph is None:
            raise RuntimeError(said)
        warnings.warn(said, stacklevel=2)
        return operate(self, other)

    return augmented


@accepts("use_resource")
class Variable(
    DaskCollection, ArrayProtocols, VariableUpdates, ShownInNotebooks, metaclass=MadeByCreators
):
    """State that outlives a run: an array under a name, with ops that read and assign it.

    In a graph the variable has no value before its `initializer` is run in a session. In the eager
    program it is set at once.

    Args:
      initial_value: anything that converts to a tensor, or a function without arguments of such.
      trainable: whether optimizers train it by default; None means yes, save for ``ON_READ``. A
        dtype given here is the `dtype`.
      collections: names of the collections it is put in, by default the global variables.
      validate_shape: False lets assignments change the shape.
      caching_device: device on which reads are kept.
      name: the name wanted; the name scope is put before it, and it is made unique.
      variable_def: what `to_proto` returned, in place of all other arguments.
      dtype: dtype that the initial value is converted to.
      expected_shape: shape that the initial value must fit.
      import_scope: name scope that `variable_def` was imported under.
      constraint: function of the value after an update that gives the value to project it to.
      synchronization, aggregation: accepted, see `VariableSynchronization`.
      shape: static shape, where it is to be less specific than the initial value's.
      chunks: layout, in Dask's notation or "auto"; None cuts only what is larger than the
        ``chunk_bytes`` of the configuration. Each chunk is placed, updated and stored on its own.

    Raises:
      ValueError: there is no initial value, or its shape is not known; a collection is malformed.
      TypeError: the initial value is not of that dtype.

    >>> with tf.Graph().as_default():
    ...     tf.Variable([1.0, 2.0], name="w")
    <tf.Variable 'w:0' shape=(2,) dtype=float32_ref>
    """

    SaveSliceInfo: type = SaveSliceInfo
    __array_priority__ = 100  # numpy_array + variable is variable's business

    def __init__(
        self,
        initial_value: Any = None,
        trainable: bool | None = None,
        collections: Iterable[str] | None = None,
        validate_shape: bool = True,
        caching_device: DeviceLike | None = None,
        name: str | None = None,
        variable_def: VariableDef | None = None,
        dtype: DTypeLike | None = None,
        expected_shape: ShapeLike | None = None,
        import_scope: str | None = None,
        constraint: Callable[[Tensor], Tensor] | None = None,
        use_resource: bool | None = None,
        synchronization: VariableSynchronization = VariableSynchronization.AUTO,
        aggregation: VariableAggregation = VariableAggregation.NONE,
        shape: ShapeLike | None = None,
        chunks: ChunksLike | None = None,
    ) -> None:
        self._save_slice_info: Any = None
        self._constraint = checked_constraint(constraint)
        if variable_def is not None and initial_value is not None:
            raise ValueError("variable_def and initial_value are mutually exclusive.")
        if variable_def is not None:
            self._init_from_proto(variable_def, import_scope)
            return
        if initial_value is None:
            raise ValueError("initial_value must be specified.")
        trainable, dtype = dtype_in_second_place(trainable, dtype)
        self._trainable = resolved_trainable(trainable, synchronization)
        self.synchronization = synchronization or VariableSynchronization.AUTO
        self.aggregation = aggregation or VariableAggregation.NONE
        keys = collections_of(collections, self._trainable)
        builder = owner()
        with building_in(builder):
            self._build(
                builder,
                variable_name(builder, name),
                initial_value,
                dtype,
                shape,
                expected_shape,
                validate_shape,
                caching_device,
                chunks,
            )
        builder.add_to_collections(keys, self)

    def _build(
        self,
        builder: Any,
        name: str,
        initial_value: Any,
        dtype: Any,
        shape: Any,
        expected_shape: Any,
        validate_shape: bool,
        caching_device: Any,
        chunks: Any,
    ) -> None:
        first = len(builder._ops)
        from_function = callable(initial_value) and not dask.is_dask_collection(initial_value)
        make = initial_values.made_by_function if from_function else initial_values.made_of_value
        value = make(builder, name, initial_value, dtype)
        shape = checked_shape(name, value, shape, expected_shape, validate_shape)
        base = value.spec.dtype.base_dtype
        layout = layout_of(chunks, shape, base, name)
        made = builder._ops[first:]
        handle = variable_handle(builder, name, base, shape, layout)
        self._handle = handle
        self._name = f"{name}:0"
        device = handle.op.device
        if from_function and not builder.is_eager:
            initial_values.place_initial_value(made, name, device)
        self._initial_value = self._initializer_op = self._snapshot = None
        known = builder.notes.setdefault("variables_by_op", {})
        if not builder.is_eager:
            value = initial_values.guarded(builder, name, value, known)
        new = first_assignment(builder, handle, value, builder.claim(f"{name}/Assign"))
        place(new, device)
        if not builder.is_eager:
            self._initial_value, self._initializer_op = value, new
            self._snapshot = self._cached_read(builder, name, caching_device)
            known[handle.op] = self

    def _cached_read(self, builder: Any, name: str, caching_device: Any) -> Tensor:
        handle = self._handle
        read = first_read(builder, handle, builder.claim(f"{name}/read"))
        device = handle.op.device
        if caching_device is not None:
            device = caching_device(read) if callable(caching_device) else caching_device
        place(read, device)
        return read.outputs[0]

    # -- what it is ---------------------------------------------------------------------------

    handle: Tensor = forwards(
        "_handle",
        "The tensor that stands for the variable itself: what is assigned to, fetched, fed.",
    )

    @property
    def key(self) -> str:
        """The key of the value in the state."""
        return self._handle.op.attrs["key"]

    @property
    def chunks(self) -> Any:
        """The layout in Dask's notation, or None for one chunk."""
        found = self._handle.op.attrs["chunks"]
        return found if found is not None and math.prod(map(len, found)) > 1 else None

    name: str = forwards("_name", "The name, ``<operation>:0``.")
    op: Operation = forwards("_handle.op", "The operation that makes the handle.")
    graph: Any = forwards("_handle.graph", "The graph it belongs to, None in the eager program.")
    device: str = forwards(
        "_handle.op.device", 'The device it is on, such as "/job:ps/task:1", or "".'
    )

    @property
    def dtype(self) -> DType:
        """The element type; in a graph the reference type, whose ``base_dtype`` is plain."""
        dtype = self._handle.spec.dtype
        return dtype.base_dtype if self._handle.graph is None else dtype

    shape: TensorShape = forwards("_handle.shape", "The static shape.")

    def get_shape(self) -> TensorShape:
        """Return the static shape."""
        return self._handle.shape

    def set_shape(self, shape: ShapeLike) -> None:
        """Merge `shape` into the static shape. Raises ValueError when they are incompatible."""
        self._handle.set_shape(shape)
        if self._snapshot is not None:
            self._snapshot.set_shape(shape)

    trainable: bool = forwards("_trainable", "Whether optimizers train it by default.")
    constraint: Callable[[Tensor], Tensor] | None = forwards(
        "_constraint", "The function that projects a value after an update, or None."
    )

    # -- values -------------------------------------------------------------------------------

    def value(self) -> Tensor:
        """Return the value as a tensor.

        In a graph that is one cached read, except under `control_dependencies`, where it is a new
        one that sees what the dependencies assign. The eager program reads anew each time.
        """
        builder = builder_for((self._handle,))
        if self._snapshot is None or builder.has_control_dependencies or builder.is_body:
            return self.read_value()
        return self._snapshot

    def read_value(self) -> Tensor:
        """Return a new read of the variable, which sees what this place in the program sees."""
        builder = builder_for((self._handle,))
        if builder.is_body:
            return read_around(builder, self)
        return read_variable(self._handle, "read")

    def _as_graph_element(self) -> Tensor:
        return self._handle

    _ref = _as_graph_element
    _shared_name = property(lambda self: self.op.name)

    def eval(self, session: SessionLike | None = None) -> NDArray[Any]:
        """Return the value in `session`, by default the default session.

        Raises:
          ValueError: there is no default session, or it belongs to another graph.
        """
        return self.numpy() if self.graph is None else self._handle.eval(session=session)

    def numpy(self) -> NDArray[Any]:
        """Return the present value of an eager variable.

        Raises:
          NotImplementedError: it is a variable of a graph.
        """
        if self.graph is not None:
            raise NotImplementedError(
                f"Variable {self.op.name} of a graph has values in sessions only: use "
                "session.run(variable) or variable.eval(session)."
            )
        return self.read_value().numpy()

    def to_dask(self) -> dask.array.Array:
        """Return the present value of an eager variable as a dask array of its chunks.

        The array is of this version of the value: it does not change when the variable does. Its
        blocks stay where they are: on a cluster they are keys of its workers, in this process
        arrays of the variable's own memory, read only; the next update in place then copies, once.

        Returns:
          A dask array of the variable's shape, dtype and chunks.

        Raises:
          NotImplementedError: it is a variable of a graph: `Session.run(variable, as_dask=True)`.

        >>> table = dv.Variable(np.ones((4, 2)), chunks=(2, 2))
        >>> before = table.to_dask()
        >>> _ = table.assign_add(np.ones((4, 2)))
        >>> before.numblocks, float(before.sum().compute()), float(table.to_dask().sum().compute())
        ((2, 1), 8.0, 16.0)
        """
        if self.graph is not None:
            raise NotImplementedError(
                f"Variable {self.op.name} of a graph has values in sessions only: use "
                "session.run(variable, as_dask=True)."
            )
        return self._handle.to_dask()

    def __dask_graph__(self) -> Mapping[Any, Any] | None:
        return super().__dask_graph__() if self.graph is None else None

    initializer: Operation | None = forwards(
        "_initializer_op",
        "The operation that assigns the initial value; None in the eager program.",
    )

    @property
    def initial_value(self) -> Tensor:
        """The tensor that the initializer assigns.

        Raises:
          RuntimeError: it is one of the eager program, which does not keep it.
          ValueError: it was made from a `VariableDef` that does not name it.
        """
        if self._initial_value is not None:
            return self._initial_value
        if self.graph is not None:
            raise ValueError(
                f"Variable {self._name} was made of a VariableDef without initial_value_name: the "
                "graph does not say what it begins with. Read it once it is initialized."
            )
        raise RuntimeError(
            f"Variable {self._name} of the eager program keeps no initial value: it was set when "
            "it was made."
        )

    def is_initialized(self, name: str | None = None) -> Tensor:
        """Return whether it has a value; see `is_variable_initialized`."""
        return is_variable_initialized(self, name)

    def initialized_value(self) -> Tensor:
        """Return the value if there is one, else the initial value that `initializer` would assign.

        An initial value that is computed from this is right in whatever order variables are
        initialized.

        Raises:
          ValueError: it was made from a `VariableDef` that does not name its initial value.
        """
        if self.graph is None:
            return self.read_value()
        return initial_values.value_or_initial(self._handle, self.initial_value)

    # -- saving -------------------------------------------------------------------------------

    def _set_save_slice_info(self, save_slice_info: Any) -> None:
        self._save_slice_info = save_slice_info

    def _get_save_slice_info(self) -> Any:
        return self._save_slice_info

    def to_proto(self, export_scope: str | None = None) -> VariableDef | None:
        """Return the names of the variable's parts.

        Args:
          export_scope: a name scope to remove from the names; None is returned for a variable
            outside it.
        """
        prefix = f"{export_scope.rstrip('/')}/" if export_scope else ""
        if not self._name.startswith(prefix):
            return None
        parts: dict[str, Any] = {
            "variable_name": self._handle,
            "initial_value_name": self._initial_value,
            "initializer_name": self._initializer_op,
            "snapshot_name": self._snapshot,
        }
        sliced = self._save_slice_info
        return VariableDef(
            **{k: part.name.removeprefix(prefix) for k, part in parts.items() if part is not None},
            trainable=self._trainable,
            synchronization=self.synchronization.name,
            aggregation=self.aggregation.name,
            save_slice_info_def=None if sliced is None else SaveSliceInfoDef(**sliced._asdict()),
        )

    @staticmethod
    def from_proto(variable_def: VariableDef, import_scope: str | None = None) -> Variable:
        """Return the variable of the current graph that `to_proto` described."""
        return Variable(variable_def=variable_def, import_scope=import_scope)

    def _init_from_proto(self, variable_def: VariableDef, import_scope: str | None) -> None:
        graph = owner()
        prefix = f"{import_scope.rstrip('/')}/" if import_scope else ""

        def found(part: str) -> Any:
            return graph.as_graph_element(prefix + part) if part else None

        self._handle = found(variable_def.variable_name)
        self._name = self._handle.name
        self._initial_value = found(variable_def.initial_value_name)
        self._initializer_op = found(variable_def.initializer_name)
        self._snapshot = found(variable_def.snapshot_name)
        self._trainable = variable_def.trainable
        self.synchronization = VariableSynchronization[variable_def.synchronization]
        self.aggregation = VariableAggregation[variable_def.aggregation]
        if variable_def.HasField("save_slice_info_def"):
            sliced = variable_def.save_slice_info_def
            shapes_of_it = (sliced.full_shape, sliced.var_offset, sliced.var_shape)
            self._save_slice_info = SaveSliceInfo(sliced.full_name, *map(tuple, shapes_of_it))
        graph.notes.setdefault("variables_by_op", {})[self._handle.op] = self

    # -- as a Python object -------------------------------------------------------------------

    def __reduce__(self) -> str | tuple[Any, ...]:
        raise TypeError(
            f"the variable {self.op.name!r} cannot be pickled: it is a handle, and its value is "
            "kept by the program. Pickle the value (numpy() in eager code, else what a session's "
            "run gives), or write a checkpoint (train.Saver, train.Checkpoint)"
        )

    def ref(self) -> Reference:
        """Return a hashable object that compares by identity and gives this back by ``deref``."""
        return Reference(self)

    experimental_ref = ref

    def __deepcopy__(self, memo: dict[int, Any]) -> Variable:
        """Return a new variable with the present value, in eager code.

        Its name is made unique; it is in the same collections. What is copied with it in one go,
        and keeps something by it, as an optimizer its slots, keeps that by the new one.

        Raises:
          NotImplementedError: it is a variable of a graph, or a graph or function is built.
        """
        program = builder_for(())
        if self.graph is not None or not program.is_eager:
            raise NotImplementedError(
                f"Variable {self.op.name} cannot be copied: copies are made in eager code, of "
                "variables made there. In a graph make a Variable of its initialized_value(), and "
                "in a function copy before."
            )
        shape = self._handle.spec.shape
        keys = program.get_all_collection_keys()
        with program.name_scope(None):
            copied = memo[id(self)] = Variable(
                self.read_value(),
                self._trainable,
                [key for key in keys if is_among(self, program.get_collection(key))],
                shape is not None,
                name=self.op.name,
                constraint=self._constraint,
                synchronization=self.synchronization,
                aggregation=self.aggregation,
                shape=shape,
                chunks=self._handle.op.attrs["chunks"],
            )
        note_copy(self.op, copied.op, memo)
        return copied

    def __iter__(self) -> Iterator[Tensor]:
        return iter(self.value())

    def __len__(self) -> int:
        return len(self.value())

    def __bool__(self) -> bool:
        # Code for TensorFlow 1 asks ``if variable:`` to learn whether there is one.
        return self.graph is not None or bool(self.value())

    def __int__(self) -> int:
        return int(self.value())

    def __float__(self) -> float:
        return float(self.value())

    def __complex__(self) -> complex:
        return complex(self.value())

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        return self.value().__array__(*args, **kwargs)

    __iadd__ = _augmented("+", operator.add)
    __isub__ = _augmented("-", operator.sub)
    __imul__ = _augmented("*", operator.mul)
    __itruediv__ = _augmented("/", operator.truediv)
    __ifloordiv__ = _augmented("//", operator.floordiv)
    __imod__ = _augmented("%", operator.mod)
    __ipow__ = _augmented("**", operator.pow)
    __imatmul__ = _augmented("@", operator.matmul)

    def __repr__(self) -> str:
        text = f"<tf.Variable '{self._name}' shape={self.shape} dtype={self.dtype.name}"
        chunks = self.chunks
        if chunks is not None:
            largest = tuple(map(max, chunks))
            text += f" chunks={math.prod(map(len, chunks))} of {largest}"
        return f"{text}, {self._handle.shown_value()}>" if self.graph is None else f"{text}>"


def _as_tensor(
    value: Variable, dtype: Any = None, name: str | None = None, as_ref: bool = False
) -> Any:
    if dtype is not None and not as_dtype(dtype).is_compatible_with(value.dtype.base_dtype):
        raise ValueError(
            f"Incompatible type conversion requested to type {as_dtype(dtype).name} for variable "
            f"{value.op.name} of type {value.dtype.base_dtype.name}"
        )
    return value.handle if as_ref else value.value()


register_tensor_conversion_function(Variable, _as_tensor, priority=50)
override_operators(Variable)
