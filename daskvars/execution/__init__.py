"""Running plans: one engine, and its two callers, sessions and eager code.

`Engine` joins the variables' values, an executor and a cache of plans. A *run* binds the leaves of
a plan to values, computes, and commits all new values or none. `LocalExecutor` runs on this
process's threads; `ClusterExecutor` on the workers of a Dask client, where the state is kept beside
the scheduler, whether one client uses it or many. `Session` feeds graphs to the engine, `eager`
feeds it what was recorded, `function` what was traced. `events` tells those who listen.

Here is what users meet: ``session``, ``function``, ``eager`` (and ``eager_records``, what it has
not run yet), ``tape``, ``recompute_grad``, ``python_calls``, ``config_proto``. Below them are the
rooms ``engine``, ``local`` and ``cluster``, and ``host_ops``: what a session's own process does in
the middle of a run.
"""
