"""GradientTape: gradients of eager code."""

from __future__ import annotations

import math
import warnings
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self, TypeAlias, TypeVar, overload

from daskvars.backpropagation import Gradient, UnconnectedGradients, backpropagated
from daskvars.dtypes import DType
from daskvars.execution.eager_records import History
from daskvars.graph import nest
from daskvars.graph.by_identity import is_among
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.indexed_slices import IndexedSlices
from daskvars.graph.scopes.stacks import stacks
from daskvars.graph.tensor import Tensor, TensorLike, WithOperators
from daskvars.ops.array.constant import constant, fill, zeros_like
from daskvars.ops.array.joining import stack
from daskvars.ops.array.one_hot import one_hot
from daskvars.ops.array.reshaping import reshape
from daskvars.surface.accepted import accepts
from daskvars.surface.one_line import ShownByArguments
from daskvars.variables.collections import trainable_variables
from daskvars.variables.tracking import once

F = TypeVar("F", bound=WithOperators)
K = TypeVar("K")
Targets: TypeAlias = WithOperators | Sequence[WithOperators]
Seeds: TypeAlias = TensorLike | None


class GradientTape(ShownByArguments):
    """Remembers operations, to differentiate what they computed.

    What was computed outside of its block is a constant to it, whether it has been done or not.

    Args:
      persistent: `gradient` may be called more than once.
      watch_accessed_variables: whether there are gradients with respect to each tensor and
        trainable variable that was used, and to other variables that were given to `watch`;
        otherwise to what was given to `watch`, and to what depends on it.

    >>> x = dv.constant(3.0)
    >>> with dv.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = x * x
    >>> float(tape.gradient(y, x))
    6.0
    """

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True) -> None:
        self._history = History()
        self._persistent = persistent
        self._watches_all = watch_accessed_variables
        self._watched: list[WithOperators] = []
        self._has_begun = self._used = False

    def __enter__(self) -> Self:
        self._begin()
        return self

    def __exit__(self, *error: object) -> None:
        self._leave()

    def _begin(self) -> None:
        self._has_begun = True
        histories = stacks.histories
        histories.append(weakref.ref(self._history, histories.remove))

    @property
    def _is_recording(self) -> bool:
        return any(ref() is self._history for ref in stacks.histories)

    def _leave(self) -> None:
        histories = stacks.histories
        histories[:] = [ref for ref in histories if ref() is not self._history]

    def watch(self, tensor: WithOperators | Sequence[WithOperators]) -> None:
        """Have gradients with respect to tensors and variables, which others are not needed for.

        One that was used before has gradients through these uses too, of which a warning tells: in
        TensorFlow it has none through them.

        Args:
          tensor: one, or several. With ``watch_accessed_variables`` there are gradients to all but
            variables that are not trained.

        Raises:
          TypeError: one is no tensor or variable.

        >>> v, w = dv.Variable(2.0), dv.Variable(3.0)
        >>> with dv.GradientTape(watch_accessed_variables=False) as tape:
        ...     tape.watch(v)
        ...     y = v * w
        >>> dv_, dw = tape.gradient(y, [v, w])
        >>> float(dv_), dw
        (3.0, None)
        """
        watched = nest.flatten(tensor)
        for item in watched:
            if not isinstance(item, WithOperators):
                raise TypeError(
                    f"watch() takes tensors and variables, found {item!r} of type "
                    f"{type(item).__name__}: compute from dv.constant(...) of it, and watch that"
                )
        self._watched += watched
        new = [x for x in watched if not (self._watches_all and getattr(x, "trainable", False))]
        taken = self._history.taken() if new else ()
        for item in new:
            if id(getattr(item, "handle", item)) in taken:
                warnings.warn(
                    f"{item.name} was used before watch() of it: gradients go through these uses "
                    "as well, which TensorFlow leaves out. Call watch() first.",
                    stacklevel=2,
                )

    def watched_variables(self) -> tuple[Any, ...]:
        """Return the variables that were used and are trainable, and those given to `watch`.

        >>> v, w, step = dv.Variable(2.0), dv.Variable(3.0), dv.Variable(0.0, trainable=False)
        >>> with dv.GradientTape() as tape:
        ...     y = v * v + step
        >>> [variable is v for variable in tape.watched_variables()]
        [True]
        """
        taken = self._history.taken() if self._watches_all else ()
        accessed = [v for v in trainable_variables() if id(v.handle) in taken]
        return tuple(once(accessed + [v for v in self._watched if hasattr(v, "handle")]))

    @contextmanager
    def stop_recording(self) -> Iterator[None]:
        """Leave out what is computed in the block. Raises RuntimeError: it does not record."""
        if not self._is_recording:
            raise RuntimeError("a GradientTape stops recording only in its own block")
        self._leave()
        try:
            yield
        finally:
            self._begin()

    def reset(self) -> None:
        """Forget everything recorded."""
        was_recording = self._is_recording
        self._leave()
        self._history, self._watched = History(), []
        if was_recording:
            self._begin()

    def _use(self) -> None:
        """Note that gradients are computed, which a tape that is not persistent does once."""
        if not self._has_begun:
            raise RuntimeError(
                "the GradientTape has recorded nothing: compute what is to be differentiated in "
                "its block (with tape: ...)"
            )
        if self._used and not self._persistent:
            raise RuntimeError(
                "a non-persistent GradientTape can only be used to compute one set of gradients; "
                "make it with persistent=True"
            )
        self._used = True

    def _has_watched(self, source: WithOperators) -> bool:
        """Return whether something is watched, or depends on what is."""
        if self._watches_all and getattr(source, "trainable", True):
            return True
        if is_among(source, self._watched):
            return True
        if not isinstance(source, Tensor) or not self._watched:
            return False
        found = backpropagated(source, self._watched, seen=self._history.has_seen)
        return any(dx is not None for dx in found)

    @overload
    def gradient(
        self,
        target: Targets,
        sources: WithOperators,
        output_gradients: Seeds = None,
        unconnected_gradients: str | UnconnectedGradients = "none",
    ) -> Gradient | None: ...
    @overload
    def gradient(
        self,
        target: Targets,
        sources: list[F],
        output_gradients: Seeds = None,
        unconnected_gradients: str | UnconnectedGradients = "none",
    ) -> list[Gradient | None]: ...
    @overload
    def gradient(
        self,
        target: Targets,
        sources: dict[K, F],
        output_gradients: Seeds = None,
        unconnected_gradients: str | UnconnectedGradients = "none",
    ) -> dict[K, Gradient | None]: ...
    @overload
    def gradient(
        self,
        target: Targets,
        sources: tuple[F, ...],
        output_gradients: Seeds = None,
        unconnected_gradients: str | UnconnectedGradients = "none",
    ) -> tuple[Gradient | None, ...]: ...
    @overload
    def gradient(
        self,
        target: Targets,
        sources: Any,
        output_gradients: Seeds = None,
        unconnected_gradients: str | UnconnectedGradients = "none",
    ) -> Any: ...
    def gradient(
        self,
        target: Targets,
        sources: Any,
        output_gradients: Seeds = None,
        unconnected_gradients: str | UnconnectedGradients = "none",
    ) -> Any:
        """Return the gradient of `target` with respect to each of `sources`, in their nesting.

        That to whole numbers, booleans and strings is None, of which a warning tells.

        Args:
          target: tensor or list of tensors computed while the tape was on.
          sources: tensors and variables, nested.
          output_gradients: gradients of `target` to begin with; ones by default.
          unconnected_gradients: "none" gives None where `target` does not depend on a source,
            "zero" gives zeros.

        Raises:
          RuntimeError: a tape that is not persistent is used twice, or one whose block never began.
          TypeError: a target is no tensor, or a source no tensor or variable.
        """
        self._use()
        ys = nest.flatten(target)
        for y in ys:
            if not isinstance(y, WithOperators | IndexedSlices):
                raise TypeError(
                    f"gradient() takes tensors as targets, found {y!r} of type "
                    f"{type(y).__name__}: what numpy() and float() give is on no tape"
                )
        flat = nest.flatten(sources)
        for source in flat:
            if not isinstance(source, WithOperators | IndexedSlices):
                raise TypeError(
                    f"gradient() takes tensors and variables as sources, found {source!r} of type "
                    f"{type(source).__name__}: compute from dv.constant(...) of it, and pass that"
                )
            of = getattr(source, "dtype", None)
            if isinstance(of, DType) and not (of.is_floating or of.is_complex):
                warnings.warn(
                    f"the gradient to {getattr(source, 'name', source)!r} is None: it is of "
                    f"{of.name}, and only floating and complex numbers have gradients",
                    stacklevel=2,
                )
        seeds = None if output_gradients is None else nest.flatten(output_gradients)
        found = self._to_watched(ys, flat, seeds, unconnected_gradients)
        if not self._persistent and not self._is_recording:
            self.reset()
        return nest.pack(sources, found)

    def _to_watched(
        self, ys: list[Any], xs: list[Any], seeds: list[Any] | None, unconnected: Any
    ) -> list[Any]:
        """Return the gradients to what is watched; to others what stands for none."""
        seen = self._history.has_seen
        found = backpropagated(ys, xs, seeds, unconnected_gradients=unconnected, seen=seen)
        if self._watches_all and all(getattr(x, "trainable", True) for x in xs):
            return found
        none = backpropagated(constant(0.0), xs, unconnected_gradients=unconnected)
        pairs = zip(xs, found, none, strict=True)
        return [dx if self._has_watched(x) else nothing for x, dx, nothing in pairs]

    @accepts("parallel_iterations", "experimental_use_pfor")
    def jacobian(
        self,
        target: WithOperators,
        sources: Any,
        unconnected_gradients: str | UnconnectedGradients = "none",
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """Return the derivatives of each number of `target`, in the nesting of `sources`.

        Args:
          target: a tensor computed while the tape was on, of known shape.
          sources: tensors and variables, nested.
          unconnected_gradients: see `gradient`.

        Returns:
          For each source a tensor [target's shape, source's shape] of its dtype, or None. Each
          number of `target` is gone back from by itself.

        Raises:
          RuntimeError: a tape that is not persistent is used twice, or one whose block never began.
          ValueError: the shape of `target` is not known.

        Source: TensorFlow 1.15, ``tf.GradientTape.jacobian``.

        >>> x = dv.Variable([1.0, 2.0])
        >>> with dv.GradientTape() as tape:
        ...     y = x * x
        >>> tape.jacobian(y, x).numpy().tolist()
        [[2.0, 0.0], [0.0, 4.0]]
        """
        self._use()
        value: Any = target
        shape = value.shape.as_list()
        if None in shape:
            raise ValueError(f"jacobian() takes a target of known shape, found {shape}")
        flat = nest.flatten(sources)
        rows = [
            self._to_watched([value], flat, seed, unconnected_gradients)
            for seed in _seeds(value, math.prod(shape))
        ]
        found = [_stacked([row[place] for row in rows], shape) for place in range(len(flat))]
        if not self._persistent and not self._is_recording:
            self.reset()
        return nest.pack(sources, found)

    @accepts("parallel_iterations", "experimental_use_pfor")
    def batch_jacobian(
        self,
        target: WithOperators,
        source: WithOperators,
        unconnected_gradients: str | UnconnectedGradients = "none",
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """Return the derivatives of each row of `target` with respect to the row of `source`.

        Args:
          target: [batch, ...], of known shape; a row depends on the same row of `source` alone.
          source: [batch, ...].
          unconnected_gradients: see `gradient`.

        Returns:
          [batch, shape of a target's row, shape of a source's row] of the dtype of `source`, or
          None.

        Raises:
          RuntimeError: a tape that is not persistent is used twice, or one whose block never began.
          ValueError: the shape of `target` is not known, or the sizes of the batches differ.

        Source: TensorFlow 1.15, ``tf.GradientTape.batch_jacobian``.

        >>> x = dv.constant([[1.0, 2.0], [3.0, 4.0]])
        >>> with dv.GradientTape() as tape:
        ...     tape.watch(x)
        ...     y = dv.reduce_prod(x, 1, keepdims=True)
        >>> tape.batch_jacobian(y, x).numpy().tolist()
        [[[2.0, 1.0]], [[4.0, 3.0]]]
        """
        self._use()
        value: Any = target
        given: Any = source
        shape, rows = value.shape.as_list(), given.shape.as_list()
        if None in shape or None in rows or not shape or shape[:1] != rows[:1]:
            raise ValueError(
                "batch_jacobian() takes a target and a source of known shapes with as many rows, "
                f"found {shape} and {rows}"
            )
        parts = [
            self._to_watched([value], [source], seed, unconnected_gradients)[0]
            for seed in _seeds(value, math.prod(shape[1:]), shape[:1])
        ]
        if not self._persistent and not self._is_recording:
            self.reset()
        if any(part is None for part in parts):
            return None
        whole: list[Any] = [*shape, *rows[1:]]
        found = stack([convert_to_tensor(part) for part in parts], 1)
        return reshape(found[:, : math.prod(shape[1:])], whole)


def _seeds(target: Any, size: int, rows: Sequence[int] = ()) -> Iterator[list[Tensor] | None]:
    """Yield the gradient of each number of `target` by itself, or of that of each of its rows.

    Of a target without numbers it is one that stands for none, to tell what it depends on.
    """
    if not size:
        yield None
    for place in range(size):
        number = one_hot(fill(rows, place), size, dtype=target.dtype.base_dtype)
        yield [reshape(number, target.shape)]


def _stacked(rows: list[Any], shape: list[int]) -> Any:
    """Return gradients of numbers together, of which none may be there at all."""
    if all(row is None for row in rows):
        return None
    some = next(row for row in rows if row is not None)
    found = stack(
        [
            zeros_like(convert_to_tensor(some)) if row is None else convert_to_tensor(row)
            for row in rows
        ]
    )
    whole: list[Any] = [*shape, *found.shape.as_list()[1:]]
    return reshape(found[: math.prod(shape)], whole)
