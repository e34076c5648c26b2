"""The names of ``tf.compat``. Made by tests/typed/stubs.py; a test compares them."""

from daskvars.v1.names.text import as_bytes as as_bytes, as_str as as_str, as_str_any as as_str_any
from daskvars.v1.names.text import as_text as as_text, bytes_or_text_types as bytes_or_text_types
from daskvars.v1.names.text import complex_types as complex_types, integral_types as integral_types
from daskvars.v1.names.text import path_to_str as path_to_str, real_types as real_types
from daskvars import dimension_at_index as dimension_at_index, dimension_value as dimension_value
from daskvars import v1 as v1
