"""Programs on sparse tensors that TensorFlow has run: their results are in `tensorflow.json`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.ops.tensorflow_cases import Cases

CASES = Cases()
case = CASES.case


def matrix(tf: Any, kind: Any = np.float32) -> Any:
    places = [[0, 0], [0, 2], [1, 1], [3, 0], [3, 2]]
    return tf.SparseTensor(places, np.array([1, -2, 3, 4, -5], kind), [4, 3])


def other(tf: Any) -> Any:
    values = np.array([10, 2, -3, 7], np.float32)
    return tf.SparseTensor([[0, 1], [0, 2], [1, 1], [2, 2]], values, [4, 3])


def cube(tf: Any) -> Any:
    places = [[0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 1, 1]]
    return tf.SparseTensor(places, np.array([1, 2, 3, 4], np.float32), [2, 2, 3])


@case
def reordered(tf):
    return tf.sparse.reorder(tf.SparseTensor([[1, 0], [0, 1], [0, 0]], [1.0, 2.0, 3.0], [2, 2]))


@case
def reshaped(tf):
    return tf.sparse.reshape(matrix(tf), [2, -1])


@case
def reshaped_cube(tf):
    return tf.sparse.reshape(cube(tf), [3, 4])


@case
def sliced(tf):
    return tf.sparse.slice(matrix(tf), [1, 0], [3, 2])


@case
def sliced_beyond(tf):
    return tf.sparse.slice(matrix(tf), [2, 1], [9, 9])


@case
def parts(tf):
    return tf.sparse.split(sp_input=matrix(tf), num_split=2, axis=0)


@case
def uneven_parts(tf):
    return tf.sparse.split(sp_input=matrix(tf), num_split=2, axis=1)


@case
def joined_rows(tf):
    return tf.sparse.concat(0, [matrix(tf), other(tf)])


@case
def joined_columns(tf):
    return tf.sparse.concat(1, [matrix(tf), other(tf), matrix(tf)])


@case
def joined_expanding(tf):
    small = tf.SparseTensor([[0, 0]], [9.0], [1, 1])
    return tf.sparse.concat(1, [matrix(tf), small], expand_nonconcat_dim=True)


@case
def added(tf):
    return tf.sparse.add(matrix(tf), other(tf))


@case
def added_with_threshold(tf):
    return tf.sparse.add(matrix(tf), other(tf), 0.5)


@case
def added_to_dense(tf):
    return tf.sparse.add(matrix(tf), np.arange(12, dtype=np.float32).reshape(4, 3))


@case
def transposed(tf):
    return tf.sparse.transpose(matrix(tf))


@case
def transposed_cube(tf):
    return tf.sparse.transpose(cube(tf), [2, 0, 1])


@case
def retained(tf):
    return tf.sparse.retain(matrix(tf), [True, False, False, True, True])


@case
def expanded(tf):
    return [tf.sparse.expand_dims(matrix(tf), axis) for axis in (0, 1, -1)]


@case
def smallest_shape(tf):
    sp = tf.SparseTensor([[0, 1], [1, 0]], [1.0, 2.0], [7, 8])
    return [tf.sparse.reset_shape(sp), tf.sparse.reset_shape(sp, [9, 9])]


@case
def filled(tf):
    return tf.sparse.fill_empty_rows(matrix(tf), 8.0)


@case
def dense(tf):
    sp = matrix(tf)
    return [tf.sparse.to_dense(sp), tf.sparse.to_dense(sp, default_value=-1.0)]


@case
def strings(tf):
    return tf.sparse.to_dense(tf.SparseTensor([[1]], ["a"], [3]), default_value="?")


@case
def from_dense(tf):
    return tf.sparse.from_dense(np.array([[0, 1, 0], [2, 0, 3]], np.int32))


@case
def indicators(tf):
    ids = tf.SparseTensor([[0, 0], [0, 1], [2, 0]], np.array([3, 1, 0], np.int64), [3, 2])
    return tf.sparse.to_indicator(ids, 5)


@case
def merged(tf):
    places = [[0, 0], [1, 0], [1, 1]]
    ids = tf.SparseTensor(places, np.array([3, 2, 0], np.int64), [2, 2])
    return tf.sparse_merge(ids, tf.SparseTensor(places, [1.0, 2.0, 3.0], [2, 2]), 5)


@case
def sums(tf):
    sp = matrix(tf)
    return [
        tf.sparse.reduce_sum(sp),
        tf.sparse.reduce_sum(sp, 0),
        tf.sparse.reduce_sum(sp, axis=1),
        tf.sparse.reduce_sum(sp, [1], keepdims=True),
        tf.sparse.reduce_sum(sp, [0, -1]),
        tf.sparse.reduce_sum(cube(tf), [0, 2]),
        tf.sparse.reduce_sum(cube(tf), 1, keepdims=True),
    ]


@case
def sparse_sums(tf):
    sp = matrix(tf)
    return [
        tf.sparse_reduce_sum_sparse(sp, 1),
        tf.sparse_reduce_sum_sparse(sp, 0, keepdims=True),
        tf.sparse_reduce_sum_sparse(cube(tf), [0, 2]),
    ]


@case
def greatest(tf):
    sp = matrix(tf)
    return [
        tf.sparse.reduce_max(sp),
        tf.sparse.reduce_max(sp, 0),
        tf.sparse.reduce_max(sp, 1),
        tf.sparse.reduce_max(cube(tf), [0, 2], keepdims=True),
        tf.sparse_reduce_max_sparse(sp, 1),
    ]


@case
def softmaxes(tf):
    return [tf.sparse.softmax(matrix(tf)), tf.sparse.softmax(cube(tf))]


@case
def extremes(tf):
    return [tf.sparse.maximum(matrix(tf), other(tf)), tf.sparse.minimum(matrix(tf), other(tf))]


@case
def products(tf):
    sp = matrix(tf)
    b = np.arange(6, dtype=np.float32).reshape(3, 2)
    c = np.arange(8, dtype=np.float32).reshape(4, 2)
    return [
        tf.sparse_tensor_dense_matmul(sp, b),
        tf.sparse_tensor_dense_matmul(sp, b.T.copy(), adjoint_b=True),
        tf.sparse_tensor_dense_matmul(sp, c, adjoint_a=True),
        tf.sparse_matmul(b, b, transpose_a=True, a_is_sparse=True),
    ]


@case
def complex_products(tf):
    values = np.array([1 + 2j, 3 - 1j], np.complex64)
    sp = tf.SparseTensor([[0, 1], [1, 0]], values, [2, 2])
    b = np.array([[1j, 2], [3, 4 - 1j]], np.complex64)
    return [
        tf.sparse_tensor_dense_matmul(sp, b, adjoint_a=x, adjoint_b=y)
        for x in (False, True)
        for y in (False, True)
    ]


@case
def with_dense(tf):
    sp = matrix(tf)
    row, column = np.array([1, 2, 4], np.float32), np.array([[1], [2], [3], [4]], np.float32)
    return [sp * row, sp * column, sp / row, sp * np.float32(2)]


@case
def functions(tf):
    sp = matrix(tf)
    return [
        tf.abs(sp),
        tf.square(sp),
        tf.negative(sp),
        tf.tanh(sp),
        tf.sign(sp),
        tf.cast(sp, tf.int32),
    ]


@case
def folded_rows(tf):
    data = np.arange(12, dtype=np.float32).reshape(4, 3)
    indices, ids = [0, 3, 1, 1], [0, 0, 1, 3]
    return [
        function(data, indices, ids, num_segments=number)
        for function in (
            tf.sparse_segment_sum,
            tf.sparse_segment_mean,
            tf.sparse_segment_sqrt_n,
        )
        for number in (None, 6)
    ]


def features(tf: Any) -> tuple[Any, Any]:
    places = [[0, 0], [0, 1], [1, 0], [3, 0], [3, 1]]
    ids = tf.SparseTensor(places, np.array([1, 3, 0, 3, 3], np.int64), [4, 2])
    weights = np.array([1, 2, 0.5, 1, 3], np.float32)
    return ids, tf.SparseTensor(places, weights, [4, 2])


@case
def looked_up(tf):
    table = tf.constant(np.arange(8, dtype=np.float32).reshape(4, 2))
    ids, weights = features(tf)
    return [
        tf.nn.embedding_lookup_sparse(table, ids, given, combiner=how)
        for given in (None, weights)
        for how in ("sum", "mean", "sqrtn")
    ]


@case
def looked_up_in_parts(tf):
    parts = [tf.constant([[0.0], [2.0]]), tf.constant([[1.0], [3.0]])]
    ids, weights = features(tf)
    return tf.nn.embedding_lookup_sparse(parts, ids, weights, combiner="sum", max_norm=2.5)


@case
def looked_up_safely(tf):
    table = tf.get_variable("table", initializer=np.arange(8, dtype=np.float32).reshape(4, 2))
    places = [[0, 0], [0, 1], [1, 0], [2, 0]]
    ids = tf.SparseTensor(places, np.array([1, -1, 3, 2], np.int64), [5, 2])
    weights = tf.SparseTensor(places, np.array([1, 2, 0, 3], np.float32), [5, 2])
    return [
        tf.nn.safe_embedding_lookup_sparse([table], ids),
        tf.nn.safe_embedding_lookup_sparse([table], ids, weights, combiner="sum"),
        tf.nn.safe_embedding_lookup_sparse([table], ids, default_id=3),
        tf.nn.safe_embedding_lookup_sparse(
            [table], tf.SparseTensor([[0, 0, 0], [1, 1, 0]], np.array([1, 2], np.int64), [2, 2, 2])
        ),
    ]


@case
def masked(tf):
    a = tf.IndexedSlices(tf.constant([[1.0], [2.0], [3.0]]), tf.constant([4, 7, 2]))
    found = tf.sparse_mask(a, [7])
    return [found.values, found.indices]


@case
def gradients(tf):
    x = tf.constant([1.0, -2.0, 3.0, 4.0, -5.0])
    b = tf.constant(np.arange(6, dtype=np.float32).reshape(3, 2))
    sp = tf.SparseTensor([[0, 0], [0, 2], [1, 1], [3, 0], [3, 2]], x, [4, 3])
    weights = np.arange(1, 13, dtype=np.float32).reshape(4, 3)
    results = [
        tf.sparse_tensor_dense_matmul(sp, b)[:, 0],
        tf.sparse.softmax(sp).values * [1.0, 2, 3, 4, 5],
        tf.sparse.reduce_sum(sp, 1) * [1.0, 2, 3, 4],
        tf.sparse.add(sp, other(tf)).values,
        tf.sparse.to_dense(sp) * weights,
        tf.sparse.fill_empty_rows(sp, 1.0)[0].values * [1.0, 2, 3, 4, 5, 6],
        tf.sparse.slice(sp, [0, 0], [2, 3]).values * [1.0, 2, 3],
        (sp * weights).values,
    ]
    found = [tf.gradients(tf.reduce_sum(each), x)[0] for each in results]
    dense = tf.gradients(tf.reduce_sum(results[0]), b)[0]
    return [*found, tf.convert_to_tensor(dense)]


@case
def dense_times_sparse(tf):
    dense = tf.constant(np.arange(1, 13, dtype=np.float32).reshape(4, 3))
    return [dense * matrix(tf), tf.constant([1.0, 10.0, 100.0]) * matrix(tf)]


@case
def joined_of_unknown_rank(tf):
    indices = tf.placeholder_with_default(np.array([[0, 0], [1, 1]]), None)
    sizes = tf.placeholder_with_default(np.array([2, 2]), None)
    sp = tf.SparseTensor(indices, tf.constant([5.0, 7.0]), sizes)
    known = tf.sparse_concat(1, [sp, matrix(tf)], expand_nonconcat_dim=True)
    return [tf.sparse_concat(axis, [sp, sp]) for axis in (0, 1, -1, -2)] + [known]


@case
def split_by_a_tensor(tf):
    delimiter = tf.placeholder_with_default("|,", [])
    return tf.string_split(["a|b,c", "", "d"], delimiter=delimiter)


@case
def hexadecimal_numbers(tf):
    texts = ["0xF", "-0XaB", " 0x10 ", "0x1p3", "0x1.8", "1e3"]
    return [tf.string_to_number(texts), tf.string_to_number(texts, tf.float64)]


@case
def rows_of_no_indices(tf):
    rows = np.ones([3, 2], np.float32)
    return [tf.sparse_segment_sum(rows, [], [], num_segments=2)]


@case
def shapes_of_sparse_tensors(tf):
    return [tf.shape(matrix(tf)), tf.shape(matrix(tf), out_type=tf.int64)]


@case
def bfloat16_matrices(tf):
    a = tf.constant([[1.0, 2.5], [0.0, 3.0]])
    b = tf.constant([[0.5, 1.0], [2.0, -4.0]])
    small = tf.cast(a, tf.bfloat16)
    products = [tf.sparse_matmul(small, b, transpose_a=True), tf.matmul(a, tf.cast(b, tf.bfloat16))]
    both = tf.sparse_matmul(small, tf.cast(b, tf.bfloat16))
    gradients = [tf.cast(tf.gradients(each, small)[0], tf.float32) for each in (products[0], both)]
    return [*products, both, *gradients]


@case
def to_dense_at_places_of_unknown_rank(tf):
    places = [tf.placeholder_with_default(np.array(p, np.int32), None) for p in ([1, 3], 3, [[1]])]
    return [tf.sparse_to_dense(each, [5], 1, -1) for each in places]


def plain(value: Any) -> Any:
    """Return a result as plain data."""
    if hasattr(value, "dense_shape"):
        return [plain(value.indices), plain(value.values), plain(value.dense_shape)]
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    array = np.asarray(value)
    if array.dtype.kind == "c":
        return [plain(array.real), plain(array.imag)]
    if array.dtype.kind in "SO":
        return [each.decode() for each in array.ravel().tolist()]
    return array.tolist()


if __name__ == "__main__":
    CASES.write(plain, indent=0)
