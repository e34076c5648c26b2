"""Variables of a cluster written to stores and read from them, by the workers that have them.

- ``seals``: now and then what changed is written as the next version of the state's store, and Dask
  may forget what it was computed from; training goes on meanwhile. How long the pause between two
  is follows from what one takes.
- ``checkpoints``: what a `daskvars.train.Saver` writes and restores, in whatever chunks that is.
- ``task_graphs``: what is sent for both: each stored chunk is written by a worker that has its
  block. What the worker then does is in `daskvars.remote.tasks.chunk_tasks`.

The rule: no chunk passes through the client, and a version is there when its manifest is, which is
written last. When a seal is due the scheduler says (`remote.versions.seal_schedule`), so that of
several clients one writes.
"""
