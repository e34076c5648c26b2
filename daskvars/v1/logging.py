"""Messages to the user, through Python's logger "daskvars": TensorFlow's `tf.logging`.

Nothing below WARN is shown until `set_verbosity(INFO)` is called or the program sets up Python's
logging itself.
"""

from __future__ import annotations

import logging
from collections import Counter
from typing import Any, Protocol

from daskvars.surface.signatures import named, with_example

DEBUG, INFO, WARN, ERROR, FATAL = (
    logging.DEBUG,
    logging.INFO,
    logging.WARNING,
    logging.ERROR,
    logging.CRITICAL,
)

__all__ = [
    "DEBUG", "ERROR", "FATAL", "INFO", "WARN", "debug", "error", "fatal", "flush", "get_logger",
    "get_verbosity", "info", "log", "log_every_n", "log_first_n", "log_if", "set_verbosity", "vlog",
    "warn", "warning",
]  # fmt: skip

_logger = logging.getLogger("daskvars")
_counts: Counter[tuple[int, str]] = Counter()  # how often each message was to be logged


def log(level: int, msg: str, *args: object, **kwargs: Any) -> None:
    """Log a message at a level.

    Args:
      level: one of the levels, ``tf.logging.INFO`` for example.
      msg: the text, into which ``%`` puts `args`.
      *args: what is put in it; it is made only where the message is shown.
      **kwargs: as of ``logging.Logger.log``.

    >>> with tf.test.TestCase().assertLogs("daskvars", tf.logging.INFO) as logs:
    ...     tf.logging.log(tf.logging.WARN, "step %d", 3)
    >>> logs.output
    ['WARNING:daskvars:step 3']
    """
    _logger.log(level, msg, *args, **kwargs)


class Log(Protocol):
    """A function that logs messages at its level."""

    def __call__(self, msg: str, *args: object, **kwargs: Any) -> None: ...


LOG = """{summary}

Args:
  msg, *args, **kwargs: as of `log`.
"""
LOG_EXAMPLE = """with tf.test.TestCase().assertLogs("daskvars", tf.logging.DEBUG) as logs:
    tf.logging.{name}("step %d", 3)
logs.output -> ['{level}:daskvars:step 3']"""


def _logs(name: str, level: int, summary: str) -> Log:
    def function(msg: str, *args: object, **kwargs: Any) -> None:
        _logger.log(level, msg, *args, **kwargs)

    example = LOG_EXAMPLE.format(name=name, level=logging.getLevelName(level))
    return named(function, name, with_example(LOG.format(summary=summary), example))


debug = _logs("debug", DEBUG, "Log what helps to find a mistake.")
info = _logs("info", INFO, "Log what goes on.")
warning = warn = _logs("warning", WARN, "Log what may be wrong.")
error = _logs("error", ERROR, "Log what is wrong.")
fatal = _logs("fatal", FATAL, "Log what cannot go on; it does not end the program.")
vlog = log


def log_if(level: int, msg: str, condition: Any, *args: object) -> None:
    """Log a message if `condition` is true.

    Args:
      level, msg, *args: as of `log`.

    >>> with tf.test.TestCase().assertLogs("daskvars", tf.logging.INFO) as logs:
    ...     for loss in (0.5, 9.0):
    ...         tf.logging.log_if(tf.logging.WARN, "the loss is %s", loss > 1.0, loss)
    >>> logs.output
    ['WARNING:daskvars:the loss is 9.0']
    """
    if condition:
        log(level, msg, *args)


def log_every_n(level: int, msg: str, n: int, *args: object) -> None:
    """Log a message the first time it is given, and every `n`-th time after that.

    Args:
      level, msg, *args: as of `log`.

    >>> with tf.test.TestCase().assertLogs("daskvars", tf.logging.INFO) as logs:
    ...     for step in range(5):
    ...         tf.logging.log_every_n(tf.logging.INFO, "every second: %d", 2, step)
    >>> [record.getMessage() for record in logs.records]
    ['every second: 0', 'every second: 2', 'every second: 4']
    """
    log_if(level, msg, _count(level, msg) % n == 0, *args)


def log_first_n(level: int, msg: str, n: int, *args: object) -> None:
    """Log a message the first `n` times it is given.

    Args:
      level, msg, *args: as of `log`.

    >>> with tf.test.TestCase().assertLogs("daskvars", tf.logging.INFO) as logs:
    ...     for step in range(5):
    ...         tf.logging.log_first_n(tf.logging.INFO, "the first two: %d", 2, step)
    >>> [record.getMessage() for record in logs.records]
    ['the first two: 0', 'the first two: 1']
    """
    log_if(level, msg, _count(level, msg) < n, *args)


def _count(level: int, msg: str) -> int:
    _counts[level, msg] += 1
    return _counts[level, msg] - 1


def flush() -> None:
    """Hand all messages to the operating system.

    >>> tf.logging.flush()
    """
    for handler in _logger.handlers:
        handler.flush()


def get_logger() -> logging.Logger:
    """Return Python's logger of the messages.

    >>> tf.get_logger().name
    'daskvars'
    """
    return _logger


def set_verbosity(v: int) -> None:
    """Show messages of level `v` and above, on standard error where nothing else is set up.

    >>> set_verbosity(WARN)
    >>> get_verbosity() == WARN
    True
    """
    _logger.setLevel(v)
    if not _logger.hasHandlers():
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(levelname)s:%(name)s:%(message)s"))
        _logger.addHandler(handler)


def get_verbosity() -> int:
    """Return the level from which messages are shown.

    >>> before = tf.logging.get_verbosity()
    >>> tf.logging.set_verbosity(tf.logging.ERROR)
    >>> tf.logging.get_verbosity() == tf.logging.ERROR
    True
    >>> tf.logging.set_verbosity(before)
    """
    return _logger.getEffectiveLevel()
