"""What watches a cluster from its scheduler, and tells clients.

- ``worker_watch``: workers come and go; a task that may only run on one that is gone fails, to be
  placed anew, where Dask would keep it for ever.
- ``loss_reporter``: which runs are computed again because a worker is gone.
- ``paused_workers``: a worker without memory is told of, and what waits for it in vain fails.
- ``observer``: states, steps and seals in the user's words, for whoever looks: ``page`` (of Dask's
  dashboard), ``gauges`` (for Prometheus).

Each is a scheduler plugin that looks when something has happened, or once a second; nothing is done
for each task of a run. What a client makes of it is in `daskvars.execution`.
"""
