"""State on object storage: a local S3 server, obstore's memory."""

import urllib.request

import numpy as np
import pytest
import zarr
from zarr.storage import ObjectStore

import daskvars.v1 as tf
from daskvars.__main__ import main
from daskvars.state import NO_VERSION, ConflictError, ZarrStore, checkpoint
from daskvars.state.format.manifest import VariableRecord
from daskvars.state.values import forget_values
from tests.at_once import at_once

pytestmark = pytest.mark.slow  # they start a server

obstore = pytest.importorskip("obstore")

RECORD = VariableRecord("a/b", "float32", (4,), ((2, 2),))
BLOCKS = {(0,): np.float32([1, 2]), (1,): np.float32([3, 4])}


@pytest.fixture(scope="module")
def server():
    """The address of an S3 server in this process."""
    moto = pytest.importorskip("moto.server")  # which takes long
    running = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    host, port = running.get_host_and_port()
    yield f"http://{host}:{port}"
    running.stop()


@pytest.fixture
def bucket(server, monkeypatch, request):
    """The URL of a bucket of its own for each test."""
    name = f"bucket-{abs(hash(request.node.name)) % 10**9}"
    for key, value in {
        "AWS_ACCESS_KEY_ID": "x",
        "AWS_SECRET_ACCESS_KEY": "y",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": server,
        "AWS_ALLOW_HTTP": "true",
        "NO_PROXY": "127.0.0.1",
    }.items():
        monkeypatch.setenv(key, value)
    urllib.request.urlopen(urllib.request.Request(f"{server}/{name}", method="PUT")).close()
    return f"s3://{name}"


def test_a_saver_saves_to_a_url_and_any_tool_reads_it(bucket, capsys):
    with tf.Graph().as_default(), tf.Session() as sess:
        v = tf.get_variable("w", initializer=np.arange(6.0), chunks=(4,))
        slot = tf.get_variable("w/Adam", initializer=np.ones(2))
        saver = tf.train.Saver(max_to_keep=1)
        sess.run(tf.global_variables_initializer())
        first = saver.save(sess, f"{bucket}/run/m", global_step=1)
        second = saver.save_async(sess, f"{bucket}/run/m", global_step=2).result(60)
        sess.run([v.assign(v * 0.0), slot.assign(slot * 0.0)])
        saver.restore(sess, tf.train.latest_checkpoint(f"{bucket}/run"))
        np.testing.assert_array_equal(sess.run(v), np.arange(6.0))
        with pytest.raises(ValueError, match="not a valid checkpoint"):
            saver.restore(sess, first)
    assert second == f"{bucket}/run/m-2"
    group = zarr.open_group(ObjectStore(obstore.store.from_url(second), read_only=True), mode="r")
    np.testing.assert_array_equal(group["w"][:], np.arange(6.0))
    assert main(["verify", second]) == 0
    assert main(["inspect", second]) == 0
    assert main(["diff", second, second]) == 0
    assert "w/Adam" in capsys.readouterr().out


def test_a_damaged_object_is_found(bucket, capsys):
    checkpoint.save({"a/b": (RECORD, BLOCKS)}, f"{bucket}/m")
    store = obstore.store.from_url(f"{bucket}/m")
    data = bytearray(obstore.get(store, "a/b/c.1").bytes())
    data[0] ^= 1
    obstore.put(store, "a/b/c.1", bytes(data))
    assert main(["verify", f"{bucket}/m"]) == 1
    assert "a/b" in capsys.readouterr().out


def test_a_session_keeps_its_variables_in_a_bucket(bucket):
    for number in (1, 2, 3):
        with tf.Graph().as_default(), tf.Session(store=f"{bucket}/state") as sess:
            v = tf.get_variable("count", initializer=0)
            if number == 1:
                sess.run(v.initializer)
            assert sess.run(v.assign_add(1)) == number
        forget_values(f"{bucket}/state")  # as another process would


@pytest.fixture(params=["s3", "memory"])
def place(request):
    """Gives stores at one place, each as another process would have it."""
    if request.param == "memory":
        shared = obstore.store.MemoryStore()
        return lambda: ZarrStore(ObjectStore(shared))
    url = request.getfixturevalue("bucket")
    return lambda: ZarrStore(f"{url}/store")


def written(store, base=None):
    writer = store.begin([RECORD], base=base)
    writer.write_values({"a/b": BLOCKS})
    return writer


def test_of_two_writers_on_one_version_one_commits(place):
    one, other = place(), place()
    first = written(one).commit()
    writers = [written(one, first.id), written(other, first.id)]
    assert len({writer.version for writer in writers}) == 2
    head = writers[1].commit()
    with pytest.raises(ConflictError):
        writers[0].commit()
    assert one.head().version == other.head().version == head.version
    assert one.snapshots() == (first.version, head.version)
    again = written(one, head.id).commit()
    assert again.version > max(writer.version for writer in writers)
    np.testing.assert_array_equal(other.read_values(again.version)["a/b"][1,], BLOCKS[1,])


def test_a_writer_that_died_blocks_nobody(place):
    dead = written(place())
    head = written(place()).commit()
    assert place().head().version == head.version
    with pytest.raises(ConflictError):
        dead.commit()
    assert place().snapshots() == (head.version,)


def test_a_fenced_writer_cannot_commit_even_if_nobody_has(place):
    writer, store = written(place()), place()
    assert store.fence(own=-1) == [writer.version]
    with pytest.raises(ConflictError):
        writer.commit()
    assert store.head() is None


def test_writers_at_once_make_a_chain(place):
    bases = []

    def commit_some():
        store, done = place(), 0
        while done < 3:
            head = store.head()
            base = head.id if head else NO_VERSION
            try:
                written(store, base).commit()
            except ConflictError:
                continue
            bases.append(base)
            done += 1

    at_once(commit_some, commit_some)
    assert len(set(bases)) == len(bases) == 6  # no version has two successors
