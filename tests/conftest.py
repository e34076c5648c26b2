"""What holds for all tests."""

import gc

import pytest

from tests import gpus


def pytest_collection_finish():
    """Have the garbage collector leave alone what is there before the first test.

    The collected tests are millions of objects; to go through them takes most of a second, each
    time that a test or the interpreter collects all garbage.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture(params=gpus.GPUS)
def gpu(request, monkeypatch):
    """What computes on the GPU of this process."""
    gpus.install(request.param, monkeypatch.setattr)
    return request.param
