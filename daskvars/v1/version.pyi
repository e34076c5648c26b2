"""The names of ``tf.version``. Made by tests/typed/stubs.py; a test compares them."""

from daskvars.v1.names.version import COMPILER_VERSION as COMPILER_VERSION
from daskvars.v1.names.version import GIT_VERSION as GIT_VERSION, VERSION as VERSION
