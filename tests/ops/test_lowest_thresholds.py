"""Every op gives on the paths of large arrays what it gives on those of small ones.

The samples are small: see `tests.thresholds`.
"""

import numpy as np
import pytest

import daskvars as dv
from daskvars.graph import nest
from tests import thresholds
from tests.ops import checks
from tests.ops.samples import SAMPLES

# The first sample of each op is quick.
FIRST = {sample.type: sample for sample in reversed(SAMPLES)}
everyone = pytest.mark.parametrize(
    "sample",
    [
        pytest.param(s, marks=() if FIRST[s.type] is s else pytest.mark.slow, id=s.name)
        for s in SAMPLES
    ],
)


def found_of(sample):
    """The values of a sample, in its graph, in chunks and in eager code, and its gradients."""
    _, whole = checks.graph_run(sample)
    feeds = checks.chunked_feeds(sample)
    chunked = whole if feeds is None else checks.graph_run(sample, feeds)[1]
    dv.set_random_seed(7)
    eager = nest.flatten(sample.call(*[dv.constant(a) for a in sample.inputs]))
    eager = [t.numpy() for t in eager]
    return whole, chunked, eager, gradients(sample)


def gradients(sample):
    """The symbolic gradients of all inputs that have some."""
    if not sample.differentiable:
        return []
    with dv.Graph().as_default() as graph, dv.Session(graph=graph) as session:
        dv.set_random_seed(7)
        inputs = checks.placeholders(sample)
        ys = nest.flatten(sample.call(*inputs))
        ys = [y for y in ys if y.dtype.is_floating or y.dtype.is_complex]
        xs = [inputs[position] for position in sample.differentiable]
        found = dv.gradients(ys, xs, [dv.ones_like(y) for y in ys])
        feed = dict(zip(inputs, sample.inputs, strict=True))
        return session.run([dv.convert_to_tensor(dx) for dx in found], feed)


@everyone
def test_large_is_small(sample):
    _, small = checks.whole(sample)  # so are chunks and eager code of small ones: test_every_op
    wanted = small, small, small, gradients(sample)
    back = thresholds.lower()
    try:
        found = found_of(sample)
    finally:
        back()
    for values, others, is_eager in zip(found, wanted, (False, False, True, False), strict=True):
        if is_eager and sample.random:
            assert [np.shape(v) for v in values] == [np.shape(v) for v in others]
        else:
            checks.assert_same(values, others, max(sample.rtol, 1e-6))
