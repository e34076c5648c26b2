"""get_variable: what is made, what is shared, and what the errors teach."""

import re

import numpy
import pytest

from daskvars import dtypes
from daskvars.graph.scopes.collections import GraphKeys
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.ops.array.constant import constant, zeros
from daskvars.variables.collections import global_variables, trainable_variables
from daskvars.variables.initializers import (
    Constant,
    GlorotUniform,
    Ones,
    RandomNormal,
    Zeros,
    zeros_initializer,
)
from daskvars.variables.regularizers import l2_regularizer
from daskvars.variables.scopes.variable_scope import (
    AUTO_REUSE,
    get_local_variable,
    get_variable,
    get_variable_scope,
    no_regularizer,
    variable_scope,
)
from daskvars.variables.scopes.variable_store import default_initializer
from daskvars.variables.variable import Variable


def test_defaults(graph):
    v = get_variable("my_variable", [1, 2, 3])
    assert v.name == "my_variable:0" and v.shape == [1, 2, 3]
    assert v.dtype.base_dtype is dtypes.float32 and v.trainable
    assert v.initial_value.op.name.startswith("my_variable/Initializer/random_uniform")
    assert get_variable("untrainable", [1], trainable=False).trainable is False
    assert trainable_variables() == [v] and len(global_variables()) == 2


def test_positions(graph):
    v = get_variable("v", [2], dtypes.float64, Ones())
    assert v.dtype.base_dtype is dtypes.float64 and v.shape == [2]
    assert v.initial_value.op.name == "v/Initializer/ones"


def test_default_initializers():
    for dtype in (dtypes.float16, dtypes.float32, dtypes.float64, dtypes.bfloat16):
        assert isinstance(default_initializer("v", dtype), GlorotUniform)
    for dtype in (dtypes.int8, dtypes.uint16, dtypes.int64, dtypes.bool, dtypes.string):
        assert isinstance(default_initializer("v", dtype), Zeros)
    for dtype in (dtypes.complex64, dtypes.complex128, dtypes.qint8, dtypes.qint32, dtypes.quint8):
        with pytest.raises(ValueError, match=r"An initializer for variable v of .* is required"):
            default_initializer("v", dtype)


@pytest.mark.parametrize(
    ("value", "shape", "dtype"),
    [
        (2, [], dtypes.int32),
        ([1, 2], [2], dtypes.int32),
        (0.5, [], dtypes.float32),
        (numpy.ones(2), [2], dtypes.float64),
    ],
)
def test_a_value_or_tensor_as_initializer(graph, value, shape, dtype):
    a = get_variable("a", initializer=value)
    b = get_variable("b", initializer=constant(value))
    c = get_variable("c", dtype=dtype, initializer=constant(value))
    for v in (a, b, c):
        assert v.shape == shape and v.dtype.base_dtype is dtype
    with pytest.raises(ValueError, match="do not specify shape"):
        get_variable("d", shape, initializer=constant(value))
    with pytest.raises(ValueError, match="don't match"):
        get_variable("d", dtype=dtypes.int16, initializer=constant(value))
    with pytest.raises(ValueError, match="don't match"):
        get_variable("d", dtype=dtypes.int16, initializer=value)
    assert len(global_variables()) == 3


def test_a_value_shared_keeps_its_dtype(graph):
    with variable_scope("", reuse=AUTO_REUSE):
        step = get_variable("step", initializer=0)
        assert get_variable("step", initializer=0) is step
        with pytest.raises(ValueError, match="dtype"):
            get_variable("step", initializer=0.0)


@pytest.mark.parametrize("initializer", [zeros_initializer, zeros_initializer(), None])
def test_initializer_classes_instances_and_scope_defaults(graph, initializer):
    default = None if initializer is not None else Zeros()
    with variable_scope("s", initializer=default):
        v = get_variable("v", [3, 2], initializer=initializer)
    assert v.initial_value.op.name == "s/v/Initializer/zeros"


def test_functions_as_initializer(graph):
    seen = []

    def plain(shape, dtype):
        seen.append((shape, dtype))
        return zeros(shape, dtype)

    def informed(shape, dtype=None, partition_info=None):
        seen.append((shape, partition_info))
        return zeros(shape, dtype)

    get_variable("a", [2], initializer=plain)
    get_variable("b", [2], initializer=informed)
    assert seen == [([2], dtypes.float32), ([2], None)]
    c = get_variable("c", initializer=lambda: zeros([4]))
    assert c.shape == [4]
    with pytest.raises(ValueError, match=r"has shape \(4,\), which does not fit the shape asked"):
        get_variable("d", [2], initializer=lambda shape, dtype: zeros([4]))


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("no shape", {}),
        ("class without shape", {"initializer": zeros_initializer}),
        ("unknown dimension", {"shape": [None, 2]}),
        ("unknown dimension with function", {"shape": [None], "initializer": lambda: zeros([2])}),
    ],
)
def test_new_variables_need_a_full_shape(graph, name, arguments):
    with pytest.raises(ValueError, match=r"Shape of a new variable \(v\) must be fully defined"):
        get_variable("v", **arguments)
    with pytest.raises(TypeError):
        get_variable()
    assert global_variables() == []


def test_a_failed_creation_leaves_the_name_free(graph):
    with pytest.raises(ValueError):
        get_variable("v", [2], initializer=Constant([1, 2, 3]))
    assert get_variable("v", [2]).op.name in ("v", "v_1")


def test_name_scopes_play_no_part(graph):
    with name_scope("n"), variable_scope("s"), name_scope("m"):
        assert get_variable("v", [1]).name == "s/v:0"
    with name_scope("n"):
        assert get_variable("v", [1]).initial_value.op.name.startswith("v/Initializer/")


def test_the_constructor_is_not_shared(graph):
    shared = get_variable("c", [1])
    assert Variable([1.0], name="c").name == "c_1:0"
    Variable([1.0], name="only")
    get_variable_scope().reuse_variables()
    assert get_variable("c", [1]) is shared
    with pytest.raises(ValueError, match=r"only does not exist.*made by tf.Variable at .*\.py:\d+"):
        get_variable("only", [1])


def test_collections(graph):
    v = get_variable("v", [1], collections=["mine"])
    local = get_local_variable("local", [], initializer=Zeros(), collections=["more"])
    assert graph.get_collection("mine") == [v] == trainable_variables()
    assert graph.get_collection("more") == [local]
    assert graph.get_collection(GraphKeys.LOCAL_VARIABLES) == [local]
    assert global_variables() == []
    with pytest.raises(ValueError, match="list, tuple, or set"):
        get_variable("x", [1], collections="mine")


# -- errors that teach ---------------------------------------------------------------------------


def test_an_existing_name_says_where_it_was_made_and_what_to_do(graph):
    with variable_scope("foo"):
        get_variable("v", [1])
    with variable_scope("foo"), pytest.raises(ValueError) as error:
        get_variable("v", [1])
    text = str(error.value)
    assert text.startswith("Variable foo/v already exists, disallowed.")
    assert re.search(r"first created at .*test_get_variable\.py:\d+", text)
    for way in ("reuse=True", "AUTO_REUSE", "another name or scope", "reset_default_graph()"):
        assert way in text


def test_a_missing_name_lists_near_matches(graph):
    get_variable("dense/kernel", [1])
    get_variable("dense/bias", [1])
    get_variable_scope().reuse_variables()
    with pytest.raises(ValueError) as error:
        get_variable("dense/kernal")
    text = str(error.value)
    assert "dense/kernal does not exist, or was not created with tf.get_variable()" in text
    assert "did you mean 'dense/kernel'" in text


def test_mismatches_name_both_and_the_place(graph):
    get_variable("v", [1])
    get_variable_scope().reuse_variables()
    with pytest.raises(ValueError, match=r"v.*shape \(2,\) and found shape \(1,\).*created at"):
        get_variable("v", [2])
    with pytest.raises(ValueError, match=r"dtype int32 and found dtype float32_ref.*created at"):
        get_variable("v", [1], dtypes.int32)


# -- regularization ------------------------------------------------------------------------------


def test_regularization_losses(graph):
    losses = graph.get_collection_ref(GraphKeys.REGULARIZATION_LOSSES)
    with variable_scope("s", regularizer=l2_regularizer(0.1)) as scope:
        v = get_variable("v", [2])
        get_variable("w", [2], regularizer=no_regularizer)
        get_variable("x", [2], regularizer=lambda t: None)
        scope.reuse_variables()
        assert get_variable("v", [2]) is v
    assert len(losses) == 1
    assert losses[0].op.name.startswith("s/v/Regularizer/l2_regularizer")
    with graph.device("/gpu:1"):
        get_variable("g", [2], regularizer=l2_regularizer(0.1))
    assert losses[1].device == "/device:GPU:1"


# -- partitioned ---------------------------------------------------------------------------------


def by(*parts):
    return lambda shape, dtype: list(parts)


def test_partitioned(graph):
    with variable_scope("s"):
        w = get_variable("w", [10, 4], partitioner=by(3, 1), initializer=RandomNormal())
    assert (w.name, w.shape, w.dtype) == ("s/w", [10, 4], dtypes.float32)
    assert [v.name for v in w] == ["s/w/part_0:0", "s/w/part_1:0", "s/w/part_2:0"]
    assert [v.shape.as_list() for v in w] == [[4, 4], [3, 4], [3, 4]]
    infos = [v._get_save_slice_info() for v in w._get_variable_list()]
    assert [i.spec for i in infos] == ["10 4 0,4:0,4", "10 4 4,3:0,4", "10 4 7,3:0,4"]
    assert {i.full_name for i in infos} == {"s/w"}
    assert global_variables() == list(w) and len(w) == 3 and w._get_partitions() == [3, 1]
    whole = w.as_tensor()
    assert whole.shape == [10, 4] and whole is w.as_tensor() and whole.op.name == "s/w"
    assert [t.shape.as_list() for t in w.assign_add(zeros([10, 4]))] == [[4, 4], [3, 4], [3, 4]]
    assert len(w.assign(w)) == 3 and len(w.assign_sub([v.value() for v in w])) == 3
    assert repr(w) == "<tf.PartitionedVariable 's/w' shape=(10, 4) dtype=float32, 3 parts>"


def test_partitioned_along_another_axis_of_a_value(graph):
    w = get_variable("w", initializer=constant([[1, 2, 3, 4]]), partitioner=by(1, 2))
    assert [v.shape.as_list() for v in w] == [[1, 2], [1, 2]] and w.dtype is dtypes.int32
    assert get_variable("s", [], partitioner=by(1)).shape == []
    one = get_variable("one", [4], partitioner=by(1))
    assert [v.op.name for v in one] == ["one/part_0"]


def test_initializers_see_the_whole(graph):
    seen = []

    def initializer(shape, dtype=None, partition_info=None):
        seen.append((shape, partition_info.full_shape, partition_info.var_offset))
        return zeros(shape, dtype)

    get_variable("w", [4, 2], partitioner=by(2, 1), initializer=initializer)
    assert seen == [([2, 2], [4, 2], [0, 0]), ([2, 2], [4, 2], [2, 0])]


def test_partitioned_variables_are_shared(graph):
    w = get_variable("w", [4, 2], partitioner=by(2, 1))
    with pytest.raises(ValueError, match="Partitioned variable w already exists"):
        get_variable("w", [4, 2], partitioner=by(2, 1))
    with pytest.raises(ValueError, match="No partitioner was provided"):
        get_variable("w", [4, 2])
    get_variable("plain", [4])
    with pytest.raises(ValueError, match="unpartitioned version"):
        get_variable("plain", [4], partitioner=by(2))
    get_variable_scope().reuse_variables()
    assert get_variable("w", [4, 2], partitioner=by(2, 1)) is w
    assert get_variable("w") is w
    with pytest.raises(ValueError, match="specified shape"):
        get_variable("w", [4, 3])
    with pytest.raises(ValueError, match="specified partitions"):
        get_variable("w", [4, 2], partitioner=by(4, 1))
    with pytest.raises(ValueError, match="PartitionedVariable x does not exist"):
        get_variable("x", [4, 2], partitioner=by(2, 1))


@pytest.mark.parametrize(
    ("partitioner", "message"),
    [
        (3, "must be callable"),
        (by(2, 2), "along one dimension"),
        (by(0, 1), "zero partitions"),
        (by(2), "does not match the rank"),
        (lambda shape, dtype: 2, "must return a sequence"),
    ],
)
def test_bad_partitioners(graph, partitioner, message):
    with pytest.raises(ValueError, match=message):
        get_variable("w", [4, 2], partitioner=partitioner)
    with pytest.raises(ValueError, match="fully defined"):
        get_variable("w", [None, 2], partitioner=by(2, 1))


# -- cost ----------------------------------------------------------------------------------------


def test_a_variable_costs_few_ops(graph):
    for i in range(10):
        get_variable(f"z{i}", [3, 4], initializer=Zeros())
    assert graph.version == 40
