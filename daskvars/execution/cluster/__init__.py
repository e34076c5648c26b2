"""Plans run on the workers of a Dask cluster, where the variables live.

- ``executor``: a state of a cluster, with one client or several; ``state_client``: what the rooms
  below ask of it.
- ``runs``: a plan bound to a state, its tasks and feeds, the runs in flight, and what is sent again
  after a worker died.
- ``workers``: what workers there are, which of them a device names, and which has what.
- ``saving``: versions and checkpoints, written and read by the workers that have them.
- ``results``: values that are on workers: results, blocks, arrays of Dask.
- ``transfers``: blocks on their way between this process and workers.
- ``errors``, ``reports``: what failures and losses mean to the program; ``traces``: what workers
  do, as events of this process.

What needs none of the workers, and is little work, the client does as if there were no cluster
(`lowering.planner.client_work`); such a run is not among the state's.

What runs inside workers and the scheduler is in `daskvars.remote`; nothing of this room is sent.
"""
