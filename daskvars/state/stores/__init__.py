"""Stores: series of versions, and where their bytes are.

- ``store``: the contract, as tests in ``tests/state/stores/store_contract.py``; ``zarr_store`` and
  ``memory_store`` keep it.
- ``root``: which version is the head; ``locks``: other writers kept out for a moment, on a disk;
  ``conditional``: told apart by an object store that can compare before it writes.
- ``archive``: one file, a zip archive, as a store.
- ``scratch``: directories that go with the process that made them.
- ``addresses``: paths and URLs as Zarr stores; ``objects``: bytes under names in any of them;
  ``disk``, ``local_files``: on a disk, where no link leads out of a store; ``files``: what lies
  beside checkpoints.

A version is known by its token, a random text in its manifest; its number only orders it. So a
store that was deleted, replaced or put back from a copy is another, and is noticed."""
