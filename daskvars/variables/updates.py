"""What changes a variable, as methods. The ops are placed where the variable is."""

from __future__ import annotations

from typing import Any, Literal, overload

from daskvars.accepted import accepts
from daskvars.graph.indexed_slices import IndexedSlices
from daskvars.graph.interpreter import builder_for
from daskvars.graph.scopes import stacks as scopes
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.ops.gather_scatter import scatter as scattering
from daskvars.ops.gather_scatter.gather import gather
from daskvars.ops.state import assign as assign_ops
from daskvars.ops.state.slice_assign import strided_slice_assign


class VariableUpdates:
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

    @overload
    def assign_add(
        self,
        delta: TensorLike,
        use_locking: bool = False,
        name: str | None = None,
        read_value: Literal[True] = True,
    ) -> Tensor: ...
    @overload
    def assign_add(
        self,
        delta: TensorLike,
        use_locking: bool = False,
        name: str | None = None,
        *,
        read_value: Literal[False],
    ) -> Operation: ...
    def assign_add(
        self,
        delta: TensorLike,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Tensor | Operation:
        """Add `delta`; see `assign`."""
        new = assign_ops.assign_add(self.handle, delta, use_locking, name)
        updated = self._updated(new)
        return updated if read_value else updated.op

    @overload
    def assign_sub(
        self,
        delta: TensorLike,
        use_locking: bool = False,
        name: str | None = None,
        read_value: Literal[True] = True,
    ) -> Tensor: ...
    @overload
    def assign_sub(
        self,
        delta: TensorLike,
        use_locking: bool = False,
        name: str | None = None,
        *,
        read_value: Literal[False],
    ) -> Operation: ...
    def assign_sub(
        self,
        delta: TensorLike,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Tensor | Operation:
        """Subtract `delta`; see `assign`."""
        new = assign_ops.assign_sub(self.handle, delta, use_locking, name)
        updated = self._updated(new)
        return updated if read_value else updated.op

    def count_up_to(self, limit: int) -> Tensor:
        """Add one to a scalar integer variable and return its value from before.

        Raises:
          OutOfRangeError: (when run) it has reached `limit`.
        """
        counted = assign_ops.count_up_to(self.handle, limit)
        return self._updated(counted)

    def load(self, value: TensorLike, session: Any = None) -> None:
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

    @accepts("use_locking")
    def scatter_add(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Tensor:
        """Add `sparse_delta` (IndexedSlices) to rows; repeated indices add up."""
        return self._scattered(assign_ops.scatter_add, sparse_delta, name)

    @accepts("use_locking")
    def scatter_sub(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Tensor:
        """Subtract `sparse_delta` (IndexedSlices) from rows; repeated indices add up."""
        return self._scattered(assign_ops.scatter_sub, sparse_delta, name)

    @accepts("use_locking")
    def scatter_update(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Tensor:
        """Set rows to those of `sparse_delta` (IndexedSlices)."""
        return self._scattered(assign_ops.scatter_update, sparse_delta, name)

    @accepts("use_locking")
    def scatter_mul(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Tensor:
        """Multiply rows by `sparse_delta` (IndexedSlices)."""
        return self._scattered(assign_ops.scatter_mul, sparse_delta, name)

    @accepts("use_locking")
    def scatter_div(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Tensor:
        """Divide rows by `sparse_delta` (IndexedSlices)."""
        return self._scattered(assign_ops.scatter_div, sparse_delta, name)

    @accepts("use_locking")
    def scatter_min(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Tensor:
        """Take the minimum of rows and `sparse_delta` (IndexedSlices)."""
        return self._scattered(assign_ops.scatter_min, sparse_delta, name)

    @accepts("use_locking")
    def scatter_max(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Tensor:
        """Take the maximum of rows and `sparse_delta` (IndexedSlices)."""
        return self._scattered(assign_ops.scatter_max, sparse_delta, name)

    @accepts("use_locking")
    def batch_scatter_update(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Tensor:
        """Set slices in each of a batch; see `batch_scatter_update` of the package."""
        return self._scattered(scattering.batch_scatter_update, sparse_delta, name)

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
