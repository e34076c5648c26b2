"""The names of ``tf.compat``. Made by tests/typed/stubs.py; a test compares them."""

from daskvars.v1.names.text import as_bytes as as_bytes
from daskvars.v1.names.text import as_str as as_str
from daskvars.v1.names.text import as_str_any as as_str_any
from daskvars.v1.names.text import as_text as as_text
from daskvars.v1.names.text import bytes_or_text_types as bytes_or_text_types
from daskvars.v1.names.text import complex_types as complex_types
from daskvars.v1.names.text import integral_types as integral_types
from daskvars.v1.names.text import path_to_str as path_to_str
from daskvars.v1.names.text import real_types as real_types
from daskvars import dimension_at_index as dimension_at_index
from daskvars import dimension_value as dimension_value
from daskvars import v1 as v1
