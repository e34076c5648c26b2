"""Savers of eager code: all variables of the moment, slots too; resumed training is the same."""

from __future__ import annotations

import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf
from daskvars.errors import RestoreError
from tests import fresh

TRAIN = """
import sys, warnings
warnings.simplefilter("error")
import numpy as np
import daskvars as dv
from daskvars.v1.optimizers import FtrlOptimizer

place, part = sys.argv[1:]
kinds = {
    "momentum": dv.train.MomentumOptimizer(0.1, 0.9), "adam": dv.train.AdamOptimizer(0.1),
    "adagrad": dv.train.AdagradOptimizer(0.1), "ftrl": FtrlOptimizer(0.1),
    "rmsprop": dv.train.RMSPropOptimizer(0.1, centered=True, momentum=0.5),
    "adadelta": dv.train.AdadeltaOptimizer(1.0),
}
x = dv.constant(np.random.default_rng(0).normal(size=(8, 3)), dv.float32)
saver = dv.train.Saver()  # before there is anything to save
models = []  # pairs of variable and optimizer
for name, optimizer in kinds.items():
    w = dv.Variable(np.linspace(-1.0, 1.0, 6).reshape(3, 2), dtype=dv.float32, name=name)
    models.append((w, optimizer))
if part == "second":
    for w, optimizer in models:
        optimizer.build([w])
    saver.restore(None, place + "/half")
for _ in range({"whole": 10, "first": 5, "second": 5}[part]):
    for w, optimizer in models:
        optimizer.minimize(lambda: dv.reduce_sum(dv.square(dv.matmul(x, w) - 1.0)), var_list=[w])
saver.save(None, place + {"whole": "/whole", "first": "/half", "second": "/resumed"}[part])
"""


@pytest.mark.slow
def test_resumed_training_has_the_bits_of_one_that_was_not_interrupted(tmp_path) -> None:
    for part in ("whole", "first", "second"):
        fresh.run(TRAIN, str(tmp_path), part)
    found = [dict(dv.train.list_variables(str(tmp_path / n))) for n in ("whole", "resumed")]
    assert found[0] == found[1]
    assert len(found[0]) == 6 + 1 + 4 + 1 + 2 + 3 + 2  # variables, and what each optimizer keeps
    for name in found[0]:
        whole, resumed, half = (
            dv.train.load_variable(str(tmp_path / n), name) for n in ("whole", "resumed", "half")
        )
        np.testing.assert_array_equal(whole, resumed, err_msg=name)
        assert not np.array_equal(whole, half), f"{name} takes no part in this"


def train(tmp_path):
    """Return a trained eager variable, its optimizer, and the path of a checkpoint of both."""
    w = dv.Variable([1.0, 2.0], name="eager_saver/w")
    optimizer = dv.train.MomentumOptimizer(0.1, 0.9)
    optimizer.minimize(lambda: dv.reduce_sum(w * w), var_list=[w])
    saver = dv.train.Saver({"eager_saver/w": w, "eager_saver/w/Momentum": optimizer.variables()[0]})
    return w, optimizer, saver.save(None, str(tmp_path / "trained"))


RESTORE = """
import sys
import daskvars as dv

w = dv.Variable([0.0, 0.0], name="eager_saver/w")
dv.train.Saver([w] if sys.argv[2:] else None).restore(None, sys.argv[1])
print(w.numpy().tolist())
"""


@pytest.mark.slow
@pytest.mark.parametrize("on_purpose", [False, True])
def test_slots_that_no_variable_takes_are_named(tmp_path, on_purpose) -> None:
    w, _, path = train(tmp_path)
    found = fresh.python("-c", RESTORE, path, *["listed"] * on_purpose)
    assert found.status == 0 and found.printed == f"{w.numpy().tolist()}\n"
    if on_purpose:
        assert not found.said
    else:
        assert "UserWarning: What an optimizer keeps was not restored" in found.said
        assert "eager_saver/w/Momentum" in found.said
        assert "optimizer.build(variables)" in found.said


def test_slots_that_are_not_stored_are_named(tmp_path) -> None:
    w, optimizer, _ = train(tmp_path)
    path = dv.train.Saver([w]).save(None, str(tmp_path / "without"))
    before = [v.numpy() for v in (w, *optimizer.variables())]
    with pytest.raises(RestoreError, match=r"saver/w.*/Momentum"):
        dv.train.Saver().restore(None, path)
    np.testing.assert_array_equal(before, [v.numpy() for v in (w, *optimizer.variables())])


def test_a_saver_of_a_graph_made_before_its_slots_says_so(tmp_path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        w = tf.get_variable("w", initializer=[1.0, 2.0])
        saver = tf.train.Saver()
        tf.train.AdamOptimizer().minimize(tf.reduce_sum(w * w))
        session.run(tf.global_variables_initializer())
        path = saver.save(session, str(tmp_path / "m"))
        with pytest.warns(UserWarning, match=r"w/Adam, w/Adam_1 .*after minimize"):
            saver.restore(session, path)


@pytest.mark.parametrize("eager", [True, False])
def test_build_makes_what_the_first_step_would(eager) -> None:
    with tf.Graph().as_default() if not eager else tf.init_scope():
        made = dv if eager else tf
        w = made.Variable([1.0, 2.0], name="built")
        optimizer = made.train.AdamOptimizer()
        optimizer.build([w])
        names = [v.name for v in optimizer.variables()]
        assert len(names) == 4
        if eager:
            optimizer.minimize(lambda: dv.reduce_sum(w * w), var_list=[w])
        else:
            optimizer.minimize(tf.reduce_sum(w * w))
        assert [v.name for v in optimizer.variables()] == names
        assert {v.name for v in made.global_variables()} >= {*names, w.name}


@pytest.mark.slow
def test_nothing_to_save_is_found_when_saving(tmp_path) -> None:
    script = (
        "import sys, daskvars as dv\nsaver = dv.train.Saver()\n"
        "try:\n    saver.save(None, sys.argv[1])\nexcept ValueError as error:\n    print(error)"
    )
    found = fresh.run(script, str(tmp_path / "m"))
    assert found.startswith("No variables to save") and "build(variables)" in found
