"""Bars of progress: tqdm's where somebody looks, nothing elsewhere."""

import io
import logging
import sys
from pathlib import Path

import numpy as np
import pytest

import daskvars as dv
from daskvars import config
from daskvars.execution.eager import EAGER_CONTEXT
from daskvars.surface import progress_bars
from daskvars.surface.progress_bars import Progress, in_notebook, is_shown, long_work
from tests import clusters, fresh
from tests.at_once import at_once


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    """What a terminal would show of the bars; pytest has standard error for itself."""
    pytest.importorskip("tqdm")
    screen, new_bar = Terminal(), progress_bars._new_bar
    monkeypatch.setattr(progress_bars, "_is_terminal", lambda: True)
    monkeypatch.setattr(
        progress_bars, "_new_bar", lambda **o: new_bar(file=screen, mininterval=0, miniters=1, **o)
    )
    monkeypatch.setattr(progress_bars, "DELAY_S", 0)
    return screen


def test_a_loop_is_counted_and_its_fields_are_shown(terminal):
    bar = dv.progress(range(3), desc="training")
    seen = []
    for step in bar:
        bar.set(loss=dv.constant(0.5) * step, phase="warm", step=step)
        seen.append(step)
    assert seen == [0, 1, 2] and len(bar) == 3
    last = terminal.getvalue().strip().rpartition("\r")[2]
    assert last.startswith("training: 100%") and "3/3" in last
    assert "loss=1, phase=warm, step=2" in last


def test_standard_error_decides(monkeypatch):
    pytest.importorskip("tqdm")
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    assert is_shown() and list(dv.progress(range(2))) == [0, 1]
    assert "2/2" in screen.getvalue()
    monkeypatch.setattr(sys, "stderr", None)  # as under pythonw
    assert not is_shown()


def test_what_has_no_length(terminal):
    bar = dv.progress(iter("abc"), unit="letter")
    assert list(bar) == ["a", "b", "c"]
    assert "3letter" in terminal.getvalue()
    with pytest.raises(TypeError, match="no length"):
        len(bar)
    with pytest.raises(TypeError, match="progress\\(\\) of nothing"):
        iter(dv.progress()).__next__()


@pytest.mark.parametrize("arguments", [{"iterable": 5}, {"total": "3"}, {"total": [1]}])
def test_what_is_not_iterated_or_counted_is_refused_at_once(arguments):
    with pytest.raises(TypeError, match=r"progress\(.*got "):
        dv.progress(**arguments)


def test_counting_by_hand(terminal):
    with dv.progress(total=10) as bar:
        bar.update(4)
        bar.set(lr=1e-3)
    assert "4/10" in terminal.getvalue() and "lr=0.001" in terminal.getvalue()


def test_a_loop_that_fails_or_is_left_ends_its_bar(terminal):
    bar = dv.progress(range(3))
    with pytest.raises(ZeroDivisionError):
        for step in bar:
            bar.set(loss=step)
            1 / step
    for _ in dv.progress(range(3)):
        break
    assert terminal.getvalue().count("0/3") >= 2


def test_nobody_looks(capsys, monkeypatch):
    """Standard error is no terminal: nothing is printed, and a loss is not waited for."""
    monkeypatch.setattr(progress_bars, "_new_bar", None)
    loss = dv.ones([3]) * 2.0
    with monkeypatch.context() as patch:
        patch.setattr(EAGER_CONTEXT, "compute", None)
        bar = dv.progress(range(3))
        for _ in bar:
            bar.set(loss=loss)
        bar.update()
    dv.sync()
    assert capsys.readouterr() == ("", "")


def test_the_configuration_says_no(terminal):
    with config.set(progress=False):
        assert not is_shown()
        assert list(dv.progress(range(2))) == [0, 1]
    assert terminal.getvalue() == "" and is_shown()


def test_without_tqdm_the_log_says_so_once(terminal, monkeypatch, caplog):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    progress_bars._tell_once.cache_clear()
    with caplog.at_level(logging.WARNING, "daskvars"):
        assert list(dv.progress(range(2))) == [0, 1] == list(dv.progress(range(2)))
    (record,) = caplog.records
    assert "pip install 'daskvars[progress]'" in record.getMessage()


def test_a_notebook_has_bars_though_it_is_no_terminal(monkeypatch):
    pytest.importorskip("tqdm")
    assert not in_notebook()
    stream = type("OutStream", (io.StringIO,), {"__module__": "ipykernel.iostream"})
    monkeypatch.setattr(sys, "stdout", stream())
    screen = io.StringIO()
    monkeypatch.setattr(sys, "stderr", screen)
    assert in_notebook() and is_shown()
    assert list(dv.progress(range(2))) == [0, 1]
    assert "2/2" in screen.getvalue() + sys.stdout.getvalue()


@pytest.mark.slow
def test_tqdm_is_imported_for_bars_only():
    code = "import sys, daskvars as dv; list(dv.progress(range(2))); print('tqdm' in sys.modules)"
    assert fresh.python("-c", code) == (0, "False\n", "")


def test_long_work_counts_from_many_threads(terminal):
    with long_work("save", 400) as advance:
        at_once(*[lambda: [advance() for _ in range(100)]] * 4)
    assert "save: 100%" in terminal.getvalue() and "400/400" in terminal.getvalue()


def test_short_work_shows_nothing(terminal, monkeypatch):
    monkeypatch.setattr(progress_bars, "DELAY_S", 60)
    with long_work("save", 3) as advance:
        advance()
    assert terminal.getvalue().strip() == ""


def save_and_restore(place):
    with dv.Graph().as_default(), dv.Session() as session:
        v = dv.get_variable("v", [8, 4], initializer=dv.ones_initializer(), chunks=(2, 4))
        session.run(v.initializer)
        saver = dv.train.Saver()
        path = saver.save(session, str(place / "model"))
        session.run(v.assign(np.zeros((8, 4))))
        saver.restore(session, path)
        assert session.run(v).sum() == 32


def test_saving_restoring_and_initializing(terminal, tmp_path):
    save_and_restore(tmp_path)
    shown = terminal.getvalue()
    for what in ("initialize", "save", "restore"):
        assert f"{what}: " in shown
    assert "4/4" in shown


def test_in_the_background_nothing_is_shown(terminal, tmp_path):
    v = dv.Variable(np.ones((8, 4)), chunks=(2, 4), name="bars_background")
    dv.sync()
    pending = dv.train.Saver([v]).save_async(None, str(tmp_path / "model"))
    path = pending.result()
    assert dv.train.load_variable(path, "bars_background").sum() == 32
    assert "save" not in terminal.getvalue()


def test_progress_is_what_it_makes():
    assert isinstance(dv.progress([]), Progress)


# -- on a cluster ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def client():
    with clusters.running(2) as client:
        yield client


@pytest.mark.cluster
def test_on_a_cluster_chunks_are_counted_as_they_are_done(terminal, tmp_path, client):
    with client.as_current():
        save_and_restore(tmp_path)
    shown = terminal.getvalue()
    for what in ("initialize", "save", "restore"):
        counts = [line for line in shown.split("\r") if line.startswith(f"{what}: ")]
        assert any("0/4" in line for line in counts) and any("4/4" in line for line in counts)


@pytest.mark.cluster
def test_on_a_cluster_a_loop_is_counted_and_its_loss_is_brought(terminal, client):
    with client.as_current():
        w = dv.Variable(np.ones(4), name="bars_cluster")
        bar = dv.progress(range(3), desc="training")
        for _ in bar:
            w.assign_sub(np.full(4, 0.25))
            bar.set(loss=dv.reduce_sum(w))
        dv.sync()
    assert "3/3" in terminal.getvalue() and "loss=1" in terminal.getvalue()


@pytest.mark.cluster
def test_on_a_cluster_nobody_looks(monkeypatch, tmp_path, client, capsys):
    monkeypatch.setattr(progress_bars, "_new_bar", None)
    with client.as_current():
        save_and_restore(tmp_path)
    assert capsys.readouterr() == ("", "")


@pytest.mark.cluster
def test_on_a_cluster_what_failed_is_said_and_ends_its_bar(terminal, tmp_path, client):
    with client.as_current(), dv.Graph().as_default(), dv.Session() as session:
        v = dv.get_variable("v", [8, 4], initializer=dv.ones_initializer(), chunks=(2, 4))
        session.run(v.initializer)
        saver = dv.train.Saver()
        path = saver.save(session, str(tmp_path / "model"))
        chunk = next(p for p in Path(path).rglob("*") if p.is_file() and p.name != "zarr.json")
        chunk.unlink()
        with pytest.raises(dv.errors.OpError, match="v"):
            saver.restore(session, path)
    assert "restore: " in terminal.getvalue()
