"""The root of a store: the group of its snapshots, whose attributes name the head."""

from __future__ import annotations

import contextlib
from typing import Any

from zarr.abc.store import Store as ZarrStorage

from daskvars.errors import AlreadyExistsError
from daskvars.state.failures import ConflictError, already_exists, store_failure
from daskvars.state.format.documents import (
    DOCUMENT,
    MAX_DOCUMENT_BYTES,
    group_document,
    parse_document,
    put_document,
)
from daskvars.state.format.manifest import NO_NUMBER, Fields, shorten
from daskvars.state.format.snapshot import location
from daskvars.state.stores.conditional import get_tagged, is_conditional, put_tagged
from daskvars.state.stores.objects import get, join

ATTRIBUTE = "daskvars_store"
FORMAT = 1
OLD_DOCUMENTS = (".zgroup", ".zarray")  # one of which a node of Zarr v2 has
MAX_LOOKS = 10  # at the root or the list of versions, while others write
MAX_VERSION = 10**18 - 10**6
"""A head above this is damage: after it numbers would run out."""


def read_root(storage: ZarrStorage, path: str) -> tuple[int, int]:
    """Give the head and the highest number ever used, as the root's attributes have them.

    Raises:
        AlreadyExistsError: what lies there is no store.
        StoreError: it is damaged.
    """
    data = get(storage, join(path, DOCUMENT), MAX_DOCUMENT_BYTES)
    where = location(storage, path)
    if data is None or not len(data):  # empty: what a power cut leaves
        if is_of_zarr_2(storage, path):
            raise _foreign(where)
        return NO_NUMBER, NO_NUMBER
    attributes = parse_document(data, where).get("attributes", {})
    if ATTRIBUTE not in attributes:
        raise _foreign(where)
    fields = Fields(attributes[ATTRIBUTE], where, ATTRIBUTE)
    if fields.take("format", int) != FORMAT:
        raise store_failure(f"{where}: format {shorten(fields.take('format', int))}, not {FORMAT}")
    head, last = fields.take("head", int), fields.take("last", int)
    if not NO_NUMBER <= head <= last < MAX_VERSION:
        numbers = f"'head' {shorten(head)} and 'last' {shorten(last)}"
        raise store_failure(f"{where}: no store has {numbers}")
    return head, last


def is_of_zarr_2(storage: ZarrStorage, path: str) -> bool:
    """Return whether a node of Zarr v2 lies at a path, which is no store of ours."""
    return any(get(storage, join(path, name)) is not None for name in OLD_DOCUMENTS)


def _foreign(where: str) -> AlreadyExistsError:
    return already_exists(
        f"{where} holds a Zarr node that is no store of daskvars; choose another place"
    )


def write_root(storage: ZarrStorage, path: str, head: int, last: int) -> None:
    """Write the head and the highest number ever used into the root's attributes."""
    if not is_conditional(storage):
        put_document(storage, path, _root_document(head, last))
        return
    for _ in range(MAX_LOOKS):
        found = get_tagged(storage, path)
        last = max(last, read_root(storage, path)[1])
        with contextlib.suppress(ConflictError):
            tag = found[1] if found else None
            put_tagged(storage, path, _root_document(head, last), tag)
            return


def _root_document(head: int, last: int) -> dict[str, Any]:
    return group_document({ATTRIBUTE: {"format": FORMAT, "head": head, "last": last}})
