"""Workers are killed or retired while a network trains: the bits stay what they were.

`benchmarks/worker_loss.py` has the program and does more of this, longer.
"""

import contextlib
import importlib
import random
from pathlib import Path

import numpy as np
import pytest

import daskvars.v1 as tf
from daskvars.errors import UnavailableError
from daskvars.execution.cluster.errors import LostError
from daskvars.execution.cluster.executor import ClusterExecutor
from daskvars.execution.cluster.results.remote_blocks import remote_blocks
from daskvars.execution.cluster.runs.bound_plan import Dispatch
from daskvars.execution.engine import events
from tests import clusters

pytestmark = pytest.mark.cluster

BENCHMARKS = Path(__file__).parents[4] / "benchmarks"
STEPS = 36
TRIALS = [("two kills", "step"), ("replace", "seal"), ("retire", "save")]


@pytest.fixture(scope="module")
def benchmark():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        yield importlib.import_module("worker_loss")


@pytest.fixture(scope="module")
def workers(benchmark):
    found = benchmark.Workers(nannies=False)
    yield found
    found.close()


@pytest.fixture(scope="module")
def undisturbed(benchmark):
    return benchmark.undisturbed(STEPS)


@pytest.mark.parametrize(("happening", "moment"), TRIALS)
def test_training_survives(benchmark, workers, undisturbed, happening, moment):
    trial = benchmark.Trial(happening, moment, random.Random(3), STEPS)
    found, heard = benchmark.disturbed(workers, trial)
    again = benchmark.repeats(heard)
    assert not benchmark.same(found, undisturbed)
    assert again.are_bounded
    assert not (happening == "retire" and again.told)


def test_the_checkers_notice(benchmark, undisturbed):
    changed = dict(undisturbed, second=undisturbed["second"] + 1)
    del changed["losses"]
    assert benchmark.same(changed, undisturbed) == ["losses", "second"]
    told = [events.Sealed("", 1, 0, 0.0), events.RunFinished(None, 2, 0.0)]
    assert benchmark.repeats([*told, events.RunsRepeated(2)]).are_bounded
    assert not benchmark.repeats([*told, events.RunsRepeated(3)]).are_bounded


# -- what Dask alone cannot compute again -----------------------------------------------------


@contextlib.contextmanager
def counted(client):
    """Give a session that sealed v = 0 and then added one to it three times, and its step."""
    with client.as_current(), tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable(np.zeros(4), name="v")
        add = tf.group(v.assign_add(np.ones(4)))
        session.run(tf.global_variables_initializer())
        session.engine.acquire().seal()
        for _ in range(3):
            session.run(add)
        yield session, v, add


@pytest.fixture
def counting(two_workers):
    with counted(two_workers) as found:
        yield found


def lose(session):
    """Take away what the variables' present values are made of."""
    executor = session.engine.acquire()
    blocks = remote_blocks(executor.read(["v"]))
    executor.client.cancel([b.reference.future for b in blocks], force=True)


def test_runs_are_sent_again_and_told(counting):
    session, v, add = counting
    found = []
    lose(session)
    with events.subscribed(found.append):
        assert session.run(v)[0] == 3.0
    repeated = [event for event in found if isinstance(event, events.RunsRepeated)]
    assert repeated == [events.RunsRepeated(3)]
    lose(session)
    session.run(add)
    assert session.run(v)[0] == 4.0


@pytest.mark.parametrize("how", ["at once", "in the background"])
def test_a_checkpoint_holds_what_had_to_be_computed_again(counting, tmp_path, how):
    session, v, add = counting
    saver, where = tf.train.Saver([v]), str(tmp_path / "model")
    lose(session)
    at_once = how == "at once"
    path = saver.save(session, where) if at_once else saver.save_async(session, where).result()
    session.run(add)
    saver.restore(session, path)
    assert session.run(v)[0] == 3.0


def test_values_come_home_that_had_to_be_computed_again(two_workers):
    with (
        clusters.connected(two_workers.cluster) as client,
        counted(client) as (session, v, _),
    ):
        lose(session)
        client.close()
        assert session.run(v)[0] == 3.0


def test_a_seal_computes_again_what_it_writes(counting):
    session, v, _ = counting
    lose(session)
    session.engine.acquire().seal()
    lose(session)
    assert session.run(v)[0] == 3.0


def test_more_may_be_lost_while_runs_are_sent_again(counting, monkeypatch):
    session, v, _ = counting
    lose(session)
    send, calls = Dispatch.send, []

    def lossy(self):
        calls.append(self)
        if len(calls) in (2, 4):
            raise LostError(None, None, "lost again")
        return send(self)

    monkeypatch.setattr(Dispatch, "send", lossy)
    assert session.run(v)[0] == 3.0
    assert len(calls) > 4


def test_a_recovery_that_fails_is_done_again_by_the_next_call(counting, monkeypatch):
    session, v, _ = counting
    lose(session)
    with monkeypatch.context() as patch:
        patch.setattr(Dispatch, "send", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            session.run(v)
    assert session.run(v)[0] == 3.0


def test_losses_without_end_are_an_error(counting, monkeypatch):
    session, v, _ = counting
    lose(session)
    rewind = ClusterExecutor.rewind

    def rewind_and_lose(executor):
        found = rewind(executor)
        held = executor.call_scheduler("pin", name=executor.name, client=executor.client.id)
        blocks = executor.pinned(held)["v"].values()
        executor.client.cancel([b.reference.future for b in blocks], force=True)
        return found

    with monkeypatch.context() as patch:
        patch.setattr(ClusterExecutor, "rewind", rewind_and_lose)
        with pytest.raises(UnavailableError, match=r"v cannot be rebuilt.*durable version is \d+"):
            session.run(v)
    assert session.run(v)[0] == 3.0


@pytest.mark.parametrize("what", ["seal", "checkpoint"])
def test_what_cannot_be_written_is_named(counting, tmp_path, what):
    session, v, _ = counting
    executor = session.engine.acquire()
    lose(session)
    executor.in_flight.lost_runs.discard_log()
    with pytest.raises(UnavailableError, match=rf"a {what}.*v cannot be rebuilt.*recover\(\)"):
        if what == "seal":
            executor.seal()
        else:
            tf.train.Saver([v]).save(session, str(tmp_path / "model"))
    session.recover()
    assert session.run(v)[0] == 0.0
