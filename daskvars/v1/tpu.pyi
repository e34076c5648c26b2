"""The names of ``tf.tpu``. Made by tests/typed/stubs.py; a test compares them."""

from daskvars.v1.names.tpu import CrossShardOptimizer as CrossShardOptimizer
from daskvars.v1.names.tpu import bfloat16_scope as bfloat16_scope
