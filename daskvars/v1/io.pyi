"""The names of ``tf.io``. Made by tests/typed/stubs.py; a test compares them."""

from daskvars.v1.names.namespaces.io import FixedLenFeature as FixedLenFeature
from daskvars.v1.names.namespaces.io import FixedLenSequenceFeature as FixedLenSequenceFeature
from daskvars.v1.names.namespaces.io import PaddingFIFOQueue as PaddingFIFOQueue
from daskvars.v1.names.namespaces.io import PriorityQueue as PriorityQueue, QueueBase as QueueBase
from daskvars.v1.names.namespaces.io import RandomShuffleQueue as RandomShuffleQueue
from daskvars.v1.names.namespaces.io import SparseFeature as SparseFeature
from daskvars.v1.names.namespaces.io import TFRecordCompressionType as TFRecordCompressionType
from daskvars.v1.names.namespaces.io import TFRecordOptions as TFRecordOptions
from daskvars.v1.names.namespaces.io import TFRecordWriter as TFRecordWriter
from daskvars.v1.names.namespaces.io import VarLenFeature as VarLenFeature
from daskvars.v1.names.namespaces.io import decode_and_crop_jpeg as decode_and_crop_jpeg
from daskvars.v1.names.namespaces.io import decode_base64 as decode_base64
from daskvars.v1.names.namespaces.io import decode_bmp as decode_bmp
from daskvars.v1.names.namespaces.io import decode_compressed as decode_compressed
from daskvars.v1.names.namespaces.io import decode_csv as decode_csv, decode_gif as decode_gif
from daskvars.v1.names.namespaces.io import decode_image as decode_image
from daskvars.v1.names.namespaces.io import decode_jpeg as decode_jpeg
from daskvars.v1.names.namespaces.io import decode_json_example as decode_json_example
from daskvars.v1.names.namespaces.io import decode_png as decode_png, decode_raw as decode_raw
from daskvars.v1.names.namespaces.io import deserialize_many_sparse as deserialize_many_sparse
from daskvars.v1.names.namespaces.io import encode_base64 as encode_base64
from daskvars.v1.names.namespaces.io import encode_jpeg as encode_jpeg, encode_png as encode_png
from daskvars.v1.names.namespaces.io import extract_jpeg_shape as extract_jpeg_shape
from daskvars.v1.names.namespaces.io import gfile as gfile, is_jpeg as is_jpeg
from daskvars.v1.names.namespaces.io import match_filenames_once as match_filenames_once
from daskvars.v1.names.namespaces.io import matching_files as matching_files
from daskvars.v1.names.namespaces.io import parse_example as parse_example
from daskvars.v1.names.namespaces.io import parse_single_example as parse_single_example
from daskvars.v1.names.namespaces.io import parse_single_sequence_example as parse_single_sequence_example
from daskvars.v1.names.namespaces.io import parse_tensor as parse_tensor, read_file as read_file
from daskvars.v1.names.namespaces.io import serialize_many_sparse as serialize_many_sparse
from daskvars.v1.names.namespaces.io import serialize_sparse as serialize_sparse
from daskvars.v1.names.namespaces.io import serialize_tensor as serialize_tensor
from daskvars.v1.names.namespaces.io import tf_record_iterator as tf_record_iterator
from daskvars.v1.names.namespaces.io import write_file as write_file, write_graph as write_graph
