"""Arrays that go between processes through memory that both have."""

import asyncio
import os
import threading
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import ml_dtypes
import numpy as np
import pytest

from daskvars.remote import shared_buffers
from daskvars.remote.shared_buffers import (
    LentBuffers,
    Placed,
    SharedBuffer,
    SharedBuffers,
    can_be_placed,
    own,
)
from daskvars.versioned import Versioned, VersionedPart, changed
from tests import fresh

pytestmark = pytest.mark.skipif(not shared_buffers.IS_SUPPORTED, reason="needs memory files")
OTHER = "tcp://127.0.0.1:2"


def arrays():
    numbers = np.arange(60_000.0).reshape(200, 300)
    return [
        numbers,
        numbers.T,
        numbers[::2, ::3],
        np.arange(100_000).astype(ml_dtypes.bfloat16),
        np.array(["a", "bc"] * 20_000),
        np.array(7.0),
        np.zeros((0, 3)),
        np.array(["2020-01-01"], "M8[D]"),
    ]


def filled(ticket, num_times):
    """Put the arrays into a buffer of another process: the answer of that process."""
    lent = LentBuffers()
    for _ in range(num_times):
        found = lent.placed(ticket, arrays())
    lent.close()
    return found


@pytest.mark.slow
def test_another_process_fills_a_buffer():
    buffer = SharedBuffer()
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        places = pool.submit(filled, buffer.ticket, 2).result()
    memory = buffer.memory()
    for place, wanted in zip(places, arrays(), strict=True):
        found = place.within(memory)
        np.testing.assert_array_equal(found, wanted)
        assert found.dtype == wanted.dtype
        assert found.flags.f_contiguous == wanted.flags.f_contiguous or not wanted.flags.forc
        assert type(found) is np.ndarray and np.shares_memory(found, memory) == bool(found.size)
        kept = own(found[...])
        assert not np.shares_memory(kept, memory) and own(kept) is kept
        np.testing.assert_array_equal(kept, wanted)
    assert own("no array") == "no array"
    buffer.close()
    np.testing.assert_array_equal(found, wanted)  # what is in it stays


def test_a_buffer_grows_with_what_is_placed():
    buffer, lent = SharedBuffer(), LentBuffers()
    for size in (10_000, 100_000, 20_000):
        (place,) = lent.placed(buffer.ticket, [np.full(size, size, np.float64)])
        assert (place.within(buffer.memory()) == size).all()
    assert buffer.nbytes == 800_000
    lent.close()
    buffer.close()


def test_parts_of_versions_are_copied_into_a_buffer_as_they_are():
    buffer, lent = SharedBuffer(), LentBuffers()
    start = np.arange(60_000.0).reshape(300, 200)
    old = Versioned(start.copy())

    def write(arrays, record):
        record(arrays[0], np.arange(0, 300, 2))
        arrays[0][::2] = -1

    (new,) = changed([old], "task", write)
    region = slice(50, 250), slice(20, 90)
    for whole, wanted in ((old, start), (new, np.where(np.arange(300)[:, None] % 2, start, -1))):
        part = VersionedPart(whole, region)
        assert can_be_placed(part) and part.nbytes == 200 * 70 * 8
        (place,) = lent.placed(buffer.ticket, [part])
        np.testing.assert_array_equal(place.within(buffer.memory()), wanted[region])
    lent.close()
    buffer.close()


def test_what_no_buffer_is_for_is_not_placed():
    buffer, lent = SharedBuffer(), LentBuffers()
    assert lent.placed(buffer.ticket, [np.zeros(10)]) is None
    assert lent.placed(buffer.ticket, [np.zeros(shared_buffers.MOST_BYTES + 1, np.int8)]) is None
    assert not can_be_placed(np.array([None, "a"], object))
    assert not can_be_placed([1, 2])
    assert not can_be_placed(np.ma.masked_array(np.zeros(3)))
    buffer.close()


def test_a_ticket_of_another_file_is_refused():
    buffer, lent = SharedBuffer(), LentBuffers()
    ticket, array = buffer.ticket, np.zeros(100_000)
    assert lent.placed(ticket._replace(inode=ticket.inode + 1), [array]) is None
    assert lent.placed(ticket._replace(process=2**22 + 1), [array]) is None
    buffer.close()
    assert lent.placed(ticket, [array]) is None


@pytest.mark.slow
def test_a_killed_borrower_leaves_nothing():
    buffer = SharedBuffer()
    program = (
        "import os, sys, numpy as np\n"
        "from daskvars.remote.shared_buffers import LentBuffers, Ticket\n"
        "LentBuffers().placed(Ticket(*map(int, sys.argv[1:])), [np.ones(100_000)])\n"
        "os.kill(os.getpid(), 9)\n"
    )
    ended = fresh.python("-c", program, *buffer.ticket, after=fresh.PACKAGE)
    assert ended.status == -9
    assert buffer.nbytes == 800_000
    before = len(os.listdir("/proc/self/fd"))
    buffer.close()
    assert len(os.listdir("/proc/self/fd")) == before - 1


def test_a_buffer_is_lent_again_when_nothing_in_it_is_used():
    async def lend(buffers, nbytes=1 << 20):
        async with buffers.lent(OTHER, nbytes) as buffer:
            return buffer, Placed(0, (9,), np.dtype("f8"), "C").within(buffer.memory())

    async def lends():
        buffers = SharedBuffers()
        first, array = await lend(buffers)
        view = array[2:5].reshape(3, 1)
        del array
        second, other = await lend(buffers)
        assert second is not first  # what is in the first is used yet
        thread = threading.Thread(target=lambda last: None, args=[view])
        del view
        thread.start()
        thread.join()
        del thread
        await asyncio.sleep(0)
        assert (await lend(buffers))[0] is first
        small, _ = await lend(buffers, shared_buffers.LEAST_BYTES)
        assert small not in (first, second)  # a large one would be held up by little
        buffers.close()
        del other, _
        await asyncio.sleep(0)

    before = len(os.listdir("/proc/self/fd"))
    asyncio.run(lends())
    assert len(os.listdir("/proc/self/fd")) == before


def test_an_array_may_be_used_longer_than_its_loop_runs():
    async def lend():
        async with SharedBuffers().lent(OTHER, 1 << 20) as buffer:
            return Placed(0, (9,), np.dtype("f8"), "C").within(buffer.memory())

    before = len(os.listdir("/proc/self/fd"))
    array = asyncio.run(lend())
    assert (array == 0).all()
    assert len(os.listdir("/proc/self/fd")) > before
    del array
    assert len(os.listdir("/proc/self/fd")) == before


def test_buffers_are_lent_again_and_not_after_a_failure():
    async def lend(buffers, error=None):
        async with buffers.lent(OTHER, 1 << 20) as buffer:
            if error is not None:
                raise error
            return buffer

    async def lends():
        buffers = SharedBuffers()
        first = await lend(buffers)
        assert await lend(buffers) is first
        with pytest.raises(asyncio.CancelledError):
            await lend(buffers, asyncio.CancelledError())
        second = await lend(buffers)
        assert second is not first  # whoever was asked may fill that one yet
        with pytest.raises(TimeoutError):
            await lend(buffers, TimeoutError())
        assert await lend(buffers) is None
        buffers.close()

    asyncio.run(lends())


def test_there_is_none_where_no_file_can_be_opened(monkeypatch):
    async def lend():
        async with SharedBuffers().lent(OTHER, 1 << 20) as buffer:
            return buffer

    monkeypatch.setattr(os, "memfd_create", lambda name: os.open("/proc/nowhere", os.O_RDONLY))
    assert asyncio.run(lend()) is None


def test_a_process_has_so_many_buffers_and_no_more(monkeypatch):
    async def lend(buffers, address):
        async with buffers.lent(address, 1 << 20) as buffer:
            if buffer is None:
                return None
            return Placed(0, (9,), np.dtype("f8"), "C").within(buffer.memory())

    async def lends():
        buffers = SharedBuffers()
        used = [await lend(buffers, f"tcp://127.0.0.1:{n}") for n in range(3)]
        assert await lend(buffers, OTHER) is None
        del used[0]
        await asyncio.sleep(0)
        assert await lend(buffers, OTHER) is not None  # in place of one that is idle
        buffers.close()

    monkeypatch.setattr(shared_buffers, "MOST_BUFFERS", 3)
    asyncio.run(lends())


def test_many_questions_to_one_process_wait_and_fail_together():
    async def asked(buffers, dead, seen):
        async with buffers.lent(OTHER, 1 << 20) as buffer:
            seen.append(buffer)
            await dead.wait()
            raise OSError("gone")

    async def ask():
        buffers, dead, seen = SharedBuffers(), asyncio.Event(), []
        tasks = [asyncio.ensure_future(asked(buffers, dead, seen)) for _ in range(20)]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert len(seen) == shared_buffers.MOST_LENT
        dead.set()
        errors = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(error, OSError) for error in errors)
        assert seen[shared_buffers.MOST_LENT :] == [None] * (20 - shared_buffers.MOST_LENT)

    asyncio.run(ask())
