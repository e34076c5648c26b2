"""Scaffold: the operations that a training needs besides its model, found or made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from daskvars import summary
from daskvars.graph.interpreter import builder_for
from daskvars.graph.scopes.collections import GraphKeys
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.ops.control.dependencies import group
from daskvars.surface.one_line import ShownByArguments
from daskvars.v1.graphs.saver import Saver
from daskvars.variables.collections import (
    global_variables,
    global_variables_initializer,
    local_variables_initializer,
    report_uninitialized_variables,
    tables_initializer,
)


def local_initializer() -> Operation:
    """Return an operation that initializes local variables and tables."""
    return group(local_variables_initializer(), tables_initializer())


# Name of the argument, collection, and what makes it. What is missing is made by `finalize`.
_PARTS: list[tuple[str, str, Callable[[], Any]]] = [
    ("init_op", GraphKeys.INIT_OP, global_variables_initializer),
    ("ready_op", GraphKeys.READY_OP, report_uninitialized_variables),
    (
        "ready_for_local_init_op",
        GraphKeys.READY_FOR_LOCAL_INIT_OP,
        lambda: report_uninitialized_variables(global_variables()),
    ),
    ("local_init_op", GraphKeys.LOCAL_INIT_OP, local_initializer),
    ("summary_op", GraphKeys.SUMMARY_OP, summary.merge_all),
    ("saver", GraphKeys.SAVERS, lambda: Saver(sharded=True, allow_empty=True)),
]


class Scaffold(ShownByArguments):
    """The operations around a model. What is not given is taken from the graph's collections.

    What is not there either is made by `finalize`, and added to its collection.

    Args:
      init_op: operation that initializes the variables.
      init_feed_dict: what is fed to it.
      init_fn: function called after it, ``init_fn(scaffold, session)``.
      ready_op: string tensor of the names of variables without values.
      ready_for_local_init_op: the same, of global variables only.
      local_init_op: operation that initializes the local variables.
      summary_op: string tensor of all summaries.
      saver: what saves and restores: a `Saver`, by default one of all variables.
      copy_from_scaffold: another scaffold, for whatever is not given.
      local_init_feed_dict: what is fed to `local_init_op`.

    Raises:
      TypeError: `copy_from_scaffold` is no scaffold.

    >>> with tf.Graph().as_default():
    ...     v = tf.Variable(1)
    ...     scaffold = tf.train.Scaffold().finalize()
    >>> scaffold.init_op.name
    'init'
    """

    init_op: Any
    ready_op: Any
    ready_for_local_init_op: Any
    local_init_op: Any
    summary_op: Any
    saver: Any

    def __init__(
        self,
        init_op: Operation | Tensor | None = None,
        init_feed_dict: Mapping[Any, Any] | None = None,
        init_fn: Any = None,
        ready_op: Tensor | None = None,
        ready_for_local_init_op: Tensor | None = None,
        local_init_op: Operation | Tensor | None = None,
        summary_op: TensorLike | None = None,
        saver: Saver | None = None,
        copy_from_scaffold: Any = None,
        local_init_feed_dict: Mapping[Any, Any] | None = None,
    ) -> None:
        if copy_from_scaffold is not None and not isinstance(copy_from_scaffold, Scaffold):
            raise TypeError("copy_from_scaffold is not a Scaffold instance.")

        def chosen(name: str, value: Any) -> Any:
            return getattr(copy_from_scaffold, name, None) if value is None else value

        given = chosen("_given_init_fn", init_fn)
        self._given_init_fn = given
        self.init_fn = None if given is None else lambda session: given(self, session)
        self.init_op = chosen("init_op", init_op)
        self.init_feed_dict = chosen("init_feed_dict", init_feed_dict)
        self.ready_op = chosen("ready_op", ready_op)
        self.ready_for_local_init_op = chosen("ready_for_local_init_op", ready_for_local_init_op)
        self.local_init_op = chosen("local_init_op", local_init_op)
        self.local_init_feed_dict = chosen("local_init_feed_dict", local_init_feed_dict)
        self.summary_op = chosen("summary_op", summary_op)
        self.saver = chosen("saver", saver)

    def finalize(self) -> Scaffold:
        """Find or make what is missing, and finalize the graph.

        Raises:
          RuntimeError: a collection has several items, so that one must be given.
        """
        for name, key, make in _PARTS:
            if getattr(self, name) is None:
                setattr(self, name, self.get_or_default(name, key, make))
        builder_for(()).finalize()
        return self

    @staticmethod
    def get_or_default(
        arg_name: str, collection_key: str, default_constructor: Callable[[], Any]
    ) -> Any:
        """Return the one item of a collection; make it, and add it, where there is none.

        Raises:
          RuntimeError: the collection has several items.
        """
        builder = builder_for(())
        found = builder.get_collection(collection_key)
        if len(found) > 1:
            raise RuntimeError(
                f'More than one item in the collection "{collection_key}". Please indicate which '
                f"one to use by passing it to the tf.Scaffold constructor as: "
                f"tf.Scaffold({arg_name}=item to use)"
            )
        if found:
            return found[0]
        made = default_constructor()
        if made is not None:
            builder.add_to_collection(collection_key, made)
        return made
