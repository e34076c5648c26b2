"""Pipelines that TensorFlow has run: what they gave is in `tensorflow.json`.

Run as a program by a Python that has TensorFlow, this file writes it:
``python tests/data/cases.py > tests/data/tensorflow.json``.
"""

from __future__ import annotations

import collections
import contextlib
import json
import os
import sys
import tempfile
from functools import partial
from typing import Any

import numpy as np

CASES: dict[str, Any] = {}
Pair = collections.namedtuple("Pair", ["first", "second"])


def case(function: Any) -> Any:
    CASES[function.__name__] = function
    return function


def numbers(tf: Any) -> Any:
    return tf.data.Dataset.range(10)


@case
def tensors(tf):
    return tf.data.Dataset.from_tensors(([1, 2], {"b": "x", "a": 2.5}))


@case
def slices(tf):
    given = {"x": np.arange(6.0, dtype=np.float32).reshape(3, 2), "y": ["a", "b", "c"]}
    return tf.data.Dataset.from_tensor_slices(given)


@case
def slices_of_a_list(tf):
    return tf.data.Dataset.from_tensor_slices([[1, 2], [3, 4]])


@case
def slices_of_different_lengths(tf):
    return tf.data.Dataset.from_tensor_slices(([1, 2], [3, 4, 5]))


@case
def slices_of_a_scalar(tf):
    return tf.data.Dataset.from_tensor_slices(3)


@case
def slices_of_sparse(tf):
    st = tf.SparseTensor([[0, 0], [0, 2], [2, 1]], [1.0, 2.0, 3.0], [3, 4])
    return tf.data.Dataset.from_tensor_slices(st)


@case
def sparse_batched(tf):
    st = tf.SparseTensor([[0, 0], [0, 2], [2, 1]], [1.0, 2.0, 3.0], [3, 4])
    return tf.data.Dataset.from_tensor_slices(st).batch(2)


@case
def generated(tf):
    def generate():
        for i in range(4):
            yield i, [i] * i

    return tf.data.Dataset.from_generator(generate, (tf.int32, tf.float32), ([], [None]))


@case
def generated_with_arguments(tf):
    return tf.data.Dataset.from_generator(
        lambda stop: iter(range(stop)), tf.int64, [], args=(np.int64(3),)
    )


@case
def generated_otherwise(tf):
    return tf.data.Dataset.from_generator(lambda: iter([1, 2]), (tf.int32, tf.int32))


@case
def ranges(tf):
    return tf.data.Dataset.range(10, 0, -3)


@case
def range_from(tf):
    return tf.data.Dataset.range(2, 5)


@case
def range_of_nothing(tf):
    return tf.data.Dataset.range(5, 2)


@case
def zipped(tf):
    pairs = tf.data.Dataset.from_tensor_slices(([1, 2, 3], ["a", "b", "c"]))
    return tf.data.Dataset.zip((numbers(tf), {"p": pairs}))


@case
def zipped_list(tf):
    return tf.data.Dataset.zip([numbers(tf), numbers(tf)])


@case
def concatenated(tf):
    return tf.data.Dataset.range(3).concatenate(tf.data.Dataset.range(7, 9))


@case
def concatenated_shapes(tf):
    a = tf.data.Dataset.from_tensors([1, 2])
    return a.concatenate(tf.data.Dataset.from_tensors([1, 2, 3]))


@case
def concatenated_types(tf):
    return tf.data.Dataset.range(3).concatenate(tf.data.Dataset.from_tensors(1.0))


@case
def mapped(tf):
    return numbers(tf).map(lambda x: (x * x, tf.cast(x, tf.float32) / 2.0))


@case
def mapped_tuples(tf):
    pairs = tf.data.Dataset.from_tensor_slices(([1, 2, 3], [4, 5, 6]))
    return pairs.map(lambda a, b: {"sum": a + b, "a": a}).map(lambda d: d["sum"] - d["a"])


@case
def mapped_to_a_list(tf):
    return numbers(tf).map(lambda x: [x, x + 1])


@case
def mapped_to_an_array(tf):
    return numbers(tf).take(2).map(lambda x: (x, np.float32(2.5), "text"))


@case
def mapped_in_parallel(tf):
    return numbers(tf).map(lambda x: x + 1, num_parallel_calls=3)


@case
def mapped_by_python(tf):
    return numbers(tf).map(lambda x: tf.py_func(lambda v: v * 2, [x], tf.int64))


@case
def mapped_with_branches(tf):
    return numbers(tf).map(lambda x: tf.cond(x < 5, lambda: x, lambda: -x))


@case
def mapped_with_captured(tf):
    outside = tf.constant(3, tf.int64)
    return numbers(tf).map(lambda x: x * outside)


@case
def mapped_to_sparse(tf):
    return tf.data.Dataset.range(1, 3).map(lambda x: tf.SparseTensor([[0, x]], [x], [1, 4]))


@case
def failing_elements(tf):
    values = tf.data.Dataset.from_tensor_slices([1.0, 0.0, 2.0])
    return values.map(lambda x: tf.check_numerics(1.0 / x, "bad"))


@case
def failing_elements_ignored(tf):
    values = tf.data.Dataset.from_tensor_slices([1.0, 0.0, 2.0])
    checked = values.map(lambda x: tf.check_numerics(1.0 / x, "bad"))
    return checked.apply(tf.data.experimental.ignore_errors())


@case
def filtered(tf):
    return numbers(tf).filter(lambda x: tf.equal(x % 3, 0))


@case
def filtered_by_numbers(tf):
    return numbers(tf).filter(lambda x: x)


@case
def flat_mapped(tf):
    return tf.data.Dataset.range(4).flat_map(
        lambda n: tf.data.Dataset.range(n).map(lambda x: x + 10 * n)
    )


@case
def flat_mapped_rows(tf):
    rows = tf.data.Dataset.from_tensor_slices([[1, 2], [3, 4]])
    return rows.flat_map(tf.data.Dataset.from_tensor_slices)


@case
def flat_mapped_batches(tf):
    return tf.data.Dataset.range(1, 4).flat_map(
        lambda n: tf.data.Dataset.range(5).repeat(n).batch(n + 1)
    )


def cycled(tf: Any, cycle: int, block: int) -> Any:
    return tf.data.Dataset.range(1, 6).interleave(
        lambda n: tf.data.Dataset.from_tensors(n).repeat(n), cycle, block
    )


for cycle, block in ((1, 1), (2, 1), (2, 2), (3, 2), (9, 3)):
    CASES[f"interleaved_{cycle}_{block}"] = partial(cycled, cycle=cycle, block=block)


@case
def interleaved_in_parallel(tf):
    return tf.data.Dataset.range(1, 6).interleave(
        lambda n: tf.data.Dataset.from_tensors(n).repeat(n), 2, 1, num_parallel_calls=2
    )


@case
def interleaved_empty(tf):
    return tf.data.Dataset.from_tensor_slices([0, 3, 0, 1]).interleave(
        lambda n: tf.data.Dataset.from_tensors(n).repeat(tf.cast(n, tf.int64)), 2
    )


@case
def interleaved_none(tf):
    return cycled(tf, 0, 1)


@case
def batched(tf):
    return numbers(tf).batch(4)


@case
def batched_without_remainder(tf):
    return numbers(tf).batch(4, drop_remainder=True)


@case
def batched_twice(tf):
    return numbers(tf).batch(2).batch(3)


@case
def batched_by_none(tf):
    return numbers(tf).batch(0)


@case
def batched_unevenly(tf):
    return tf.data.Dataset.range(4).map(lambda n: tf.fill([n], n)).batch(2)


@case
def batched_strings(tf):
    return tf.data.Dataset.from_tensor_slices(["a", "bc", ""]).map(lambda s: s + "!").batch(2)


@case
def batched_with_failures(tf):
    values = tf.data.Dataset.from_tensor_slices([1.0, 2.0, 0.0, 4.0, 8.0])
    return values.map(lambda x: tf.check_numerics(1.0 / x, "bad")).batch(1)


def growing(tf: Any) -> Any:
    return tf.data.Dataset.range(1, 5).map(lambda n: tf.fill([n], n))


@case
def padded(tf):
    return growing(tf).padded_batch(2, [None])


@case
def padded_to_a_size(tf):
    return growing(tf).padded_batch(3, [6], padding_values=np.int64(-1))


@case
def padded_too_little(tf):
    return growing(tf).padded_batch(3, [2])


@case
def padded_without_remainder(tf):
    return growing(tf).padded_batch(3, [-1], drop_remainder=True)


@case
def padded_structure(tf):
    pairs = growing(tf).map(lambda x: (x, tf.fill([1, tf.size(x)], "s")))
    return pairs.padded_batch(2, ([None], [2, None]), (np.int64(7), "-"))


@case
def padded_by_another_type(tf):
    return growing(tf).padded_batch(2, [None], padding_values=np.float32(1.0))


@case
def padded_in_another_rank(tf):
    return growing(tf).padded_batch(2, [None, None])


@case
def unbatched(tf):
    return numbers(tf).batch(4).apply(tf.data.experimental.unbatch())


@case
def repeated(tf):
    return tf.data.Dataset.range(3).repeat(2)


@case
def repeated_never(tf):
    return tf.data.Dataset.range(3).repeat(0)


@case
def repeated_for_ever(tf):
    return tf.data.Dataset.range(3).repeat().take(7)


@case
def repeated_empty(tf):
    return tf.data.Dataset.range(0).repeat()


@case
def repeated_batches(tf):
    return tf.data.Dataset.range(5).repeat(2).batch(3)


@case
def batches_repeated(tf):
    return tf.data.Dataset.range(5).batch(3).repeat(2)


@case
def taken(tf):
    return numbers(tf).take(3)


@case
def taken_all(tf):
    return numbers(tf).take(-1)


@case
def taken_none(tf):
    return numbers(tf).take(0)


@case
def skipped(tf):
    return numbers(tf).skip(7)


@case
def skipped_all(tf):
    return numbers(tf).skip(-1)


@case
def skipped_beyond(tf):
    return numbers(tf).skip(70)


@case
def sharded(tf):
    return numbers(tf).shard(3, 1)


@case
def sharded_to_nothing(tf):
    return tf.data.Dataset.range(2).shard(4, 3)


@case
def sharded_beyond(tf):
    return numbers(tf).shard(3, 3)


@case
def cached(tf):
    return tf.data.Dataset.range(3).cache().repeat(2)


@case
def cached_in_a_file(tf):
    words = tf.data.Dataset.from_tensor_slices((["a", "b", "c"], [[1.5], [2.5], [3.5]]))
    prefix = os.path.join(tempfile.mkdtemp(), "kept")
    return words.cache(prefix).repeat(3).skip(1)


@case
def cached_in_a_file_that_is_there(tf):
    prefix = os.path.join(tempfile.mkdtemp(), "kept")
    with tf.Graph().as_default(), tf.Session() as session:
        element = tf.data.Dataset.range(3).cache(prefix).make_one_shot_iterator().get_next()
        for _ in range(3):
            session.run(element)
        with contextlib.suppress(tf.errors.OutOfRangeError):
            session.run(element)
    return tf.data.Dataset.range(100).cache(prefix)


@case
def cached_where_a_tensor_says(tf):
    empty = tf.placeholder_with_default("", [])
    return tf.data.Dataset.range(3).cache(empty).repeat(2)


@case
def padded_to_a_tensor(tf):
    rows = tf.data.Dataset.range(1, 6).map(lambda x: tf.fill([x], x))
    return rows.padded_batch(2, tf.placeholder_with_default(np.array([-1]), [1]))


@case
def padded_to_a_constant(tf):
    rows = tf.data.Dataset.range(1, 4).map(lambda x: (tf.fill([x], x), x))
    return rows.padded_batch(2, (tf.constant([4], tf.int64), tf.constant([], tf.int64)))


@case
def padded_to_a_tensor_that_is_too_long(tf):
    rows = tf.data.Dataset.range(1, 4).map(lambda x: tf.fill([x], x))
    return rows.padded_batch(2, tf.constant([3, 4], tf.int64))


@case
def shuffled_by_a_tensor(tf):
    seed = tf.placeholder_with_default(np.int64(3), [])
    one = tf.data.Dataset.range(9).shuffle(4, seed=seed, reshuffle_each_iteration=False)
    two = tf.data.Dataset.range(9).shuffle(4, seed=3, reshuffle_each_iteration=False)
    return tf.data.Dataset.zip((one, two)).map(lambda a, b: tf.equal(a, b))


@case
def rows_of_a_sparse_tensor_in_parts(tf):
    st = tf.SparseTensor([[0, 0], [0, 2], [2, 1]], [1.0, 2.0, 3.0], [3, 4])
    return tf.data.Dataset.from_sparse_tensor_slices(st)


@case
def lists_of_tensors(tf):
    return tf.data.Dataset.range(1, 4).flat_map(
        lambda x: tf.data.Dataset.from_tensors([x, x * x]).repeat(x)
    )


@case
def named_tuples_are_given_whole(tf):
    pairs = tf.data.Dataset.from_tensor_slices(([1, 2], [3, 4]))
    return pairs.map(Pair).map(lambda pair: pair._replace(second=pair.first * 10))


@case
def prefetched(tf):
    return numbers(tf).prefetch(2)


@case
def prefetched_none(tf):
    return numbers(tf).prefetch(0)


@case
def shuffled_by_one(tf):
    return numbers(tf).shuffle(1, seed=3)


@case
def shuffled_by_none(tf):
    return numbers(tf).shuffle(0)


@case
def enumerated(tf):
    return tf.data.Dataset.from_tensor_slices(["a", "b"]).enumerate(5)


@case
def applied(tf):
    return numbers(tf).apply(tf.data.experimental.map_and_batch(lambda x: x + 1, 3))


@case
def empty_structure(tf):
    return tf.data.Dataset.from_tensor_slices(np.zeros((0, 2), np.float32)).batch(3)


def written(name: str, data: bytes) -> str:
    path = os.path.join(tempfile.mkdtemp(), name)
    with open(path, "wb") as file:
        file.write(data)
    return path


@case
def lines(tf):
    one = written("one.txt", b"a\nbc\r\n\nlast")
    two = written("two.txt", b"")
    return tf.data.TextLineDataset([one, two, one])


@case
def lines_of_one_file(tf):
    return tf.data.TextLineDataset(written("one.txt", b"a,1\nb,2\n")).skip(1)


@case
def lines_of_no_file(tf):
    return tf.data.TextLineDataset("/there/is/no/such.txt")


@case
def fixed_lengths(tf):
    path = written("numbers.bin", b"HH" + bytes(range(8)) + b"F")
    return tf.data.FixedLengthRecordDataset(path, 4, 2, 1).map(
        lambda record: tf.decode_raw(record, tf.uint8)
    )


@case
def fixed_lengths_with_excess(tf):
    return tf.data.FixedLengthRecordDataset(written("numbers.bin", b"12345"), 4)


def records_file(tf: Any, options: Any = None, count: int = 3) -> str:
    path = os.path.join(tempfile.mkdtemp(), "some.tfrecord")
    with tf.python_io.TFRecordWriter(path, options) as writer:
        for number in range(count):
            writer.write(b"record %d" % number)
    return path


@case
def records(tf):
    return tf.data.TFRecordDataset([records_file(tf), records_file(tf, count=1)])


@case
def records_by_gzip(tf):
    options = tf.python_io.TFRecordOptions(tf.python_io.TFRecordCompressionType.GZIP)
    return tf.data.TFRecordDataset(records_file(tf, options), "GZIP")


@case
def records_by_zlib(tf):
    options = tf.python_io.TFRecordOptions(tf.python_io.TFRecordCompressionType.ZLIB)
    return tf.data.TFRecordDataset(records_file(tf, options), compression_type="ZLIB")


@case
def records_damaged(tf):
    path = records_file(tf)
    with open(path, "r+b") as file:
        file.seek(35)
        file.write(b"?")
    return tf.data.TFRecordDataset(path)


@case
def records_cut_off(tf):
    path = records_file(tf)
    os.truncate(path, os.path.getsize(path) - 3)
    return tf.data.TFRecordDataset(path)


@case
def records_as_bytes(tf):
    with open(records_file(tf), "rb") as file:
        return tf.data.Dataset.from_tensors(file.read())


@case
def files(tf):
    place = os.path.dirname(written("b.txt", b""))
    for name in ("a.txt", "c.csv"):
        open(os.path.join(place, name), "w").close()
    found = tf.data.Dataset.list_files(place + "/*.txt", shuffle=False)
    return found.map(lambda name: tf.strings.regex_replace(name, ".*/", ""))


@case
def files_of_no_name(tf):
    return tf.data.Dataset.list_files("/there/is/no/*.such", shuffle=False)


# -- examples --------------------------------------------------------------------------------------


def example(tf: Any, **features: Any) -> bytes:
    def feature(values: Any) -> Any:
        if isinstance(values[0], bytes):
            return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))
        if isinstance(values[0], float):
            return tf.train.Feature(float_list=tf.train.FloatList(value=values))
        return tf.train.Feature(int64_list=tf.train.Int64List(value=values))

    given = {name: feature(values) for name, values in features.items()}
    return tf.train.Example(features=tf.train.Features(feature=given)).SerializeToString()


def examples(tf: Any) -> Any:
    rows = [
        example(tf, a=[1, 2], b=[b"x"], c=[0.5, 1.5]),
        example(tf, a=[3], b=[b"yz"], c=[2.5, 3.5, 4.5, 5.5]),
        example(tf, b=[b""]),
    ]
    return tf.data.Dataset.from_tensor_slices(rows)


@case
def examples_as_bytes(tf):
    rows = [example(tf, a=[1, -2]), example(tf, b=[b"x", b""]), example(tf, c=[0.5])]
    return tf.data.Dataset.from_tensor_slices(rows)


def parsed(tf: Any, **features: Any) -> Any:
    return examples(tf).batch(3).map(lambda rows: tf.parse_example(rows, features))


@case
def parsed_fixed(tf):
    return parsed(
        tf,
        b=tf.FixedLenFeature([], tf.string),
        d=tf.FixedLenFeature([2], tf.int64, [7, 8]),
        e=tf.FixedLenFeature([1, 2], tf.float32, [0.25, 0.5]),
    )


@case
def parsed_with_a_default_of_another_size(tf):
    return parsed(tf, e=tf.FixedLenFeature([1, 2], tf.float32, 0.25))


@case
def parsed_variable(tf):
    return parsed(tf, a=tf.VarLenFeature(tf.int64), b=tf.VarLenFeature(tf.string))


@case
def parsed_sequences(tf):
    return parsed(
        tf,
        a=tf.FixedLenSequenceFeature([], tf.int64, allow_missing=True),
        c=tf.FixedLenSequenceFeature([2], tf.float32, allow_missing=True, default_value=-1.0),
    )


@case
def parsed_missing(tf):
    return parsed(tf, a=tf.FixedLenFeature([2], tf.int64))


@case
def parsed_otherwise(tf):
    return parsed(tf, b=tf.FixedLenFeature([], tf.int64))


@case
def parsed_in_another_number(tf):
    return parsed(tf, a=tf.FixedLenFeature([2], tf.int64, [0, 0]))


@case
def parsed_in_uneven_sequences(tf):
    return parsed(tf, c=tf.FixedLenSequenceFeature([3], tf.float32, allow_missing=True))


@case
def parsed_one_by_one(tf):
    features = {"b": tf.FixedLenFeature([], tf.string), "a": tf.VarLenFeature(tf.int64)}
    return examples(tf).map(lambda row: tf.parse_single_example(row, features))


@case
def parsed_nothing(tf):
    return tf.data.Dataset.from_tensors([b"no example"]).map(
        lambda row: tf.parse_example(row, {"a": tf.FixedLenFeature([], tf.int64)})
    )


@case
def raw_numbers(tf):
    return tf.data.Dataset.from_tensors(["abcd", "efgh"]).map(
        lambda text: (
            tf.decode_raw(text, tf.int16),
            tf.decode_raw(text, tf.int32, little_endian=False),
        )
    )


@case
def raw_numbers_of_another_size(tf):
    return tf.data.Dataset.from_tensors(["abc"]).map(lambda text: tf.decode_raw(text, tf.int16))


@case
def separated(tf):
    rows = ["1,2.5,a", ',,"b,""c"""', "3,-1e3, d "]
    return tf.data.Dataset.from_tensors(rows).map(
        lambda rows: tuple(tf.decode_csv(rows, [[0], [9.5], ["z"]]))
    )


@case
def separated_selected(tf):
    rows = ["1|NA|x", "2|5|y"]
    return tf.data.Dataset.from_tensor_slices(rows).map(
        lambda row: tuple(
            tf.decode_csv(row, [[-1], [""]], field_delim="|", na_value="NA", select_cols=[1, 2])
        )
    )


@case
def separated_in_another_number(tf):
    return tf.data.Dataset.from_tensors("1,2").map(lambda row: tf.decode_csv(row, [[0]])[0])


@case
def separated_badly(tf):
    return tf.data.Dataset.from_tensors("x").map(lambda row: tf.decode_csv(row, [[0]])[0])


@case
def separated_missing(tf):
    empty = np.zeros(0, np.int32)
    return tf.data.Dataset.from_tensors(",1").map(lambda row: tf.decode_csv(row, [empty, [0]])[1])


# -- running ---------------------------------------------------------------------------------------


def plain(value: Any) -> Any:
    """Return an element as JSON has it."""
    if isinstance(value, dict):
        return {key: plain(value[key]) for key in sorted(value)}
    if hasattr(value, "dense_shape"):
        return {"sparse": [plain(value.indices), plain(value.values), plain(value.dense_shape)]}
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if isinstance(value, bytes):
        return value.decode("latin-1")
    array = np.asarray(value)
    if array.dtype == object:
        return [plain(item) for item in array] if array.ndim else plain(array[()])
    return array.tolist()


def result(tf: Any, function: Any) -> dict[str, Any]:
    """Return the elements of a pipeline, their types and shapes, and the errors in their places."""
    with tf.Graph().as_default(), tf.Session() as session:
        try:
            dataset = function(tf)
            iterator = tf.data.make_initializable_iterator(dataset)
            element = iterator.get_next()
        except (TypeError, ValueError) as error:
            return {"refused": type(error).__name__}
        found: list[Any] = []
        try:
            session.run(iterator.initializer)
        except tf.errors.OpError as error:
            return {"elements": [{"error": type(error).__name__}]}
        for _ in range(50):
            try:
                found.append(plain(session.run(element)))
            except tf.errors.OutOfRangeError:
                break
            except tf.errors.OpError as error:
                found.append({"error": type(error).__name__})
                if len(found) > 1 and found[-2] == found[-1]:
                    break
        types, shapes = tf.data.get_output_types(iterator), tf.data.get_output_shapes(iterator)
    return {"elements": found, "types": named(types), "shapes": sized(shapes)}


def named(types: Any) -> Any:
    if isinstance(types, dict):
        return {key: named(types[key]) for key in sorted(types)}
    return [named(item) for item in types] if isinstance(types, tuple) else types.name


def sized(shape: Any) -> Any:
    if isinstance(shape, dict):
        return {key: sized(shape[key]) for key in sorted(shape)}
    if isinstance(shape, tuple):
        return [sized(item) for item in shape]
    return None if shape.ndims is None else shape.as_list()


if __name__ == "__main__":
    import tensorflow.compat.v1 as tf  # type: ignore[import-not-found]

    tf.disable_v2_behavior()
    found = {name: result(tf, function) for name, function in CASES.items()}
    rows = [f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in found.items()]
    sys.stdout.write("{\n" + ",\n".join(rows) + "\n}\n")
