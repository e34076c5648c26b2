"""Fetches and functions as plans: made once for each signature, and looked up from then on.

- ``executables``: fetches of a graph that are run again and again: feeds checked, the plan found or
  lowered, its run started.
- ``cache``: plans by signature, the least recently used forgotten first; ``exact_keys``: what of a
  Python value is in a signature. That of eager code is made in `execution.eager`; where a turn of a
  loop ends, so that each has the same, is in `execution.eager_records`.
- ``sizes_met``: one plan for all sizes of what is fed, where each batch has another.
- ``steps``: a plan's regions compiled for this process.

The rule: a signature is all that lowering looks at (dtypes, shapes and chunks of feeds and
variables, devices, configuration), so a plan that is found is the one that would be made, or one
for several shapes that gives the same bits. The
second run of a signature lowers nothing, and no cache grows without a bound.
"""
