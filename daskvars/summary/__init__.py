"""Summaries: numbers, histograms and text under tags, written as lines of JSON.

A summary op gives a string, which is JSON; a `FileWriter` puts it into an event file with the
time and the step. Nothing is needed to read one but a text editor or a table reader.
"""

from daskvars.summary.file_writer import FileWriter, FileWriterCache
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

__all__ = [
    "Event",
    "FileWriter",
    "FileWriterCache",
    "SessionLog",
    "Summary",
    "audio",
    "histogram",
    "image",
    "merge",
    "merge_all",
    "scalar",
    "tensor_summary",
    "text",
]
