"""Sessions beside running: configuration, metadata, default stacks, closing, threads, errors."""

import collections
import threading
from functools import partial

import numpy as np
import pytest

import daskvars.v1 as tf
from daskvars import config
from daskvars.execution.engine.values.conversions import register_session_run_conversion_functions
from daskvars.execution.engine.values.fetches import IndexedSlicesValue
from daskvars.state import forget_values
from tests.at_once import at_once

pytestmark = pytest.mark.usefixtures("graph")


# -- configuration --------------------------------------------------------------------------------


def test_the_configuration_limits_the_threads():
    for given, wanted in [
        (tf.ConfigProto(inter_op_parallelism_threads=1, intra_op_parallelism_threads=3), 3),
        (tf.ConfigProto(device_count={"CPU": 2}), 2),
        (tf.ConfigProto(), config.thread_count()),
    ]:
        with tf.Session(config=given) as session:
            assert session.engine.acquire().num_workers == wanted


def test_what_changes_no_result_is_accepted():
    options = tf.ConfigProto(
        allow_soft_placement=True,
        gpu_options=tf.GPUOptions(per_process_gpu_memory_fraction=0.3),
        graph_options=tf.GraphOptions(optimizer_options=tf.OptimizerOptions(opt_level=-1)),
    )
    options.gpu_options.allow_growth = True
    options.graph_options.optimizer_options.global_jit_level = tf.OptimizerOptions.ON_1
    options.graph_options.rewrite_options.constant_folding = 2  # RewriterConfig.OFF
    with tf.Session(config=options) as session:
        assert session.run(tf.constant(2.0)) == 2.0


@pytest.mark.parametrize(
    "arguments, text",
    [
        ({"target": 37}, r"target must be a string, .* `with client.as_current\(\):`"),
        ({"config": 37}, "config must be a tf.ConfigP"),
        ({"graph": 37}, "graph must be a tf.Graph"),
    ],
)
def test_arguments_of_other_types(arguments, text):
    with pytest.raises(TypeError, match=text):
        tf.Session(**arguments)


@pytest.mark.parametrize("argument", ["target", "store"])
@pytest.mark.parametrize("address", ["tcp://127.0.0.1:8786", "tls://head:8786", "inproc://1/2"])
def test_the_address_of_a_dask_cluster_is_no_store(argument, address):
    """Not a name of variables in this process, where nobody would look for them."""
    with pytest.raises(ValueError, match=rf"Connect to it, client = .*Client\('{address}'\)"):
        tf.Session(**{argument: address})


def test_no_target_is_none_as_in_tensorflow():
    with tf.Session(None) as session:
        assert session.sess_str == ""
        assert session.run(tf.constant(2.0)) == 2.0


def test_a_target_and_a_store_are_two_places():
    """Not one of which the other says nothing."""
    with tf.Graph().as_default(), pytest.raises(ValueError, match=r"both say .* give one"):
        tf.Session("one", store="other")


def test_placement_is_logged_once_per_signature(capsys, caplog):  # it takes warnings off stderr
    with tf.device("/gpu:0"):
        x = tf.constant(1.0, name="x")
    y = tf.identity(x, name="y")
    config = tf.ConfigProto(log_device_placement=True, allow_soft_placement=True)
    with tf.Session(config=config) as session:
        session.run(y)
        session.run(y)
    assert capsys.readouterr().err.splitlines() == [
        "x: (Const): /device:GPU:0",
        "y: (Identity): /job:localhost/replica:0/task:0/device:CPU:0",
    ]


def test_isolated_sessions_do_not_share():
    v = tf.Variable(1)
    isolated = tf.ConfigProto(isolate_session_state=True)
    with tf.Session("isolation") as a, tf.Session("isolation", config=isolated) as b:
        a.run(v.initializer)
        with pytest.raises(tf.errors.FailedPreconditionError):
            b.run(v)
    forget_values("isolation")


def test_reset_forgets_a_name():
    v = tf.Variable(1)
    with tf.Session("to-forget") as session:
        session.run(v.initializer)
    tf.Session.reset("to-forget")
    with tf.Session("to-forget") as session, pytest.raises(tf.errors.FailedPreconditionError):
        session.run(v)
    tf.Session.reset("to-forget")


def test_reset_forgets_what_is_in_some_containers():
    with tf.container("a"):
        of_a = tf.Variable(1, name="v")
    with tf.container("b"):
        of_b = tf.Variable(2, name="v")
    other = tf.Variable(3, name="other")
    with pytest.raises(tf.errors.NotFoundError, match="no session has shared variables"):
        tf.Session.reset("in-containers", ["a"])

    def present():
        with tf.Session("in-containers") as session:
            return session.run([tf.is_variable_initialized(v) for v in (of_a, of_b, other)])

    with tf.Session("in-containers") as session:
        session.run(tf.global_variables_initializer())
    tf.Session.reset("in-containers", ["no such container"])
    assert present() == [True, True, True]
    with tf.Session("in-containers") as session:
        session.run(of_b)
        tf.Session.reset("in-containers", ["a"])
        with pytest.raises(tf.errors.AbortedError, match="were reset"):
            session.run(of_b)
    assert present() == [False, True, True]
    tf.Session.reset("in-containers", [""])
    assert present() == [False, True, False]
    tf.Session.reset("in-containers")


def test_reset_forgets_queues_in_some_containers():
    with tf.container("a"):
        of_a = tf.FIFOQueue(3, tf.int32, [[]], shared_name="q")
    other = tf.FIFOQueue(3, tf.int32, [[]], shared_name="q")
    with tf.Session("queues-in-containers") as session:
        session.run([of_a.enqueue(1), other.enqueue(2)])
    tf.Session.reset("queues-in-containers", ["a"])
    with tf.Session("queues-in-containers") as session:
        assert session.run([of_a.size(), other.size()]) == [0, 1]
    tf.Session.reset("queues-in-containers")


def test_containers_of_a_store_are_not_reset_one_by_one(tmp_path):
    v = tf.Variable(1)
    place = str(tmp_path / "store.zarr")
    with tf.Session(place) as session:
        session.run(v.initializer)
    with pytest.raises(tf.errors.UnimplementedError, match="in a store"):
        tf.Session.reset(place, ["a"])


def test_devices():
    with tf.Session() as session:
        (device,) = session.list_devices()
    assert device.name == "/job:localhost/replica:0/task:0/device:CPU:0"
    assert device.memory_limit_bytes > 0
    with pytest.raises(RuntimeError, match="closed"):
        session.list_devices()


# -- options and metadata -------------------------------------------------------------------------


def test_metadata_records_what_the_options_ask_for():
    x = tf.placeholder(tf.float32, [None, 4], name="x")
    y = tf.reduce_sum(tf.square(x), name="total")
    metadata = tf.RunMetadata()
    with tf.Session() as session, config.set(batch_parts=2):
        session.run(y, {x: np.ones((4, 4))}, run_metadata=metadata)
        assert not metadata.HasField("step_stats")
        assert metadata.num_tasks == 3
        assert metadata.duration_s > 0
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE, output_partition_graphs=True)
        session.run(y, {x: np.ones((4, 4))}, options, metadata)
    (device,) = metadata.step_stats.dev_stats
    assert any("total" in node.timeline_label for node in device.node_stats)
    assert "3 tasks" in metadata.partition_graphs[0]


def test_callables_take_options_when_asked_to():
    x = tf.placeholder(tf.float32, [])
    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    with tf.Session() as session:
        twice = session.make_callable(x * 2.0, [x], accept_options=True)
        assert twice(3.0, options=options, run_metadata=metadata) == 6.0
        assert len(metadata.step_stats.dev_stats) == 1
        plain = session.make_callable(x * 2.0, [x])
        with pytest.raises(TypeError):
            plain(3.0, options=options)
    with pytest.raises(RuntimeError, match="closed"):
        plain(3.0)


def test_partial_runs_say_what_to_do_instead():
    x = tf.placeholder(tf.float32, [])
    with tf.Session() as session, pytest.raises(tf.errors.UnimplementedError, match="in one run"):
        session.partial_run_setup([x], [x])


# -- fetches and feeds of other types -------------------------------------------------------------


def test_indexed_slices_are_fed_in_parts():
    slices = tf.IndexedSlices(
        tf.placeholder(tf.float32, [None, 2]), tf.placeholder(tf.int32, [None]), tf.constant([9, 2])
    )
    value = IndexedSlicesValue(np.ones((1, 2), "f4"), np.array([4], "i4"), np.array([5, 2], "i4"))
    with tf.Session() as session:
        found = session.run([slices.values, slices.indices, slices.dense_shape], {slices: value})
        assert [part.tolist() for part in found] == [[[1.0, 1.0]], [4], [5, 2]]


def test_users_types_are_fetched_and_fed_by_their_functions():
    class Pair:
        def __init__(self, a, b):
            self.parts = [a, b]

    register_session_run_conversion_functions(
        Pair,
        lambda pair: (pair.parts, tuple),
        lambda pair, value: [(part, value) for part in pair.parts],
    )
    with pytest.raises(ValueError, match="already been registered"):
        register_session_run_conversion_functions(Pair, None)
    pair = Pair(tf.constant(1.0), tf.constant(2.0))
    with tf.Session() as session:
        assert session.run({"p": pair}) == {"p": (1.0, 2.0)}
        assert session.run(pair, {pair: 5.0}) == (5.0, 5.0)


def test_names_may_be_bytes_and_text_is_fed_as_bytes():
    x = tf.placeholder(tf.string, [None], name="x")
    with tf.Session() as session:
        fed = np.array(["ä", "b"], object)
        assert session.run(b"x:0", {b"x:0": fed}).tolist() == ["ä".encode(), b"b"]
        with pytest.raises(TypeError, match=r"value 1 with type <class 'int'> is not compatible"):
            session.run(x, {x: 1})


# -- default sessions and graphs ------------------------------------------------------------------


def test_default_sessions_nest():
    a, b = tf.Session(), tf.Session()
    with a.as_default():
        assert tf.get_default_session() is a
        with b.as_default():
            assert tf.get_default_session() is b
        assert tf.get_default_session() is a
    assert tf.get_default_session() is None
    outer, inner = a.as_default(), b.as_default()
    outer.__enter__()
    inner.__enter__()
    with pytest.raises(AssertionError, match="Nesting violated"):
        outer.__exit__(None, None, None)
    inner.__exit__(None, None, None)
    a.run(tf.constant(1))  # as_default() closes nothing
    with pytest.raises(RuntimeError, match="not re-entrant"), a, a:
        raise AssertionError("entered twice")


def test_the_default_graph_cannot_be_reset_inside_a_graph():
    with pytest.raises(AssertionError, match="nested graphs"):
        tf.reset_default_graph()


def test_a_thread_has_default_stacks_of_its_own(graph):
    seen = []
    with tf.Session() as session:
        thread = threading.Thread(
            target=lambda: seen.extend([tf.get_default_session(), tf.get_default_graph()])
        )
        thread.start()
        thread.join()
        assert tf.get_default_session() is session
    assert seen[0] is None
    assert seen[1] is not graph


# -- threads --------------------------------------------------------------------------------------


def test_threads_share_a_session():
    v = tf.Variable(np.zeros(3))
    x = tf.placeholder(tf.float64, [])
    add, double = v.assign_add([1.0, 2.0, 3.0]), x * 2.0
    session = tf.Session()
    session.run(v.initializer)
    wrong = []

    def work(number):
        for _ in range(50):
            session.run(add)
            if session.run(double, {x: number}) != 2.0 * number:
                wrong.append(number)

    at_once(*(partial(work, n) for n in range(6)))
    assert not wrong
    assert session.run(v).tolist() == [300.0, 600.0, 900.0]


# -- errors ---------------------------------------------------------------------------------------


def test_an_error_of_a_run_knows_its_operation():
    with tf.name_scope("scope"):
        x = tf.placeholder(tf.float32, [], name="x")
        y = tf.check_numerics(tf.log(x), "log", name="check")
    with tf.Session() as session:
        for feeds, op in [({}, x.op), ({x: -1.0}, y.op)]:
            with pytest.raises(tf.errors.InvalidArgumentError) as caught:
                session.run(y, feeds)
            error = caught.value
            assert error.op is op
            assert error.node_def.name == op.name
            assert error.error_code == tf.errors.INVALID_ARGUMENT
            assert op.name in error.message
            assert "test_session_protocol.py" in error.message


def test_an_error_of_initialization_knows_its_variable():
    v = tf.Variable(1.0, name="v")
    with tf.Session() as session, pytest.raises(tf.errors.FailedPreconditionError) as caught:
        session.run(v + 1.0)
    assert caught.value.op is v.op


# -- pitfalls -------------------------------------------------------------------------------------


def test_five_variables_and_a_slot_without_values_are_one_error_before_any_task():
    variables = [tf.Variable(float(i), name=f"u{i}") for i in range(5)]
    ran = []
    with tf.variable_scope("first"):
        slot = tf.get_variable("u0/Momentum", [], initializer=tf.zeros_initializer())
    note = tf.py_func(lambda: ran.append(1) or np.float32(0), [], tf.float32)
    total = tf.add_n([v.value() for v in [*variables, slot]]) + note
    with tf.Session() as session, pytest.raises(tf.errors.FailedPreconditionError) as caught:
        session.run(total)
    for v in [*variables, slot]:
        assert v.op.name in caught.value.message
    assert "6 of the variables" in caught.value.message
    assert "global_variables_initializer" in caught.value.message
    assert not ran


def test_read_assign_read_in_one_step_gives_old_and_new():
    v = tf.Variable([1.0, 2.0])
    old = tf.identity(v.read_value())
    with tf.control_dependencies([old]):
        assign = v.assign([5.0, 6.0])
    with tf.control_dependencies([assign]):
        new = v.read_value()
    with tf.Session() as session:
        session.run(v.initializer)
        found = session.run([old, assign, new])
        assert [value.tolist() for value in found] == [[1.0, 2.0], [5.0, 6.0], [5.0, 6.0]]
        for value in found:
            value[:] = -1
        assert session.run(v).tolist() == [5.0, 6.0]


def test_zero_and_one_may_be_fed_to_bool():
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.bool)
        assert sess.run(tf.logical_not(x), {x: 1}) == np.False_
        assert sess.run(x, {x: [0, 1]}).tolist() == [False, True]
        with pytest.raises(TypeError, match="bool"):
            sess.run(x, {x: 0.5})


def test_mappings_keep_their_kind_and_feed_list_is_a_list():
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.constant(1.0)
        found = sess.run(collections.defaultdict(list, {"x": x}))
        assert found == {"x": 1.0}
        assert found["new"] == []
        with pytest.raises(TypeError, match="`feed_list` must be a list or tuple"):
            sess.make_callable(x, feed_list=x)
