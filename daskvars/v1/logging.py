"""Messages to the user, through Python's logger "daskvars": TensorFlow's `tf.logging`.

Nothing below WARN is shown until `set_verbosity(INFO)` is called or the program sets up Python's
logging itself.
"""

from __future__ import annotations

import logging
from collections import Counter
from typing import Any

DEBUG, INFO, WARN, ERROR, FATAL = (
    logging.DEBUG,
    logging.INFO,
    logging.WARNING,
    logging.ERROR,
    logging.CRITICAL,
)

__all__ = [
    "DEBUG",
    "ERROR",
    "FATAL",
    "INFO",
    "WARN",
    "debug",
    "error",
    "fatal",
    "flush",
    "get_logger",
    "get_verbosity",
    "info",
    "log",
    "log_every_n",
    "log_first_n",
    "log_if",
    "set_verbosity",
    "vlog",
    "warn",
    "warning",
]

_logger = logging.getLogger("daskvars")
_counts: Counter[tuple[int, str]] = Counter()  # how often each message was to be logged


def log(level: int, msg: str, *args: object, **kwargs: Any) -> None:
    """Log a message at a level.

    Args:
      level: one of the levels, ``tf.logging.INFO`` for example.
      msg: the text, into which ``%`` puts `args`.
      *args: what is put in it; it is made only where the message is shown.
      **kwargs: as of ``logging.Logger.log``.

    >>> import daskvars.v1 as tf
    >>> with tf.test.TestCase().assertLogs("daskvars", tf.logging.INFO) as logs:
    ...     tf.logging.log(tf.logging.WARN, "step %d", 3)
    >>> logs.output
    ['WARNING:daskvars:step 3']
    """
    _logger.log(level, msg, *args, **kwargs)


def debug(msg: str, *args: object, **kwargs: Any) -> None:
    """Log what helps to find a mistake.

    Args:
      msg, *args, **kwargs: as of `log`.

    >>> import daskvars.v1 as tf
    >>> with tf.test.TestCase().assertLogs("daskvars", tf.logging.DEBUG) as logs:
    ...     tf.logging.debug("step %d", 3)
    >>> logs.output
    ['DEBUG:daskvars:step 3']
    """
    _logger.debug(msg, *args, **kwargs)


def info(msg: str, *args: object, **kwargs: Any) -> None:
    """Log what goes on.

    Args:
      msg, *args, **kwargs: as of `log`.

    >>> import daskvars.v1 as tf
    >>> with tf.test.TestCase().assertLogs("daskvars", tf.logging.DEBUG) as logs:
    ...     tf.logging.info("step %d", 3)
    >>> logs.output
    ['INFO:daskvars:step 3']
    """
    _logger.info(msg, *args, **kwargs)


def warning(msg: str, *args: object, **kwargs: Any) -> None:
    """Log what may be wrong.

    Args:
      msg, *args, **kwargs: as of `log`.

    >>> import daskvars.v1 as tf
    >>> with tf.test.TestCase().assertLogs("daskvars", tf.logging.DEBUG) as logs:
    ...     tf.logging.warning("step %d", 3)
    >>> logs.output
    ['WARNING:daskvars:step 3']
    """
    _logger.warning(msg, *args, **kwargs)


warn = warning


def error(msg: str, *args: object, **kwargs: Any) -> None:
    """Log what is wrong.

    Args:
      msg, *args, **kwargs: as of `log`.

    >>> import daskvars.v1 as tf
    >>> with tf.test.TestCase().assertLogs("daskvars", tf.logging.DEBUG) as logs:
    ...     tf.logging.error("step %d", 3)
    >>> logs.output
    ['ERROR:daskvars:step 3']
    """
    _logger.error(msg, *args, **kwargs)


def fatal(msg: str, *args: object, **kwargs: Any) -> None:
    """Log what cannot go on; it does not end the program.

    Args:
      msg, *args, **kwargs: as of `log`.

    >>> import daskvars.v1 as tf
    >>> with tf.test.TestCase().assertLogs("daskvars", tf.logging.DEBUG) as logs:
    ...     tf.logging.fatal("step %d", 3)
    >>> logs.output
    ['CRITICAL:daskvars:step 3']
    """
    _logger.critical(msg, *args, **kwargs)


vlog = log


def log_if(level: int, msg: str, condition: Any, *args: object) -> None:
    """Log a message if `condition` is true.

    Args:
      level, msg, *args: as of `log`.

    >>> import daskvars.v1 as tf
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

    >>> import daskvars.v1 as tf
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

    >>> import daskvars.v1 as tf
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

    >>> import daskvars.v1 as tf
    >>> tf.logging.flush()
    """
    for handler in _logger.handlers:
        handler.flush()


def get_logger() -> logging.Logger:
    """Return Python's logger of the messages.

    >>> import daskvars.v1 as tf
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

    >>> import daskvars.v1 as tf
    >>> before = tf.logging.get_verbosity()
    >>> tf.logging.set_verbosity(tf.logging.ERROR)
    >>> tf.logging.get_verbosity() == tf.logging.ERROR
    True
    >>> tf.logging.set_verbosity(before)
    """
    return _logger.getEffectiveLevel()
