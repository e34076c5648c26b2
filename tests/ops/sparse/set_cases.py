"""Programs on sets, crossed features, and strings, whose results TensorFlow wrote."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from tests.ops.tensorflow_cases import Cases

CASES = Cases()
case = CASES.case


def ids(tf: Any) -> Any:
    places = [[0, 0], [0, 1], [0, 2], [2, 0], [2, 1]]
    return tf.SparseTensor(places, tf.constant([5, 1, 5, 7, 2], tf.int64), [3, 4])


def words(tf: Any) -> Any:
    places = [[0, 0], [1, 0], [1, 1], [2, 0]]
    return tf.SparseTensor(places, tf.constant(["a", "b", "", "déjà"]), [3, 2])


@case
def sets(tf):
    dense = tf.constant([[1, 5, 9], [0, 0, 3], [2, 2, 7]], tf.int64)
    other = tf.constant([[5, 5, 4, 1], [3, 9, 9, 9], [8, 8, 8, 8]], tf.int64)
    found = []
    for a, b in ((dense, other), (dense, ids(tf)), (ids(tf), dense), (ids(tf), ids(tf))):
        found += [tf.sets.set_intersection(a, b), tf.sets.set_union(a, b)]
        found += [tf.sets.set_difference(a, b), tf.sets.set_difference(a, b, aminusb=False)]
    cube = tf.constant([[["a", "b"], ["c", "c"]]])
    found.append(tf.sets.set_union(cube, cube[:, ::-1]))
    return [*found, tf.sets.set_size(ids(tf)), tf.sets.size(words(tf))]


@case
def distances(tf):
    a = tf.SparseTensor([[0, 0], [0, 1], [0, 2], [2, 0]], ["k", "i", "t", "x"], [3, 3])
    b = tf.SparseTensor([[0, 0], [0, 1], [1, 0], [2, 0]], ["s", "i", "y", "x"], [4, 2])
    return [tf.edit_distance(a, b), tf.edit_distance(a, b, normalize=False)]


@case
def crossed(tf):
    numbers = tf.constant([[3, -1], [4, 1], [5, 9]], tf.int64)
    texts = tf.constant([["x"], ["y"], ["z"]])
    return [
        tf.sparse.cross([words(tf), texts]),
        tf.sparse.cross([numbers, words(tf), ids(tf)]),
        tf.sparse.cross([texts, numbers, texts]),
        tf.sparse.cross_hashed([words(tf), texts]),
        tf.sparse.cross_hashed([numbers, words(tf), ids(tf)], num_buckets=1000),
        tf.sparse.cross_hashed([numbers, texts], hash_key=7),
    ]


@case
def serialized(tf):
    return [
        tf.io.serialize_tensor(tf.constant([[1.5, -2.0]])),
        tf.io.serialize_tensor(tf.constant(["a", "", "déjà"])),
        tf.io.serialize_tensor(tf.constant(7, tf.int64)),
        tf.io.serialize_tensor(tf.zeros([0, 3])),
        tf.serialize_sparse(ids(tf)),
        tf.serialize_sparse(words(tf)),
        tf.serialize_many_sparse(ids(tf)),
        tf.serialize_many_sparse(words(tf)),
    ]


@case
def parsed(tf):
    rows = tf.stack([tf.serialize_sparse(words(tf)), tf.serialize_sparse(words(tf))])
    return [
        tf.io.parse_tensor(tf.io.serialize_tensor(tf.constant([[1, 2]])), tf.int32),
        tf.io.parse_tensor(tf.io.serialize_tensor(tf.constant(["a", "b"])), tf.string),
        tf.io.parse_tensor(tf.io.serialize_tensor(tf.constant([True, False])), tf.bool),
        tf.deserialize_many_sparse(tf.serialize_many_sparse(ids(tf)), tf.int64),
        tf.deserialize_many_sparse(rows, tf.string, rank=2),
    ]


@case
def coded(tf):
    texts = tf.constant([b"", b"a", b"ab", b"abc", b"\xff\xfe\xfd\x00"])
    return [
        tf.io.encode_base64(texts),
        tf.encode_base64(texts, pad=True),
        tf.decode_base64(tf.encode_base64(texts)),
        tf.decode_base64(tf.encode_base64(texts, pad=True)),
        tf.strings.unicode_transcode(["déjà".encode(), b"a\xffb\x01"], "UTF-8", "UTF-16-BE"),
        tf.strings.unicode_transcode([b"a\xffb\x01"], "UTF-8", "UTF-8", "ignore"),
        tf.strings.unicode_transcode(
            [b"a\xffb\x01"], "UTF-8", "UTF-8", replacement_char=63, replace_control_characters=True
        ),
        tf.strings.unsorted_segment_join(["a", "b", "c", "d"], [2, 0, 2, 3], 5, ":"),
        tf.strings.format("{} and {}", [tf.range(10), tf.constant(["x", "y"])]),
        tf.strings.format("%: %", [tf.constant(2.5), tf.constant([[1, 2], [3, 4]])], "%", 1),
    ]


@case
def quantized(tf):
    x = tf.constant(np.linspace(-8, 8, 12).reshape(3, 4).astype(np.float32))
    dy = tf.constant(np.arange(12.0).reshape(3, 4).astype(np.float32))
    found = []
    for low, high, bits, narrow in ((-6, 6, 8, False), (-1, 5, 4, True), (1, 3, 3, False)):
        y = tf.fake_quant_with_min_max_args(x, low, high, bits, narrow)
        found += [y, *tf.gradients(y, x, dy)]
        found.append(
            tf.quantization.fake_quant_with_min_max_args_gradient(dy, x, low, high, bits, narrow)
        )
        a, b = tf.constant(float(low)), tf.constant(float(high))
        y = tf.quantization.fake_quant_with_min_max_vars(x, a, b, bits, narrow)
        found += [y, *tf.gradients(y, [x, a, b], dy)]
    a, b = tf.constant([-1.0, 0, -2, 0]), tf.constant([1.0, 0, 5, 7])
    y = tf.quantization.fake_quant_with_min_max_vars_per_channel(x, a, b)
    zero = tf.fake_quant_with_min_max_vars(x, 0.0, 0.0)
    return [*found, y, *tf.gradients(y, [x, a, b], dy), zero]


def plain(value: Any) -> Any:
    """Return a result as plain data; strings, which may be no texts, in base64."""
    if hasattr(value, "dense_shape"):
        return [plain(value.indices), plain(value.values), plain(value.dense_shape)]
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    array = np.asarray(value, object if isinstance(value, bytes) else None)
    if array.dtype.kind in "SO":
        flat = [base64.b64encode(each).decode() for each in array.ravel().tolist()]
    else:
        flat = array.ravel().tolist()
    return ["string" if array.dtype.kind in "SO" else array.dtype.name, list(array.shape), flat]


def compare(found: Any, expected: Any) -> None:
    """Compare elements: results are as near as float32 lets them be."""
    if expected[0].startswith("float"):
        np.testing.assert_allclose(found[2], expected[2], rtol=1e-5, atol=1e-5)
    else:
        assert found == expected


if __name__ == "__main__":
    CASES.write(plain)
