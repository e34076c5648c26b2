"""The names of ``tf.queue``. Made by tests/typed/stubs.py; a test compares them."""

from daskvars.v1.names.namespaces.queue import FIFOQueue as FIFOQueue
from daskvars.v1.names.namespaces.queue import PaddingFIFOQueue as PaddingFIFOQueue
from daskvars.v1.names.namespaces.queue import PriorityQueue as PriorityQueue
from daskvars.v1.names.namespaces.queue import QueueBase as QueueBase
from daskvars.v1.names.namespaces.queue import RandomShuffleQueue as RandomShuffleQueue
