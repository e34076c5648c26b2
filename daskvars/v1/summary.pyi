"""The names of ``tf.summary``. Made by tests/typed/stubs.py; a test compares them."""

from daskvars.summary import Event as Event
from daskvars.summary import FileWriter as FileWriter
from daskvars.summary import SessionLog as SessionLog
from daskvars.summary import Summary as Summary
from daskvars.summary import audio as audio
from daskvars.summary import histogram as histogram
from daskvars.summary import image as image
from daskvars.summary import merge as merge
from daskvars.summary import merge_all as merge_all
from daskvars.summary import projector as projector
from daskvars.summary import scalar as scalar
from daskvars.summary import tensor_summary as tensor_summary
from daskvars.summary import text as text
from daskvars.v1.summary_writers import FileWriterCache as FileWriterCache
