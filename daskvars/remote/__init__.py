"""What runs inside workers and the scheduler, and how Dask is asked to run it.

A cluster's processes see only this room, `kernels`, `state` and the foundation: a task refers to
their functions and to plain data, never to a Graph, a Tensor or a Session. Rooms:

- ``regions``: a list of kernel calls compiled into one function: what a task computes.
- ``tasks``: what a task does around that: inputs put together, feeds, chunks read and written.
- ``versions``: what the scheduler keeps of a state: which keys its newest version has.
- ``scheduler``: what watches workers from there: they come, go, lose data, run out of memory.

And files: `exchange` (workers take slices from one another), `shared_buffers` (those of one machine
through memory that both have), `task_keys` (who sent a task), `task_outputs` (several results under
one key), `told_results` (small ones come with the word that a task is done), `scope_seconds` (what
kernels took, for Dask's page), `tracing` (slices of time, while somebody looks), `worker_memory`
(freed memory goes back in time), `groups_page` (Dask's page of that name, which our task groups
would break), `main_guard` (a program without a ``__main__`` guard is told of it).

Words. A *task graph* is what a client sends (`RunGraph`); a key's *lineage* is what Dask would
compute it from again; a *holder* is a client that exists on the scheduler by name alone and wants
keys on behalf of a state.

The one rule: whatever Dask does not document is used in `dask_internals` and nowhere else, and
`tests/remote/test_dask_internals.py` says, name by name, what is relied on. So a new Dask breaks
one file, and its tests tell where."""
