"""Variables that outlive a session, and those that it takes over.

- ``local_seals``: a session's store: versions written to it (*sealed*) by this process, and what
  others wrote taken over.
- ``pending_saves``: checkpoints that are written while the program goes on.
- ``reconcile``: values that a graph did not make, compared with what it says of them.
- ``targets``: what a session may name in place of a store: addresses of servers.

The rule: what is written is one version, whole or not there, and what is read is known by its token
(`state.stores.store`): a store that was replaced is another store. When something is sealed in this
process is decided in ``local_seals``; on a cluster the scheduler decides, and workers write
(`remote.versions.seal_schedule`, `execution.cluster.saving.seals`).
"""
