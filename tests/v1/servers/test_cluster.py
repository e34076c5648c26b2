"""ClusterSpec, Server and replica_device_setter; what is expected is TensorFlow's answer."""

import socket

import pytest

import daskvars.v1 as tf
from tests import fresh

CLUSTER = {
    "ps": ["ps0:2222", "ps1:2222"],
    "worker": ["worker0:2222", "worker1:2222", "worker2:2222"],
    "sparse": {0: "sparse0:2222", 3: "sparse3:2222"},
}


# -- ClusterSpec


@pytest.mark.parametrize(
    "same",
    [dict, tf.train.ClusterSpec, lambda c: tf.train.ClusterSpec(c).as_cluster_def()],
    ids=["dict", "spec", "def"],
)
def test_a_cluster_has_jobs_and_tasks(same):
    cluster = tf.train.ClusterSpec(same(CLUSTER))
    assert cluster.as_dict() == CLUSTER and cluster == tf.train.ClusterSpec(CLUSTER)
    assert sorted(cluster.jobs) == ["ps", "sparse", "worker"]
    assert [cluster.num_tasks(job) for job in ("ps", "worker", "sparse")] == [2, 3, 2]
    assert cluster.task_indices("sparse") == [0, 3]
    assert cluster.task_address("sparse", 3) == "sparse3:2222"
    assert cluster.job_tasks("sparse") == ["sparse0:2222", None, None, "sparse3:2222"]


def test_a_cluster_as_text_and_as_data():
    cluster = tf.train.ClusterSpec({"worker": [b"w:1"], "ps": {0: "p:2"}})
    assert str(cluster) == "ClusterSpec({'ps': ['p:2'], 'worker': ['w:1']})"
    assert [(job.name, job.tasks) for job in cluster.as_cluster_def().job] == [
        ("ps", {0: "p:2"}),
        ("worker", {0: "w:1"}),
    ]
    assert not tf.train.ClusterSpec({}) and cluster
    assert cluster != tf.train.ClusterSpec({"worker": ["w:1"]})
    assert tf.train.ClusterSpec({"a": []}).as_dict() == {"a": {}}


@pytest.mark.parametrize("wrong", [3, {"a": "x:1"}, {"a": [3]}, {3: ["x:1"]}, ["x:1"]])
def test_what_is_no_cluster(wrong):
    with pytest.raises(TypeError):
        tf.train.ClusterSpec(wrong)


@pytest.mark.parametrize(
    "ask",
    [
        lambda c: c.num_tasks("unknown"),
        lambda c: c.task_indices("unknown"),
        lambda c: c.task_address("unknown", 0),
        lambda c: c.task_address("sparse", 2),
        lambda c: c.job_tasks("unknown"),
    ],
)
def test_what_a_cluster_lacks(ask):
    with pytest.raises(ValueError, match=r"No (such job|task with index)"):
        ask(tf.train.ClusterSpec(CLUSTER))


# -- replica_device_setter


def devices(*variables):
    return [v.device for v in variables] + [v.initializer.device for v in variables]


@pytest.mark.parametrize(
    "form",
    [dict, tf.train.ClusterSpec, lambda c: tf.train.ClusterSpec(c).as_cluster_def()],
    ids=["dict", "spec", "def"],
)
def test_variables_go_round_the_parameter_servers(graph, form):
    with tf.device(tf.train.replica_device_setter(cluster=form(CLUSTER))):
        v, w, u = tf.Variable([1, 2]), tf.get_variable("w", [2]), tf.Variable([2, 1])
        a = v + u
    assert devices(v, w, u) == ["/job:ps/task:0", "/job:ps/task:1", "/job:ps/task:0"] * 2
    assert a.device == "/job:worker"


def test_inner_blocks_merge(graph):
    with tf.device(tf.train.replica_device_setter(cluster=CLUSTER)):
        with tf.device("/cpu:0"):
            v = tf.Variable([1, 2])
        with tf.device("/job:moon"):
            w = tf.Variable([2, 1])
            with tf.device("/job:ps"):
                x = tf.Variable([0, 1])
        with tf.device("/cpu:0"):
            a = v + x
    assert devices(v) == ["/job:ps/task:0/device:CPU:0"] * 2
    assert devices(w, x) == ["/job:moon", "/job:ps/task:1"] * 2
    assert a.device == "/job:worker/device:CPU:0"


def test_without_merging_a_device_stays_as_it_is(graph):
    with pytest.warns(DeprecationWarning, match="merge_devices"):
        setter = tf.train.replica_device_setter(cluster=CLUSTER, merge_devices=False)
    with tf.device(setter):
        v = tf.Variable([1, 2])
        with tf.device("/job:ps"):
            w = tf.Variable([2, 1])
    assert devices(v, w) == ["/job:ps/task:0", "/job:ps"] * 2


@pytest.mark.parametrize(
    ("options", "variable", "other"),
    [
        ({"ps_tasks": 1, "ps_device": "/cpu:0"}, "/device:CPU:0", "/job:worker"),
        (
            {"ps_tasks": 1, "worker_device": "/job:worker/task:3"},
            "/job:ps/task:0",
            "/job:worker/task:3",
        ),
        (
            {"cluster": {"moon": ["m:1"]}, "ps_device": "/job:moon/cpu:0", "worker_device": ""},
            "/job:moon/task:0/device:CPU:0",
            "",
        ),
        ({"ps_tasks": 1, "ps_ops": ["Const"]}, "/job:worker", "/job:ps/task:0"),
        ({"ps_tasks": 8, "ps_strategy": lambda op: 5}, "/job:ps/task:5", "/job:worker"),
    ],
)
def test_devices_and_strategies(graph, options, variable, other):
    with tf.device(tf.train.replica_device_setter(**options)):
        c = tf.constant(1.0)
        v = tf.get_variable("v", [2])
    assert (v.device, c.device) == (variable, other)


def test_without_parameter_servers_there_is_no_function():
    assert tf.train.replica_device_setter() is None
    assert tf.train.replica_device_setter(cluster={"worker": ["w:1"]}) is None
    with pytest.raises(TypeError, match="callable"):
        tf.train.replica_device_setter(ps_tasks=1, ps_strategy=3)


def test_bytes_are_balanced(graph):
    balance = tf.train.GreedyLoadBalancingStrategy(2, tf.train.byte_size_load_fn)
    with tf.device(tf.train.replica_device_setter(ps_tasks=2, ps_strategy=balance)):
        sizes = [(100, tf.float32), (30, tf.float64), (30, tf.float32), (10, tf.int8)]
        made = [tf.get_variable(f"v{i}", [n], d) for i, (n, d) in enumerate(sizes)]
    tasks = [v.device[-1] for v in made]
    assert tasks == ["0", "1", "1", "1"]  # 400 bytes against 240, then 360


@pytest.mark.parametrize("shape", [None, [None]])
def test_a_size_must_be_known_to_be_balanced(graph, shape):
    with pytest.raises(ValueError, match="not fully known"):
        tf.train.byte_size_load_fn(tf.placeholder(tf.float32, shape, name="p").op)


# -- Server


def test_sessions_on_a_server_share_variables_between_graphs():
    server, other = (tf.train.Server.create_local_server() for _ in range(2))
    graphs = [tf.Graph(), tf.Graph()]
    variables = []
    for graph in graphs:
        with graph.as_default():
            variables.append(tf.get_variable("v", [2], initializer=tf.ones_initializer()))
    first, second = (tf.Session(server.target, graph=graph) for graph in graphs)
    first.run(variables[0].initializer)
    assert second.run(variables[1]).tolist() == [1.0, 1.0]
    first.close()
    with tf.Session(server.target, graph=graphs[0]) as third:
        assert third.run(variables[0]).tolist() == [1.0, 1.0]
    apart = tf.Session(other.target, graph=graphs[0])
    with apart, pytest.raises(tf.errors.FailedPreconditionError):
        apart.run(variables[0])


def test_servers_of_one_cluster_share_variables(graph):
    ports = [tf.train.Server({"a": ["localhost:0"]}).target.rpartition(":")[2] for _ in range(2)]
    addresses = [
        f"host:{int(port) + 10_000 if int(port) < 50_000 else int(port) - 20_000}" for port in ports
    ]
    cluster = {"ps": addresses[:1], "worker": addresses[1:]}
    ps, worker = tf.train.Server(cluster, "ps", 0), tf.train.Server(cluster, "worker")
    v = tf.get_variable("v", [], initializer=tf.ones_initializer())
    with tf.Session(ps.target) as sess:
        sess.run(v.initializer)
    with tf.Session(f"grpc://{addresses[1]}") as sess:
        assert sess.run(v) == 1.0
    assert ps.target != worker.target


def test_a_server_starts_when_told(graph):
    server = tf.train.Server({"local": ["localhost:0"]}, start=False)
    with pytest.raises(tf.errors.UnavailableError, match="no server at"):
        tf.Session(server.target)
    server.start()
    tf.Session(server.target).close()


def test_a_server_says_what_it_is():
    config = object()
    server = tf.train.Server.create_local_server(config=config, start=False)
    found = server.server_def
    assert (found.job_name, found.task_index, found.protocol) == ("localhost", 0, "grpc")
    assert found.default_session_config is config
    assert server.target.startswith("grpc://localhost:")
    again = tf.train.ServerDef(
        cluster=tf.train.ClusterSpec({"a": ["x:0", "x:0"]}).as_cluster_def(),
        job_name="a",
        task_index=0,
        protocol="grpc",
    )
    assert tf.train.Server(again, task_index=1, start=False).server_def.task_index == 1
    assert again.task_index == 0


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((3,), TypeError, "Could not convert"),
        (({"a": ["x:1"], "b": ["y:2"]},), ValueError, "job_name"),
        (({"a": ["localhost:0", "y:2"]},), ValueError, "task_index"),
        (({"a": ["localhost"]},), tf.errors.InvalidArgumentError, "port"),
        (({"a": ["localhost:0"]}, "b", 0), tf.errors.InternalError, "not defined in cluster"),
        (({"a": ["localhost:0"]}, "a", 5), tf.errors.InternalError, "not defined in job"),
        (({"a": ["localhost:0"]}, None, None, "smoke"), tf.errors.NotFoundError, "smoke"),
    ],
)
def test_what_is_no_server(arguments, error, message):
    with pytest.raises(error, match=message):
        tf.train.Server(*arguments)


def test_an_address_is_taken_once():
    server = tf.train.Server.create_local_server()
    with pytest.raises(tf.errors.UnknownError, match="Could not start"):
        tf.train.Server({"local_2": [server.target.removeprefix("grpc://")]})


def test_an_address_is_taken_again_after_the_program_that_had_it():
    """As by TensorFlow's servers: its connections are remembered for a minute."""
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as all servers have it
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        port = listening.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as client:
            accepted, _ = listening.accept()
            accepted.close()  # first, so that it is the port of the server that is remembered
            assert client.recv(1) == b""
    assert tf.train.Server({"local_2": [f"localhost:{port}"]}).target.endswith(f":{port}")
    with pytest.raises(tf.errors.UnknownError, match="Could not start"), socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        tf.train.Server({"local_2": [f"localhost:{other.getsockname()[1]}"]})


@pytest.mark.slow
def test_join_waits_for_ever():
    program = (
        "import threading, daskvars.v1 as tf\n"
        "t = threading.Thread(target=tf.train.Server.create_local_server().join, daemon=True)\n"
        "t.start(); t.join(0.2); print(t.is_alive())"
    )
    assert fresh.printed("-c", program, after=fresh.PACKAGE) == "True\n"
