"""Functions of elements called for several at once: what comes is what a call for each gives."""

import numpy as np
import pytest

import daskvars.v1 as tf
from daskvars.data.nodes import mapping
from daskvars.data.nodes.elements import Together
from daskvars.data.nodes.functions import arrays_of
from daskvars.data.nodes.node import Pass, read_elements
from daskvars.data.nodes.together import FunctionTogether
from daskvars.remote.tasks.element_tasks import mapped_rows
from tests.ops.each_op import each_op_that

ENTROPY = 5
RNG = np.random.default_rng(1)
IMAGES = RNG.integers(0, 255, (70, 8, 6, 3), dtype=np.uint8)
NUMBERS = RNG.random((70, 4), dtype=np.float32)
LABELS = RNG.integers(0, 5, 70)
SPARSE = tf.SparseTensorValue(np.array([[0, 1], [3, 0]]), np.array([1.0, 2.0]), [5, 2])
TEXTS = np.array([b"a b c", b"b", b"c c a b"] * 20, object)


def of(*arrays):
    """Return a dataset of the rows of arrays."""
    return tf.data.Dataset.from_tensor_slices(arrays if len(arrays) > 1 else arrays[0])


def both(dataset, count):
    """Return so many elements of a dataset, taken one by one and several at once."""
    node = dataset.node
    one_by_one, several = [node.elements(Pass({}, ENTROPY)) for _ in range(2)]
    alone = []
    while len(alone) < count:
        try:
            alone.append(next(one_by_one))
        except StopIteration:
            break
        except tf.errors.OpError as error:
            alone.append(error)
    return alone, several.many(count)


def assert_same(alone, several):
    """The elements are the same, bit for bit, and so are the errors among them."""
    assert len(alone) == len(several)
    for one, other in zip(alone, several, strict=True):
        assert isinstance(one, Exception) == isinstance(other, Exception)
        if isinstance(one, Exception):
            assert (type(one), str(one)) == (type(other), str(other))
            continue
        for a, b in zip(arrays_of(one), arrays_of(other), strict=True):
            np.testing.assert_array_equal(a, b, strict=True)


@each_op_that(lambda sample: sample.inputs)
def test_every_op_gives_for_several_elements_what_it_gives_for_each(sample):
    arrays = [np.asarray(x) for x in sample.inputs]
    turned = [a.reshape(-1)[::-1].reshape(a.shape) for a in arrays]  # which some ops refuse
    for rows in ([arrays] * 3, [arrays, turned, arrays]):
        columns = [np.stack(column) for column in zip(*rows, strict=True)]
        try:
            data = of(*columns).map(sample.call)
        except tf.errors.UnimplementedError:
            pytest.skip("it takes a variable, which functions of elements do not")
        assert_same(*both(data, 3))


# -- functions as people write them ----------------------------------------------------------------


def augmented(x, y):
    x = tf.cast(x, tf.float32) / 255.0
    x = tf.image.resize_image_with_crop_or_pad(x, 10, 8)
    x = tf.random_crop(x, [8, 6, 3], seed=2)
    return tf.image.random_brightness(tf.image.random_flip_left_right(x, seed=3), 0.2), y


def standardized(x):
    return tf.image.per_image_standardization(tf.image.random_flip_up_down(x))


def contrasted(x):
    x = tf.image.convert_image_dtype(x, tf.float32)
    return tf.clip_by_value(tf.image.random_contrast(x, 0.5, 1.5), 0.0, 1.0)


def noisy(x):
    return x + tf.random_normal([4]) + tf.random_uniform([4], -1, 1) * tf.random_uniform([])


def many_random_numbers(x):
    return tf.random_uniform([9]), tf.random_uniform([5], maxval=7, dtype=tf.int32), x


def of_shape(x):
    return tf.reshape(x, [tf.shape(x)[0] // 2, -1]), tf.size(x), tf.rank(x), tf.shape(x)


def parts(x):
    first, rest = x[:2], x[2:]
    a, b, c, d = tf.unstack(x)
    return {
        "joined": tf.concat([rest, first, [1.0]], 0),
        "stacked": (tf.stack([a, c]), tf.expand_dims(b, 0), tf.tile(tf.transpose([x]), [1, 2])),
        "ends": (x[-1], tf.reverse(x, [-1]), d, tf.pad(x, [[1, 2]]), x[None, ::2, None]),
    }


def cropped_by_data(x, y):
    begin = tf.cast(y, tf.int32)
    return tf.slice(x, [begin, 0, 0], [2, 6, 3]), tf.slice(x, [0, 0, 0], [begin + 1, 2, 1])


def branches(x, y):
    def drawn():
        return tf.random_uniform([2], seed=4) * x[:2]

    is_even = tf.equal(y % 2, 0)
    return tf.cond(is_even, drawn, lambda: x[2:]), tf.case([(y < 2, lambda: y)], lambda: -y)


def loops(x, y):
    return tf.while_loop(lambda i, t: i < y, lambda i, t: (i + 1, t * 1.5), [0 * y, x])[1]


def looked_up(x, y):
    table = tf.constant(np.arange(20.0).reshape(5, 4))
    return tf.gather(table, y), tf.one_hot(y, 5), tf.gather(x, [3, 0]), tf.reduce_sum(x)


TOGETHER = {
    "augmented": (of(IMAGES, LABELS), augmented),
    "standardized": (of(IMAGES), standardized),
    "contrasted": (of(IMAGES), contrasted),
    "noisy": (of(NUMBERS), noisy),
    "many random numbers": (of(NUMBERS), many_random_numbers),
    "a constant": (of(NUMBERS), lambda x: (tf.constant([1, 2]), x)),
    "of shape": (of(NUMBERS), of_shape),
    "parts": (of(NUMBERS), parts),
    "branches": (of(NUMBERS, LABELS), branches),
    "loops": (of(NUMBERS, LABELS), loops),
    "looked up": (of(NUMBERS, LABELS), looked_up),
    "raw bytes": (
        of(np.array([row.tobytes() for row in IMAGES], object)),
        lambda text: tf.reshape(tf.cast(tf.decode_raw(text, tf.uint8), tf.float32), [8, 6, 3]),
    ),
    "lines": (
        of(np.array([b"1,2.5,a", b",3.5,b"] * 30, object)),
        lambda line: tuple(tf.decode_csv(line, [[7], [0.0], [""]])),
    ),
    "texts": (
        of(TEXTS),
        lambda text: (tf.strings.length(text), tf.string_to_hash_bucket_fast(text, 9)),
    ),
}


@pytest.mark.parametrize("name", TOGETHER)
@pytest.mark.parametrize("calls", [None, 2])
def test_functions_that_only_compute_are_called_for_several(name, calls, monkeypatch):
    monkeypatch.setattr(mapping, "SHORT_S", 60.0)  # else a slow machine calls for each
    data, function = TOGETHER[name]
    with tf.Graph().as_default():
        tf.set_random_seed(3)
        mapped = data.map(function, calls)
        node = mapped.node
        alone = list(node.elements(Pass({}, ENTROPY)))
        elements = node.elements(Pass({}, ENTROPY))
        found = [elements.many(40)]  # of which those of several calls are each by itself
        while len(found[-1]):
            found.append(elements.many(11))
        if calls is None:
            assert isinstance(found[0], Together)
        assert isinstance(found[1], Together)
        assert_same(alone, [element for part in found for element in part])


def test_workers_call_functions_for_several():
    made = set()
    for name, (data, function) in TOGETHER.items():
        program = data.map(function).node.program(Pass({}, ENTROPY))
        if program is None:  # shapes that are not known, random numbers
            continue
        assert program.is_together == bool(program.region)
        made.add(name)
        columns = read_elements(data.node, Pass({}, ENTROPY)).many(100).columns
        sources = [(None, 1)] * len(columns)
        several = mapped_rows(1, sources, program, *columns)
        alone = mapped_rows(1, sources, program._replace(is_together=False), *columns)
        for one, other in zip(*map(as_columns, (alone, several)), strict=True):
            np.testing.assert_array_equal(one, other, strict=True)
    assert made >= {"parts", "looked up", "raw bytes", "lines", "texts"}


def as_columns(found):
    return found if isinstance(found, tuple) else (found,)


def test_workers_say_which_error_an_element_has():
    texts = np.array([b"1", b"x", b"2"], object)
    program = of(texts).map(tf.string_to_number).node.program(Pass({}, ENTROPY))
    with pytest.raises(tf.errors.InvalidArgumentError, match="StringToNumber"):
        mapped_rows(1, [(None, 1)], program, texts)


def test_results_of_different_shapes_come_as_a_list():
    split = of(TEXTS).map(lambda text: tf.string_split([text]).values)
    alone, several = both(split, 9)
    assert isinstance(several, list)
    assert_same(alone, several)
    assert_same(*both(of(IMAGES, LABELS).map(cropped_by_data), 20))


def test_elements_of_different_shapes_are_each_a_call():
    sizes = [2, 3, 3, 1]
    made = tf.data.Dataset.from_generator(
        lambda: (np.arange(float(size)) for size in sizes), tf.float64, tf.TensorShape([None])
    )
    assert_same(*both(made.map(lambda x: x * 2.0), 5))


def test_examples_are_parsed_together():
    def example(number):
        values = {
            "x": tf.train.Feature(float_list=tf.train.FloatList(value=[number, 1.0])),
            "y": tf.train.Feature(int64_list=tf.train.Int64List(value=[number] * number)),
        }
        return tf.train.Example(features=tf.train.Features(feature=values)).SerializeToString()

    records = of(np.array([example(n) for n in range(6)], object))
    x, y = tf.FixedLenFeature([2], tf.float32), tf.VarLenFeature(tf.int64)

    def dense(record):
        return tf.parse_single_example(record, {"x": x})["x"]

    def length(record):
        return tf.size(tf.parse_single_example(record, {"x": x, "y": y})["y"].values)

    for function in (dense, length):
        alone, several = both(records.map(function), 6)
        assert isinstance(several, Together)
        assert_same(alone, several)
    assert_same(*both(records.map(lambda r: tf.parse_single_example(r, {"y": y})["y"]), 6))


def test_python_is_called_for_one_element_before_the_next_is_made():
    order = []

    def noted(what):
        def function(x):
            order.append((what, int(x)))
            return x

        return lambda x: tf.py_func(function, [x], tf.int64, stateful=True)

    data = tf.data.Dataset.range(3).map(noted("a")).map(noted("b"))
    data.node.elements(Pass({}, ENTROPY)).many(3)
    assert order == [(what, number) for number in range(3) for what in "ab"]


def sizes_of_calls(data, count, monkeypatch):
    """Return for how many elements at once functions are called, where so many are taken."""
    sizes = []
    call = FunctionTogether.__call__

    def noted(self, elements, numbers):
        sizes.append(len(numbers))
        return call(self, elements, numbers)

    monkeypatch.setattr(FunctionTogether, "__call__", noted)
    assert len(data.node.elements(Pass({}, ENTROPY)).many(count)) == count
    return sizes


def test_functions_before_steps_between_are_called_for_several(monkeypatch):
    images, numbers = of(IMAGES).map(standardized), of(NUMBERS).map(noisy)
    zipped = tf.data.Dataset.zip((images, numbers))
    assert sizes_of_calls(zipped, 40, monkeypatch) == [40, 40]
    turns = tf.data.Dataset.range(3).interleave(lambda _: of(NUMBERS).map(noisy), 4)
    assert sizes_of_calls(turns, 40, monkeypatch) == [10] * 6
    sizes = sizes_of_calls(numbers.repeat().prefetch(64), 400, monkeypatch)
    assert max(sizes) == 16


def test_what_inputs_have_in_common_is_begun_in_the_order_of_elements():
    with tf.Graph().as_default():
        tf.set_random_seed(3)
        data = of(NUMBERS).shuffle(100, seed=1).take(3).repeat()
        assert_same(*both(tf.data.Dataset.zip((data, data)), 20))


def test_python_of_inputs_is_called_for_one_element_before_the_next_is_made():
    order = []

    def noted(what):
        def function(x):
            order.append((what, int(x)))
            return x

        mapped = tf.data.Dataset.range(3).map(
            lambda x: tf.py_func(function, [x], tf.int64, stateful=False)
        )
        return mapped.interleave(lambda x: tf.data.Dataset.range(x, x + 1), 1)

    tf.data.Dataset.zip((noted("a"), noted("b"))).node.elements(Pass({}, ENTROPY)).many(3)
    assert order == [(what, number) for number in range(3) for what in "ab"]


# -- errors ----------------------------------------------------------------------------------------


def checked(x):
    return tf.check_numerics(1.0 / x, "inverse")


def test_errors_are_those_of_the_elements_that_they_come_of():
    data = of([1.0, 0.0, 4.0, 0.0, 2.0, 8.0]).map(checked)
    alone, several = both(data, 6)
    assert [isinstance(each, Exception) for each in several] == [False, True, False, True, 0, 0]
    assert_same(alone, several)
    # An element that was not made has no number: random draws of the others do not depend on it.
    assert_same(*both(data.map(lambda x: x + tf.random_uniform([], seed=3)), 6))


def test_a_batch_with_an_error_fails_and_the_next_one_comes():
    with tf.Graph().as_default(), tf.Session() as session:
        item = of(np.arange(8.0)).map(checked).batch(3).make_one_shot_iterator().get_next()
        with pytest.raises(tf.errors.InvalidArgumentError, match="inverse : Tensor had Inf"):
            session.run(item)
        np.testing.assert_array_equal(session.run(item), [1 / 3, 1 / 4, 1 / 5])
    ignoring = of(np.arange(8.0)).map(checked).apply(tf.data.experimental.ignore_errors())
    assert_same(*both(ignoring.batch(7), 2))


STEPS = {
    "shuffle": lambda data: data.shuffle(4, seed=2),
    "repeat": lambda data: data.repeat(3),
    "take and skip": lambda data: data.skip(1).take(5),
    "filter": lambda data: data.filter(lambda x: x < 0.5),
    "filter with errors": lambda data: data.filter(
        lambda x: tf.check_numerics(x / (x - 1), "f") < 9
    ),
    "zip": lambda data: tf.data.Dataset.zip((data, data.map(lambda x: -x))),
    "zip with fewer": lambda data: tf.data.Dataset.zip((data, data.take(3))),
    "zip of others": lambda data: tf.data.Dataset.zip((data, {"n": of(NUMBERS).map(noisy)})),
    "zip of fewer others": lambda data: tf.data.Dataset.zip((of(LABELS).take(3), data.repeat(2))),
    "zip of sparse ones": lambda data: tf.data.Dataset.zip((data, of(SPARSE), of(IMAGES))),
    "interleave": lambda data: tf.data.Dataset.range(5).interleave(
        lambda n: of(np.arange(4.0)).map(lambda x: checked(x + 1.0 - tf.cast(n, tf.float64))), 3, 2
    ),
    "flat_map": lambda data: data.flat_map(lambda x: tf.data.Dataset.range(2).map(lambda n: n)),
    "prefetch": lambda data: data.prefetch(30),
    "prefetch and shuffle": lambda data: data.repeat(5).prefetch(16).shuffle(7, seed=1),
    "concatenate": lambda data: data.concatenate(data),
    "cache": lambda data: data.cache().repeat(2),
    "shard": lambda data: data.shard(2, 1),
    "shuffle and repeat": lambda data: data.shuffle(100, seed=2).repeat(2).shuffle(3, seed=1),
}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("values", [[1.0, 2.0, 4.0, 8.0, 5.0, 3.0], [1.0, 0.0, 4.0, 0.0, 2.0, 8.0]])
def test_steps_between_give_several_as_they_give_one_after_the_other(step, values):
    data = STEPS[step](of(values).map(checked))
    for count in (1, 4, 50):
        assert_same(*both(data, count))


def test_positions_count_elements_that_came_together():
    data = of(NUMBERS).map(noisy).shuffle(5, seed=1).repeat().batch(8)
    node = data.node
    whole = node.elements(Pass({}, ENTROPY))
    wanted = [next(whole) for _ in range(12)]
    after = node.elements(Pass({}, ENTROPY))
    next(after)
    assert after.skip(9) == 9
    assert_same([wanted[10]], [next(after)])


@pytest.mark.parametrize("step", [lambda data: data, lambda data: data.cache()])
def test_a_batch_may_be_written_into(step):
    before = NUMBERS.copy()
    batches = step(of(NUMBERS).map(lambda x: (x, x))).repeat(2).batch(70)
    for batch in batches.node.elements(Pass({}, ENTROPY)):
        for part in batch:
            np.testing.assert_array_equal(part, before)
            part += 1.0
    np.testing.assert_array_equal(NUMBERS, before)
