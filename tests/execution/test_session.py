"""Session.run: a transaction on variables, whatever is fetched and fed."""

import copy
import pickle

import dask.array as da
import numpy as np
import pytest
import zarr

import daskvars as dv
import daskvars.v1 as tf
from daskvars import config
from daskvars.errors import FailedPreconditionError, InvalidArgumentError
from daskvars.state import forget_values
from tests.sessions import initialized

pytestmark = pytest.mark.usefixtures("graph")


# -- transactions ---------------------------------------------------------------------------------


def test_reads_see_the_start_of_the_run_unless_ordered_after_an_assignment():
    v = tf.Variable(1.0)
    before = v + 0.0
    add = v.assign_add(10.0)
    with tf.control_dependencies([add]):
        after = v.read_value()
    session = initialized()
    assert session.run([before, add, after, v]) == [1.0, 11.0, 11.0, 11.0]


def test_assignments_apply_in_the_order_they_were_made():
    v = tf.Variable(2.0)
    ops = [v.assign_add(3.0), v.assign(v * 10.0), v.assign_sub(1.0)]
    session = initialized()
    assert session.run([*ops, v]) == [5.0, 20.0, 19.0, 19.0]


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("size", [4, 400_000])
def test_a_failing_run_changes_nothing(parts, size):
    v, w = tf.Variable(np.zeros(size, "f4")), tf.Variable(np.ones(size, "f4"))
    x = tf.placeholder(tf.float32, [None])
    good = v.assign_add(w * 2.0)
    check = tf.check_numerics(tf.reduce_sum(x), "sum of x")
    with config.set(batch_parts=parts):
        session = initialized()
        for bad in (np.nan, np.inf):
            with pytest.raises(InvalidArgumentError, match="sum of x"):
                session.run([good, check], {x: [1.0, bad]})
            assert session.run(v).sum() == 0.0
        session.run([good, check], {x: [1.0, 2.0]})
        assert session.run(v).sum() == 2.0 * size


def test_an_assertion_after_the_assignment_undoes_it():
    v = tf.Variable(1)
    with tf.control_dependencies([v.assign_add(1)]):
        late = tf.Assert(tf.less(v.read_value(), 3), [v.read_value()])
    session = initialized()
    session.run(late)
    with pytest.raises(InvalidArgumentError, match="assertion failed"):
        session.run(late)
    assert session.run(v) == 2


def test_missing_feeds_and_wrong_shapes_fail_before_anything_changes():
    v = tf.Variable([0.0, 0.0])
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    add = v.assign_add(tf.reduce_sum(x, 0))
    session = initialized()
    with pytest.raises(InvalidArgumentError, match="x"):
        session.run(add)
    with pytest.raises(ValueError, match=r"shape \(3,\)"):
        session.run(add, {x: [1.0, 2.0, 3.0]})
    assert session.run(v).tolist() == [0.0, 0.0]


def test_an_assignment_of_a_shape_known_only_in_the_run_is_checked():
    v = tf.Variable([0.0, 0.0])
    x = tf.placeholder(tf.float32, None)
    session = initialized()
    assign = v.assign(x)
    with pytest.raises(InvalidArgumentError):
        session.run(assign, {x: [1.0, 2.0, 3.0]})
    session.run(assign, {x: [1.0, 2.0]})
    assert session.run(v).tolist() == [1.0, 2.0]


@pytest.mark.parametrize("chunks", [None, (2, 1)])
@pytest.mark.parametrize("method", ["assign", "assign_add", "assign_sub"])
def test_a_value_of_a_size_that_nobody_knew_must_have_that_of_the_variable(method, chunks):
    v = tf.get_variable("v", [3], initializer=tf.zeros_initializer(), chunks=chunks and (chunks,))
    x, mask = tf.placeholder(tf.float32, [5]), tf.placeholder(tf.bool, [5])
    session = initialized()
    change = getattr(v, method)(tf.boolean_mask(x, mask))
    for number in (0, 1, 2, 4):
        with pytest.raises(InvalidArgumentError, match=rf"\[{number}\].*\[3\].*Assign"):
            session.run(change, {x: np.ones(5), mask: np.arange(5) < number})
        assert session.run(v).tolist() == [0, 0, 0]
    session.run(change, {x: np.arange(5), mask: [False, True, True, False, True]})
    assert np.abs(session.run(v)).tolist() == [1, 2, 4]


def test_uninitialized_reads_name_all_culprits():
    variables = [tf.Variable(1.0, name=f"u{i}") for i in range(6)]
    with pytest.raises(FailedPreconditionError) as error:
        tf.Session().run(tf.add_n([v.value() for v in variables]))
    for v in variables:
        assert v.op.name in str(error.value)
    assert "global_variables_initializer" in str(error.value)


# -- values ---------------------------------------------------------------------------------------


def test_changing_a_fetched_array_does_not_change_the_variable():
    v = tf.Variable(np.zeros(5))
    session = initialized()
    session.run(v)[:] = 7
    session.run(v + 0.0)[:] = 7
    assert session.run(v).tolist() == [0.0] * 5


def test_changing_a_fed_array_does_not_change_the_variable():
    v = tf.Variable(np.zeros(5))
    x = tf.placeholder(tf.float64, [5])
    session = initialized()
    array = np.ones(5)
    session.run(v.assign(x), {x: array})
    array[:] = 9
    assert session.run(v).tolist() == [1.0] * 5


def test_variables_assigned_from_one_another_do_not_share_memory():
    a, b = tf.Variable(np.zeros(400_000, "f4")), tf.Variable(np.ones(400_000, "f4"))
    copy = tf.group(a.assign(b), name="copy")
    session = initialized()
    session.run(copy)
    session.run(a.assign_add(a + 1.0))
    assert session.run(b).sum() == 400_000


def test_large_variables_are_updated_in_place_when_nobody_looks():
    v = tf.Variable(np.zeros(400_000, "f4"))
    session = initialized()
    add = tf.group(v.assign_add(tf.ones([400_000]) * 0.5))
    values = session.engine.values
    session.run(add)

    def array():
        (block,) = values.get(v.key).values()
        return block

    address = array().ctypes.data
    session.run(add)
    assert array().ctypes.data == address
    with values.lease([v.key]) as lease:
        session.run(add)
        assert array().ctypes.data != address
        (held,) = lease.blocks[0].values()
        assert held.sum() == 400_000 * 1.0
    assert session.run(v).sum() == 400_000 * 1.5


def test_in_place_updates_read_old_values_first():
    n = 1 << 19
    start = np.arange(n, dtype="f4")
    a, b = tf.Variable(start), tf.Variable(start * 2)
    swap = tf.group(a.assign(b.value() * 1.0), b.assign(a.value() * 1.0))
    flipped = tf.Variable(start.reshape(512, -1)[:, :512])
    mirror = tf.group(flipped.assign(flipped + tf.transpose(flipped)))
    session = initialized()
    session.run(swap)
    found = session.run([a, b])
    assert (found[0] == start * 2).all()
    assert (found[1] == start).all()
    matrix = session.run(flipped)
    session.run(mirror)
    assert (session.run(flipped) == matrix + matrix.T).all()


def test_sparse_updates_in_place_check_their_ids_first():
    v = tf.Variable(np.zeros((100_000, 4), "f4"))
    ids = tf.placeholder(tf.int32, [None])
    add = tf.group(tf.scatter_add(v, ids, tf.ones([tf.size(ids), 4])))
    session = initialized()
    session.run(add, {ids: [5, 5, 7]})
    with pytest.raises(InvalidArgumentError, match="100000"):
        session.run(add, {ids: [1, 100_000]})
    value = session.run(v)
    assert value.sum() == 12.0
    assert value[5].tolist() == [2.0] * 4


# -- fetches and feeds -------------------------------------------------------------------------


def test_dask_arrays_are_fed_without_being_computed_first():
    x = tf.placeholder(tf.float32, [None, 3])
    total = tf.reduce_sum(tf.square(x), 0)
    array = da.arange(30, chunks=9).astype("f4").reshape(10, 3)
    with tf.Session() as session:
        found = session.run([total, x * 2.0], {x: array})
    wanted = np.arange(30, dtype="f4").reshape(10, 3)
    np.testing.assert_allclose(found[0], (wanted**2).sum(0))
    np.testing.assert_allclose(found[1], wanted * 2)


def test_any_tensor_can_be_fed():
    x = tf.constant(2.0)
    y = x * 3.0
    with tf.Session() as session:
        assert session.run(y + 1.0, {y: 10.0}) == 11.0


@pytest.mark.parametrize("fed", [0, 1, 2])
def test_one_of_several_results_can_be_fed(fed):
    x = tf.placeholder(tf.float32, [6])
    parts = tf.split(x * 2.0, 3)
    sums = [tf.reduce_sum(part) for part in parts]
    with tf.Session() as session:
        found = session.run([parts, sums], {x: np.arange(6.0), parts[fed]: [7.0, 8.0]})
    wanted = [[0.0, 2.0], [4.0, 6.0], [8.0, 10.0]]
    wanted[fed] = [7.0, 8.0]
    assert [part.tolist() for part in found[0]] == wanted
    assert found[1] == [sum(part) for part in wanted]


def test_of_two_values_for_one_tensor_the_last_is_fed():
    x = tf.placeholder(tf.float32, [], name="x")
    with tf.Session() as session:
        assert session.run(x + 0.0, {x: 1.0, "x:0": 2.0}) == 2.0
        assert session.run(x + 0.0, {"x:0": 2.0, x: 1.0}) == 1.0


def test_make_callable_and_eval():
    x = tf.placeholder(tf.float32, [])
    with tf.Session() as session:
        double = session.make_callable([x * 2.0, x], [x])
        assert double(4.0) == [8.0, 4.0]
        assert (x + 1.0).eval({x: 1.0}) == 2.0
        with pytest.raises(TypeError, match="1 values"):
            double()


def test_random_ops_draw_anew_in_each_run_and_the_same_in_each_session():
    tf.set_random_seed(5)
    r = tf.random_uniform([3])
    draws = []
    for _ in range(2):
        with tf.Session() as session:
            draws.append([session.run(r).tolist() for _ in range(2)])
    assert draws[0] == draws[1]
    assert draws[0][0] != draws[0][1]


def test_sessions_on_one_store_share_values_and_others_do_not():
    v = tf.Variable(0)
    with tf.Session("test-shared") as a, tf.Session("test-shared") as b, tf.Session() as c:
        a.run(v.initializer)
        for _ in range(3):
            a.run(v.assign_add(1))
            b.run(v.assign_add(1))
        assert a.run(v) == b.run(v) == 6
        with pytest.raises(FailedPreconditionError):
            c.run(v)


def test_building_in_the_loop_is_an_error_once_the_graph_is_final(graph):
    v = tf.Variable(0)
    session = initialized()
    graph.finalize()
    session.run(v)
    with pytest.raises(RuntimeError, match=r"test_session\.py"):
        session.run(v + 1)


def test_a_graph_that_grows_with_every_run_is_warned_of():
    x = tf.constant(1.0)
    with tf.Session() as session, config.set(graph_growth_warning=20):
        session.run(x)
        with pytest.warns(UserWarning, match="added to a graph after its first run"):
            for _ in range(30):
                tf.identity(x)


def test_eager_values_in_a_graph_are_a_clear_error():
    value = None
    with dv.Graph().as_default():
        tensor = tf.constant(1.0)
    value = tensor
    with pytest.raises(ValueError, match="must be from the same graph"):
        tf.constant(1.0) + value


def test_a_store_on_disk_keeps_the_variables(tmp_path):
    v = tf.get_variable("scope/v", [3], initializer=tf.zeros_initializer())
    w = tf.get_variable("w", [2], initializer=tf.ones_initializer())
    path = tmp_path / "state.zarr"
    with tf.Session(store=path) as session:
        session.run(tf.global_variables_initializer())
        session.run(v.assign_add([1.0, 2.0, 3.0]))
        session.seal()
        session.run(v.assign_add([1.0, 2.0, 3.0]))
    group = zarr.open_group(path, mode="r")
    head = group[group.attrs["daskvars"]["head"]] if "daskvars" in group.attrs else None
    forget_values(str(path))
    with tf.Session(store=path) as session:
        assert session.run([v, w])[0].tolist() == [2.0, 4.0, 6.0]
        assert len(session.run(tf.report_uninitialized_variables())) == 0
    if head is not None:
        assert head["scope/v"][:].tolist() == [2.0, 4.0, 6.0]


def test_effects_run_in_plans_of_several_tasks_too():
    x = tf.placeholder(tf.float32, [None, 2])
    seen = []
    note = tf.py_func(lambda a: seen.append(a.shape) or a, [tf.square(x)], tf.float32)
    check = tf.Assert(tf.reduce_all(tf.reduce_sum(x, 1) < 10.0), [x])
    with config.set(batch_parts=2), tf.Session() as session:
        session.run([note.op, check], {x: np.ones((6, 2))})
        assert seen == [(6, 2)]
        with pytest.raises(InvalidArgumentError, match="assertion failed"):
            session.run(check, {x: np.full((6, 2), 9.0)})


def test_scalars_come_as_numpy_scalars_wherever_they_come_from():
    v = tf.Variable(3.0)
    x = tf.placeholder(tf.float32, [])
    session = initialized()
    tensors = [tf.constant(1.0), x, tf.reduce_sum([1.0, 2.0]), v, x * 2.0]
    for value in session.run(tensors, {x: 2.0}):
        assert type(value) is np.float32
    assert session.run(tf.constant("text")) == b"text"


@pytest.mark.parametrize("taken", [pickle.dumps, copy.deepcopy])
def test_a_session_that_is_pickled_says_what_can_be(taken):
    with (
        tf.Graph().as_default(),
        tf.Session() as sess,
        pytest.raises(TypeError, match=r"a session cannot be pickled .*train\.Saver"),
    ):
        taken(sess)
