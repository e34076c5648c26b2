"""CheckpointManager: numbers, what is kept, and what another manager takes over."""

import os

import pytest

import daskvars as dv
import daskvars.v1 as tf
from daskvars.state.format import snapshot
from daskvars.train.checkpoints.objects import manager as module


def names(paths):
    return [os.path.basename(path) for path in paths]


@pytest.fixture
def clock(monkeypatch):
    """Hours, as the manager reads them."""

    class Clock:
        hours = 1000.0

        def time(self):
            return self.hours * 3600

    found = Clock()
    monkeypatch.setattr(module, "time", found)
    return found


def test_the_oldest_are_deleted(tmp_path):
    checkpoint = dv.train.Checkpoint(v=dv.Variable(1.0))
    manager = dv.train.CheckpointManager(checkpoint, str(tmp_path / "at"), max_to_keep=2)
    assert manager.latest_checkpoint is None and manager.checkpoints == []
    saved = [manager.save() for _ in range(3)]
    assert names(saved) == ["ckpt-1", "ckpt-2", "ckpt-3"]
    assert manager.checkpoints == saved[1:] and manager.latest_checkpoint == saved[2]
    assert sorted(os.listdir(tmp_path / "at")) == ["checkpoint", "ckpt-2", "ckpt-3"]
    assert dv.train.latest_checkpoint(manager.directory) == saved[2]
    other = dv.train.CheckpointManager(
        checkpoint, str(tmp_path / "at"), max_to_keep=1, checkpoint_name="z.zip"
    )
    assert other.checkpoints == saved[1:] and other.latest_checkpoint == saved[2]
    assert names([other.save(checkpoint_number=77)]) == ["z-77.zip"]
    assert sorted(os.listdir(tmp_path / "at")) == ["checkpoint", "z-77.zip"]
    assert int(checkpoint.save_counter) == 4


def test_what_was_being_deleted_when_a_process_was_killed_goes_with_the_next(tmp_path, monkeypatch):
    checkpoint = dv.train.Checkpoint(v=dv.Variable(1.0))
    manager = dv.train.CheckpointManager(checkpoint, str(tmp_path), max_to_keep=1)

    def killed(*_):
        raise KeyboardInterrupt

    manager.save()
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(snapshot, "sweep", killed)
        manager.save()
    again = dv.train.CheckpointManager(checkpoint, str(tmp_path), max_to_keep=1)
    assert names(again.checkpoints) == ["ckpt-2"]
    again.save()
    assert sorted(os.listdir(tmp_path)) == ["checkpoint", "ckpt-3"]


def test_one_is_kept_for_ever_each_so_many_hours(tmp_path, clock):
    checkpoint = dv.train.Checkpoint(v=dv.Variable(1.0))

    def made():
        return dv.train.CheckpointManager(checkpoint, str(tmp_path), 1, 3.0)

    manager = made()
    for number in range(1, 8):
        clock.hours += 1.0
        if number == 5:
            manager = made()  # goes on with the times on record
            assert names(manager.checkpoints) == ["ckpt-4"]
        manager.save()
    # By TensorFlow: ckpt-3 is three hours after the start, ckpt-6 three hours after it.
    assert sorted(os.listdir(tmp_path)) == ["checkpoint", "ckpt-3", "ckpt-6", "ckpt-7"]
    assert names(manager.checkpoints) == ["ckpt-7"]
    state = dv.train.get_checkpoint_state(str(tmp_path))
    assert state.last_preserved_timestamp == 1006.0 * 3600
    assert state.all_model_checkpoint_timestamps == [1007.0 * 3600]


def test_restored_or_initialized(tmp_path):
    v = dv.Variable(3.0)
    manager = dv.train.CheckpointManager(
        dv.train.Checkpoint(v=v), str(tmp_path), 2, init_fn=lambda: v.assign(9.0)
    )
    assert manager.restore_or_initialize() is None and float(v) == 9.0
    path = manager.save()
    v.assign(1.0)
    assert manager.restore_or_initialize() == path and float(v) == 9.0


def test_checkpoints_of_some_steps(tmp_path):
    step = dv.Variable(0, dtype=dv.int64)
    manager = dv.train.CheckpointManager(
        dv.train.Checkpoint(step=step), str(tmp_path), 5, step_counter=step, checkpoint_interval=2
    )
    saved = []
    for _ in range(5):
        step.assign_add(1)
        saved.append(manager.save() is not None)
    assert saved == [True, False, True, False, True]
    assert manager.save(check_interval=False) is not None


def test_in_a_graph_the_session_is_the_default_one(tmp_path):
    with tf.Graph().as_default(), tf.Session() as sess:
        step = tf.train.get_or_create_global_step()
        checkpoint = tf.train.Checkpoint(step=step)
        manager = tf.train.CheckpointManager(checkpoint, str(tmp_path), max_to_keep=None)
        checkpoint.restore(manager.latest_checkpoint).initialize_or_restore(sess)
        sess.run(step.assign(41))
        assert names([manager.save(session=sess), manager.save(step)]) == ["ckpt-1", "ckpt-41"]


def test_hours_go_on_when_the_clock_is_set_back(tmp_path, clock):
    checkpoint = dv.train.Checkpoint(x=dv.Variable(1.0))
    manager = dv.train.CheckpointManager(checkpoint, str(tmp_path), 1, 2.0)
    paths = []
    for clock.hours in (10.0, 11.0, 12.5, 13.0):
        paths.append(manager.save())
    assert [os.path.exists(path) for path in paths] == [False, False, True, True]


@pytest.mark.parametrize(("hours", "num_kept"), [(None, 1), (0, 1), (1e-9, 3)])
def test_zero_hours_keep_none_for_ever(hours, num_kept, tmp_path):
    """As in TensorFlow; each is later than the last by more than a billionth of an hour."""
    checkpoint = dv.train.Checkpoint(x=dv.Variable(1.0))
    manager = dv.train.CheckpointManager(checkpoint, str(tmp_path), 1, hours)
    paths = [manager.save() for _ in range(3)]
    assert sum(map(os.path.exists, paths)) == num_kept


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({"max_to_keep": 0}, "Expected a positive integer or `None` for `max_to_keep`, got 0"),
        (
            {"max_to_keep": 1, "checkpoint_interval": 3},
            "`step_counter` should be passed if `checkpoint_interval` is not None",
        ),
    ],
)
def test_arguments_that_mean_nothing(tmp_path, arguments, words):
    with pytest.raises(ValueError, match=words):
        dv.train.CheckpointManager(dv.train.Checkpoint(), str(tmp_path), **arguments)
