"""Summaries: numbers, histograms, images, sound and text under tags, for TensorBoard.

A summary op gives a string, which is JSON; a `FileWriter` puts it into an event file with the
time and the step. Where the package ``tensorboard`` is installed (the extra of that name), its own
writer writes files that TensorBoard opens; it is imported by the first `FileWriter`, and workers
do without. Where it is not, a file is lines of JSON, which need nothing but a text editor or a
table reader, and the log says so once.

>>> import glob, tempfile
>>> loss = dv.constant(0.5)
>>> with tempfile.TemporaryDirectory() as logdir:
...     with dv.summary.FileWriter(logdir) as writer:
...         writer.add_summary(dv.summary.scalar("loss", loss), 1)
...     events = list(dv.train.summary_iterator(glob.glob(f"{logdir}/events*")[0]))
>>> [(value.tag, value.simple_value) for value in events[-1].summary.value]
[('loss', 0.5)]
"""

import typing

from daskvars.summary.file_writer import FileWriter
from daskvars.summary.projector import projector
from daskvars.summary.records import Event, SessionLog, Summary
from daskvars.summary.summary_ops import (
    audio,
    histogram,
    image,
    merge,
    merge_all,
    scalar,
    tensor_summary,
    text,
)
from daskvars.surface.names_of_v1 import refuses as _refuses

__all__ = [
    "Event",
    "FileWriter",
    "SessionLog",
    "Summary",
    "audio",
    "histogram",
    "image",
    "merge",
    "merge_all",
    "projector",
    "scalar",
    "tensor_summary",
    "text",
]

if not typing.TYPE_CHECKING:
    __getattr__ = _refuses(__name__, __all__)
