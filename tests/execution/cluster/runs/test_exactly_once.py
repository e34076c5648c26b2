"""Every task that updates variables is run twice on the same inputs: the bits stay what they were.

Dask may run any task twice, and results are shared. So a kernel must leave its inputs as they are,
also where it writes in place and leaves an undo record behind.
"""

import numpy as np
import pytest

import daskvars.v1 as tf
from daskvars.kernels.gather_scatter.row_shards import ShardRows
from tests.train.optimizers.test_optimizers import CASES

pytestmark = pytest.mark.cluster
STEPS = 4


def bits(value):
    """The bytes of a result: of an array, or of the rows that a part of a table gives."""
    if isinstance(value, ShardRows):
        return [bits(array) for array in (value.positions, value.rows, value.repeats)]
    return value if value is None else np.asarray(value).tobytes()


def run_all_twice():
    """Let this worker run every stage twice, and hand on the second result."""
    from daskvars.remote.tasks import stage_tasks as worker_tasks

    once = worker_tasks.run_stage

    def run_stage(*arguments):
        first = once(*arguments)
        second = once(*arguments)
        worker_tasks.repeats += 1
        for one, other in zip(first, second, strict=True):
            if bits(one) != bits(other):
                raise ValueError("a repeated task has another result")
        return second

    worker_tasks.run_stage, worker_tasks.once, worker_tasks.repeats = run_stage, once, 0


def run_once_again():
    """Undo that; return how many tasks were run twice."""
    from daskvars.remote.tasks import stage_tasks as worker_tasks

    worker_tasks.run_stage = worker_tasks.once
    return worker_tasks.repeats


def table(name):
    """A variable of two chunks."""
    values = np.arange(1, 33, dtype=np.float32).reshape(8, 4) / 7
    return tf.get_variable(name, initializer=tf.constant(values), chunks=(4, 4))


def optimizer_steps():
    """A dense and a sparse update by every optimizer; rows are used twice in a step."""
    rows = tf.placeholder(tf.int32, [3], name="rows")
    steps = []
    for name, (make, _, _) in CASES.items():
        with tf.variable_scope(name):
            dense, sparse = table("dense"), table("sparse")
            loss = tf.reduce_sum(tf.square(dense)) + tf.reduce_sum(
                tf.square(tf.nn.embedding_lookup(sparse, rows))
            )
            steps.append(make(tf.train).minimize(loss, var_list=[dense, sparse]))
    return steps, {rows: [[1, 6, 1], [0, 7, 3], [5, 5, 5], [2, 3, 4]]}


def assignments():
    """Every op that assigns to a variable, to all of it, to rows and to a slice."""
    rows = tf.placeholder(tf.int32, [3], name="rows")
    update = 1.5 + tf.cast(tf.reshape(tf.range(12), [3, 4]), tf.float32)
    whole = tf.ones([8, 4]) * 1.25
    steps = [tf.assign_add(table("assign_add"), whole), tf.assign_sub(table("assign_sub"), whole)]
    v = table("assign")
    steps.append(tf.assign(v, v * 1.1))
    for name in ("add", "sub", "mul", "div", "min", "max", "update"):
        scatter = getattr(tf, f"scatter_{name}")
        steps.append(scatter(table(f"scatter_{name}"), rows, update))
    for name in ("add", "sub", "update"):
        scatter = getattr(tf, f"scatter_nd_{name}")
        steps.append(scatter(table(f"scatter_nd_{name}"), tf.expand_dims(rows, 1), update))
    steps.append(table("slice")[2:5].assign(update))
    counter = tf.get_variable("counter", initializer=0)
    steps.append(tf.count_up_to(counter, 100))
    return [step.op for step in steps], {rows: [[1, 6, 2], [0, 7, 3], [5, 1, 4], [2, 3, 4]]}


def trained(build):
    """Run a few steps, and return all variables by name."""
    with tf.Graph().as_default(), tf.Session() as session:
        steps, feeds = build()
        session.run(tf.global_variables_initializer())
        for number in range(STEPS):
            session.run(steps, {key: rows[number] for key, rows in feeds.items()})
        variables = tf.global_variables()
        return dict(zip([v.op.name for v in variables], session.run(variables), strict=True))


@pytest.mark.parametrize("build", [optimizer_steps, assignments])
def test_updates_that_run_twice_have_the_same_bits(two_workers, build):
    wanted = trained(build)
    two_workers.run(run_all_twice)
    try:
        with two_workers.as_current():
            found = trained(build)
    finally:
        repeats = two_workers.run(run_once_again)
    assert sum(repeats.values()) > STEPS
    assert found.keys() == wanted.keys()
    assert not [n for n in wanted if np.asarray(found[n]).tobytes() != wanted[n].tobytes()]
