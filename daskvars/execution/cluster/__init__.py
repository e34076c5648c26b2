"""Plans run on the workers of a Dask cluster, where the variables live.

- ``executor``: a state of a cluster, with one client or several (``state_client``: what the other
  files ask of it); ``bound_plan``: a plan bound to it, and a run as it is sent; ``in_flight``: the
  runs that are sent and not finished (``sent_run``); ``lost_runs``: sends runs again after a worker
  died.
- ``run_graphs``, ``run_feeds``: from a plan to the few tasks of a run.
- ``placement``: on which workers tasks and chunks of variables are; ``device_workers``: which
  workers a device names; ``worker_info``: what workers are there, and what they offer.
- ``seals``, ``checkpoints``, ``chunk_tasks``: versions written and read by the workers that have
  them.
- ``errors``, ``reports``: what failures and losses mean to the program.
- ``result_futures``, ``remote_blocks``: results and blocks that are not here; ``dask_arrays``: as
  arrays of Dask.

What runs inside workers and the scheduler is in `daskvars.remote`; nothing of this room is sent.
"""
