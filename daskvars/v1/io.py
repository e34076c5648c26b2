"""Records and what is read out of strings, the names of ``tf.io``."""

from __future__ import annotations

from daskvars.data.records.tfrecords import (
    TFRecordCompressionType,
    TFRecordOptions,
    TFRecordWriter,
    tf_record_iterator,
)
from daskvars.ops.parsing import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    VarLenFeature,
    decode_csv,
    decode_raw,
    parse_example,
    parse_single_example,
)
from daskvars.v1 import gfile

__all__ = [
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "TFRecordCompressionType",
    "TFRecordOptions",
    "TFRecordWriter",
    "VarLenFeature",
    "decode_csv",
    "decode_raw",
    "gfile",
    "parse_example",
    "parse_single_example",
    "tf_record_iterator",
]
