"""The names of ``tf.summary``. Made by tests/typed/stubs.py; a test compares them."""

from daskvars.summary import Event as Event, FileWriter as FileWriter, SessionLog as SessionLog
from daskvars.summary import Summary as Summary, audio as audio, histogram as histogram
from daskvars.summary import image as image, merge as merge, merge_all as merge_all
from daskvars.summary import projector as projector, scalar as scalar
from daskvars.summary import tensor_summary as tensor_summary, text as text
from daskvars.v1.summary_writers import FileWriterCache as FileWriterCache
