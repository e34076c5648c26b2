"""The engine: what is the same wherever a run happens.

- ``engine``: the variables of a session, and the executor that runs plans on them; ``executors``:
  which cluster there is, and whose executor it is.
- ``plans``: fetches and functions as plans, made once for each signature.
- ``values``: what is fed and fetched, of any nesting, and blocks as arrays.
- ``saving``: versions written to a store and taken over from it, checkpoints written while the
  program goes on, values that a graph did not make.
- ``events``: what happens, as small records that anyone may listen to; ``run_records``: what
  TensorFlow programs ask of a run; ``interrupts``: what must not stop half-way.

A run (`plans.executables.Executable._run`): feeds are checked, the plan is looked up or lowered and
bound to an executor, it is computed on one version of the variables, and all of its new values are
committed, or none. An executor has one way to be asked for that: `executors.Bound`.
"""
