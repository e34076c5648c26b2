"""GradientTape: gradients of eager code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self, TypeAlias, TypeVar, overload

from daskvars.backpropagation import Gradient, UnconnectedGradients, gradients
from daskvars.execution.eager import EAGER_CONTEXT
from daskvars.execution.eager_records import History
from daskvars.graph import nest
from daskvars.graph.by_identity import is_among
from daskvars.graph.tensor import Tensor, TensorLike, WithOperators
from daskvars.ops.array.constant import constant
from daskvars.surface.one_line import ShownByArguments

F = TypeVar("F", bound=WithOperators)
K = TypeVar("K")
Targets: TypeAlias = WithOperators | Sequence[WithOperators]
Seeds: TypeAlias = TensorLike | None


class GradientTape(ShownByArguments):
    """Remembers operations, to differentiate what they computed.

    Args:
      persistent: `gradient` may be called more than once.
      watch_accessed_variables: whether there are gradients with respect to each tensor and variable
        that was used; otherwise to those that were given to `watch`, and to what depends on them.

    >>> import daskvars as dv
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
        self._used = False

    def __enter__(self) -> Self:
        EAGER_CONTEXT.here.histories.append(self._history)
        return self

    def __exit__(self, *error: object) -> None:
        self._leave()

    @property
    def _is_recording(self) -> bool:
        return self._history in EAGER_CONTEXT.here.histories

    def _leave(self) -> None:
        if self._is_recording:
            EAGER_CONTEXT.here.histories.remove(self._history)

    def watch(self, tensor: WithOperators | Sequence[WithOperators]) -> None:
        """Have gradients with respect to tensors and variables, which others are not needed for.

        Args:
          tensor: one, or several. With ``watch_accessed_variables`` there are gradients to all.

        >>> import daskvars as dv
        >>> v, w = dv.Variable(2.0), dv.Variable(3.0)
        >>> with dv.GradientTape(watch_accessed_variables=False) as tape:
        ...     tape.watch(v)
        ...     y = v * w
        >>> dv_, dw = tape.gradient(y, [v, w])
        >>> float(dv_), dw
        (3.0, None)
        """
        if not self._watches_all:
            self._watched += nest.flatten(tensor)

    @contextmanager
    def stop_recording(self) -> Iterator[None]:
        """Leave out what is computed in the block."""
        self._leave()
        try:
            yield
        finally:
            EAGER_CONTEXT.here.histories.append(self._history)

    def reset(self) -> None:
        """Forget everything recorded."""
        was_recording = self._is_recording
        self._leave()
        self._history, self._watched = History(), []
        if was_recording:
            EAGER_CONTEXT.here.histories.append(self._history)

    def _has_watched(self, source: WithOperators) -> bool:
        """Return whether something is watched, or depends on what is."""
        if is_among(source, self._watched):
            return True
        if not isinstance(source, Tensor) or not self._watched:
            return False
        return any(dx is not None for dx in gradients(source, self._watched))

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

        Args:
          target: tensor or list of tensors computed while the tape was on.
          sources: tensors and variables, nested.
          output_gradients: gradients of `target` to begin with; ones by default.
          unconnected_gradients: "none" gives None where `target` does not depend on a source,
            "zero" gives zeros.

        Raises:
          RuntimeError: a tape that is not persistent is used twice.
        """
        if self._used and not self._persistent:
            raise RuntimeError(
                "a non-persistent GradientTape can only be used to compute one set of gradients; "
                "make it with persistent=True"
            )
        self._used = True
        flat = nest.flatten(sources)
        ys = nest.flatten(target)
        seeds = None if output_gradients is None else nest.flatten(output_gradients)
        found = gradients(ys, flat, seeds, unconnected_gradients=unconnected_gradients)
        if not self._watches_all:
            none = gradients(constant(0.0), flat, unconnected_gradients=unconnected_gradients)
            pairs = zip(flat, found, none, strict=True)
            found = [dx if self._has_watched(x) else nothing for x, dx, nothing in pairs]
        if not self._persistent and not self._is_recording:
            self.reset()
        return nest.pack(sources, found)
