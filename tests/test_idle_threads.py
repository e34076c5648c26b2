"""Pieces of work on threads that are idle."""

import threading

import pytest

from daskvars import idle_threads


@pytest.fixture(autouse=True)
def two_threads():
    idle_threads.share_among(2)
    yield
    idle_threads.share_among(1)


def met(timeout):
    """Return whether two pieces of work are there at the same time."""
    barrier = threading.Barrier(2)
    found = []

    def meet(_):
        try:
            barrier.wait(timeout)
            found.append(True)
        except threading.BrokenBarrierError:
            found.append(False)

    idle_threads.for_each(meet, [0, 1])
    return all(found)


def test_a_thread_that_is_idle_takes_a_piece():
    assert met(60)


def test_a_thread_with_work_of_its_own_takes_none():
    with idle_threads.one_of_several, idle_threads.one_of_several:
        assert not met(0.01)


def test_each_piece_is_done_once():
    done = []
    idle_threads.for_each(done.append, range(100))
    assert sorted(done) == [*range(100)]


def test_an_error_of_a_piece_is_raised():
    def work(number):
        if number == 7:
            raise KeyError(number)

    with pytest.raises(KeyError):
        idle_threads.for_each(work, range(10))
