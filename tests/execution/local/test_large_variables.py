"""What changes a variable gives its new value, to whoever fetches or uses it, however large it is.

Blocks of a cluster's variables are versioned from a size on, and rows of large ones are changed in
place: with the lowest thresholds (`tests.thresholds`) those of small variables are, too.
"""

from functools import cache

import numpy as np
import pytest

import daskvars.v1 as tf
from daskvars import versioned
from tests import thresholds
from tests.clusters import running

START = np.arange(24, dtype=np.float32).reshape(8, 3)
IDS = {"one": 5, "some": [6, 0], "twice": [1, 7, 1], "a matrix": [[2, 3], [2, 4]], "none": []}
SCATTERS = ("update", "add", "sub", "mul", "div", "min", "max")


def scattered(kind, ids):
    def change(v, number):
        shape = np.shape(ids)
        row = tf.ones([*shape, *v.shape.as_list()[1:]]) * number
        return getattr(tf, f"scatter_{kind}")(v, np.array(ids, np.int32), row)

    return change


def coordinates(v):
    return np.array([[3], [0], [7]])


CHANGES = {
    "assign": lambda v, number: tf.assign(v, v + number),
    "assign_add": lambda v, number: tf.assign_add(v, v * number),
    "assign_sub": lambda v, number: tf.assign_sub(v, v * number),
    **{
        f"scatter_{kind} {name}": scattered(kind, ids)
        for kind in SCATTERS
        for name, ids in IDS.items()
        if kind in ("update", "add") or ids == 5
    },
    **{
        f"scatter_nd_{kind}": lambda v, number, kind=kind: getattr(tf, f"scatter_nd_{kind}")(
            v, coordinates(v), tf.ones([3, *v.shape.as_list()[1:]]) * number
        )
        for kind in ("update", "add", "sub")
    },
    "slice": lambda v, number: v[1:7:2].assign(v[0:6:2] + number),
    "rows of all": lambda v, number: tf.scatter_sub(
        tf.assign(v, v * number), [1, 2, 1], tf.ones([3, *v.shape.as_list()[1:]]) / number
    ),
    "rows of all, which is read": lambda v, number: tf.scatter_add(
        v, [6, 1], rows(v) * largest_after(tf.assign(v, v * number), v)
    ),
    "twice in a run": lambda v, number: tf.scatter_add(
        v, [1, 2], after(tf.scatter_update(v, [2, 6], rows(v) * number), rows(v) + number)
    ),
}
LAYOUTS = [((8, 3), None), ((8, 3), (3, 3)), ((8, 3), (4, 2)), ((8,), None), ((8,), (3,))]


def rows(v):
    return tf.ones([2, *v.shape.as_list()[1:]])


def after(first, value):
    with tf.control_dependencies([first]):
        return tf.identity(value)


def largest_after(first, v):
    with tf.control_dependencies([first]):
        return tf.reduce_max(v)


def trained(names, layout, target=""):
    """All values that some runs give, in which each change is fetched, used and only made."""
    shape, chunks = layout
    found = []
    with tf.Graph().as_default():
        number = tf.placeholder(tf.float32, [])
        start = START if shape == (8, 3) else START[:, 0]
        variables = [
            tf.get_variable(f"v{i}", initializer=start + [*CHANGES].index(name), chunks=chunks)
            for i, name in enumerate(names)
        ]
        new = [CHANGES[name](v, number) for name, v in zip(names, variables, strict=True)]
        used = [tf.reduce_sum(tf.gather(tensor, [0, 5]) * 0.5) for tensor in new]
        with tf.Session(target) as session:
            session.run(tf.global_variables_initializer())
            found += session.run(new, {number: 2.0})
            session.run([tensor.op for tensor in new], {number: 3.0})
            session.run([tensor.op for tensor in new], {number: -1.0})
            found += session.run(variables)
            for part in session.run([new, used, variables], {number: 0.5}):
                found += part
            found += session.run([tf.gather(v, [7, 2]) for v in variables])
            found += session.run(variables)
    return found


@cache
def plain(layout):
    """What `trained` finds of all changes in this process, nothing in place."""
    return trained(CHANGES, layout)


def plain_alone(name, layout):
    """The same of one change: of each fetch of all of them, the part that is that one's."""
    return plain(layout)[[*CHANGES].index(name) :: len(CHANGES)]


def assert_same(found, wanted):
    for array, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(array, other)


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_what_is_in_place_gives_the_values_of_what_is_not(layout):
    wanted = plain(layout)
    back = thresholds.lower()
    try:
        assert_same(trained(CHANGES, layout), wanted)
    finally:
        back()


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_alone_in_place(name):
    wanted = [plain_alone(name, layout) for layout in LAYOUTS]
    back = thresholds.lower()
    try:
        for layout, values in zip(LAYOUTS, wanted, strict=True):
            assert_same(trained([name], layout), values)
    finally:
        back()


@pytest.fixture(scope="module")
def lowered():
    """A cluster on which everything is large."""
    with running(2) as client:
        client.run(thresholds.lower_on_worker)
        yield client


@pytest.mark.cluster
@pytest.mark.parametrize("target", ["", "shared"])
@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_versioned_blocks_give_the_values_of_plain_ones(layout, target, lowered, request):
    wanted = plain(layout)
    request.getfixturevalue("lowest_thresholds")
    target = target and f"{target}{layout}"
    with lowered.as_current():
        assert_same(trained(CHANGES, layout, target), wanted)
        tf.Session.reset(target)


@pytest.mark.cluster
def test_the_new_value_of_a_variable_above_the_threshold_is_fetched(two_workers):
    rows, width = versioned.VERSIONED_BYTES // 32, 8
    with two_workers.as_current(), tf.Graph().as_default(), tf.Session() as session:
        v = tf.get_variable(
            "v", [2 * rows, width], initializer=tf.zeros_initializer(), chunks=(rows, width)
        )
        session.run(v.initializer)
        found = session.run(tf.scatter_add(v, [1, 2 * rows - 1], tf.ones([2, width])))
        assert found[[1, -1]].tolist() == [[1.0] * width] * 2 and found.sum() == 2 * width
        np.testing.assert_array_equal(session.run(v), found)
