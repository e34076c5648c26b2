"""What tests of lowering look at."""

import pytest

from daskvars.execution.local.executor import LocalExecutor


@pytest.fixture
def plans(monkeypatch):
    """The plans that are made in this process, in their order."""
    found = []
    bind = LocalExecutor.bind

    def noted(self, plan, *more):
        found.append(plan)
        return bind(self, plan, *more)

    monkeypatch.setattr(LocalExecutor, "bind", noted)
    return found
