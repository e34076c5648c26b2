"""Pieces of work on threads that are idle."""

import threading

import pytest

from daskvars import idle_threads
from tests.waiting import wait_until


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


def test_the_error_is_that_of_the_first_piece_that_fails_and_nothing_goes_on_behind_it():
    both, inside = threading.Barrier(2), []

    def work(number):
        inside.append(number)
        both.wait(60)
        if number:
            inside.remove(number)
            raise KeyError(number)
        wait_until(lambda: inside == [0], "the failure of the other piece")
        inside.remove(number)
        raise ValueError(number)

    with pytest.raises(ValueError, match="0"):
        idle_threads.for_each(work, range(10))
    assert not inside


def test_pieces_of_pieces_are_done_however_many_threads_are_busy():
    idle_threads.share_among(64)  # of which a pool has fewer
    done = []
    idle_threads.for_each(
        lambda i: idle_threads.for_each(lambda j: done.append((i, j)), range(8)), range(64)
    )
    assert sorted(done) == [(i, j) for i in range(64) for j in range(8)]


def test_no_more_threads_begin_than_pay():
    found = set()
    idle_threads.for_each(lambda _: found.add(threading.get_ident()), range(100), most=1)
    assert found == {threading.get_ident()}


def test_a_thread_that_does_something_else_is_not_idle():
    with idle_threads.beside_a_run:
        assert not met(0.01)


def test_what_is_begun_in_turn_is_done_beside_the_caller_and_in_order():
    goes_on, done = threading.Event(), []
    first = idle_threads.begun_in_turn(lambda: goes_on.wait(60) and done.append(1))
    second = idle_threads.begun_in_turn(lambda: done.append(2))
    assert not met(0.01)  # the other thread is at it
    goes_on.set()
    first.result()
    second.result()
    assert done == [1, 2]


def test_nothing_is_begun_where_no_thread_is_idle_or_enough_waits():
    idle_threads.share_among(1)
    assert idle_threads.begun_in_turn(lambda: None) is None
    idle_threads.share_among(2)
    goes_on = threading.Event()
    begun = [
        idle_threads.begun_in_turn(lambda: goes_on.wait(60))
        for _ in range(idle_threads.MAX_WAITING)
    ]
    assert idle_threads.begun_in_turn(lambda: None) is None
    goes_on.set()
    assert all(each.result() for each in begun)
