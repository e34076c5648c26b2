"""Which workers there are, which of them a device names, and which has what.

- ``worker_info``: what a worker's name says, "worker-1" is task 1 of job worker; GPUs, threads,
  memory.
- ``devices``: which workers "/job:worker/task:1" or "/gpu:0" are; one that nobody offers is refused
  at once, and one whose workers are gone is waited for.
- ``placement``: on which workers the chunks of variables live and the tasks of a run are computed.

The rule: a plan names places, no workers (`lowering.planner.place`); they are chosen here when a
run is sent, from whoever is there then. So workers may come and go between two runs. Where a device
leaves a choice, it is by bytes: what is balanced is what workers hold, not how many things.
"""
