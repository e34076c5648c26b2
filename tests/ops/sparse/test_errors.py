"""What is refused is refused in TensorFlow's words, and when it would be."""

from __future__ import annotations

import numpy as np
import pytest

import daskvars.v1 as tf
from daskvars.errors import InvalidArgumentError

ROWS = np.ones([3, 2], np.float32)


def matrix(places=((0, 0), (1, 2)), shape=(5, 6)):
    return tf.SparseTensor([list(place) for place in places], [1.0] * len(places), list(shape))


def segments(indices, ids, num_segments=None):
    return tf.sparse_segment_sum(ROWS, indices, ids, num_segments=num_segments)


RUN = {
    "too many sizes to find": (
        lambda: tf.sparse_reshape(matrix(), tf.placeholder_with_default([-1, -1], [2])),
        "only one output dimension may be -1, not both 0 and 1",
    ),
    "another number of elements": (
        lambda: tf.sparse_reshape(matrix(), tf.placeholder_with_default([4, 7], [2])),
        "Input to reshape is a tensor with 30 dense values, but the requested shape has 28. "
        "input_shape=[5, 6] output_shape=[4, 7]",
    ),
    "no multiple": (
        lambda: tf.sparse_reshape(matrix(), tf.placeholder_with_default([4, -1], [2])),
        "Input to reshape is a SparseTensor with 30 dense values, but the requested shape "
        "requires a multiple of 4",
    ),
    "sizes that differ": (
        lambda: tf.sparse_maximum(matrix(), matrix(shape=(5, 5))),
        "Operands' shapes do not match",
    ),
    "ranks that differ": (
        lambda: tf.sparse_maximum(matrix(), tf.SparseTensor([[0]], [1.0], [5])),
        "Operands do not have the same ranks; got shapes: ",
    ),
    "no such dimension": (
        lambda: tf.sparse_reduce_sum(matrix(), -3),
        "Invalid reduction dimension -3, for input with 2 dimensions",
    ),
    "joined matrices that do not fit": (
        lambda: tf.sparse_concat(1, [matrix(), matrix(shape=(4, 6))]),
        "but are, with 0 along the axis:] [5 0] [4 0]",
    ),
    "a new shape of another rank": (
        lambda: tf.sparse_reset_shape(matrix(), tf.placeholder_with_default([9], [None])),
        "x == y did not hold element-wise",
    ),
    "a smaller new shape": (
        lambda: tf.sparse_reset_shape(matrix(), tf.placeholder_with_default([9, 3], [None])),
        "the new shape is smaller",
    ),
    "a place outside": (
        lambda: tf.sparse_to_dense([1, 10], [5], [1, 1], -1),
        "indices[1] = [10] is out of bounds: need 0 <= index < [5]",
    ),
    "a place outside, unchecked": (
        lambda: tf.sparse_to_dense([1, 10], [5], [1, 1], -1, validate_indices=False),
        "Indices are not valid (out of bounds).  Shape: [5]",
    ),
    "a place outside of what is added to": (
        lambda: tf.sparse_add(tf.SparseTensor([[-1, 0]], [1.0], [2, 2]), np.ones([2, 2], "f4")),
        "invalid index",
    ),
    "ids that decrease": (lambda: segments([0, 1, 2], [0, 2, 1]), "segment ids are not increasing"),
    "ids below zero": (lambda: segments([0, 1, 2], [-3, -2, -1]), "segment ids must be >= 0"),
    "an id below zero": (
        lambda: segments([0, 1, 2], [-2, -1, 0]),
        "Segment id -2 out of range [0, 1), possibly because 'segment_ids' input is not sorted.",
    ),
    "an id of none of the segments": (
        lambda: segments([0, 1, 2], [0, 1, 4], 2),
        "segment ids must be < num_segments",
    ),
    "ids of segments that decrease": (
        lambda: segments([0, 1, 2], [2, 1, 0], 5),
        "segment ids are not increasing",
    ),
    "an id in a matrix of ids": (
        lambda: tf.unsorted_segment_sum(ROWS, [[0, 1], [1, 3], [0, 0]], 2),
        "segment_ids[1,1] = 3 is out of range [0, 2)",
    ),
    "a column outside of a product": (
        lambda: tf.sparse_tensor_dense_matmul(matrix([(0, 0), (1, 9)]), np.ones([6, 2], "f4")),
        "k (9) from index[1,1] out of bounds (>=6)",
    ),
    "a row outside of a product": (
        lambda: tf.sparse_tensor_dense_matmul(matrix([(-1, 0)]), np.ones([6, 2], "f4")),
        "m (-1) from index[0,0] out of bounds (>=5)",
    ),
    "a product of sizes that do not fit": (
        lambda: tf.sparse_tensor_dense_matmul(
            matrix(), tf.placeholder_with_default(np.ones([5, 2], "f4"), [None, 2])
        ),
        "Dimensions must be equal, but are 6 and 5",
    ),
    "a key of one number": (
        lambda: tf.string_to_hash_bucket_strong("a", 10, [98765]),
        "Key must have 2 elements",
    ),
    "bytes that are no tensor": (
        lambda: tf.deserialize_many_sparse([["a", "b", "c"]], tf.int64),
        "Could not parse serialized proto",
    ),
    "values of another dtype": (
        lambda: tf.deserialize_many_sparse([tf.serialize_sparse(matrix())], tf.int64),
        "Requested SparseTensor of type int64 but SparseTensor[0].values.dtype() == float32",
    ),
}


@pytest.mark.parametrize("name", RUN)
def test_a_run_fails_in_the_words_of_tensorflow(name):
    make, text = RUN[name]
    with (
        tf.Graph().as_default(),
        tf.Session() as session,
        pytest.raises(InvalidArgumentError) as caught,
    ):
        session.run(make())
    assert text in str(caught.value)


BUILT = {
    "two sizes to find": (lambda: tf.sparse_reshape(matrix(), [-1, 2, -1]), "At most one dimen"),
    "another number": (lambda: tf.sparse_reshape(matrix(), [4, 7]), "Cannot reshape a tensor"),
    "no multiple": (lambda: tf.sparse_reshape(matrix(), [-1, 7]), "Cannot reshape a tensor"),
    "a smaller shape": (lambda: tf.sparse_reset_shape(matrix(), [3, 7]), "Requested new_shape"),
    "a longer shape": (
        lambda: tf.sparse_reset_shape(matrix(), [5, 6, 7]),
        "Dimensions 3 and 2 are not compatible",
    ),
    "a product": (
        lambda: tf.sparse_tensor_dense_matmul(matrix(), np.ones([5, 2], np.float32)),
        "Dimensions must be equal, but are 6 and 5",
    ),
    "no keyword": (lambda: tf.sparse_split(3, 2, 1), "Keyword arguments are required"),
    "no input": (lambda: tf.sparse_split(), "sp_input is required"),
    "no number": (lambda: tf.sparse_split(sp_input=matrix()), "num_split is required"),
    "no axis": (lambda: tf.sparse_split(sp_input=matrix(), num_split=2), "axis is required"),
    "two delimiters": (
        lambda: tf.string_split(["a"], delimiter=["|", ""]),
        "Shape must be rank 0 but is rank 1",
    ),
    "a scalar of labels": (
        lambda: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=0, logits=[[1.0, 2.0]]),
        "labels must be 1-D",
    ),
    "no negative number of segments": (
        lambda: segments([0, 1, 2], [0, 1, 1], -2),
        "Cannot specify a negative value for num_segments",
    ),
}


@pytest.mark.parametrize("name", BUILT)
def test_a_graph_is_not_built_with_what_is_known_to_be_wrong(name):
    make, text = BUILT[name]
    with tf.Graph().as_default(), pytest.raises(ValueError, match=text):
        make()
