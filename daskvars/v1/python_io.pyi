"""The names of ``tf.python_io``. Made by tests/typed/stubs.py; a test compares them."""

from daskvars.v1.names.namespaces.python_io import TFRecordCompressionType as TFRecordCompressionType
from daskvars.v1.names.namespaces.python_io import TFRecordOptions as TFRecordOptions
from daskvars.v1.names.namespaces.python_io import TFRecordWriter as TFRecordWriter
from daskvars.v1.names.namespaces.python_io import tf_record_iterator as tf_record_iterator
