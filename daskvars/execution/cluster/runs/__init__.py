"""Runs on a cluster: what is sent, when it is finished, and what happens when it is lost.

- ``bound_plan``: a plan bound to one state: what is sent once, and what for each run;
  ``task_graphs``: the few tasks of a run, from a template.
- ``sent_feeds``: how what a run is fed with reaches workers, as it is or scattered. Along what
  feeds are cut, and into how many parts, is not decided here: `lowering.planner.cut_feeds`.
- ``sent_run``: a run that was sent, and what became of it; ``in_flight``: all those that are not
  finished, how many there may be (`InFlight.admit`, at most ``config.max_in_flight``), and what the
  scheduler tells of them.
- ``lost``: a worker died with data, so the runs since the last seal are sent again.

The rule: a run is a function of the version before it, and its tasks name variables, not keys. So
the scheduler can bind it to the newest version when it arrives, and it can be sent again, with the
same inputs and random numbers, as often as it must be: the bits stay what they were.
"""
