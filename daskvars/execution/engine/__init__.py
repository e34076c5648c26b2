"""The engine: what is the same wherever a run happens.

- ``engine``: the variables of a session, and the executor that runs plans on them; ``executors``:
  which cluster there is, and whose executor it is.
- ``executables``, ``plan_cache``, ``exact_keys``: fetches and functions as plans, made once for
  each signature; ``steps``: a plan's regions compiled for this process.
- ``feeds``, ``lazy_feeds``, ``fetches``, ``conversions``: values in and out, of any nesting;
  ``dask_arrays``: values as arrays of Dask.
- ``durable``: versions written to a store and taken over from it; ``targets``: names of stores and
  servers; ``pending_saves``: checkpoints written while the program goes on; ``reconcile``: values
  that a graph did not make.
- ``events``: what happens, as small records that anyone may listen to; ``run_records``: what
  TensorFlow programs ask of a run.

A run: feeds are checked, the plan is looked up or lowered, its leaves are bound to one version of
the variables, it is computed, and all of its new values are committed, or none.
"""
