"""Strings, the names of ``tf.strings``."""

# fmt: off
from daskvars.ops.sparse.splitting import split
from daskvars.ops.string_hashes import string_to_hash_bucket as to_hash_bucket
from daskvars.ops.string_hashes import string_to_hash_bucket_fast as to_hash_bucket_fast
from daskvars.ops.string_hashes import string_to_hash_bucket_strong as to_hash_bucket_strong
from daskvars.ops.string_coding import format, unicode_transcode, unsorted_segment_join
from daskvars.ops.strings import (
    as_string, length, lower, reduce_join, regex_full_match, regex_replace, substr, upper,
)
from daskvars.ops.strings import string_join as join
from daskvars.ops.strings import string_strip as strip
from daskvars.ops.strings import string_to_number as to_number

__all__ = [
    "as_string", "format", "join", "length", "lower", "reduce_join", "regex_full_match",
    "regex_replace", "split", "strip", "substr", "to_hash_bucket", "to_hash_bucket_fast",
    "to_hash_bucket_strong", "to_number", "unicode_transcode", "unsorted_segment_join", "upper",
]
