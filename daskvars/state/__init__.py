"""State: values by (key, version, chunk), in memory and in Zarr; knows no graph and no scheduler.

Words. A *key* is a variable's scope-qualified name. A *record* says what is known of a variable
without its value: dtype, shape, layout, flags. A *layout* is Dask's ``chunks``; the *stored
layout* is the regular grid in which Zarr keeps it, the same wherever the layout is regular. A
*version* is the whole state after a commit, and numbered. A *snapshot* is a version in a Zarr
group; a *checkpoint* is a snapshot under a name of its own.

Two halves:

- `Values`: what variables are now, in this process. Reads are of one version, commits are
  compare-and-swap, and what changed since the last snapshot is known. A few microseconds a run.
- Snapshots: what survives. One Zarr v3 array per variable at its key, one object per chunk with
  its crc32c behind it, and a manifest in the group's attributes that is written last: that one
  write is the commit, so a reader finds the version before or the version after, wherever a
  writer was killed. `Store` is the contract of a series of versions (`ZarrStore`, `MemoryStore`),
  `save` and `restore` write and read a single one.

Rules, and why:

- A missing chunk is an error, never zeros: Zarr reads a hole as its fill value without a word, so
  every chunk's checksum is in the manifest, and all are compared on reading. All-zero chunks are
  written like others.
- A stored chunk has one writer, which needs the store, the snapshot's path and the record, so
  any process can be it.
- Nothing that is read is trusted: manifests are checked field by field, nothing is unpickled, and
  nothing is allocated for a size that no object has.
- Any Zarr tool reads what is written: ``zarr.open_group(path)["conv1/weights"][:]``.

Rooms: ``format`` (what stands in a store), ``stores`` (series of versions, and where their bytes
are), ``external`` (what other people write: Zarr groups, TensorFlow's checkpoints). Files:
``failures``; ``checkpoint`` (a single snapshot saved, restored, listed, verified); ``shards``
(partitioned variables as one array); ``tensor_slices`` (checkpoints from inside a graph);
``values`` (what variables are in this process).
"""

from __future__ import annotations

from daskvars.state.checkpoint import (
    is_announced,
    is_complete,
    list_variables,
    load_variable,
    restore,
    save,
)
from daskvars.state.failures import ConflictError
from daskvars.state.format.assembly import stored_chunk
from daskvars.state.format.chunks import read_chunk, write_chunk
from daskvars.state.format.grids import Blocks, stored_chunks
from daskvars.state.format.keypath import check_key, decode_path, encode_keys
from daskvars.state.format.manifest import NO_VERSION, Manifest, VariableRecord, VersionId
from daskvars.state.format.snapshot import (
    SnapshotWriter,
    delete_snapshot,
    list_snapshots,
    read_manifest,
)
from daskvars.state.stores.addresses import open_zarr_store
from daskvars.state.stores.memory_store import MemoryStore
from daskvars.state.stores.scratch import scratch_directory
from daskvars.state.stores.store import Store
from daskvars.state.stores.zarr_store import ZarrStore
from daskvars.state.values import (
    Values,
    close_values,
    forget_values,
    known_values,
    named_values,
    opened_values,
)

__all__ = [
    "NO_VERSION", "Blocks", "ConflictError", "Manifest", "MemoryStore", "SnapshotWriter", "Store",
    "Values", "VariableRecord", "VersionId", "ZarrStore", "check_key", "close_values",
    "decode_path", "delete_snapshot", "encode_keys", "forget_values", "is_announced", "is_complete",
    "known_values", "list_snapshots", "list_variables", "load_variable", "named_values",
    "open_zarr_store", "opened_values", "read_chunk", "read_manifest", "restore", "save",
    "scratch_directory", "stored_chunk", "stored_chunks", "write_chunk",
]  # fmt: skip
