"""Writes that take place only if nobody else has written meanwhile, where a store offers them.

Object stores compare an object's tag before they replace it (``If-Match``), or refuse to replace
any (``If-None-Match``): S3, Google's and Azure's do, and in-memory ones, when they are driven by
obstore. With that several processes can write versions of one store without a lock; see
`zarr_store`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from zarr.abc.store import Store
from zarr.storage import ObjectStore

from daskvars.state.failures import conflict, store_failure
from daskvars.state.format.documents import DOCUMENT, document_text, parse_document
from daskvars.state.stores.objects import failed, join

try:
    import obstore
    from obstore.exceptions import AlreadyExistsError, BaseError, NotFoundError, PreconditionError
except ImportError:  # it is an extra; then no store is an ObjectStore
    obstore = None  # type: ignore[assignment]

BY_TAG = ("S3Store", "GCSStore", "AzureStore", "MemoryStore")
"""Kinds of obstore's stores that compare tags."""


def is_conditional(store: Store) -> bool:
    """Tell whether a store can compare before it writes."""
    return isinstance(store, ObjectStore) and type(store.store).__name__ in BY_TAG


def get_tagged(store: Any, path: str) -> tuple[dict[str, Any], str] | None:
    """Read the metadata document of a node, and the tag of that state; None where there is none.

    Raises:
        StoreError: it is no JSON object, or the store cannot be reached.
    """
    name = join(path, DOCUMENT)
    try:
        found = obstore.get(store.store, name)
    except FileNotFoundError:
        return None
    except BaseError as error:
        raise failed(store, f"read {name!r}", error) from error
    data = np.frombuffer(bytes(found.bytes()), np.uint8)
    return parse_document(data, f"{store}/{path}"), _tag(found.meta["e_tag"], store)


def put_tagged(store: Any, path: str, document: Mapping[str, Any] | str, tag: str | None) -> str:
    """Write the metadata document of a node, if it is what it was.

    Args:
        store: one that `is_conditional`.
        document: what is written, data or text.
        tag: the tag of what may be replaced; None where there must be nothing.

    Returns:
        The tag of what is there now.

    Raises:
        ConflictError: something else is there; nothing was written.
        StoreError: the store is open for reading only, or cannot be reached.
    """
    if store.read_only:
        raise store_failure(f"cannot write {path!r}: {store} is open for reading only")
    mode: Any = "create" if tag is None else {"e_tag": tag}
    name = join(path, DOCUMENT)
    try:
        found = obstore.put(store.store, name, document_text(document).encode(), mode=mode)
    except (AlreadyExistsError, NotFoundError, PreconditionError, FileNotFoundError):
        raise conflict(f"{store}/{path}: another writer was faster; read it again") from None
    except BaseError as error:
        raise failed(store, f"write {name!r}", error) from error
    return _tag(found["e_tag"], store)


def _tag(tag: str | None, store: Any) -> str:
    assert tag is not None, f"{store}: kinds of stores that compare tags give them"
    return tag
