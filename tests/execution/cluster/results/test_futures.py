"""Results of `function` on a cluster: sent for at once, fetched when they are looked at."""

import numpy as np
import pytest

import daskvars as dv
from daskvars.errors import InvalidArgumentError
from daskvars.execution.cluster.executor import ClusterExecutor
from daskvars.execution.eager import EAGER_CONTEXT
from daskvars.execution.engine.engine import Engine
from daskvars.execution.local.executor import LocalExecutor

pytestmark = pytest.mark.cluster


@pytest.fixture(params=["told", "fetched"])
def stepping(request, two_workers, monkeypatch):
    """A function that adds its argument to a variable and returns the sum, its engine, gathers.

    A number comes along with the word that its run is finished, an array of 8,000 bytes is fetched.
    """
    shape = () if request.param == "told" else (1000,)
    gathers, gather = [], two_workers.gather

    def counted(futures, *args, **options):
        gathers.append(len(futures))
        return gather(futures, *args, **options)

    with two_workers.as_current():
        engine = Engine()
        monkeypatch.setattr(EAGER_CONTEXT, "program_engine", engine)
        v = dv.Variable(np.zeros(3), name="v")

        @dv.function
        def step(x):
            v.assign_add(dv.check_numerics(x, "x"))
            return dv.reduce_sum(v.read_value()) + dv.zeros(shape, v.dtype)

        step(np.ones(3)).numpy()
        monkeypatch.setattr(two_workers, "gather", counted)
        yield step, engine, gathers
        monkeypatch.undo()
        engine.close()


def test_a_function_follows_a_client_that_comes_later(two_workers, monkeypatch):
    engine = Engine()
    monkeypatch.setattr(EAGER_CONTEXT, "program_engine", engine)
    v = dv.Variable(1.0, name="v")
    add = dv.function(lambda: v.assign_add(1.0))
    assert float(add()) == 2.0
    assert isinstance(engine.acquire(), LocalExecutor)
    with two_workers.as_current():
        found = add()
        assert isinstance(engine.acquire(), ClusterExecutor)
        assert float(found) == float(v) == 3.0
    engine.close()


def number(found):
    """Return the number that a result is, or that all of its elements are."""
    (value,) = set(np.ravel(found.numpy()).tolist())
    return value


def test_results_are_fetched_together_when_looked_at(stepping):
    step, engine, gathers = stepping
    found = [step(np.ones(3)) for _ in range(6)]
    assert not gathers
    is_told = found[0].shape == ()
    assert found[0].shape == (() if is_told else (1000,)) and found[0].dtype == dv.float64
    engine.acquire().sync()
    assert number(found[2]) == 12.0
    assert [number(value) for value in found] == [6.0, 9.0, 12.0, 15.0, 18.0, 21.0]
    assert gathers == ([] if is_told else [6])


def test_a_seal_fetches_what_it_cuts_loose(stepping):
    step, engine, gathers = stepping
    found = step(np.ones(3))
    engine.acquire().seal()
    gathers.clear()
    assert number(found) == 6.0
    assert not gathers


def test_results_survive_a_loss(stepping):
    step, engine, _ = stepping
    engine.acquire().seal()
    found = [step(np.ones(3)) for _ in range(3)]
    engine.acquire().sync()
    references = [r for f in found for r in f._value.results.run.dispatch.fetched_futures()]
    engine.acquire().client.cancel(references, force=True)
    assert [number(value) for value in found] == [6.0, 9.0, 12.0]
    assert number(step(np.ones(3))) == 15.0


def test_results_of_a_failed_run_and_those_after_it_raise(stepping):
    step, engine, _ = stepping
    good, bad, after = step(np.ones(3)), step(np.full(3, np.nan)), None
    with pytest.raises(InvalidArgumentError, match="NaN"):
        after = [step(np.ones(3)) for _ in range(40)][-1]
        engine.acquire().sync()
    assert number(good) == 6.0
    for lost in [bad] if after is None else [bad, after]:
        with pytest.raises(InvalidArgumentError, match=r"NaN.*in run \d+"):
            lost.numpy()
    assert number(step(np.ones(3))) == 9.0
