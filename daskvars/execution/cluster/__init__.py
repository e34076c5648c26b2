"""Plans run on the workers of a Dask cluster, where the variables live.

- ``executor``: a state of a cluster, with one client or several; ``bound_plan``: a plan bound to
  it, and a run as it is sent; ``in_flight``: the runs that are sent and not finished.
- ``run_graphs``, ``run_feeds``, ``output_groups``: from a plan to the few tasks of a run.
- ``placement``, ``worker_info``: which tasks and variables belong to which workers.
- ``seals``, ``checkpoints``, ``chunk_tasks``: versions written and read by the workers that have
  them.
- ``errors``, ``reports``: what failures and losses mean to the program.
- ``result_futures``, ``remote_blocks``: results and blocks that are not here.

What runs inside workers and the scheduler is in `daskvars.remote`; nothing of this room is sent.
"""
