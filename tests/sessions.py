"""Sessions in which all variables of the default graph have their first values."""

from __future__ import annotations

from typing import Any

import daskvars.v1 as tf


def initialized() -> tf.Session:
    """Return such a session."""
    session = tf.Session()
    if tf.global_variables():
        session.run(tf.global_variables_initializer())
    return session


def run(fetches: Any, feed_dict: Any = None) -> Any:
    """Return what a run gives in a session of its own."""
    with initialized() as session:
        return session.run(fetches, feed_dict)
