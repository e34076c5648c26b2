"""Threads that share the tiles of chains, however small these are."""

import pytest

from daskvars import idle_threads
from daskvars.remote.regions.chains import tiling


@pytest.fixture(params=[1, 2])
def threads(request, monkeypatch):
    monkeypatch.setattr(tiling, "THREAD_ELEMENTS", 1)
    idle_threads.share_among(request.param)
    yield request.param
    idle_threads.share_among(1)
