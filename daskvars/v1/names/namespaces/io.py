"""Records and what is read out of strings, the names of ``tf.io``."""

from __future__ import annotations

from daskvars.data.records.tfrecords import (
    TFRecordCompressionType,
    TFRecordOptions,
    TFRecordWriter,
    tf_record_iterator,
)
from daskvars.ops.files import matching_files, read_file, write_file
from daskvars.ops.image.coding import (
    decode_and_crop_jpeg,
    decode_bmp,
    decode_gif,
    decode_image,
    decode_jpeg,
    decode_png,
    encode_jpeg,
    encode_png,
    extract_jpeg_shape,
    is_jpeg,
)
from daskvars.ops.parsing import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    SparseFeature,
    VarLenFeature,
    decode_compressed,
    decode_csv,
    decode_json_example,
    decode_raw,
    parse_example,
    parse_single_example,
    parse_single_sequence_example,
)
from daskvars.ops.sparse.serializing import (
    deserialize_many_sparse,
    parse_tensor,
    serialize_many_sparse,
    serialize_sparse,
    serialize_tensor,
)
from daskvars.ops.string_coding import decode_base64, encode_base64
from daskvars.v1.graphs.graph_files import write_graph
from daskvars.v1.names import file_functions as gfile
from daskvars.v1.queues.producers import match_filenames_once
from daskvars.v1.queues.queue_ops import (
    PaddingFIFOQueue,
    PriorityQueue,
    QueueBase,
    RandomShuffleQueue,
)

__all__ = [
    "FixedLenFeature", "FixedLenSequenceFeature", "PaddingFIFOQueue", "PriorityQueue", "QueueBase",
    "RandomShuffleQueue", "SparseFeature", "TFRecordCompressionType", "TFRecordOptions",
    "TFRecordWriter", "VarLenFeature", "decode_and_crop_jpeg", "decode_base64", "decode_bmp",
    "decode_compressed", "decode_csv", "decode_gif", "decode_image", "decode_jpeg",
    "decode_json_example", "decode_png", "decode_raw", "deserialize_many_sparse", "encode_base64",
    "encode_jpeg", "encode_png", "extract_jpeg_shape", "gfile", "is_jpeg", "match_filenames_once",
    "matching_files", "parse_example", "parse_single_example", "parse_single_sequence_example",
    "parse_tensor", "read_file", "serialize_many_sparse", "serialize_sparse", "serialize_tensor",
    "tf_record_iterator", "write_file", "write_graph",
]  # fmt: skip
