"""Text, bytes and dimensions of `tf.compat`."""

import pathlib

import numpy as np
import pytest

import daskvars.v1 as tf


def test_text_and_bytes():
    compat = tf.compat
    assert compat.as_bytes("é") == compat.as_bytes("é".encode()) == "é".encode()
    assert compat.as_text(b"a") == compat.as_str("a") == compat.as_str_any(b"a") == "a"
    assert compat.as_str_any(3) == "3"
    assert compat.path_to_str(pathlib.PurePosixPath("a/b")) == "a/b"
    assert compat.path_to_str("a") == "a"
    assert isinstance(np.int32(1), compat.integral_types)
    assert isinstance(np.float32(1), compat.real_types)
    with pytest.raises(TypeError, match="3"):
        compat.as_bytes(3)


def test_dimensions():
    shape = tf.TensorShape([2, None])
    assert [tf.compat.dimension_value(d) for d in (shape[0], shape[1], 3, None)] == [
        2,
        None,
        3,
        None,
    ]
    assert tf.compat.dimension_at_index(shape, 0) == 2
    assert tf.compat.dimension_at_index(tf.TensorShape(None), 0).value is None
