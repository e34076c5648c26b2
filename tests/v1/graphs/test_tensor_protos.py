"""Arrays as TensorProto: read by TensorBoard's own code, and by this, and what is refused."""

import numpy as np
import pytest

import daskvars.v1 as tf
from daskvars.dtypes import bfloat16

tensor_pb2 = pytest.importorskip("tensorboard.compat.proto.tensor_pb2")
tensor_util = pytest.importorskip("tensorboard.util.tensor_util")

VALUES = [
    np.float32(1.5),
    np.arange(6.0).reshape(2, 3),
    np.array([1.5, -2.0], "f2"),
    np.array(-2, "f2"),
    np.array([[True], [False]]),
    np.array(True),
    np.array([-3], "i8"),
    np.arange(4, dtype="u1"),
    np.array(200, "u1"),
    np.array(2**63, "u8"),
    np.array(7, "u4"),
    np.array([1 - 2j]),
    np.array(1 - 2j, "c8"),
    np.zeros((0, 3), "i4"),
    "text",
    [[b"a", b"\xff\x00"]],
]


@pytest.mark.parametrize("value", VALUES, ids=lambda v: f"{np.asarray(v).dtype}{np.shape(v)}")
def test_either_reads_the_others(value):
    message = tf.make_tensor_proto(value)
    wanted = np.asarray(value, object if isinstance(value, str | list) else None)
    if isinstance(value, str):
        wanted = np.array(value.encode(), object)
    theirs = tensor_pb2.TensorProto.FromString(message.SerializeToString())
    for found in (tf.make_ndarray(message), tf.make_ndarray(theirs)):
        assert found.dtype == wanted.dtype and found.shape == wanted.shape
        assert np.array_equal(found, wanted)
    if wanted.dtype not in ("u4", "u8"):  # of which TensorBoard has no arrays
        assert np.array_equal(tensor_util.make_ndarray(theirs), wanted)
        written = tensor_util.make_tensor_proto(wanted)
        assert np.array_equal(tf.make_ndarray(written), wanted)


def test_numbers_of_python_and_single_elements():
    message = tf.make_tensor_proto(10.0)
    assert (message.dtype, list(message.float_val)) == (1, [10.0])
    assert not message.tensor_content and not message.tensor_shape.dim
    assert tf.make_tensor_proto([1, 2]).dtype == tf.int32.as_datatype_enum
    assert list(tf.make_tensor_proto(3, tf.int64).int64_val) == [3]
    assert list(tf.make_tensor_proto(3, tf.int8).int_val) == [3]
    assert tf.make_tensor_proto(message) is message
    half = tf.make_tensor_proto(1.5, bfloat16)
    assert list(half.half_val) == [0x3FC0] and tf.make_ndarray(half) == 1.5


def test_a_shape_repeats_the_last_value():
    message = tf.make_tensor_proto([1, 2], shape=[2, 2])
    assert tf.make_ndarray(message).tolist() == [[1, 2], [2, 2]]
    assert tf.make_ndarray(tf.make_tensor_proto(3.0, shape=[3])).tolist() == [3.0] * 3
    assert tf.make_ndarray(tf.make_tensor_proto([1, 2, 3, 4], shape=[2, 2])).shape == (2, 2)
    with pytest.raises(ValueError, match="Needed at most 2, but received 3"):
        tf.make_tensor_proto([1, 2, 3], shape=[2])
    with pytest.raises(TypeError, match=r"Expected Tensor's shape: \[3\], got \[2\]"):
        tf.make_tensor_proto([1, 2], shape=[3], verify_shape=True)
    with pytest.raises(TypeError, match=r"Expected Tensor's shape: \[3\], got \[2\]"):
        tf.make_tensor_proto([1, 2], shape=[3], allow_broadcast=True)
    assert tf.make_ndarray(tf.make_tensor_proto([1], shape=[3], allow_broadcast=True)).size == 3
    with pytest.raises(ValueError, match="not both"):
        tf.make_tensor_proto([1], shape=[1], verify_shape=True, allow_broadcast=True)


def test_parse_tensor_reads_them(graph):
    wanted = np.arange(6, dtype="u1").reshape(2, 3)
    text = tf.placeholder(tf.string)
    parsed = tf.parse_tensor(text, tf.uint8)
    with tf.Session() as sess:
        found = sess.run(parsed, {text: tf.make_tensor_proto(wanted).SerializeToString()})
    assert np.array_equal(found, wanted)


@pytest.mark.parametrize(
    "value", [[1.5, np.inf], [[1, 2]], True, [b"a", b"b"], [1 + 2j, 3], np.zeros((0, 2), "f4")]
)
def test_tensors_of_summaries_are_read(graph, value):
    tensor = tf.constant(value)
    with tf.Session() as sess:
        text, wanted = sess.run([tf.summary.tensor_summary("t", tensor), tensor])
    found = tf.make_ndarray(tf.Summary.FromString(text).value[0].tensor)
    assert found.dtype == np.asarray(wanted, tensor.dtype.as_numpy_dtype).dtype
    assert np.array_equal(found, wanted)


def test_what_is_no_message_is_refused():
    message = tf.make_tensor_proto([1, 2])
    message.tensor_content = b"abc"
    with pytest.raises(tf.errors.InvalidArgumentError, match="Could not parse"):
        tf.make_ndarray(message)
    with pytest.raises(TypeError, match="int32"):
        tf.make_tensor_proto(1.5, tf.int32)
