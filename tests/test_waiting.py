"""Waiting ends when the condition holds, or with a message when it does not in time."""

import itertools

import pytest

from tests.waiting import wait_until


def test_what_the_condition_gives_is_returned():
    numbers = itertools.count()
    assert wait_until(lambda: next(numbers) > 3 and "there", "it counts", pause_s=0) == "there"
    assert next(numbers) == 5


def test_what_does_not_come_is_named():
    with pytest.raises(AssertionError, match=r"not within 0\.01 s: rain"):
        wait_until(lambda: False, "rain", 0.01)
    found = []
    with pytest.raises(AssertionError, match=r"of \d"):
        wait_until(lambda: found.append(1), lambda: f"of {len(found)}", 0.02, 0.01)
