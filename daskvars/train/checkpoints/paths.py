"""What the files of checkpoints are called: a prefix, and the number of the step."""

from __future__ import annotations

from typing import Any

from daskvars.state.stores.addresses import ARCHIVE_SUFFIX
from daskvars.train.training_step import global_step


def path_of_step(sess: Any, path: str, step: Any, with_zeros: bool) -> tuple[str, int | None]:
    """Return the path of a checkpoint of a step, and the step; None where there is none.

    The number comes before ``.zip``, where a path ends so.

    Args:
      sess: the session that has the step.
      path: what the number is added to.
      step: a number, an integer variable, tensor or its name, or None.
      with_zeros: write eight digits.

    Raises:
      TypeError: the step is no integer.
    """
    if step is None:
        return path, None
    is_number = hasattr(step, "__index__") and not hasattr(step, "graph")
    try:
        value = int(step) if is_number else global_step(sess, step)
    except (TypeError, ValueError):
        raise TypeError(
            f"global_step must be an integer or an integer variable: {step!r}"
        ) from None
    stem = path.removesuffix(ARCHIVE_SUFFIX)
    number = f"-{value:08d}" if with_zeros else f"-{value}"
    return stem + number + path[len(stem) :], value
