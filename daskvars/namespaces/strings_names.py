"""Strings, the names of ``tf.strings``."""

# fmt: off
from daskvars.ops.strings import (
    as_string, length, lower, reduce_join, regex_full_match, regex_replace, substr, upper,
)
from daskvars.ops.strings import string_join as join
from daskvars.ops.strings import string_strip as strip
from daskvars.ops.strings import string_to_number as to_number

__all__ = [
    "as_string", "join", "length", "lower", "reduce_join", "regex_full_match", "regex_replace",
    "strip", "substr", "to_number", "upper",
]
