"""Constants, fills, shapes, ranges, placeholders: TensorFlow's names, defaults, errors, values."""

import enum

import dask
import dask.array
import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf
from daskvars.errors import InvalidArgumentError
from daskvars.graph.definitions.static_values import constant_value, partial_value
from daskvars.graph.indexed_slices import IndexedSlices
from daskvars.ops.array import constant, placeholders, ranges
from daskvars.ops.rules import axes
from daskvars.shapes import Dimension, TensorShape
from tests.sessions import run

# -- constant ----------------------------------------------------------------------------------


def test_missing_elements_repeat_the_last(graph):
    tensor = constant.constant([1, 2, 3], shape=[2, 3])
    assert run(tensor).tolist() == [[1, 2, 3], [3, 3, 3]]
    assert run(constant.constant(-1.0, shape=[2, 2])).tolist() == [[-1, -1], [-1, -1]]
    assert constant.constant([1, 2, 3, 4], shape=[2, 2]).op.type == "Const"


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"value": [1, 2, 3], "shape": [2]}, ValueError, "Too many elements provided."),
        ({"value": [1], "shape": [3], "verify_shape": True}, TypeError, "Expected Tensor's shape"),
        ({"value": 1.5, "dtype": dv.int32}, TypeError, "Expected int32"),
        ({"value": None}, ValueError, "None values not supported"),
        ({"value": [[1], [2, 3]]}, ValueError, "rectangular"),
        ({"value": [1], "shape": [None]}, ValueError, "fully known"),
        ({"value": [], "shape": [2]}, ValueError, "No element"),
    ],
)
def test_constant_refuses(graph, arguments, error, words):
    with pytest.raises(error, match=words):
        constant.constant(**arguments)


def test_constant_copies_what_it_is_given(graph):
    array = np.zeros(3)
    tensor = constant.constant(array)
    array[:] = 7
    assert run(tensor).tolist() == [0, 0, 0]
    result = run(tensor)
    result[:] = 5  # and what a run gives belongs to the caller
    assert run(tensor).tolist() == [0, 0, 0]


def test_a_delayed_value_is_computed():
    delayed = dask.delayed(lambda: np.arange(6, dtype="f4").reshape(2, 3))()
    assert float(dv.reduce_sum(delayed)) == 15.0
    assert dv.Variable(delayed).numpy().tolist() == [[0, 1, 2], [3, 4, 5]]


def test_chunks_are_kept_as_blocks(graph):
    tensor = constant.constant(np.zeros((5, 3)), chunks=(2, -1))
    assert tensor.op.get_attr("chunks") == [(2, 2, 1), (3,)]
    given = dask.array.ones((4, 2), chunks=(2, 2))
    assert constant.constant(given).op.get_attr("chunks") == [(2, 2), (2,)]
    assert constant.constant(np.zeros(3)).op.get_attr("chunks") is None
    assert run(constant.constant(given) + 1.0).tolist() == [[2, 2]] * 4


def test_default_names(graph):
    made = [
        constant.constant(1),
        constant.zeros([2]),
        constant.ones([2]),
        constant.fill([2], 1),
        constant.zeros_like(constant.constant([1.0])),
        ranges.range(3),
        ranges.eye(2),
        ranges.linspace(0.0, 1.0, 3),
        placeholders.placeholder(tf.float32),
    ]
    assert [t.op.name for t in made] == [
        "Const",
        "zeros",
        "ones",
        "Fill",
        "zeros_like",
        "range",
        "eye",
        "LinSpace",
        "Placeholder",
    ]


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (1, dv.int32),
        (2**40, dv.int64),
        (1.0, dv.float32),
        (True, dv.bool),
        ("a", dv.string),
        ([1, 2.5], dv.float32),
        (np.float64(1), dv.float64),
        (np.zeros(2, np.int8), dv.int8),
        (1j, dv.complex128),
        (TensorShape([2, 3]), dv.int32),
        (TensorShape([2**40]), dv.int64),
        (Dimension(3), dv.int32),
        ([Dimension(3), 4], dv.int32),
        ([], dv.float32),
    ],
)
def test_conversion(graph, value, dtype):
    assert tf.convert_to_tensor(value).dtype == dtype


@pytest.mark.parametrize(
    ("value", "dtype", "error", "words"),
    [
        (TensorShape([None, 3]), None, ValueError, "partially known TensorShape"),
        (TensorShape([3]), dv.float32, TypeError, "Cannot convert a TensorShape to dtype: float32"),
        (TensorShape([2**31]), dv.int32, ValueError, "a dimension is too large .2147483648."),
        (Dimension(None), None, ValueError, "unknown Dimension"),
        (Dimension(3), dv.float32, TypeError, "Cannot convert a Dimension"),
    ],
)
def test_conversion_refuses(graph, value, dtype, error, words):
    with pytest.raises(error, match=words):
        tf.convert_to_tensor(value, dtype)


def test_lists_of_tensors_are_packed_in_the_tensors_dtype(graph):
    t = constant.constant(3, dv.int64)
    packed = tf.convert_to_tensor([[t, 1], [2, t]])
    assert packed.op.type == "Pack" and packed.dtype == dv.int64
    assert run(packed).tolist() == [[3, 1], [2, 3]]
    wrong = "Cannot convert a list containing a tensor of dtype tf.float64 to tf.float32"
    wide = constant.constant(3.0, dv.float64)
    with pytest.raises(TypeError, match=wrong):
        tf.convert_to_tensor([constant.constant(1.0), wide])
    with pytest.raises(TypeError, match=wrong):
        tf.convert_to_tensor([[wide, 1.0]], dv.float32)


def test_convert_to_tensor_or_indexed_slices(graph):
    slices = IndexedSlices(constant.constant([1.0]), constant.constant([0]))
    convert = constant.convert_to_tensor_or_indexed_slices
    assert convert(slices) is slices
    assert convert([1.0]).op.type == "Const"
    with pytest.raises(ValueError, match="IndexedSlices"):
        convert(slices, dv.int32)


# -- fills -------------------------------------------------------------------------------------


def test_empty_shapes(graph):
    assert run(constant.zeros([0, 3])).shape == (0, 3)
    assert run(constant.zeros([0, 3])[:, None]).shape == (0, 1, 3)


def test_large_zeros_are_computed_not_kept(graph):
    assert constant.zeros([999]).op.type == "Const"
    assert constant.zeros([1000]).op.type == "Fill"
    assert constant.ones(TensorShape([3])).dtype == dv.float32
    assert run(constant.zeros([2], tf.string)).tolist() == [b"", b""]
    assert run(constant.ones([2], tf.bool)).tolist() == [True, True]


def test_sizes_may_come_from_a_tensor(graph):
    x = tf.placeholder(tf.float32, [None, 4])
    filled = constant.zeros([tf.shape(x)[0], 2])
    assert filled.op.type == "Fill"
    assert filled.shape.as_list() == [None, 2]
    assert run(filled, {x: np.ones((3, 4))}).shape == (3, 2)
    assert constant.ones_like(x).shape.as_list() == [None, 4]


def test_a_number_that_is_a_tensor_is_the_size_of_a_vector(graph):
    many = tf.placeholder(tf.int32, [])
    for made in (constant.ones(many), constant.zeros(many - 1, tf.int32), constant.fill(many, 7)):
        assert made.shape.as_list() == [None]
        assert run(made, {many: 3}).ndim == 1
    assert run(constant.ones(many), {many: 3}).tolist() == [1, 1, 1]
    assert run(constant.ones(tf.constant(3))).tolist() == [1, 1, 1]
    of_any_rank = constant.ones(tf.placeholder_with_default(3, None))
    assert of_any_rank.shape.rank is None
    assert run(of_any_rank).tolist() == [1, 1, 1]


def test_sizes_that_are_a_matrix_are_refused(graph):
    for make in (constant.zeros, lambda shape: tf.fill(shape, 1.0)):
        with pytest.raises(ValueError, match="Shape must be rank 1"):
            make([[0, 1], [2, 3]])


@pytest.mark.parametrize("shape", [[-1], [2, None], "ab"])
def test_zeros_refuses(graph, shape):
    with pytest.raises((ValueError, TypeError)):
        constant.zeros(shape)


def test_fill_refuses_a_vector(graph):
    with pytest.raises(ValueError, match="value must be a scalar"):
        constant.fill([2], [1, 2])


# -- shapes ------------------------------------------------------------------------------------


def test_known_shapes_are_constants(graph):
    x = constant.zeros([2, 3])
    made = [constant.shape(x), constant.size(x), constant.rank(x)]
    assert [t.op.type for t in made] == ["Const"] * 3
    assert [t.op.name for t in made] == ["Shape", "Size", "Rank"]
    assert [run(t).tolist() for t in made] == [[2, 3], 6, 2]
    assert [t.dtype for t in constant.shape_n([x, x], dv.int64)] == [dv.int64] * 2


def test_shapes_known_in_part(graph):
    x = tf.placeholder(tf.float32, [None, 784])
    shape = constant.shape(x)
    assert shape.op.type == "Shape"
    assert partial_value(shape) == (None, 784)
    assert partial_value(tf.stack([shape[0], 10])) == (None, 10)
    assert partial_value(tf.concat([shape[:1], [28, 28]], 0)) == (None, 28, 28)
    assert partial_value(tf.concat([tf.expand_dims(shape[0], 0), shape[1:]], 0)) == (None, 784)
    assert partial_value(tf.gather(shape, [1, 1])) == (784, 784)
    assert partial_value(tf.squeeze(tf.slice(shape, [1], [1]))) == 784
    assert partial_value(tf.reshape(shape, [2, 1])) == ((None,), (784,))
    assert tf.reshape(x, [tf.shape(x)[0], 28, 28]).shape.as_list() == [None, 28, 28]
    assert tf.reshape(x, tf.stack([-1, 28, 28])).shape.as_list() == [None, 28, 28]


def test_values_of_unknown_shape_are_not_known(graph):
    x = tf.placeholder(tf.float32)
    assert partial_value(constant.shape(x)) is None
    assert constant_value(constant.rank(x)) is None
    assert constant.shape(x).shape.as_list() == [None]
    assert run(constant.rank(x), {x: np.zeros((2, 2))}) == 2


# -- ranges ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "values", "dtype"),
    [
        ((5,), [0, 1, 2, 3, 4], dv.int32),
        ((3, 18, 3), [3, 6, 9, 12, 15], dv.int32),
        ((3, 1, -0.5), [3, 2.5, 2, 1.5], dv.float32),
        ((0.0, 1.0, 0.25), [0, 0.25, 0.5, 0.75], dv.float32),
        ((np.int64(3),), [0, 1, 2], dv.int64),
        ((3, 3), [], dv.int32),
    ],
)
def test_range(graph, arguments, values, dtype):
    tensor = ranges.range(*arguments)
    assert tensor.dtype == dtype
    assert tensor.shape.as_list() == [len(values)]
    assert run(tensor).tolist() == values


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ranges.range(1, 5, 0), "Requires delta != 0"),
        (lambda: ranges.range(5, 1), "Requires start <= limit when delta > 0: 5/1"),
        (lambda: ranges.range(1, 5, -1), "Requires start >= limit when delta < 0: 1/5"),
        (lambda: ranges.linspace(0.0, 1.0, 0), "Requires num > 0: 0"),
    ],
)
def test_ranges_refuse(graph, call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_ranges_refuse_other_dtypes(graph):
    with pytest.raises(TypeError, match="float16"):
        ranges.range(np.float16(3))
    with pytest.raises(TypeError, match="int32"):
        ranges.linspace(constant.constant(1), 2.0, 3)


def test_ranges_are_known_to_axes_and_shapes(graph):
    assert constant_value(ranges.range(1, 4)).tolist() == [1, 2, 3]
    x = tf.placeholder(tf.float32, [2, 3, 4])
    assert tf.reduce_sum(x, ranges.range(1, 3)).shape.as_list() == [2]
    assert constant_value(ranges.range(2000)) is None


def test_a_range_of_a_size_known_in_part(graph):
    x = tf.placeholder(tf.float32, [None])
    tensor = ranges.range(tf.shape(x)[0])
    assert tensor.shape.as_list() == [None]
    assert run(tensor, {x: np.zeros(3)}).tolist() == [0, 1, 2]


def test_eye_and_sequence_mask(graph):
    assert ranges.eye(2, batch_shape=[3]).shape.as_list() == [3, 2, 2]
    mask = ranges.sequence_mask([[1, 3], [2, 0]])
    assert mask.shape.as_list() == [2, 2, None]
    assert run(mask)[0].tolist() == [[True, False, False], [True, True, True]]
    assert run(ranges.sequence_mask([0.2, 1.5], 2, tf.int32)).tolist() == [[0, 0], [1, 0]]
    assert run(ranges.sequence_mask([0.2, 1.5], dtype=None)).tolist() == [
        [True, False],
        [True, True],
    ]


# -- placeholders ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "shape", "words"),
    [
        (tf.float32, [None, 784], r"'x' with dtype float and shape \[\?,784\]"),
        (tf.float64, None, "'x' with dtype double"),
        (tf.int32, [], "'x' with dtype int32"),
    ],
)
def test_an_unfed_placeholder_says_what_it_wants(graph, dtype, shape, words):
    x = placeholders.placeholder(dtype, shape, name="x")
    with pytest.raises(InvalidArgumentError, match="You must feed a value for placeholder"):
        run(x + x)
    with pytest.raises(InvalidArgumentError, match=words):
        run(tf.identity(x))


def test_placeholder_names(graph):
    with tf.name_scope("a"):
        assert placeholders.placeholder(tf.float32, name="x").name == "a/x:0"
        assert placeholders.placeholder(tf.float32, name="x").name == "a/x_1:0"


def test_placeholders_are_for_graphs():
    with pytest.raises(RuntimeError, match="not compatible with eager execution"):
        placeholders.placeholder(tf.float32)


def test_a_default_is_no_constant(graph):
    x = placeholders.placeholder_with_default([1.0, 2.0], [None])
    assert constant_value(x) is None
    assert x.shape.as_list() == [None]
    assert run(x * 2.0).tolist() == [2, 4]
    assert run(x * 2.0, {x: [5.0]}).tolist() == [10]
    with pytest.raises(ValueError, match="does not fit"):
        placeholders.placeholder_with_default([1.0, 2.0], [3])


# -- arguments that may be tensors -------------------------------------------------------------


def test_members_of_an_enumeration_are_sizes(graph):
    class Size(enum.IntEnum):
        PAIR = 2

    x = tf.constant([[1.0, 2.0]])
    assert run(tf.one_hot([1], Size.PAIR)).tolist() == [[0.0, 1.0]]
    assert run(tf.reshape(x, [Size.PAIR])).tolist() == [1.0, 2.0]
    assert run(tf.nn.top_k(x, Size.PAIR).values).tolist() == [[2.0, 1.0]]
    assert run(tf.math.unsorted_segment_sum([3, 4], [0, 0], Size.PAIR)).tolist() == [7, 0]


def test_operands_as_plain_data(graph):
    assert axes.as_operand(np.array([[1, 2]])) == ((1, 2),)
    assert axes.as_operand([np.int64(1), Dimension(2)]) == (1, 2)
    assert axes.as_operand(TensorShape([1])) == (1,)
    with pytest.raises(ValueError, match="None values not supported"):
        axes.as_operand([None, 2])
    t = constant.constant(1)
    assert axes.as_operand([t, 2]) == [t, 2]


def test_a_number_that_is_too_large_for_the_default_is_refused_in_eager_code():
    for value in (1e40, [1.0, -1e40]):
        with pytest.raises(ValueError, match=r"too large for float32, .* give dtype=float64"):
            dv.constant(value)
        with pytest.raises(ValueError, match="too large for float32"):
            dv.Variable(value)
    with pytest.raises(ValueError, match="too large for float32"):
        dv.fill([2], 1e40)
    assert float(dv.constant(1e40, dv.float64)) == 1e40
    assert float(dv.constant(float("inf"))) == float("inf")


def test_two_names_of_one_argument():
    assert axes.either(None, 3, "axis", "dim") == 3
    with pytest.raises(ValueError, match="Cannot specify both 'axis' and 'dim'"):
        axes.either(1, 2, "axis", "dim")
