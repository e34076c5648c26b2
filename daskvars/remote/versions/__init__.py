"""A state on the scheduler: which keys its newest version has.

- ``commit_order``: the protocol, without Dask: runs are bound to the newest version as they
  come, finished in that order, undone where one fails. Pure state, events in and messages out.
- ``shared_graphs``: how a run names blocks of variables, and how the scheduler puts in their keys.
- ``seal_schedule``: when a state is sealed, and by whose session.
- ``version_keeper``: the scheduler's plugin, which does what the protocol says with Dask's tasks.

The state of one client is kept as that of several: under a name that nobody else knows.
"""
