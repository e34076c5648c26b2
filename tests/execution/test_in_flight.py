"""Runs in flight on a shared state, without a cluster."""

import threading
from types import SimpleNamespace

from daskvars import config
from daskvars.execution.in_flight import InFlight
from daskvars.state import Values


def test_a_seal_does_not_wait_for_room():
    found = []

    def seal_if_asked():
        if executor.sealer.is_asked:
            executor.sealer.is_asked = False
            found.append(len(runs.sent))

    executor = SimpleNamespace(
        sealer=SimpleNamespace(is_asked=False), check_connected=lambda: None, values=Values(),
        seal_if_asked=seal_if_asked,
    )  # fmt: skip
    runs = InFlight(executor)
    runs.sent = {
        number: SimpleNamespace(
            is_done=False, dispatch=SimpleNamespace(release=lambda: None),
            bound=SimpleNamespace(plan=SimpleNamespace(updates={})),
        )
        for number in range(6)
    }  # fmt: skip
    done = [(0.0, {"done": number}) for number in range(1, 6)]
    timers = [
        threading.Timer(0.05, runs.hear, [(0.0, {"done": 0, "seal": True})]),
        threading.Timer(0.5, lambda: [runs.hear(event) for event in done]),
    ]
    with config.set(max_in_flight=4):
        for timer in timers:
            timer.start()
        runs.admit()
    for timer in timers:
        timer.join()
    assert found == [5]
