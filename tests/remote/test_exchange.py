"""Pulls, where what answers is not what is wanted; see `tests/execution/cluster/runs` for kills."""

import asyncio
import threading
from types import SimpleNamespace

import numpy as np
import pytest

from daskvars.remote import exchange
from daskvars.remote.dask_internals import pickle
from daskvars.remote.exchange import Exchanges, Wanted
from daskvars.remote.shared_buffers import SharedBuffers
from daskvars.remote.task_outputs import GONE, CountedOutput, RemoteOutput, TaskOutputs
from daskvars.remote.versions.commit_order import LostKeysError

DEAD, ALIVE = "tcp://127.0.0.1:1", "tcp://127.0.0.1:2"


@pytest.fixture
def exchanges(monkeypatch):
    """Exchanges of a worker whose questions to the dead one are never answered."""

    async def ask(worker, address, operation, request):
        if address == DEAD:
            await asyncio.Event().wait()
        wanted, *_ = pickle.loads(request)
        found = [(np.arange(3.0),) for _ in wanted]
        return {"parts": pickle.dumps(found), "data": []}

    monkeypatch.setattr(exchange, "ask_worker", ask)
    monkeypatch.setattr(exchange, "CHECK_S", 0.01)
    found = Exchanges()
    found.worker = SimpleNamespace(address="tcp://127.0.0.1:3")
    found.tracer, found.buffers = None, SharedBuffers()
    found.num_received, found.received_bytes, found.received_s = 0, 0, 0.0
    found.sought, found._search = set(), None
    return found


def pulled(exchanges, where):
    async def located(worker, operation, request):
        _, arguments = pickle.loads(request)
        return pickle.dumps(dict.fromkeys(arguments["keys"], where()))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exchange, "ask_scheduler", located)
        wanted = Wanted(RemoteOutput("key", DEAD, 0), None, 24)
        return asyncio.run(exchanges.pull([wanted]))


def test_a_dead_owner_is_not_waited_for_when_somebody_else_has_it(exchanges):
    (found,) = pulled(exchanges, lambda: [ALIVE])
    np.testing.assert_array_equal(found, np.arange(3.0))


def test_what_died_with_its_owner_is_lost(exchanges):
    with pytest.raises(LostKeysError, match="key are lost"):
        pulled(exchanges, lambda: None)


def test_a_slow_owner_is_waited_for(exchanges):
    answers = [[DEAD], [DEAD], [DEAD], [ALIVE]]
    pulled(exchanges, lambda: answers.pop(0) if len(answers) > 1 else answers[0])
    assert len(answers) == 1


def test_what_all_have_taken_is_let_go_and_lost_to_whoever_asks_again(exchanges, monkeypatch):
    rows = np.arange(40_000.0).reshape(2, -1)
    output = CountedOutput(rows, 2)
    exchanges.worker.data = {"key": TaskOutputs([output])}
    exchanges.worker.transfer_outgoing_bytes_total = 0
    exchanges.lock = threading.Lock()
    for row in range(2):
        assert output.value is rows
        ((found,),) = exchanges.slices([("key", 0, (slice(row, row + 1),))])
        np.testing.assert_array_equal(found, rows[row : row + 1])
    assert exchanges.slices([("key", 0, None)]) == [(GONE,)]

    async def ask(worker, address, operation, request):
        answer = await exchanges.answer(request)
        return {**answer, "data": [each.data for each in answer["data"]]}  # as it arrives

    monkeypatch.setattr(exchange, "ask_worker", ask)
    with pytest.raises(LostKeysError, match="key are lost: all had them"):
        pulled(exchanges, lambda: [DEAD])


@pytest.mark.parametrize("is_scarce", [False, True])
def test_what_was_done_of_a_task_that_is_given_back_is_kept_for_a_while(
    exchanges, monkeypatch, is_scarce
):
    later = []
    exchanges.worker.loop = SimpleNamespace(
        call_later=lambda seconds, *call: later.append(call),
        add_callback=lambda *call: later.append(call),
    )
    exchanges.first_tried, exchanges.suspended = {}, {}
    monkeypatch.setattr(exchange, "is_scarce", lambda: is_scarce)
    with pytest.raises(exchange.Reschedule):
        exchanges.give_back("key", "run")
    looks = 0
    while later:
        assert exchanges.suspended == {"key": "run"}
        keep, key, until = later.pop()
        keep(key, until if looks < 2 else 0.0)
        looks += 1
    assert exchanges.suspended == {} and looks == (1 if is_scarce else 3)
