"""Initializers: values, shapes, and the formulas' constants."""

import math

import numpy
import pytest

import daskvars as dv
from daskvars import dtypes
from daskvars.execution.session import Session
from daskvars.ops.array.constant import constant
from daskvars.variables import initializers
from daskvars.variables.initializers import (
    Constant,
    GlorotNormal,
    GlorotUniform,
    Identity,
    Ones,
    Orthogonal,
    RandomNormal,
    RandomUniform,
    TruncatedNormal,
    UniformUnitScaling,
    VarianceScaling,
    Zeros,
    compute_fans,
    he_normal,
    he_uniform,
    lecun_normal,
    lecun_uniform,
)
from daskvars.variables.partitions.slices import PartitionInfo
from daskvars.variables.scopes.variable_scope import get_variable


def run(graph, tensor):
    with Session(graph=graph) as session:
        return session.run(tensor)


def test_constant_fills_row_by_row(graph):
    six = run(graph, Constant([1, 2, 3, 4, 5, 6])([3, 2]))
    assert six.tolist() == [[1, 2], [3, 4], [5, 6]] and six.dtype == numpy.float32
    assert run(graph, Constant([1, 2])([3, 2])).tolist() == [[1, 2], [2, 2], [2, 2]]
    assert run(graph, Constant(7)([2], dtypes.int64)).tolist() == [7, 7]
    with pytest.raises(ValueError):
        Constant([1, 2, 3])([2])
    with pytest.raises((ValueError, TypeError)):
        Constant([1, 2, 3, 4], verify_shape=True)([2, 2])
    with pytest.raises(TypeError, match="Invalid type for initial value"):
        Constant(constant(1.0))


@pytest.mark.parametrize("dtype", ["float16", "float64", "int8", "uint16", "bool", "complex64"])
def test_zeros_and_ones(graph, dtype):
    zeros, ones = run(graph, [Zeros()([2], dtypes.as_dtype(dtype)), Ones(dtype)([2])])
    assert zeros.dtype == ones.dtype == dtype
    assert (zeros == numpy.zeros(2, dtype)).all() and (ones == numpy.ones(2, dtype)).all()


def test_quantized_ones(graph):
    v = get_variable("v", [2], dtypes.qint8, Ones())
    assert v.dtype.base_dtype is dtypes.qint8
    assert run(graph, v.initial_value).tolist() == [1, 1]


SHAPE = [300, 400]


@pytest.mark.parametrize(
    ("initializer", "bound"),
    [
        (GlorotUniform(), math.sqrt(6 / 700)),
        (he_uniform(), math.sqrt(6 / 300)),
        (lecun_uniform(), math.sqrt(3 / 300)),
        (VarianceScaling(2.0, "fan_out", "uniform"), math.sqrt(6 / 400)),
        (UniformUnitScaling(2.0), 2 * math.sqrt(3 / 300)),
        (RandomUniform(-0.5, 0.5), 0.5),
    ],
)
def test_uniform_bounds(graph, initializer, bound):
    sample = run(graph, initializer(SHAPE))
    assert sample.shape == (300, 400) and sample.dtype == numpy.float32
    assert 0.99 * bound < numpy.abs(sample).max() <= bound * (1 + 1e-6)
    assert abs(sample.mean()) < 0.01 * bound


@pytest.mark.parametrize(
    ("initializer", "stddev"),
    [
        (GlorotNormal(), math.sqrt(2 / 700)),
        (he_normal(), math.sqrt(2 / 300)),
        (lecun_normal(), math.sqrt(1 / 300)),
        (VarianceScaling(1.0, "fan_avg", "normal"), math.sqrt(1 / 350)),
    ],
)
def test_truncated_draws_have_the_deviation_wanted(graph, initializer, stddev):
    sample = run(graph, initializer(SHAPE))
    assert abs(sample.std() / stddev - 1) < 0.01
    assert numpy.abs(sample).max() <= 2 * stddev / 0.87962566 * (1 + 1e-6)


def test_normal_draws(graph):
    normal = run(graph, RandomNormal(2.0, 0.1)(SHAPE))
    assert abs(normal.mean() - 2) < 0.01 and abs(normal.std() / 0.1 - 1) < 0.01
    cut = run(graph, TruncatedNormal(3.0, 0.5)(SHAPE))
    assert cut.min() >= 2 - 1e-6 and cut.max() <= 4 + 1e-6
    assert abs(cut.std() / 0.5 - 0.87962566) < 0.01
    untruncated = VarianceScaling(1.0, "fan_in", "untruncated_normal")(SHAPE)
    sample = run(graph, untruncated)
    assert abs(sample.std() * math.sqrt(300) - 1) < 0.01
    assert numpy.abs(sample).max() > 3 / math.sqrt(300)


def test_seeds_repeat(graph):
    a, b = run(graph, [RandomNormal(seed=1)([5]), RandomNormal(seed=1)([5])])
    c, d = run(graph, [RandomNormal()([5]), RandomNormal()([5])])
    assert numpy.array_equal(a, b) and not numpy.array_equal(c, d)


@pytest.mark.parametrize("shape", [[4, 4], [6, 3], [3, 6], [2, 2, 3]])
def test_orthogonal(graph, shape):
    value = run(graph, Orthogonal(gain=2.0)(shape)).reshape(-1, shape[-1])
    small = value.T @ value if value.shape[0] >= value.shape[1] else value @ value.T
    assert numpy.allclose(small, 4 * numpy.eye(len(small)), atol=1e-5)
    with pytest.raises(ValueError, match="two-dimensional"):
        Orthogonal()([3])


def test_identity(graph):
    assert run(graph, Identity(3.0)([2, 3])).tolist() == [[3, 0, 0], [0, 3, 0]]
    part = Identity()([1, 3], partition_info=PartitionInfo((2, 3), (1, 0)))
    assert run(graph, part).tolist() == [[0, 1, 0]]
    with pytest.raises(ValueError, match="2D"):
        Identity()([3])


def test_fans():
    assert compute_fans(()) == (1, 1) and compute_fans((500,)) == (500, 500)
    assert compute_fans((3, 4)) == (3, 4) and compute_fans((5, 5, 3, 4)) == (75, 100)


def test_parts_are_scaled_as_the_whole(graph):
    info = PartitionInfo((300, 400), (0, 0))
    part = run(graph, GlorotUniform()([150, 400], partition_info=info))
    assert numpy.abs(part).max() <= math.sqrt(6 / 700) * (1 + 1e-6)


ALL = [
    Zeros(),
    Ones("int32"),
    Constant([1, 2]),
    RandomUniform(-1, 1, 5),
    RandomNormal(1.0, 2.0, 3),
    TruncatedNormal(),
    UniformUnitScaling(2.0),
    VarianceScaling(2.0, "fan_out", "uniform"),
    GlorotUniform(3),
    GlorotNormal(),
    Orthogonal(2.0),
    dv.initializers.ConvolutionDeltaOrthogonal(2.0, seed=1),
    dv.initializers.ConvolutionOrthogonal2D(),
    Identity(3.0),
    he_normal(7),
]


@pytest.mark.parametrize("initializer", ALL, ids=lambda i: type(i).__name__)
def test_configs_round_trip(initializer):
    config = initializer.get_config()
    again = type(initializer).from_config(config)
    assert again.get_config() == config and again.__dict__ == initializer.__dict__
    assert repr(again).startswith(type(initializer).__name__)


def test_bad_arguments():
    for arguments in ({"scale": 0.0}, {"mode": "fan"}, {"distribution": "cauchy"}):
        with pytest.raises(ValueError):
            VarianceScaling(**arguments)
    with pytest.raises(ValueError, match="floating point"):
        RandomNormal(dtype="int32")


def test_names_of_the_public_namespace():
    # What tf.initializers lists in TensorFlow 1.15, tables aside.
    names = """constant global_variables glorot_normal glorot_uniform he_normal he_uniform identity
        lecun_normal lecun_uniform local_variables ones orthogonal random_normal random_uniform
        truncated_normal uniform_unit_scaling variables variance_scaling zeros"""
    assert set(names.split()) <= set(dv.initializers.__all__)
    assert dv.initializers.zeros is Zeros and dv.initializers.random_normal is RandomNormal


def test_a_tensor_is_no_constant(graph):
    for value in (dv.constant(1.0), dv.Variable(1.0), [1.0].append):
        with pytest.raises(TypeError, match="Invalid type for initial value"):
            Constant(value)


def test_aliases():
    for alias, name in [("zeros", "Zeros"), ("glorot_uniform", "GlorotUniform")]:
        assert getattr(initializers, f"{alias}_initializer") is getattr(initializers, name)
