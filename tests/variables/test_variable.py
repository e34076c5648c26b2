"""The Variable class: names, types, shapes, collections, devices, layouts."""

import numpy
import pytest

from daskvars import config, dtypes
from daskvars.execution.session import Session
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.func_graph import FuncGraph
from daskvars.graph.graph import Graph
from daskvars.graph.indexed_slices import IndexedSlices
from daskvars.graph.scopes.collections import GraphKeys
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Tensor
from daskvars.ops.array.constant import constant, zeros
from daskvars.ops.control.dependencies import group, no_op
from daskvars.ops.control.subgraphs import parameter
from daskvars.shapes import Dimension
from daskvars.variables.collections import global_variables, local_variables, trainable_variables
from daskvars.variables.colocation import colocate_with
from daskvars.variables.synchronization import VariableAggregation, VariableSynchronization
from daskvars.variables.variable import Variable


def op_names(graph):
    return [op.name for op in graph.get_operations()]


def test_names_of_the_ops_of_a_variable(graph):
    Variable([1.0], name="v")
    assert sorted(op_names(graph)) == ["v", "v/Assign", "v/initial_value", "v/read"]


def test_names_with_a_function(graph):
    v = Variable(lambda: zeros([2]), name="v")
    assert sorted(op_names(graph)) == ["v", "v/Assign", "v/Initializer/zeros", "v/read"]
    assert (v.op.name, v.initializer.name, v.value().name) == ("v", "v/Assign", "v/read:0")
    w = Variable(lambda: 3, name="w")
    assert w.initial_value.op.name == "w/Initializer/initial_value"


def test_default_and_repeated_names(graph):
    a, b = Variable(1), Variable(2)
    with name_scope("n"):
        c = Variable(3)
    assert [v.name for v in (a, b, c)] == ["Variable:0", "Variable_1:0", "n/Variable:0"]
    repeated = [Variable(10, name="name1").name for _ in range(3)]
    assert repeated == ["name1:0", "name1_1:0", "name1_2:0"]
    assert no_op(name="name1").name == "name1_3"
    no_op(name="c")
    assert Variable(1, name="c").op.name == "c_1"


@pytest.mark.parametrize("name", ["CNN_W!", "a b", "_v", "v:0"])
def test_illegal_names(graph, name):
    with pytest.raises(ValueError, match="not a valid"):
        Variable(1, name=name)
    assert graph.get_operations() == []


def test_initial_value_is_needed(graph):
    with pytest.raises(ValueError, match="initial_value must be specified"):
        Variable()
    with pytest.raises(ValueError, match="initial_value must be specified"):
        Variable(None)


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (2, dtypes.int32),
        (3.23, dtypes.float32),
        ([1, 2.5], dtypes.float32),
        (True, dtypes.bool),
        (1j, dtypes.complex128),
        ("a", dtypes.string),
        (b"a", dtypes.string),
        (numpy.float64(2), dtypes.float64),
        (numpy.array([1], numpy.int8), dtypes.int8),
    ],
)
def test_dtypes_are_inferred(graph, value, dtype):
    v = Variable(value)
    assert v.dtype.base_dtype is dtype
    assert v.dtype.name == f"{dtype.name}_ref" and v.dtype != dtype
    assert v.value().dtype is dtype


@pytest.mark.parametrize("dtype", [dtypes.int16, numpy.int16, numpy.dtype("int16")])
def test_a_dtype_in_the_second_place(graph, dtype):
    v = Variable(2, dtype)
    assert v.dtype.base_dtype is dtypes.int16 and v.trainable
    assert trainable_variables() == [v]
    assert Variable(2, dtype=dtype).dtype.base_dtype is dtypes.int16
    with pytest.raises(ValueError, match="two dtypes"):
        Variable(2, dtype, dtype=dtypes.float32)


def test_a_tensor_of_another_dtype(graph):
    with pytest.raises(ValueError, match="float32"):
        Variable(constant(1.0), dtype=dtypes.int32)


def test_printing(graph):
    assert repr(Variable(3, name="x")) == "<tf.Variable 'x:0' shape=() dtype=int32_ref>"
    m = Variable([[1.0, 2.0]], name="m")
    assert str(m) == "<tf.Variable 'm:0' shape=(1, 2) dtype=float32_ref>"


def test_shapes(graph):
    v = Variable(zeros([2, 3]))
    assert v.shape == [2, 3] and v.get_shape().as_list() == [2, 3]
    loose = Variable(zeros([2, 3]), validate_shape=False)
    assert loose.shape.ndims is None
    loose.set_shape([2, 3])
    assert loose.shape == [2, 3] == loose.value().shape
    partly = Variable(zeros([2, 3]), shape=[None, 3])
    assert partly.shape.as_list() == [None, 3]
    partly.assign(zeros([5, 3]))
    with pytest.raises(ValueError):
        partly.assign(zeros([5, 4]))
    with pytest.raises(ValueError, match="does not fit the shape"):
        Variable(zeros([2, 3]), shape=[4, None])
    with pytest.raises(ValueError, match="does not fit the shape"):
        Variable(zeros([2, 3]), expected_shape=[3, 2])


def test_identity_is_equality(graph):
    v, w = Variable(1), Variable(1)
    assert v == v and v != w and v in [w, v] and len({v, w}) == 2
    assert v.ref() == v.ref() != w.ref() and v.ref().deref() is v
    assert len({v.ref(), v.ref(), w.ref()}) == 2


def test_a_graph_variable_has_no_value_of_its_own(graph):
    v = Variable([1.0])
    assert v  # there is one
    for use in (int, float, len, iter, list):
        with pytest.raises(TypeError):
            use(v)
    with pytest.raises(NotImplementedError):
        numpy.asarray(v)
    with pytest.raises(NotImplementedError, match="session"):
        v.numpy()
    with pytest.raises(ValueError, match="No default session"):
        v.eval()
    with pytest.raises(ValueError, match="default session"):
        v.load([2.0])


# -- collections ---------------------------------------------------------------------------------


def test_collections(graph):
    a = Variable(1.0)
    b = Variable(1.0, trainable=False)
    local = Variable(1.0, collections=[GraphKeys.LOCAL_VARIABLES])
    mine = Variable(1.0, False, collections={"mine"})
    twice = Variable(1.0, collections=["x", GraphKeys.TRAINABLE_VARIABLES])
    assert global_variables() == [a, b]
    assert trainable_variables() == [a, local, twice]
    assert local_variables() == [local]
    assert graph.get_collection("mine") == [mine]
    assert [v.trainable for v in (a, b, local, mine)] == [True, False, True, False]
    with pytest.raises(ValueError, match="list, tuple, or set"):
        Variable(1.0, collections="mine")


def test_collections_can_be_filtered_by_the_start_of_names(graph):
    for name in ("foo/b", "foobar/b", "x/foo/b"):
        Variable(1.0, name=name)
    assert [v.op.name for v in global_variables("foo")] == ["foo/b", "foobar/b"]
    assert [v.op.name for v in global_variables("foo/")] == ["foo/b"]
    assert [v.op.name for v in global_variables(".*foo/")] == ["foo/b", "x/foo/b"]


def test_synchronization_on_read_is_untrainable(graph):
    on_read, mean = VariableSynchronization.ON_READ, VariableAggregation.MEAN
    assert not Variable(1.0, trainable=None, synchronization=on_read).trainable
    kept = Variable(1.0, trainable=True, synchronization=on_read, aggregation=mean)
    assert kept.trainable and kept.synchronization is on_read and kept.aggregation is mean
    again = Variable.from_proto(kept.to_proto())
    assert (again.synchronization, again.aggregation) == (on_read, mean)


def test_constraint_must_be_callable(graph):
    assert Variable(1.0, constraint=abs).constraint is abs
    with pytest.raises(ValueError, match="callable"):
        Variable(1.0, constraint=3)


# -- reading -------------------------------------------------------------------------------------


def test_the_value_is_one_cached_read(graph):
    v = Variable(1.0, name="v")
    assert v.value() is v.value() is convert_to_tensor(v)
    assert v._as_graph_element() is v.handle
    assert graph.as_graph_element(v) is v.handle
    assert v.read_value() is not v.read_value()
    assert v.handle.op.attrs["key"] == v.key == "v"
    with pytest.raises(ValueError, match="Incompatible type conversion"):
        convert_to_tensor(v, dtypes.int32)


def test_a_read_under_control_dependencies_is_fresh(graph):
    v = Variable(1.0, name="v")
    added = v.assign_add(1.0)
    with graph.control_dependencies([added]):
        fresh = v.value()
        assert convert_to_tensor(v) is not fresh
        w = Variable(2.0)
    assert fresh is not v.value() and fresh.op.control_inputs == [added.op]
    assert not w.initializer.control_inputs and not w.value().op.control_inputs


def test_a_variable_of_another_graph(graph):
    with Graph().as_default() as other:
        v = Variable(1.0)
    assert v.read_value().graph is other and (v + 1.0).graph is other
    assert not graph.get_operations()
    here = Variable(2.0)
    with pytest.raises(ValueError, match="same graph"):
        here.assign(v)


# -- devices -------------------------------------------------------------------------------------


def test_devices(graph):
    with graph.device("/job:ps/task:7"), graph.device("/gpu:1"):
        v = Variable(lambda: zeros([1]), name="v")
        u = Variable(1.0)
    device = "/job:ps/task:7/device:GPU:1"
    assert v.device == v.op.device == u.device == device
    assert {op.device for op in graph.get_operations()} == {device}
    assert v.initialized_value().device == group(u.initializer).device == device
    assert Variable(1.0).device == ""


def test_what_changes_a_variable_is_where_it_is(graph):
    with graph.device("/job:ps/task:7"):
        v = Variable([[1.0], [2.0]])
    with graph.device("/job:worker/task:0"):
        rows = IndexedSlices(constant([[1.0]]), constant([0]))
        updates = [
            v.assign([[1.0], [1.0]]),
            v.assign_add([[1.0], [1.0]]),
            v.assign_sub([[1.0], [1.0]]),
            v.scatter_add(rows),
            v.scatter_sub(rows),
            v.scatter_update(rows),
            v.scatter_mul(rows),
            v.scatter_div(rows),
            v.scatter_min(rows),
            v.scatter_max(rows),
        ]
        plain = constant(1.0)
    assert {t.op.device for t in updates} == {"/job:ps/task:7"}
    assert {*updates[0].op.colocation_groups()} == {*v.op.colocation_groups()} == {b"loc:@Variable"}
    assert group(updates[0], updates[1]).device == "/job:ps/task:7"
    assert group(updates[0], plain).device == ""
    assert {t.op.type for t in updates} >= {"Assign", "AssignAdd", "AssignSub", "ScatterAdd"}
    assert plain.device == "/job:worker/task:0"
    assert v.initializer.device == "/job:ps/task:7"
    assert v.assign([[1.0], [1.0]], read_value=False).type == "Assign"
    with pytest.raises(TypeError, match="not IndexedSlices"):
        v.scatter_add([1.0])


def test_device_functions_see_the_variable_once(graph):
    placed = []

    def place(op):
        if op.type == "VariableV2":
            placed.append(op.name)
            return f"/job:ps/task:{len(placed) - 1}"
        return "/job:worker"

    with graph.device(place):
        v, w = Variable(lambda: zeros([1]), name="v"), Variable(lambda: zeros([1]), name="w")
    assert placed == ["v", "w"]
    for variable, device in ((v, "/job:ps/task:0"), (w, "/job:ps/task:1")):
        assert variable.device == variable.initializer.device == device
        assert variable.initial_value.device == variable.value().device == device


def test_caching_device(graph):
    v = Variable(1.0, caching_device="/gpu:0")
    assert v.device == "" and v.value().device == "/device:GPU:0"
    assert v.value().op.colocation_groups() == [b"loc:@Variable/read"]
    with pytest.raises(ValueError, match="no attr named '_class'"):
        v.value().op.get_attr("_class")
    assert v.initializer.colocation_groups() == v.op.colocation_groups() == [b"loc:@Variable"]
    with colocate_with(v.op):
        w = Variable(1.0, caching_device="/gpu:1")
    assert w.value().device == "/device:GPU:1"
    assert w.value().op.colocation_groups() == [b"loc:@Variable_1/read"]


def test_colocate_with(graph):
    with graph.device("/gpu:1"):
        v = Variable(1.0)
    with graph.device("/job:worker"):
        with colocate_with(v):
            assert no_op().device == "/device:GPU:1"
        with colocate_with(v.op), pytest.raises(ValueError, match="ignore_existing"):
            colocate_with(None).__enter__()
        with colocate_with(None, ignore_existing=True):
            assert no_op().device == ""


# -- layouts -------------------------------------------------------------------------------------


def test_chunks_may_be_dimensions_of_a_static_shape(graph):
    assert Variable(zeros([6, 4]), chunks=(Dimension(6), 2)).chunks == ((6,), (2, 2))
    with pytest.raises(TypeError, match="not known until run time"):
        Variable(zeros([6, 4]), chunks=(Dimension(None), 2))


def test_chunks(graph):
    assert Variable(zeros([10, 4])).chunks is None
    assert Variable(zeros([10, 4]), chunks=(5, -1)).chunks == ((5, 5), (4,))
    assert Variable(zeros([10, 4]), chunks=-1).chunks is None
    assert Variable(zeros([10, 4]), chunks={0: 4}).chunks == ((4, 4, 2), (4,))
    assert Variable(zeros([10, 4]), chunks="auto").chunks is None
    with config.set(chunk_bytes=80):
        sizes = Variable(zeros([10, 4])).chunks
        assert sizes is not None and max(map(max, sizes)) * 4 <= 80
    v = Variable(zeros([10, 4]), chunks=(5, -1))
    assert v.op.attrs["chunks"] == v.chunks
    with pytest.raises(ValueError, match="cannot have chunks"):
        Variable(zeros([10, 4]), validate_shape=False, chunks=5)
    with pytest.raises(ValueError):
        Variable(zeros([10, 4]), chunks=((5, 6), 4))


# -- inside functions ----------------------------------------------------------------------------


def test_variables_are_made_outside_of_bodies(graph):
    body = FuncGraph("body", graph, parameter)
    with graph.name_scope("outer"), body.as_default(), body.name_scope("outer/body/"):
        v = Variable(lambda: zeros([2]), name="v")
        inner = constant(1.0)
        with pytest.raises(ValueError, match="use a lambda"):
            Variable(inner)
        assert isinstance(v.assign_add([1.0, 1.0]), Tensor)
    assert v.graph is graph and v.op.name == "outer/body/v"
    assert v.initial_value.op.name == "outer/body/v/Initializer/zeros"
    assert global_variables() == [v]
    assert [op.name for op in body.get_operations() if op.name.startswith("v")] == []


# -- to_proto ------------------------------------------------------------------------------------


def test_proto_round_trip(graph):
    with graph.name_scope("s"):
        v = Variable([1.0], name="v", trainable=False)
    proto = v.to_proto()
    assert proto.plain() == {
        "variable_name": "s/v:0",
        "initial_value_name": "s/v/initial_value:0",
        "initializer_name": "s/v/Assign",
        "snapshot_name": "s/v/read:0",
        "trainable": False,
        "synchronization": "AUTO",
        "aggregation": "NONE",
    }
    again = Variable.from_proto(proto)
    assert again.handle is v.handle and again.initializer is v.initializer
    assert again.value() is v.value() and again.initial_value is v.initial_value
    assert (again.name, again.trainable, again.dtype) == (v.name, False, v.dtype)
    inside = v.to_proto(export_scope="s")
    assert inside.variable_name == "v:0"
    assert Variable.from_proto(inside, import_scope="s").handle is v.handle
    assert v.to_proto(export_scope="other") is None
    v._set_save_slice_info(Variable.SaveSliceInfo("whole", (10, 4), (0, 0), (5, 4)))
    sliced = Variable.from_proto(v.to_proto())._get_save_slice_info()
    assert sliced.spec == "10 4 0,5:0,4"
    with pytest.raises(ValueError, match="mutually exclusive"):
        Variable(1.0, variable_def=proto)


def test_a_proto_without_the_initial_value(graph):
    proto = Variable([1.0], name="v").to_proto()
    proto.ClearField("initial_value_name")
    again = Variable.from_proto(proto)
    assert again.to_proto() == proto
    for use in (again.initialized_value, lambda: again.initial_value):
        with pytest.raises(ValueError, match="v:0 was made of a VariableDef without initial_value"):
            use()
    with Session() as session:
        session.run(again.initializer)
        assert session.run(again.read_value()).tolist() == [1.0]
    with pytest.raises(AttributeError, match="did you mean 'trainable'"):
        proto.trainabel = False


def test_the_initializer_s_operations_are_colocated_with_the_variable(graph):
    with graph.device("/gpu:0"):
        Variable(lambda: zeros([2]) + 1.0, name="v")
    made = [op for op in graph.get_operations() if op.name.startswith("v/Initializer/")]
    assert len(made) == 3
    for op in made:
        assert (op.colocation_groups(), op.device) == ([b"loc:@v"], "/device:GPU:0")
    Variable(zeros([2], name="given"), name="w")
    assert graph.get_operation_by_name("given").colocation_groups() == [b"loc:@given"]
