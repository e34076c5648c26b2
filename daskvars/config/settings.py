"""What is configured now: what the program has set, then what Dask's configuration says."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from typing import Any, NamedTuple

import dask.config

from daskvars.config.defaults import KNOBS, Config
from daskvars.errors import did_you_mean

SECTION = "daskvars"  # of Dask's configuration


class _State(NamedTuple):
    """Where the configuration is from.

    Attributes:
        chosen: what the program has set.
        section: what Dask's configuration says.
        value: both, and the defaults.
    """

    chosen: dict[str, Any]
    section: Any
    value: Config


_UNSET = object()
_dask_config = dask.config.config
_lock = threading.Lock()
_state = _State({}, None, Config())


def get() -> Config:
    """The configuration now.

    Returns:
        An immutable value: read it once where several knobs must agree.

    Raises:
        TypeError: Dask's configuration has a knob under ``daskvars`` that there is not, or a value
            of another type.
        ValueError: it has a value that is not positive.

    >>> get().plan_cache_size
    256
    >>> with dask.config.set({"daskvars.plan-cache-size": 8}):
    ...     get().plan_cache_size
    8
    """
    state = _state
    # Dask changes its configuration in place, so it is compared: most often None with None.
    if _dask_config.get(SECTION) == state.section:
        return state.value
    with _lock:
        return _install(_state.chosen).value


def _install(chosen: dict[str, Any]) -> _State:
    """Make the configuration of what the program has set and of Dask's; the lock is held."""
    global _state
    section = _dask_config.get(SECTION)
    value = Config(**{**_knobs_of(section), **chosen})
    _state = _State(chosen, None if section is None else dict(section), value)
    return _state


def _knobs_of(section: Any) -> dict[str, Any]:
    """Read what Dask's configuration says, by the names of knobs.

    Raises:
        TypeError, ValueError: it is wrong; the error says where.
    """
    if section is None:
        return {}
    if not isinstance(section, Mapping):
        raise TypeError(f"{SECTION!r} in Dask's configuration must hold knobs, found {section!r}.")
    found = {str(name).replace("-", "_"): value for name, value in section.items()}
    for name in found:
        if name not in KNOBS:
            raise TypeError(
                f"There is no config knob {name!r}{did_you_mean(name, KNOBS)}; Dask's "
                f"configuration has it, under {SECTION!r}."
            )
    try:
        Config(**found)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{error} Dask's configuration has it, under {SECTION!r}.") from None
    return found


class set:
    """Change knobs at once; as a context manager, put the old values back at its end.

    Args:
        overrides: knob names and their new values.

    Raises:
        TypeError: there is no such knob, or its value has another type.
        ValueError: the value is not positive.

    >>> with set(batch_parts=2):
    ...     get().batch_parts
    2
    >>> set(scrach="/data")
    Traceback (most recent call last):
    TypeError: There is no config knob 'scrach' (did you mean 'scratch'?).
    """

    def __init__(self, **overrides: Any) -> None:
        for name in overrides:
            if name not in KNOBS:
                raise TypeError(f"There is no config knob {name!r}{did_you_mean(name, KNOBS)}.")
        with _lock:
            self._previous = {name: _state.chosen.get(name, _UNSET) for name in overrides}
            _install({**_state.chosen, **overrides})

    def __enter__(self) -> Config:
        return get()

    def __exit__(self, *error: object) -> None:
        with _lock:
            chosen = {**_state.chosen, **self._previous}
            _install({name: value for name, value in chosen.items() if value is not _UNSET})


def thread_count() -> int:
    """How many threads run tasks in this process: ``num_threads``, or the CPUs it may use.

    >>> thread_count() >= 1
    True
    """
    chosen = get().num_threads
    if chosen is not None:
        return chosen
    if hasattr(os, "sched_getaffinity"):  # not on macOS
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
