"""warm_start: variables of a new model that begin with the values of an earlier one."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

from daskvars.errors import enumerated
from daskvars.graph.by_identity import is_among
from daskvars.graph.scopes.collections import GraphKeys
from daskvars.train.checkpoints.initializers import init_from_checkpoint
from daskvars.train.checkpoints.vocabularies import begin_with_words
from daskvars.variables.colocation import owner
from daskvars.variables.partitions.partitioned_variable import (
    PartitionedVariable,
    full_name,
    parts_of,
)
from daskvars.variables.variable import Variable

logger = logging.getLogger("daskvars")


def warm_start(
    ckpt_to_initialize_from: str,
    vars_to_warm_start: Any = ".*",
    var_name_to_vocab_info: Mapping[str, Any] | None = None,
    var_name_to_prev_var_name: Mapping[str, str] | None = None,
) -> None:
    """Let variables of the graph have initial values from a checkpoint, by their names.

    Args:
      ckpt_to_initialize_from: path of the checkpoint, or a directory whose newest one is meant.
      vars_to_warm_start: a regular expression that the names of trainable variables begin with, a
        list of such for all global ones, or a list of variables; None for none.
      var_name_to_vocab_info: name of a variable -> its `VocabInfo`, where its rows go by a
        vocabulary that is another than the checkpoint's; these are for trainable variables, or of
        those of `vars_to_warm_start`.
      var_name_to_prev_var_name: name of a variable -> its name in the checkpoint, where that is
        another. A partitioned variable has one name.

    Raises:
      ValueError: `vars_to_warm_start` is something else, a name or vocabulary is given for a
        variable that is none of them, or names, shapes, dtypes or vocabularies do not fit.
      NotFoundError: there is no checkpoint.

    Warns:
      UserWarning: no variable's name begins with one of `vars_to_warm_start`.

    Source: TensorFlow 1.15, ``tf.train.warm_start``.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     with tf.Graph().as_default(), tf.Session() as sess:
    ...         sess.run(tf.get_variable("old", initializer=5.0).initializer)
    ...         path = tf.train.Saver().save(sess, place + "/model")
    ...     with tf.Graph().as_default(), tf.Session() as sess:
    ...         w = tf.get_variable("new", [])
    ...         tf.train.warm_start(path, var_name_to_prev_var_name={"new": "old"})
    ...         sess.run(tf.global_variables_initializer())
    ...         print(sess.run(w))
    5.0
    """
    # Without a choice, those with vocabularies are the ones that are meant.
    found = _by_name(_chosen(".*" if vars_to_warm_start is None else vars_to_warm_start))
    earlier = dict(var_name_to_prev_var_name or {})
    vocabularies = dict(var_name_to_vocab_info or {})
    _check_used("var_name_to_prev_var_name", earlier, found)
    _check_used("var_name_to_vocab_info", vocabularies, found)
    if vars_to_warm_start is None:
        found = {name: found[name] for name in vocabularies}
    logger.info("Warm-starting %d variables from %s", len(found), ckpt_to_initialize_from)
    for name, vocab in vocabularies.items():
        stored = earlier.get(name, name)
        begin_with_words(found[name], ckpt_to_initialize_from, stored, vocab)
    # Pairs: two variables may begin with the values of one.
    init_from_checkpoint(
        ckpt_to_initialize_from,
        [
            (earlier.get(name, name), variables)
            for name, variables in found.items()
            if name not in vocabularies
        ],
    )


def _check_used(argument: str, given: Iterable[str], found: Iterable[str]) -> None:
    unused = sorted(set(given) - set(found))
    if unused:
        raise ValueError(
            f"You provided the following variables in {argument} that were not "
            f"used: {unused}. Perhaps you misspelled them? Here is the list of viable variable "
            f"names: {sorted(found)}"
        )


def _chosen(which: Any) -> list[Any]:
    if isinstance(which, str):
        return _named(GraphKeys.TRAINABLE_VARIABLES, [which])
    if isinstance(which, list) and all(isinstance(item, str) for item in which):
        return _named(GraphKeys.GLOBAL_VARIABLES, which)
    if isinstance(which, list) and all(
        isinstance(item, Variable | PartitionedVariable) for item in which
    ):
        return which
    raise ValueError(
        "vars_to_warm_start must be a regular expression, or a list of them or of variables; got "
        f"{which!r}"
    )


def _named(collection: str, beginnings: Iterable[str]) -> list[Any]:
    chosen = {beginning: owner().get_collection(collection, beginning) for beginning in beginnings}
    unused = [repr(beginning) for beginning, found in chosen.items() if not found]
    if unused:
        warnings.warn(
            f"vars_to_warm_start: no name in {collection!r} begins with {enumerated(unused)}: "
            "nothing is warm-started by it",
            stacklevel=4,
        )
    return [variable for found in chosen.values() for variable in found]


def _by_name(variables: Iterable[Any]) -> dict[str, list[Variable]]:
    """Return variables by their names; the parts of a partitioned one by the name of the whole."""
    found: dict[str, list[Variable]] = {}
    for given in variables:
        for variable in parts_of(given):
            parts = found.setdefault(full_name(variable), [])
            if not is_among(variable, parts):
                parts.append(variable)
    return found
