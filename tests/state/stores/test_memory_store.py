"""The store in memory keeps the contract."""

from __future__ import annotations

import pytest

from daskvars.errors import InvalidArgumentError
from daskvars.state import MemoryStore
from tests.state.stores.store_contract import StoreContract


class TestMemoryStore(StoreContract):
    @pytest.fixture
    def store(self) -> MemoryStore:
        return MemoryStore()


def test_a_store_keeps_at_least_one_version() -> None:
    with pytest.raises(InvalidArgumentError, match="keep=0"):
        MemoryStore(keep=0)
