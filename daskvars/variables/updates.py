"""What changes a variable, as methods. The ops are placed where the variable is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol, overload

from daskvars.graph.indexed_slices import IndexedSlices
from daskvars.graph.interpreter import builder_for
from daskvars.graph.scopes import stacks as scopes
from daskvars.graph.scopes.stacks import SessionLike
from daskvars.graph.tensor import Operation, Tensor, TensorLike, WithOperators
from daskvars.ops.gather_scatter import scatter as scattering
from daskvars.ops.gather_scatter.gather import gather
from daskvars.ops.state import assign as assign_ops
from daskvars.ops.state.slice_assign import strided_slice_assign
from daskvars.surface.accepted import accepts


class Assigning(Protocol):
    """A method that assigns: it returns the new value, or the operation if that is not read."""

    @overload
    def __call__(
        self,
        delta: TensorLike,
        use_locking: bool = False,
        name: str | None = None,
        read_value: Literal[True] = True,
    ) -> Tensor: ...
    @overload
    def __call__(
        self,
        delta: TensorLike,
        use_locking: bool = False,
        name: str | None = None,
        *,
        read_value: Literal[False],
    ) -> Operation: ...


class Scattering(Protocol):
    """A method that changes the rows that IndexedSlices name, and returns the new value."""

    def __call__(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Tensor: ...


def _assigning(method_name: str, change: Callable[..., Tensor], doc: str) -> Assigning:
    def assigning(
        self: VariableUpdates,
        delta: TensorLike,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Tensor | Operation:
        updated = self._updated(change(self.handle, delta, use_locking, name))
        return updated if read_value else updated.op

    return _method(assigning, method_name, doc)


def _scattering(doc: str, scatter: Callable[..., Tensor]) -> Scattering:
    def scattered(
        self: VariableUpdates,
        sparse_delta: IndexedSlices,
        use_locking: bool = False,
        name: str | None = None,
    ) -> Tensor:
        return self._scattered(scatter, sparse_delta, name)

    return accepts("use_locking")(_method(scattered, scatter.__name__, doc))


def _method(function: Callable[..., Any], name: str, doc: str) -> Any:
    """Name a function as if it were written in `VariableUpdates`."""
    function.__name__, function.__doc__ = name, doc
    function.__qualname__ = f"VariableUpdates.{name}"
    del function.__annotations__["self"]
    return function


class VariableUpdates(WithOperators):
    """The part of `Variable` that makes assigning ops.

    In a graph these take effect when run, in the eager program at once.
    """

    initializer: Any

    @property
    def handle(self) -> Tensor:
        """The tensor that stands for the variable itself."""
        raise NotImplementedError

    @overload
    def assign(
        self,
        value: TensorLike,
        use_locking: bool = False,
        name: str | None = None,
        read_value: Literal[True] = True,
    ) -> Tensor: ...
    @overload
    def assign(
        self,
        value: TensorLike,
        use_locking: bool = False,
        name: str | None = None,
        *,
        read_value: Literal[False],
    ) -> Operation: ...
    @accepts("use_locking")
    def assign(
        self,
        value: TensorLike,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Tensor | Operation:
        """Set the variable.

        Args:
          value: its new value, of the same dtype and shape.
          name: name of the operation.
          read_value: False returns the operation rather than the new value.

        Raises:
          ValueError: the shapes differ.
          TypeError: the dtypes differ.
        """
        new = assign_ops.assign(self.handle, value, use_locking=use_locking, name=name)
        updated = self._updated(new)
        return updated if read_value else updated.op

    assign_add = _assigning("assign_add", assign_ops.assign_add, "Add `delta`; see `assign`.")
    assign_sub = _assigning("assign_sub", assign_ops.assign_sub, "Subtract `delta`; see `assign`.")

    def count_up_to(self, limit: int) -> Tensor:
        """Add one to a scalar integer variable and return its value from before.

        Raises:
          OutOfRangeError: (when run) it has reached `limit`.
        """
        counted = assign_ops.count_up_to(self.handle, limit)
        return self._updated(counted)

    def load(self, value: TensorLike, session: SessionLike | None = None) -> None:
        """Set the variable to `value`, an array, in `session` without making any op.

        Raises:
          ValueError: there is neither a session given nor a default one, or the shape does not fit.
        """
        if self.handle.graph is None:
            self.assign(value)
            return
        session = session or scopes.get_default_session()
        if session is None:
            raise ValueError(
                f"Variable {self.handle.op.name} cannot be loaded: either the session argument "
                "should be provided or a default session should be established."
            )
        session.run(self.initializer, {self.initializer.inputs[1]: value})

    def _updated(self, tensor: Tensor) -> Tensor:
        device = self.handle.op.device
        if tensor.op.device != device:
            tensor.op._set_device(device)
        return tensor

    def _assign_slice(
        self, value: Any, name: str | None, of: str, bounds: dict[str, Any]
    ) -> Tensor:
        name = name or builder_for((self.handle,)).claim(f"{of}/_assign") + "/"
        return self._updated(strided_slice_assign(self.handle, value, name, **bounds))

    def _scattered(self, scatter: Any, sparse_delta: Any, name: str | None) -> Tensor:
        if not isinstance(sparse_delta, IndexedSlices):
            raise TypeError(
                f"sparse_delta is not IndexedSlices: {sparse_delta!r}. Give "
                "IndexedSlices(values, indices)."
            )
        new = scatter(self.handle, sparse_delta.indices, sparse_delta.values, name=name)
        return self._updated(new)

    scatter_add = _scattering(
        "Add `sparse_delta` (IndexedSlices) to rows; repeated indices add up.",
        assign_ops.scatter_add,
    )
    scatter_sub = _scattering(
        "Subtract `sparse_delta` (IndexedSlices) from rows; repeated indices add up.",
        assign_ops.scatter_sub,
    )
    scatter_update = _scattering(
        "Set rows to those of `sparse_delta` (IndexedSlices).", assign_ops.scatter_update
    )
    scatter_mul = _scattering(
        "Multiply rows by `sparse_delta` (IndexedSlices).", assign_ops.scatter_mul
    )
    scatter_div = _scattering(
        "Divide rows by `sparse_delta` (IndexedSlices).", assign_ops.scatter_div
    )
    scatter_min = _scattering(
        "Take the minimum of rows and `sparse_delta` (IndexedSlices).", assign_ops.scatter_min
    )
    scatter_max = _scattering(
        "Take the maximum of rows and `sparse_delta` (IndexedSlices).", assign_ops.scatter_max
    )
    batch_scatter_update = _scattering(
        "Set slices in each of a batch; see `batch_scatter_update` of the package.",
        scattering.batch_scatter_update,
    )

    def scatter_nd_update(
        self, indices: TensorLike, updates: TensorLike, name: str | None = None
    ) -> Tensor:
        """Set the slices whose coordinates are the rows of `indices` to `updates`."""
        new = scattering.scatter_nd_update(self.handle, indices, updates, name=name)
        return self._updated(new)

    def scatter_nd_add(
        self, indices: TensorLike, updates: TensorLike, name: str | None = None
    ) -> Tensor:
        """Add `updates` to the slices at some coordinates; those of equal coordinates add up."""
        new = scattering.scatter_nd_add(self.handle, indices, updates, name=name)
        return self._updated(new)

    def scatter_nd_sub(
        self, indices: TensorLike, updates: TensorLike, name: str | None = None
    ) -> Tensor:
        """Subtract `updates` from the slices at some coordinates."""
        new = scattering.scatter_nd_sub(self.handle, indices, updates, name=name)
        return self._updated(new)

    def sparse_read(self, indices: TensorLike, name: str | None = None) -> Tensor:
        """Return the rows that `indices` name, as `gather` does."""
        return gather(self, indices, name=name)

    def gather_nd(self, indices: TensorLike, name: str | None = None) -> Tensor:
        """Return the slices whose coordinates are the rows of `indices`."""
        return scattering.gather_nd(self, indices, name=name)
