"""What values variables and tensors take: types, shapes, text, draws."""

import numpy as np
import pytest

import daskvars.v1 as tf

ORDINARY = [
    "float16",
    "float32",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "bool",
    "complex64",
    "complex128",
]


@pytest.mark.parametrize("name", ORDINARY)
def test_zeros_and_ones_of_every_type(name, initialized):
    dtype = getattr(tf, name)
    zeros = tf.get_variable("zeros", [2], dtype, tf.zeros_initializer)
    ones = tf.get_variable("ones", [2], dtype, tf.ones_initializer())
    values = initialized().run([zeros, ones])
    assert [value.dtype.name for value in values] == [name, name]
    assert [value.tolist() for value in values] == [[0, 0], [1, 1]]


@pytest.mark.parametrize(
    ("name", "held"), [("qint8", "int8"), ("qint32", "int32"), ("quint8", "uint8")]
)
def test_quantized_variables_hold_integers(name, held, initialized):
    dtype = getattr(tf, name)
    v = tf.Variable(tf.cast([1, 2, 3], dtype))
    assert v.dtype.base_dtype == dtype
    value, number = initialized().run([v, tf.cast(v, tf.float32)])
    assert value.dtype == held and value.tolist() == [1, 2, 3]
    assert number.dtype == np.float32 and number.tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(ValueError, match="required"):
        tf.get_variable("no_initializer", [2], dtype)


@pytest.mark.parametrize(
    ("text", "held"),
    [("Orange", b"Orange"), ("\u00e9", b"\xc3\xa9"), (b"\x01\xff", b"\x01\xff"), ("", b"")],
)
def test_text_is_kept_as_bytes(text, held, initialized):
    one, several = tf.Variable(text), tf.Variable([text, "other"])
    session = initialized()
    assert session.run(one) == held
    assert session.run(several).tolist() == [held, b"other"]
    session.run(one.assign("Kiwi"))
    assert session.run(one) == b"Kiwi"


@pytest.mark.parametrize(
    ("value", "dtype"), [(2, tf.int16), ([3.23, 4.02], tf.float64), (1, tf.float32)]
)
def test_a_value_is_converted_to_the_type_asked_for(value, dtype, initialized):
    v = tf.Variable(value, dtype=dtype)
    found = initialized().run(v)
    assert found.dtype == dtype.as_numpy_dtype
    assert found.tolist() == value


@pytest.mark.parametrize("name", ["int8", "uint8", "int16", "uint16", "int32", "int64", "bool"])
def test_whole_numbers_start_at_zero(name, initialized):
    v = tf.get_variable("v", [5, 3], getattr(tf, name))
    assert not initialized().run(v).any() and v in tf.trainable_variables()


@pytest.mark.parametrize("shape", [[], [2], [2, 2]])
def test_rank_and_shape_of_a_variable(shape, initialized):
    v = tf.Variable(np.zeros(shape, "f4"))
    assert v.shape.ndims == len(shape) and v.get_shape().as_list() == shape
    session = initialized()
    assert session.run(tf.rank(v)) == len(shape)
    assert session.run(tf.shape(v)).tolist() == shape


@pytest.mark.parametrize(
    ("shape", "fans"), [((300, 400), 700), ((500,), 1000), ((5, 5, 3, 4), 175), ((5, 6, 7), 65)]
)
def test_the_default_initializer_is_bounded_by_its_fans(shape, fans, initialized):
    v = tf.get_variable("v", shape)
    largest = abs(initialized().run(v)).max()
    assert 0.8 * (6 / fans) ** 0.5 < largest <= 1.0001 * (6 / fans) ** 0.5


def test_random_initial_values_are_drawn_again_when_asked():
    v, w = tf.get_variable("v", [50]), tf.get_variable("w", [50])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        first = session.run(v)
        assert (session.run(v) == first).all()
        session.run(v.initializer)
        assert (session.run(v) != first).any() and (session.run(w) != first).any()


def test_random_ops_draw_once_in_a_run(initialized):
    x = tf.random_normal([10])
    y, z = x + 0.0, x * 1.0
    session = initialized()
    first, second = session.run([y, z])
    assert (first == second).all() and (session.run(y) != first).any()


def test_types_are_not_mixed(initialized):
    i, f = tf.Variable(1), tf.Variable(1.5)
    for other in (1.0, tf.constant(1.0), f):
        with pytest.raises((TypeError, ValueError)):
            i + other
    for value, dtype in ((1.5, tf.int32), ("a", tf.float32), (1, tf.string)):
        with pytest.raises(TypeError):
            tf.constant(value, dtype)
    assert initialized().run(f + 1) == 2.5


def test_an_expression_follows_its_variable(initialized):
    v = tf.Variable([1.0, 2.0])
    total = tf.reduce_sum(v)
    v.assign([7.0, 7.0])
    session = initialized()
    assert session.run(total) == 3.0
    session.run(v.assign([10.0, 20.0]))
    assert session.run(total) == 30.0
    assert session.run(total, {v: [0.0, 1.0]}) == 1.0
    assert session.run([v * 2, 2 * v, v - 1, 1 - v, -v, v / 2])[3].tolist() == [-9.0, -19.0]


def test_ops_take_plain_data_and_refuse_what_is_none():
    a = tf.add([1.0, 2.0], np.array([3.0, 4.0], np.float32))
    assert isinstance(a, tf.Tensor) and a.dtype == tf.float32
    for mistake in (lambda: tf.add(a, object()), lambda: tf.constant([[1], [2, 3]])):
        with pytest.raises((TypeError, ValueError)):
            mistake()
    with pytest.raises(TypeError):
        bool(a)


def test_a_layer_computes_what_numpy_computes(initialized):
    rng = np.random.default_rng(0)
    inputs, weights, biases = (rng.normal(size=s).astype("f4") for s in ((4, 7), (7, 5), (5,)))
    x = tf.placeholder(tf.float32, [None, 7])
    model = tf.nn.relu(tf.matmul(x, tf.Variable(weights)) + tf.Variable(biases))
    assert model.shape.as_list() == [None, 5]
    wanted = np.maximum(inputs @ weights + biases, 0)
    np.testing.assert_allclose(initialized().run(model, {x: inputs}), wanted, atol=1e-5)


def test_python_functions_are_given_scalars_as_such(sess):
    """As in TensorFlow: bytes for text, NumPy's for numbers, which are keys of dicts."""
    names = {b"a": 1, 2: 10}
    inputs = [tf.constant("a"), tf.constant(2), tf.constant([3, 4])]

    def total(name, n, more):
        return np.int64(names[name] + names[n] + more[0])

    assert sess.run(tf.py_func(total, inputs, tf.int64)) == 14
    assert sess.run(
        tf.py_func(lambda *given: [type(x).__name__ for x in given], inputs, [tf.string] * 3)
    ) == [b"bytes", b"int32", b"ndarray"]

    def lines(path, count, sizes):
        yield from (path.decode() + str(n) for n in range(count * len(sizes)))

    data = tf.data.Dataset.from_generator(lines, tf.string, [], args=("a", 1, [7, 7]))
    line = data.make_one_shot_iterator().get_next()
    assert [sess.run(line) for _ in range(2)] == [b"a0", b"a1"]


def test_a_range_up_to_a_dimension_counts_as_one_up_to_a_number():
    x = tf.placeholder(tf.float32, [20, 4])
    rows = tf.range(x.shape[0])
    assert rows.dtype == tf.range(0, x.shape[0], x.shape[1]).dtype == tf.int32
    taken = tf.gather(
        tf.reshape(x, [-1]), rows * x.shape[1] + tf.argmax(x, 1, output_type=tf.int32)
    )
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(taken, {x: np.eye(20, 4)}), [1] * 4 + [0] * 16)
