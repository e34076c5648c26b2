"""A restore of objects: what it has set, and what it sets when objects make their variables."""

from __future__ import annotations

import logging
import sys
import weakref
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

from daskvars.errors import FailedPreconditionError, enumerated
from daskvars.execution.eager import EAGER_CONTEXT
from daskvars.shapes import is_known
from daskvars.state import load_variable
from daskvars.state.external.tensorflow.object_graph import VARIABLE_VALUE, SavedObject
from daskvars.train.checkpoints.initializers import set_initializer
from daskvars.train.checkpoints.objects.walking import STATE, FoundObjects
from daskvars.train.checkpoints.saved_tensors import restore, saved_tensors
from daskvars.variables.partitions.partitioned_variable import full_name, parts_of
from daskvars.variables.tracking import AnyVariable, Trackable, children_of, identity
from daskvars.variables.variable import Variable

logger = logging.getLogger("daskvars")

ROOT = "(root)"


class Restore:
    """One call of `Checkpoint.restore`; goes on as long as objects that it knows make variables.

    Args:
      root: where it begins; it is not kept alive.
      path: path of the checkpoint.

    Attributes:
      for_sessions: variables of graphs, by their keys in the checkpoint.
      is_partial: whether what it leaves out is left out on purpose.
    """

    def __init__(self, root: Any, path: str) -> None:
        self._root = weakref.ref(root)
        self.path = path
        self.is_partial = False
        self.for_sessions: dict[str, AnyVariable] = {}
        self._bound: dict[Any, weakref.ref[Any]] = {}

    @property
    def root(self) -> Any:
        """The object that it began at, None if that is gone."""
        return self._root()

    def resume(self, found: Any, *, begins: bool = False) -> None:
        """Set what has appeared below an object that it knows.

        Args:
          begins: whether initializers of variables that have appeared in a graph are to give the
            checkpoint's values: of those that a layer makes.
        """
        fresh: dict[Any, Any] = {}
        variables, states, late = self._appeared(found, fresh)
        eager = {key: v for key, v in {**variables, **late}.items() if v.graph is None}
        if eager:
            EAGER_CONTEXT.sync()
            self.set(EAGER_CONTEXT.engine, eager)
        for key, trackable in states.items():
            trackable._restore_state(load_variable(self.path, key))
        for number, value in fresh.items():
            self._bound[number] = weakref.ref(value)
            if isinstance(value, Trackable):
                value._await_restore(self)
        built = {key: v for key, v in variables.items() if v.graph is not None}
        if begins:
            for key, variable in built.items():
                for part in parts_of(variable):
                    set_initializer(part, self.path, key)
        self.for_sessions |= {k: v for k, v in {**built, **late}.items() if v.graph is not None}

    def _appeared(
        self, found: Any, fresh: dict[Any, Any]
    ) -> tuple[dict[str, AnyVariable], dict[str, Trackable], dict[str, AnyVariable]]:
        """Return what is to be set now: variables, states of objects, variables of optimizers.

        Args:
          found: where to begin.
          fresh: takes what is met for the first time.
        """
        raise NotImplementedError

    def _is_met(self, number: Any, value: Any, fresh: Mapping[Any, Any]) -> bool | None:
        """Return whether the counterpart of something saved is known: None if it is another."""
        known = fresh.get(number)
        if known is None and number in self._bound:
            known = self._bound[number]()
        return known is not None and (identity(known) == identity(value) or None)

    def set(self, engine: Any, variables: Mapping[str, AnyVariable]) -> None:
        """Set variables from the checkpoint, all or none."""
        tensors = saved_tensors(dict(variables))
        unknown = [tensor.name for tensor in tensors if not is_known(tensor.handle.spec.shape)]
        if unknown:
            raise FailedPreconditionError.saying(
                f"the shape of {enumerated(unknown, 4)} is not known: objects are restored into "
                "variables of fixed shapes; use a Saver for these"
            )
        engine.saves.wait()
        restore(engine, tensors, self.path)

    def unbound(self, root: Any) -> list[Any]:
        """Return the variables below the root that have nothing in the checkpoint."""
        found = FoundObjects(root)
        met = {identity(value) for known in self._bound.values() if (value := known()) is not None}
        values = [o for o in found.objects if isinstance(o, AnyVariable)]
        return [value for value in values if identity(value) not in met]


class ObjectRestore(Restore):
    """A restore along the names of attributes.

    Args:
      root, path: see `Restore`.
      nodes: the objects of the checkpoint, the root first.
    """

    def __init__(self, root: Any, path: str, nodes: list[SavedObject]) -> None:
        super().__init__(root, path)
        self.nodes = nodes
        self._optimizers = [number for number, node in enumerate(nodes) if node.slots]
        self._warned: set[tuple[int, Any]] = set()
        try:
            self.resume(root)
        except BaseException:
            self.is_partial = True  # nothing was restored, and the error says why
            raise

    def _appeared(
        self, found: Any, fresh: dict[Any, Any]
    ) -> tuple[dict[str, AnyVariable], dict[str, Trackable], dict[str, AnyVariable]]:
        variables: dict[str, AnyVariable] = {}
        states: dict[str, Trackable] = {}
        begun = [n for n, known in self._bound.items() if known() is found] or [0]
        for number, value in self._walked(found, begun, fresh):
            saved = self.nodes[number].attributes
            if isinstance(value, AnyVariable) and VARIABLE_VALUE in saved:
                variables[saved[VARIABLE_VALUE].key] = value
            elif isinstance(value, Trackable) and STATE in saved:
                states[saved[STATE].key] = value
        late: dict[str, AnyVariable] = {
            self.nodes[number].attributes[VARIABLE_VALUE].key: slot
            for number, slot in self._slots(fresh)
        }
        return variables, states, late

    def _walked(
        self, found: Any, numbers: list[int], fresh: dict[Any, Any]
    ) -> Iterator[tuple[int, Any]]:
        """Yield saved object and counterpart for each that is met for the first time."""
        waiting = deque([(number, found) for number in numbers])
        seen: set[tuple[int, Any]] = set()
        while waiting:
            number, value = waiting.popleft()
            if (number, identity(value)) in seen:
                continue
            seen.add((number, identity(value)))
            if isinstance(value, Trackable | AnyVariable):
                is_met = self._is_met(number, value, fresh)
                if is_met is None:
                    self._warn_of_another(number, value)
                    continue
                if not is_met:
                    fresh[number] = value
                    yield number, value
            children = self.nodes[number].children
            for name, child in children_of(value).items():
                if name in children:
                    waiting.append((children[name], child))

    def _warn_of_another(self, number: int, value: Any) -> None:
        if (number, identity(value)) not in self._warned:
            self._warned.add((number, identity(value)))
            logger.warning(
                "Inconsistent references when loading the checkpoint into this object graph: %s is "
                "one object in %s, and several here; %r is not restored",
                self.paths[number],
                self.path,
                value,
            )

    def _slots(self, fresh: dict[Any, Any]) -> Iterator[tuple[int, Variable]]:
        """Yield saved slots and their counterparts, as far as optimizers have made them."""

        def counterpart(number: int) -> Any:
            found = fresh.get(number)
            return found if found is not None else self._bound.get(number, lambda: None)()

        for number in self._optimizers:
            optimizer = counterpart(number)
            if not isinstance(optimizer, Trackable):
                continue
            made = {(identity(v), name): slot for v, name, slot in optimizer._tracked_slots()}
            for original, name, saved in self.nodes[number].slots if made else ():
                slot = made.get((identity(counterpart(original)), name))
                is_saved = VARIABLE_VALUE in self.nodes[saved].attributes
                if slot is not None and is_saved and self._is_met(saved, slot, fresh) is False:
                    fresh[saved] = slot
                    yield saved, slot

    @property
    def unresolved(self) -> list[int]:
        """The saved objects with values that nothing here has taken."""
        return [n for n, node in enumerate(self.nodes) if node.attributes and n not in self._bound]

    @property
    def paths(self) -> list[str]:
        """How each saved object is named: as TensorFlow names it, by the way from the root."""
        found = {0: ROOT}
        waiting = deque([0])
        while waiting:
            number = waiting.popleft()
            for name, child in self.nodes[number].children.items():
                if child not in found:
                    found[child] = f"{found[number]}.{name}"
                    waiting.append(child)
        for number in self._optimizers:
            for original, name, slot in self.nodes[number].slots:
                words = f"'s state '{name}' for {found.get(original, original)}"
                found.setdefault(slot, f"{found.get(number, number)}{words}")
        return [found.get(number, f"object {number}") for number in range(len(self.nodes))]

    def __del__(self) -> None:
        if self.is_partial or sys.is_finalizing() or not hasattr(self, "_optimizers"):
            return
        left = self.unresolved
        if left:
            paths = self.paths
            logger.warning(
                "What was restored from %s has gone, and nobody asked for these values of the "
                "checkpoint: %s. expect_partial() of what restore() returns says that it is meant.",
                self.path,
                enumerated([paths[number] for number in left], 6),
            )


class NamedRestore(Restore):
    """A restore of a checkpoint that a `Saver` wrote: by the names of variables.

    Args:
      root, path: see `Restore`.
      names: what is in the checkpoint.
    """

    def __init__(self, root: Any, path: str, names: frozenset[str]) -> None:
        super().__init__(root, path)
        self._names = names
        self.resume(root)

    def _appeared(
        self, found: Any, fresh: dict[Any, Any]
    ) -> tuple[dict[str, AnyVariable], dict[str, Trackable], dict[str, AnyVariable]]:
        whole = FoundObjects(found if self.root is None else self.root)
        variables = {}
        for value in whole.objects:
            if isinstance(value, AnyVariable):
                name = full_name(value)
                if name in self._names and self._is_met(name, value, fresh) is False:
                    fresh[name] = value
                    variables[name] = value
            elif isinstance(value, Trackable) and self not in value._restores:
                value._await_restore(self)
        return variables, {}, {}
