"""Zarr v3 metadata documents and object names of a snapshot: what any Zarr tool reads."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from zarr.abc.store import Store

from daskvars.errors import invalid
from daskvars.state.failures import store_failure
from daskvars.state.format import sharding
from daskvars.state.format.encoding import zarr_data_type, zarr_fill_value
from daskvars.state.format.grids import Index
from daskvars.state.format.keypath import decode_path
from daskvars.state.format.manifest import NAMINGS, VariableRecord
from daskvars.state.stores.objects import get, join, put

DOCUMENT = "zarr.json"
ENCODER = json.JSONEncoder(allow_nan=False, separators=(",", ":"))

MAX_DOCUMENT_BYTES = 1 << 28
"""A larger document is damaged: the manifest of 1,000,000 chunks takes 12 MB."""


def array_text(record: VariableRecord) -> str:
    """Give the metadata document of a variable's array as text.

    Its axes have names, as xarray wants them: ``weights[0]``, ``weights[1]``. No two arrays of a
    group share one, since axes of one name must be of one size there.
    """
    before, after = text_around_key(
        record.dtype, record.shape, record.grid.chunk_shape, record.naming, record.codec
    )
    name = decode_path(record.path.rpartition("/")[2])
    # An encoder is quick for strings alone: a list takes it 10 us, and there are many arrays.
    axes = ",".join([ENCODER.encode(f"{name}[{axis}]") for axis in range(len(record.shape))])
    return f'{before}{ENCODER.encode(record.key)}{after[:-1]},"dimension_names":[{axes}]}}'


@lru_cache(maxsize=1024)
def text_around_key(
    dtype: str, shape: tuple[int, ...], chunk_shape: tuple[int, ...], naming: str, codec: str
) -> tuple[str, str]:
    """Give what the documents of all arrays of one form have before and after the key."""
    document = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": shape,
        "data_type": zarr_data_type(dtype),
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk_shape}},
        "chunk_key_encoding": {"name": naming, "configuration": {"separator": "."}},
        "fill_value": zarr_fill_value(dtype),
        "codecs": sharding.documents(codec, dtype, chunk_shape),
        "storage_transformers": [],
        "attributes": {"daskvars": {"dtype": dtype, "key": None}},
    }
    before, _, after = ENCODER.encode(document).rpartition("null")
    return before, after


def group_document(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Give the metadata of a group."""
    return {"zarr_format": 3, "node_type": "group", "attributes": dict(attributes)}


def chunk_object(record: VariableRecord, index: Index) -> str:
    """Name a chunk's object in its snapshot.

    Raises:
        InvalidArgumentError: the record is of no snapshot, so it has no path.

    >>> record = VariableRecord("w", "int8", (4, 2), ((2, 2), (2,)), path="w")
    >>> chunk_object(record, (1, 0))
    'w/c.1.0'
    """
    if not record.path:
        raise invalid(f"variable {record.key!r}: use the record that its snapshot's writer has")
    numbers = [str(i) for i in index]
    if record.naming == NAMINGS[0]:
        numbers.insert(0, "c")
    return f"{record.path}/{'.'.join(numbers) or '0'}"


def group_paths(array_paths: Iterable[str]) -> set[str]:
    """Give the paths of the groups between a snapshot and its arrays."""
    groups = set()
    for path in array_paths:
        while "/" in path:
            path = path.rpartition("/")[0]
            groups.add(path)
    return groups


def put_document(
    store: Store, path: str, document: Mapping[str, Any] | str, synced: bool = False
) -> None:
    """Write the metadata document of the node at a path, data or text; see `objects.put`."""
    put(store, join(path, DOCUMENT), [document_text(document).encode()], synced)


def document_text(document: Mapping[str, Any] | str) -> str:
    """Give a metadata document as text, which it may be already."""
    return document if isinstance(document, str) else ENCODER.encode(document)


def get_document(store: Store, path: str) -> dict[str, Any] | None:
    """Read the metadata document of the node at a path; None where there is no node.

    Raises:
        StoreError: it is no JSON object.
    """
    data = get(store, join(path, DOCUMENT), MAX_DOCUMENT_BYTES)
    return None if data is None else parse_document(data, f"{store}/{join(path, DOCUMENT)}")


def parse_document(data: np.ndarray, where: str) -> dict[str, Any]:
    """Parse a metadata document."""
    try:
        document = json.loads(data.tobytes().decode(), object_pairs_hook=without_repeats)
    except (ValueError, RecursionError) as error:
        raise store_failure(f"{where} is no JSON: {error}") from None
    if type(document) is not dict:
        raise store_failure(f"{where} is no Zarr metadata")
    if type(document.get("attributes", {})) is not dict:
        raise store_failure(f"{where} is no Zarr metadata: its 'attributes' are no object")
    return document


def without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make the dict of a JSON object; raise ValueError where a name is in it twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError(f"one object has {len(pairs) - len(found)} names twice")
    return found
