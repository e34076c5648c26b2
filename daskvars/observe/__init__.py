"""What happens while a program runs, for people: a record, a trace, a line of progress.

Execution publishes small events (`execution.engine.events`) and knows nobody who listens; what is
here listens. So it costs nothing when nobody does. A `Record` counts exactly and for ever, in
memory that does not grow with the number of runs; of slices for the trace it keeps the latest. All
of it is in this process: it can be read when the cluster is gone. Under `recorded` workers tell of
their stages and exchanges, under `profile` of each kernel too.

Dask's dashboard shows tasks and workers under the program's scopes without help from here, and has
a page of its own for states (`daskvars.remote.scheduler.page`); `dashboard` finds it for who has an
address.
"""

from daskvars.observe.drawing import Drawing, draw
from daskvars.observe.html import html_of
from daskvars.observe.progress_line import progress_line
from daskvars.observe.record import Record, profile, recorded
from daskvars.observe.variable_bytes import variable_bytes

__all__ = [
    "Drawing",
    "Record",
    "draw",
    "html_of",
    "profile",
    "progress_line",
    "recorded",
    "variable_bytes",
]
