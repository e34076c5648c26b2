"""Device specifications, device blocks and colocation; what is expected is TensorFlow's answer."""

import pytest

import daskvars.v1 as tf

pytestmark = pytest.mark.usefixtures("graph")


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("", ""),
        ("/job:foo/replica:0", "/job:foo/replica:0"),
        ("/replica:1/task:0/cpu:0", "/replica:1/task:0/device:CPU:0"),
        ("/device:GPU:2/task:0/replica:0/job:foo", "/job:foo/replica:0/task:0/device:GPU:2"),
        ("/gpu:*", "/device:GPU:*"),
        ("CPU", "/device:CPU:*"),
        ("/device:MyFunnyDevice:2", "/device:MyFunnyDevice:2"),
    ],
)
def test_a_device_string_has_one_form(text, canonical):
    assert tf.DeviceSpec.from_string(text).to_string() == canonical
    assert tf.DeviceSpec(job="x", task=3).parse_from_string(text).to_string() == canonical


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("/job:muu/device:GPU:2/cpu:0", "Cannot specify multiple device"),
        ("/job:j/replica:foo", "invalid literal for int"),
        ("/job:j/task:bar", "invalid literal for int"),
        ("/bar:muu/baz:2", "Unknown attribute: 'bar'"),
        ("/device:GPU", "Unknown attribute: 'device'"),
    ],
)
def test_a_bad_device_string_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        tf.DeviceSpec.from_string(text)
    with pytest.raises(ValueError, match=message), tf.device(text):
        pass


def test_a_spec_may_be_changed_in_place():
    spec = tf.DeviceSpec(job="foo", task="3", device_type="gpu")
    assert spec.to_string() == "/job:foo/task:3/device:GPU:*"
    spec.task, spec.replica, spec.device_index = None, 12, 2
    assert spec.to_string() == "/job:foo/replica:12/device:GPU:2"
    spec.merge_from(tf.DeviceSpec.from_string("/task:1/cpu:0"))
    assert spec.to_string() == "/job:foo/replica:12/task:1/device:CPU:0"
    with pytest.raises(AttributeError):
        spec.jobb = "foo"


def test_specs_merge_replace_and_compare():
    first = tf.DeviceSpec(job="ps", device_type="CPU")
    merged = first.make_merged_spec(tf.DeviceSpec(device_type="GPU", device_index=1))
    assert merged == tf.DeviceSpec.from_string("/job:ps/gpu:1")
    assert hash(merged) == hash(tf.DeviceSpec.from_string("/job:ps/gpu:1"))
    assert first.to_string() == "/job:ps/device:CPU:*"
    assert first.replace(device_type=None, task=0).to_string() == "/job:ps/task:0"


def test_a_spec_changed_inside_its_block_does_not_move_ops():
    spec = tf.DeviceSpec(job="a")
    with tf.device(spec):
        spec.job = "b"
        assert tf.constant(1).device == "/job:a"


def test_device_blocks_merge_field_by_field():
    with tf.device("/job:worker/gpu:0"), tf.device("/task:2/cpu:1"):
        assert tf.constant(1).device == "/job:worker/task:2/device:CPU:1"
        with tf.device(None):
            assert tf.constant(1).device == ""


def test_device_functions_are_asked_from_the_inside_out():
    seen = []

    def outer(op):
        seen.append((op.type, op.device))
        return op.device or "/cpu:0"

    with tf.device(outer):
        assert tf.constant(1).device == "/device:CPU:0"
        with tf.device("/gpu:3"):
            assert tf.constant(1).device == "/device:GPU:3"
        with tf.device(lambda op: "/gpu:1"), tf.device(None):
            tf.constant(1)
    assert seen == [("Const", ""), ("Const", "/device:GPU:3")]


def test_a_device_function_must_return_a_device():
    with tf.device(lambda op: None), pytest.raises(TypeError, match="returned None"):
        tf.constant(1)


def test_colocation_wins_over_devices_and_nests():
    with tf.device("/job:a"):
        a = tf.constant(1)
    with tf.device("/job:b"):
        b = tf.constant(1, name="b")
    c = tf.constant(1, name="c")

    def made():
        op = tf.constant(2).op
        return op.device, op.colocation_groups()

    with tf.device("/gpu:3"), tf.colocate_with(a):
        assert made() == ("/job:a", [b"loc:@Const"])
        with tf.device("/cpu:2"):
            assert made()[0] == "/job:a"
        with tf.device(None):
            assert made() == ("/job:a", [b"loc:@Const"])
        with tf.colocate_with(b):
            assert made() == ("/job:b", [b"loc:@Const", b"loc:@b"])
        with tf.colocate_with(c):
            assert made() == ("/job:a", [b"loc:@Const", b"loc:@c"])
        with tf.colocate_with(c, ignore_existing=True):
            assert made() == ("", [b"loc:@c"])
            with tf.device("/gpu:7"):
                assert made() == ("/device:GPU:7", [b"loc:@c"])
        with tf.colocate_with(None, ignore_existing=True):
            assert made()[0] == ""
    with pytest.raises(ValueError, match="ignore_existing"), tf.colocate_with(None):
        pass


def test_what_belongs_to_a_variable_is_where_it_is():
    with tf.device("/job:ps/task:1"):
        v = tf.get_variable("v", [2])
    with tf.device("/job:worker"):
        ops = [v.assign([1.0, 2.0]).op, v.assign_add([1.0, 1.0]).op, v.initializer]
        w = v + 1.0
        optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
        optimizer.minimize(tf.reduce_sum(v * v))
    assert {op.device for op in ops} == {"/job:ps/task:1"}
    assert all(op.colocation_groups() == [b"loc:@v"] for op in ops)
    assert w.device == "/job:worker"
    assert optimizer.get_slot(v, "momentum").device == "/job:ps/task:1"


@pytest.mark.parametrize("colocate", [False, True])
def test_gradients_stand_by_their_ops_on_request(colocate):
    with tf.device("/gpu:1"):
        x = tf.constant([[1.0]])
        y = tf.matmul(x, x)
    (dx,) = tf.gradients(y, x, colocate_gradients_with_ops=colocate)
    matmuls = [op for op in dx.graph.get_operations() if op.type == "MatMul" and op is not y.op]
    groups = {tuple(op.colocation_groups()) for op in matmuls}
    assert (groups == {(b"loc:@MatMul",)}) is colocate
    assert not colocate or {op.device for op in matmuls} == {"/device:GPU:1"}


def test_a_variable_knows_its_container():
    with tf.container("outer"):
        v = tf.get_variable("v", [1])
        with tf.container("inner"):
            w = tf.Variable(1.0)
    names = [x.op.get_attr("container") for x in (v, w, tf.Variable(1.0))]
    assert names == [b"outer", b"inner", b""]


def test_a_colocation_with_what_is_no_operation_leaves_nothing_behind():
    with pytest.raises(AttributeError), tf.colocate_with(3):
        pass
    with tf.colocate_with(tf.constant(1.0, name="here")):
        assert tf.constant(2.0).op.colocation_groups() == [b"loc:@here"]


def test_what_is_on_several_devices_is_grouped_on_each():
    with tf.device("/task:0"):
        a, b = tf.constant(0, name="a"), tf.constant(0, name="b")
    with tf.device("/task:1"):
        c = tf.constant(0, name="c")
    together = tf.group(a, b, name="together")
    with tf.device("/task:2"):
        apart = tf.group(c, a, [b], name="apart")
    assert (together.device, apart.device) == ("/task:0", "/task:2")
    assert [(op.name, op.device) for op in apart.control_inputs] == [
        ("apart/NoOp", "/task:0"),
        ("apart/NoOp_1", "/task:1"),
    ]
    assert [op.name for op in apart.control_inputs[0].control_inputs] == ["a", "b"]
