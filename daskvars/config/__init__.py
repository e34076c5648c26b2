"""Every knob of the engine, with its default and the reason for it.

The configuration is one value for the whole process, because worker threads must see what the
program set. `set(...)` changes it at once; used in a ``with`` block it also puts the old values
back.

What the program has not set comes from Dask's own configuration, under ``daskvars``: a YAML file
where Dask looks for them (``~/.config/dask/daskvars.yaml``, say), a variable of the environment, or
`dask.config.set`. A knob is written there with ``-`` or ``_``::

    daskvars:
      batch-parts: 8
      seal-every-s: 60

is the same as ``DASK_DASKVARS__BATCH_PARTS=8`` and ``DASK_DASKVARS__SEAL_EVERY_S=60``, or as
``dask.config.set({"daskvars.batch-parts": 8})``. Bytes and seconds may be written as Dask writes
them, ``chunk-bytes: 128 MiB`` and ``seal-every-s: 5 minutes``. What stands there is checked as
`set` checks it, when it is next needed. `Config` (``defaults``) says what each knob is; what is set
is in ``settings``.
"""

from daskvars.config.defaults import CONSISTENCIES as CONSISTENCIES, Config as Config
from daskvars.config.settings import get as get, set as set, thread_count as thread_count
