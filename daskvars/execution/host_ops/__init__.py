"""What a session's own process does in the middle of a run: queues, readers, tables.

TensorFlow keeps such objects on devices, and its ops wait in threads of the runtime. Here a run is
a transaction of the engine, which may be repeated after the loss of a worker and holds the
variables' lock while it computes; what waits for another thread, or must happen once, cannot be in
it. So it stands outside:

- an op of the pattern `HostCall` is *host-side*: done in this process, by the thread that called
  ``run``, on objects of the session (``resources``). Elements of queues are in this process's
  memory; workers get them as they get feeds.
- a run with such ops has *stages* (``staged``): what gives a host-side op its inputs is run, the op
  is done, its results are fed to what uses them. Each of the engine's runs in between is a
  transaction of its own, and the whole waits holding no lock. Almost always there is only one: a
  training step takes its batch first and then runs as if it had been fed; an enqueue computes
  its element first.

Host-side ops that need nothing of each other run at the same time, each in a thread, as one may
wait for what another does. They cannot stand in branches and loops, which the engine runs.
"""
