"""The names of ``tf.raw_ops``. Made by tests/typed/stubs.py; a test compares them."""

from daskvars.v1.names.namespaces.raw_ops import Merge as Merge, Switch as Switch
