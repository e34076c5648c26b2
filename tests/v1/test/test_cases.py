"""TestCase: sessions, seeds and graphs of a test, and what its assertions let through."""

import collections
import random
import sys
import textwrap
import threading
import unittest

import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf
from tests import fresh


def run_of(function, name="testIt"):
    """The result of a test case whose test is a function of it."""
    kind = type("Case", (tf.test.TestCase,), {name: function})
    result = unittest.TestResult()
    kind(name).run(result)
    return result


def passes(function):
    """Whether a test passes; an error that is no failed assertion is raised."""
    result = run_of(function)
    assert not result.errors, result.errors[0][1]
    return not result.failures


def test_each_test_has_a_new_graph_and_the_same_seeds():
    seen = []

    def test(self):
        assert not tf.get_default_graph().get_operations()
        draws = tf.random_uniform([3])
        with self.session() as sess:
            seen.append([*sess.run(draws), random.random(), np.random.rand()])
        assert tf.get_default_graph().seed == 87654321

    assert passes(test) and passes(test)
    assert seen[0] == seen[1]


def test_a_test_that_left_graphs_entered_does_not_hurt_the_next():
    def leaves(self):
        tf.Graph().as_default().__enter__()
        raise ValueError("stop")

    before = list(dv.graph.scopes.stacks.stacks.builders)
    assert run_of(leaves).errors
    assert passes(lambda self: self.assertTrue(True))
    dv.graph.scopes.stacks.stacks.builders[:] = before


def test_a_session_is_the_default_one_and_on_the_cpu():
    def test(self):
        with self.session() as sess:
            assert tf.get_default_session() is sess
            x = tf.constant([1.0])
            assert x.device == "/device:CPU:0"
            self.assertAllEqual(x.eval(), [1.0])
        with self.session(use_gpu=True):
            assert tf.constant(1.0).device == ""
        assert sess.is_closed
        with self.session(graph=tf.Graph()) as other:
            assert tf.get_default_graph() is other.graph

    assert passes(test)


def test_one_cached_session_for_all_blocks():
    kept = []

    def test(self):
        v = tf.Variable(1.0)
        with self.cached_session() as first:
            v.initializer.run()
        with self.cached_session() as second, self.test_session() as third:
            assert first is second is third
            assert v.eval() == 1.0
        with pytest.raises(ValueError, match="graph used to get the cached session"):
            self.cached_session(graph=tf.Graph()).__enter__()
        with self.test_session(graph=tf.Graph()) as other:
            assert other is not first
        kept.append(first)

    assert passes(test)
    assert kept[0].is_closed


def test_values_of_tensors_in_graphs_and_eager_code():
    def test(self):
        x = tf.constant([1.0, 2.0])
        assert self.evaluate({"x": x, "twice": x * 2.0})["twice"].tolist() == [2.0, 4.0]
        with self.session() as sess:
            v = tf.Variable(3.0)
            sess.run(v.initializer)
            assert self.evaluate(v) == 3.0
        eager = dv.constant([1, 2]) if not dv.graph.scopes.stacks.stacks.builders else None
        assert self.evaluate([eager])[0].tolist() == [1, 2]
        self.assertAllEqual(eager, [1, 2])

    assert passes(test)


def test_the_method_named_as_a_test_is_none():
    assert run_of(lambda self: None).testsRun == 1
    case = tf.test.TestCase("test_session")
    result = unittest.TestResult()
    case.run(result)
    assert len(result.skipped) == 1


Point = collections.namedtuple("Point", "x y")

PASS = {
    "near": lambda t: t.assertNear(1.0, 1.05, 0.1),
    "near array": lambda t: t.assertNear(1.0, np.array([1.05]), 0.1),
    "near infinite": lambda t: t.assertNear(float("inf"), float("inf"), 0.1),
    "array near": lambda t: t.assertArrayNear([1.0, 2.0], [1.05, 2.0], 0.1),
    "ndarray near": lambda t: t.assertNDArrayNear(np.ones(2), np.ones(2), 1e-9),
    "close": lambda t: t.assertAllClose([1.0, 2.0], [1.0 + 1e-7, 2.0]),
    "close nan": lambda t: t.assertAllClose(float("nan"), float("nan")),
    "close nested": lambda t: t.assertAllClose(
        {"a": Point(1.0, [2.0]), "b": ([1.0], [1.0, 2.0])},
        {"a": Point(1.0, [2.0]), "b": ([1.0], [1.0, 2.0])},
    ),
    "close tensor": lambda t: t.assertAllClose(tf.constant([1.0]), [1.0]),
    "close half": lambda t: t.assertAllCloseAccordingToType(np.float16(1), np.float16(1.0005)),
    "not close": lambda t: t.assertNotAllClose([1.0], [1.1]),
    "equal": lambda t: t.assertAllEqual([1, 2], np.array([1, 2])),
    "equal nan": lambda t: t.assertAllEqual([1.0, np.nan], [1.0, np.nan]),
    "equal strings": lambda t: t.assertAllEqual(["a", "é"], tf.constant(["a", "é"])),
    "equal bytes": lambda t: t.assertAllEqual([b"a"], np.array([b"a"], object)),
    "not equal": lambda t: t.assertNotAllEqual([1], [2]),
    "greater": lambda t: t.assertAllGreater([1, 2], 0),
    "less": lambda t: t.assertAllLess([1, 2], 3),
    "greater equal": lambda t: t.assertAllGreaterEqual([1, 2], 1),
    "less equal": lambda t: t.assertAllLessEqual([1, 2], 2),
    "range": lambda t: t.assertAllInRange([1.0, 2.0], 1.0, 2.0),
    "set": lambda t: t.assertAllInSet([1, 2, 2], {1, 2, 3}),
    "dtype": lambda t: t.assertDTypeEqual(tf.constant(1.0), np.float32),
    "shape": lambda t: t.assertShapeEqual(np.ones((2, 3)), tf.ones([2, 3])),
    "device": lambda t: t.assertDeviceEqual(
        "/job:a/cpu:0", tf.DeviceSpec.from_string("/job:a/cpu:0")
    ),
    "starts": lambda t: t.assertStartsWith("abc", "ab"),
    "items": lambda t: t.assertItemsEqual([1, 2], [2, 1]),
}
FAIL = {
    "near": lambda t: t.assertNear(1.0, 1.5, 0.1),
    "array near": lambda t: t.assertArrayNear([1.0, 2.0], [1.05, 2.5], 0.1),
    "ndarray near": lambda t: t.assertNDArrayNear(np.ones(2), np.zeros(2), 1e-9),
    "close": lambda t: t.assertAllClose([1.0, 2.0], [1.0 + 1e-5, 2.0]),
    "close shape": lambda t: t.assertAllClose([1.0], [[1.0]]),
    "close nested": lambda t: t.assertAllClose({"a": ([1.0], [1, 2])}, {"a": ([1.0], [1, 3])}),
    "close keys": lambda t: t.assertAllClose({"a": 1.0}, {"b": 1.0}),
    "close single": lambda t: t.assertAllCloseAccordingToType(np.float64(1), np.float64(1.0005)),
    "not close": lambda t: t.assertNotAllClose([1.0], [1.0]),
    "equal": lambda t: t.assertAllEqual([1, 2], [1, 3]),
    "equal shape": lambda t: t.assertAllEqual([1, 1], 1),
    "equal strings": lambda t: t.assertAllEqual(["a"], tf.constant(["b"])),
    "not equal": lambda t: t.assertNotAllEqual([1], [1]),
    "greater": lambda t: t.assertAllGreater([1, 2], 1),
    "range": lambda t: t.assertAllInRange([1.0, 2.0], 1.0, 2.0, open_upper_bound=True),
    "range nan": lambda t: t.assertAllInRange([np.nan], 1.0, 2.0),
    "range type": lambda t: t.assertAllInRange(["a"], 1.0, 2.0),
    "set": lambda t: t.assertAllInSet([1, 4], {1, 2, 3}),
    "dtype": lambda t: t.assertDTypeEqual(tf.constant(1.0), np.float64),
    "shape": lambda t: t.assertShapeEqual(np.ones((2, 3)), tf.ones([3, 2])),
    "device": lambda t: t.assertDeviceEqual("/cpu:0", "/gpu:0"),
    "starts": lambda t: t.assertStartsWith("abc", "b"),
}


@pytest.mark.parametrize("name", PASS)
def test_an_assertion_holds(name):
    assert passes(PASS[name])


@pytest.mark.parametrize("name", FAIL)
def test_an_assertion_fails(name):
    assert not passes(FAIL[name])


def test_what_cannot_be_compared():
    def test(self):
        with pytest.raises(ValueError, match="dict to non-dict"):
            self.assertAllClose({"a": 1.0}, [1.0])
        with pytest.raises(ValueError, match="a has 2 items, but b has 1 items"):
            self.assertAllClose([{"x": 1.0}, 1.0], [{"x": 1.0}])
        with pytest.raises(TypeError):
            self.assertShapeEqual([1], tf.ones([1]))
        with pytest.raises(TypeError):
            self.assertShapeEqual(np.ones(1), np.ones(1))

    assert passes(test)


def test_errors_of_operations():
    def test(self):
        failing = tf.check_numerics(tf.log(tf.constant(0.0)), "the message", name="checked")
        with self.session():
            with self.assertRaisesOpError("the message"):
                failing.eval()
            with self.assertRaisesOpError("checked"):  # the operation that failed
                failing.eval()
            with self.assertRaisesOpError(lambda error: error.op is not None):
                failing.eval()
            with self.assertRaisesWithPredicateMatch(ValueError, "wrong"):
                raise ValueError("that is wrong")

    assert passes(test)

    def wrong(self):
        with self.assertRaisesWithPredicateMatch(ValueError, "wrong"):
            raise ValueError("right")

    assert not passes(wrong)

    def none(self):
        with self.assertRaisesOpError("any"):
            tf.constant(1)

    assert not passes(none)


def test_threads_that_a_test_started():
    def fails():
        raise ValueError("in the thread")

    def joined(self):
        thread = self.checkedThread(target=fails)
        thread.start()
        with pytest.raises(AssertionError, match="in the thread"):
            thread.join()
        with_arguments = self.checkedThread(dict, args=([],), kwargs={"a": 1})
        with_arguments.start()
        with_arguments.join()
        assert not with_arguments.is_alive()

    assert passes(joined)
    ended = threading.Event()

    def forgotten(self):
        self.checkedThread(target=ended.set).start()
        ended.wait()

    assert not passes(forgotten)


def test_records_beside_their_text():
    def test(self):
        cluster = tf.train.ClusterSpec({"ps": ["a:1"], "worker": {0: "b:1", 2: "b:3"}})
        text = """
            job { name: 'ps' tasks { key: 0 value: 'a:1' } }
            job { name: 'worker' tasks { key: 0 value: 'b:1' } tasks { key: 2 value: 'b:3' } }
        """
        self.assertProtoEquals(text, cluster.as_cluster_def())
        with pytest.raises(AssertionError):
            self.assertProtoEquals(text.replace("b:3", "b:2"), cluster.as_cluster_def())
        queue = tf.FIFOQueue(1, tf.int32, shared_name="shared")
        attr = queue.queue_ref.op.node_def.attr["shared_name"]
        self.assertProtoEquals("s: 'shared'", attr)
        with pytest.raises(ValueError, match="AttrValue has no field 'str'"):
            self.assertProtoEquals("str: 'shared'", attr)
        with pytest.raises(TypeError, match="messages of int"):
            self.assertProtoEquals("s: 'shared'", 3)

    assert passes(test)


def test_operations_beside_their_text():
    def test(self):
        text = """
            name: 'Q' op: 'FIFOQueueV2'
            attr { key: 'component_types' value { list { type: DT_INT32 type: DT_FLOAT } } }
            attr { key: 'shapes' value { list {
                shape { dim { size: 2 } dim { size: 3 } } shape { } } } }
            attr { key: 'capacity' value { i: 5 } }
            attr { key: 'container' value { s: '' } }
            attr { key: 'shared_name' value { s: 'foo' } }
        """
        with tf.device("/cpu:0"):
            queue = tf.FIFOQueue(5, (tf.int32, tf.float32), ([2, 3], []), None, "foo", "Q")
        on_cpu = text + "device: '/device:CPU:0'"
        self.assertProtoEquals(on_cpu, queue.queue_ref.op.node_def)
        for wrong in (text, on_cpu.replace("5", "6"), on_cpu.replace("FLOAT", "DOUBLE")):
            with pytest.raises(AssertionError):
                self.assertProtoEquals(wrong, queue.queue_ref.op.node_def)
        node = tf.tanh(tf.placeholder(tf.float32, name="x"), name="y").op.node_def
        text = "name: 'y' op: 'Tanh' input: 'x' attr { key: 'T' value { type: DT_FLOAT } }"
        self.assertProtoEquals(text, node)
        free = (
            "name: 'x' op: 'Placeholder' attr { key: 'shape' value { shape { unknown_rank: 1 } } }"
        )
        self.assertProtoEquals(free, tf.get_default_graph().get_operation_by_name("x").node_def)

    assert passes(test)


def test_messages_beside_their_text():
    def test(self):
        summary = tf.Summary()
        summary.value.add(tag="loss", simple_value=0.5)
        self.assertProtoEquals("value { tag: 'loss' simple_value: 0.5 }", summary)
        self.assertProtoEquals(tf.Summary.FromString(summary.SerializeToString()), summary)
        tenth = tf.Summary.Value(tag="loss", simple_value=float(np.float32(0.1)))
        self.assertProtoEquals("tag: 'loss' simple_value: 0.1", tenth)
        with self.assertRaises(AssertionError):
            self.assertProtoEquals("tag: 'loss' simple_value: 0.10001", tenth)
        with pytest.raises(AssertionError):
            self.assertProtoEquals("value { tag: 'loss' simple_value: 0.25 }", summary)
        with pytest.raises(AttributeError, match="no field 'valve'"):
            self.assertProtoEquals("valve { tag: 'loss' }", summary)
        with pytest.raises(TypeError):
            self.assertProtoEquals(3, summary)
        config = tf.ConfigProto(allow_soft_placement=True)
        self.assertProtoEquals("allow_soft_placement: true  # a comment", config)

    assert passes(test)


def test_graphs_are_compared_by_node():
    def graph(value, name="c"):
        with tf.Graph().as_default() as made:
            tf.constant(value, name=name)
        return made.as_graph_def()

    tf.test.assert_equal_graph_def(graph(1), graph(1))
    for other in (graph(2), graph(1, "d")):
        with pytest.raises(AssertionError, match="node 'c'"):
            tf.test.assert_equal_graph_def(graph(1), other)
    with pytest.raises(TypeError):
        tf.test.assert_equal_graph_def(graph(1), None)


def test_what_is_written_to_a_stream(capfd):
    def test(self):
        with self.captureWritesToStream(sys.stderr) as captured:
            print("said", file=sys.stderr)
            sys.stderr.flush()
            assert captured.contents() == "said\n"
        folder = self.get_temp_dir()
        assert folder == self.get_temp_dir() and folder.startswith(tf.test.get_temp_dir())

    with capfd.disabled():
        assert passes(test)


def test_attributes_are_replaced_and_put_back():
    class Thing:
        @staticmethod
        def static():
            return 1

        value = 2

    stubs = tf.test.StubOutForTesting()
    stubs.Set(Thing, "value", 3)
    stubs.Set(Thing, "value", 4)
    stubs.SmartSet(Thing(), "static", staticmethod(lambda: 5))
    assert (Thing.value, Thing.static()) == (4, 5)
    with pytest.raises(AttributeError):
        stubs.Set(Thing, "none", 1)
    stubs.CleanUp()
    assert (Thing.value, Thing.static(), Thing().static()) == (2, 1, 1)


def test_devices_of_this_process():
    assert tf.test.gpu_device_name() == ""
    assert not tf.test.is_gpu_available()
    assert not tf.test.is_built_with_cuda()
    assert tf.test.mock is unittest.mock


def test_a_cluster_of_this_process():
    workers, ps = tf.test.create_local_cluster(num_workers=2, num_ps=1)
    with tf.Graph().as_default(), tf.Session(workers[0].target) as sess:
        with tf.device("/job:ps/task:0"):
            v = tf.get_variable("v", initializer=1.0)
        sess.run(v.initializer)
        with tf.Session(workers[1].target) as other:
            assert other.run(v) == 1.0
    assert len(ps) == 1


PROGRAM = """
    import daskvars.v1 as tf

    class Adding(tf.test.TestCase):
        def testAdd(self):
            with self.test_session():
                self.assertAllEqual((tf.constant([1]) + 1).eval(), [{wanted}])

    class Timing(tf.test.Benchmark):
        def benchmarkAdd(self):
            with tf.Graph().as_default(), tf.Session() as sess:
                found = self.run_op_benchmark(sess, tf.constant(1) + 1, min_iters=3, name="adding")
                assert found["iters"] == 3

    if __name__ == "__main__":
        tf.test.main()
"""


@pytest.mark.slow
def test_a_file_of_tests(tmp_path):
    def ran(wanted, *arguments):
        path = tmp_path / "adding_test.py"
        path.write_text(textwrap.dedent(PROGRAM.format(wanted=wanted)))
        return fresh.python(path, *arguments, after=fresh.PACKAGE)

    right = ran(2)
    assert right.status == 0 and "OK" in right.said
    failing = ran(3)
    assert failing.status == 1 and "testAdd" in failing.said
    timed = ran(3, "--benchmarks=Timing")
    assert timed.status == 0 and timed.printed.startswith("adding: iters: 3")


def test_examples_beside_their_text():
    def test(self):
        label = tf.train.Feature(int64_list=tf.train.Int64List(value=[1, 2]))
        example = tf.train.Example(features=tf.train.Features(feature={"label": label}))
        text = "features { feature { key: 'label' value { int64_list { value: [1, 2] } } } }"
        self.assertProtoEquals(text, example)
        with pytest.raises(AssertionError):
            self.assertProtoEquals(text.replace("2", "3"), example)

    assert passes(test)
