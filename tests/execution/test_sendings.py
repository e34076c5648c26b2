"""Runs in flight on a shared state, without a cluster."""

import threading
from types import SimpleNamespace

from daskvars import config
from daskvars.execution.sendings import Sendings
from daskvars.state import Values


def test_a_seal_does_not_wait_for_room():
    found = []

    def seal_if_asked():
        if executor.sealer.is_asked:
            executor.sealer.is_asked = False
            found.append(len(sendings.sent))

    executor = SimpleNamespace(
        sealer=SimpleNamespace(is_asked=False), is_closed=False, values=Values(),
        seal_if_asked=seal_if_asked,
    )  # fmt: skip
    sendings = Sendings(executor)
    sendings.sent = {number: SimpleNamespace(is_done=False) for number in range(6)}
    done = [(0.0, {"done": number}) for number in range(1, 6)]
    timers = [
        threading.Timer(0.05, sendings.hear, [(0.0, {"done": 0, "seal": True})]),
        threading.Timer(0.5, lambda: [sendings.hear(event) for event in done]),
    ]
    with config.set(max_in_flight=4):
        for timer in timers:
            timer.start()
        sendings.admit()
    for timer in timers:
        timer.join()
    assert found == [5]
