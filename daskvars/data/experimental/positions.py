"""Where iterators of graphs are: for checkpoints."""

from __future__ import annotations

from daskvars.data.iterators.graph import Iterator
from daskvars.variables.variable import Variable


def make_saveable_from_iterator(iterator: Iterator) -> Variable:
    """Return the variable that has the position of an iterator of a graph, for a `Saver`.

    Each run that takes an element sets it in the same transaction, so a checkpoint, and a session's
    store, have the position that goes with all other values. When it is restored, the iterator goes
    on from there; one with an initializer is initialized before, as in TensorFlow.

    Args:
      iterator: made by `make_one_shot_iterator`, `make_initializable_iterator` or
        `Iterator.from_structure`; before the first run that takes an element of it.

    Returns:
      [3] int64, to be added to the collection `GraphKeys.SAVEABLE_OBJECTS`, or given to a `Saver`.

    Source: TensorFlow 1.15, ``tf.data.experimental.make_saveable_from_iterator``.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     iterator = tf.data.Dataset.range(9).make_one_shot_iterator()
    ...     position = tf.data.experimental.make_saveable_from_iterator(iterator)
    ...     number = iterator.get_next()
    ...     print(sess.run(number), sess.run(number), sess.run(position)[0])
    0 1 2
    """
    return iterator.position()
