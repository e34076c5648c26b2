"""On a cluster: when a state is sealed, and by whose session.

Without a cluster a session decides for itself: `execution.engine.saving.local_seals`.
Until a version is durable the scheduler keeps what its blocks are computed from. So a seal is due,
after some first runs, when the pause that the last one asked for is over (how long that is says
`execution.cluster.saving.seals`), or at once where too much is kept. It is the duty of the session
whose run was finished last; one that does not begin in time loses it to another.
"""

from __future__ import annotations

import time
from typing import NamedTuple

FIRST_RUNS = 10  # before the first seal: a program that ends sooner needs none
MAX_TASKS = 1_000  # that the scheduler keeps for recovery, whatever the time
MAX_RETAINED_BYTES = 256 << 20  # of feeds that are kept for recovery, whatever the time and runs
PATIENCE_S = 5.0  # with a client that was asked to seal


class Duty(NamedTuple):
    """Whose turn it is to seal.

    Attributes:
      since_s: when it was asked, or began.
      version: that it seals; None until it begins.
    """

    session: str
    since_s: float
    version: int | None


class SealSchedule:
    """Says when a state should be sealed.

    Attributes:
      duty: who was asked to seal or does so, None if nobody.
      retained_bytes: of what is kept for recovery since the last seal.
      num_seals, seal_s: how many there were, and the seconds that they took in all.
    """

    def __init__(self) -> None:
        self.duty: Duty | None = None
        self.retained_bytes = 0
        self._num_runs = self._num_tasks = 0
        self._next_s = 0.0
        self.num_seals, self.seal_s = 0, 0.0

    @property
    def is_running(self) -> bool:
        """Whether somebody seals now."""
        return self.duty is not None and self.duty.version is not None

    def add(self, is_update: bool, num_tasks: int, retained_bytes: int) -> None:
        """Take note of a run: whether it changes variables, and what is kept for it."""
        self._num_runs += is_update
        self._num_tasks += num_tasks
        self.retained_bytes += retained_bytes

    def hasten(self) -> None:
        """Have the next run sealed: it follows nothing that is durable."""
        self._num_runs, self._next_s = FIRST_RUNS, 0.0

    def is_due(self) -> bool:
        """Whether somebody should seal, and nobody does."""
        now, duty = time.monotonic(), self.duty
        if duty is not None and (duty.version is not None or now < duty.since_s + PATIENCE_S):
            return False
        if self.retained_bytes >= MAX_RETAINED_BYTES:
            return True
        late = now >= self._next_s or self._num_tasks >= MAX_TASKS
        return self._num_runs >= FIRST_RUNS and late

    def ask(self, session: str) -> None:
        """Make it a session's duty."""
        self.duty = Duty(session, time.monotonic(), None)

    def is_taken(self, session: str) -> bool:
        """Whether another session has begun."""
        duty = self.duty
        return duty is not None and duty.version is not None and duty.session != session

    def begin(self, session: str, version: int) -> None:
        """Take note that a session seals a version."""
        self.duty = Duty(session, time.monotonic(), version)

    def end(self, session: str, pause_s: float, is_durable: bool) -> int | None:
        """Take note that a session has sealed, or failed to.

        Args:
          session: whose duty it was.
          pause_s: how long nobody is to seal again.
          is_durable: whether it has.

        Returns:
          The version that it has sealed; None if it failed, or it was not its duty.
        """
        duty = self.duty
        if duty is None or duty.session != session:
            return None
        self.duty = None
        self._next_s = time.monotonic() + pause_s
        if not is_durable:
            return None
        self._num_tasks = self.retained_bytes = 0
        self.num_seals += 1
        self.seal_s += time.monotonic() - duty.since_s
        return duty.version

    def leave(self, session: str) -> None:
        """Take its duty from a session that is gone."""
        if self.duty is not None and self.duty.session == session:
            self.duty = None
