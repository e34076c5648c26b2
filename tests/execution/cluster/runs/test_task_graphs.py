"""The graph of a run: what its tasks take."""

from collections import Counter

import numpy as np

import daskvars.v1 as tf
from daskvars import config
from daskvars.execution.cluster.runs.task_graphs import Template
from daskvars.lowering.emission.stages import described
from daskvars.remote.tasks.region_tasks import unpacked
from daskvars.remote.tasks.stage_tasks import unpacked_stage
from daskvars.remote.versions.commit_order import BlockRef

WORKERS, UNITS = 4, 64


def template_of_a_step():
    x = tf.placeholder(tf.float32, [None, UNITS])
    w = tf.get_variable("w", [UNITS, UNITS], chunks=(UNITS, UNITS // WORKERS))
    step = tf.train.AdamOptimizer().minimize(tf.reduce_mean(tf.square(tf.matmul(x, w))))
    with config.set(batch_parts=WORKERS), tf.Session() as session:
        session.run(tf.global_variables_initializer())
        program, _ = session._executable([step], (x,))
        plan = program.plan([np.ones((128, UNITS), np.float32)])
    stages = described(plan, WORKERS)
    return Template(stages, "token", [{}] * len(stages.stages))


def test_what_travels_once_is_taken_by_one_task(graph):
    template = template_of_a_step()
    tasks, _ = template.graph(
        "stamp", lambda block_id: 0, lambda block_id: BlockRef("w", block_id.block, False)
    )
    takers = Counter(key for task in tasks.values() for key in task.dependencies)
    sent = {stage.key for stage in template.packed_stages}
    assert sent == takers.keys() - tasks.keys()
    assert {takers[key] for key in sent} == {1}


def test_a_stage_has_the_regions_of_its_blocks(graph):
    template = template_of_a_step()
    for stage, packed in zip(template.stages.stages, template.packed_stages, strict=True):
        found = unpacked_stage(packed)
        labels = {template.plan.regions[block.region].label for block in stage.blocks}
        assert {region.label for region in found.regions} == labels
        assert [*map(unpacked, packed.regions)] == found.regions, "made once per process"
        assert packed.nbytes > len(packed.data)


def test_what_stages_take_from_stages_goes_when_they_have_it_and_variables_stay(graph):
    template = template_of_a_step()
    programs = [unpacked_stage(packed).program for packed in template.packed_stages]
    taken = Counter()
    for task, program in zip(template.tasks, programs, strict=True):
        for source in program.sources:
            kind, what = task.arguments[source.argument]
            if kind == "stage":
                taken[what, source.path[0]] += 1
    updates = template.plan.updates.values()
    blocks = [value.block_id(index) for value in updates for index in value.indices()]
    variables = {template.state_output(block_id) for block_id in blocks}
    for number, program in enumerate(programs):
        for position, times in enumerate(program.times):
            where = number, position
            assert times == (0 if where in variables else taken[where])
    assert {times for program in programs for times in program.times} == {0, WORKERS}
