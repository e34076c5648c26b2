"""Every registered op: inferred = computed, chunked = whole, gradient = numerical, eager = graph,
and its definition pickles."""

import dataclasses
import itertools
import pickle

import numpy as np
import pytest

import daskvars as dv
from daskvars.graph import nest
from daskvars.graph.definitions.opdef import REGISTRY
from daskvars.remote.regions import compilation
from tests.ops import checks
from tests.ops.samples import SAMPLES

# Ops that exist only inside others: exercised through the samples and tests of those.
INTERNAL = {
    "Const",
    "Parameter",
    "Placeholder",
    "VariableV2",
    "HistoryItem",
    "WhileGradient",
    "SaveV2",
    "RestoreV2",
}

TYPES = sorted(REGISTRY)  # now: other tests define ops of their own
everyone = pytest.mark.parametrize("sample", SAMPLES, ids=lambda s: s.name)


def test_every_registered_op_has_a_sample():
    missing = set(TYPES) - {sample.type for sample in SAMPLES} - INTERNAL
    assert not missing, f"add samples for {sorted(missing)}"


@everyone
def test_inferred_is_computed(sample):
    for shapes in ("static", "open"):
        tensors, values = checks.graph_run(sample, shapes=shapes)
        for tensor, value in zip(tensors, values, strict=True):
            checks.assert_inferred(tensor, value)


@everyone
def test_chunked_is_whole(sample):
    feeds = checks.chunked_feeds(sample)
    if feeds is None:
        pytest.skip("no input to cut")
    _, whole = checks.graph_run(sample)
    tensors, chunked = checks.graph_run(sample, feeds)
    checks.assert_same(chunked, whole, sample.rtol)
    for tensor, value in zip(tensors, chunked, strict=True):
        checks.assert_inferred(tensor, value)


def takes_any_sizes(sample):
    """Return whether a user calls the op, with sizes that follow from its inputs alone.

    What gradients and layers are made of is only ever given sizes that fit; where sizes come in
    the run as data, cutting them down makes other sizes of them.
    """
    inner = ("Grad", "Backprop", "List", "Channel", "Deduplicate", "GatherOrZero")
    of_data = ("of-run", "sizes", "dynamic")
    return not any(part in sample.type for part in inner) and not any(
        part in sample.id for part in of_data
    )


@pytest.mark.parametrize("edge", checks.EDGES)
@pytest.mark.parametrize("sample", filter(takes_any_sizes, SAMPLES), ids=lambda s: s.name)
def test_edges(sample, edge):
    """Scalars, nothing and single elements: refused in words, or chunked = whole = inferred."""
    arrays = [checks.EDGES[edge](np.asarray(a)) for a in sample.inputs]
    sample = dataclasses.replace(sample, inputs=tuple(arrays))
    found = checks.edge_run(sample)
    if isinstance(found, Exception):
        return
    for tensor, value in zip(*found, strict=True):
        checks.assert_inferred(tensor, value)
    for feeds in checks.edge_feeds(arrays):
        chunked = checks.edge_run(sample, feeds)
        assert not isinstance(chunked, Exception), chunked
        if not sample.random:
            checks.assert_same(chunked[1], found[1], sample.rtol)


@everyone
def test_gradient_is_numerical(sample):
    if not sample.differentiable:
        pytest.skip("not differentiable")
    checks.assert_gradients(sample)


@everyone
def test_complex_is_whole_and_its_gradient_numerical(sample):
    sample = checks.complexed(sample)
    if sample is None or checks.is_refused(sample):
        pytest.skip("not of complex numbers")
    tensors, whole = checks.graph_run(sample)
    for tensor, value in zip(tensors, whole, strict=True):
        checks.assert_inferred(tensor, value)
    feeds = checks.chunked_feeds(sample)
    if feeds is not None:
        checks.assert_same(checks.graph_run(sample, feeds)[1], whole, sample.rtol)
    checks.assert_gradients(sample)


def test_ops_that_take_complex_numbers_are_tried_on_them():
    complexed = [*filter(None, map(checks.complexed, SAMPLES))]
    complexed += [s for s in SAMPLES if any(np.iscomplexobj(a) for a in s.inputs)]
    tried = {s.type for s in complexed if s.differentiable and not checks.is_refused(s)}
    taking = {
        sample.type
        for sample in SAMPLES
        if sample.differentiable
        and any(
            argument.allowed is None or dv.complex128 in argument.allowed
            for argument in REGISTRY[sample.type].arguments
        )
    }
    assert taking - tried == {
        "Sign",  # whose gradient is zero by TensorFlow's definition
        "EagerPyFunc",
        "PlaceholderWithDefault",  # whose samples declare a dtype
    }


@everyone
def test_eager_is_graph(sample):
    dv.set_random_seed(7)
    tensors = nest.flatten(sample.call(*[dv.constant(a) for a in sample.inputs]))
    eager = [t.numpy() for t in tensors]
    _, graph = checks.graph_run(sample)
    if sample.random:
        assert [e.shape for e in eager] == [g.shape for g in graph]
    else:
        checks.assert_same(eager, graph, sample.rtol)


@everyone
def test_results_are_memory_of_their_own(sample, monkeypatch):
    """Later calls write over what elementwise kernels and those said to be `fresh` made, and a
    variable over its own memory: an op says that it may give its first input on (`views`)."""
    bind = compilation._Source._function

    def watched(source, i, call):
        name = bind(source, i, call)
        kernel = source.scope[name]

        def kernel_watched(*args, **kwargs):
            result = kernel(*args, **kwargs)
            mine = args[1:] if call.views else args
            made = result if isinstance(result, tuple) else (result,)
            for part, array in itertools.product(made, mine):
                if isinstance(part, np.ndarray) and isinstance(array, np.ndarray):
                    assert not np.shares_memory(part, array), call.name
            own = call.elementwise or call.fresh
            if own and len(call.outs) == 1 and isinstance(result, np.ndarray):
                arrays = [a for a in args if isinstance(a, np.ndarray)]
                assert result.flags.writeable, call.name
                assert not any(np.shares_memory(result, a) for a in arrays), call.name
            return result

        source.scope[name] = kernel_watched
        return name

    monkeypatch.setattr(compilation._Source, "_function", watched)
    monkeypatch.setattr(compilation._Source, "_reused", lambda source, i, call: None)
    checks.graph_run(sample)


@pytest.mark.parametrize("type", TYPES)
def test_definition_pickles_to_itself(type):
    definition = REGISTRY[type]
    assert pickle.loads(pickle.dumps(definition)) is definition
    if callable(definition.kernel):
        assert definition.kernel.__module__.startswith(("daskvars.kernels", "daskvars.state"))
        assert pickle.loads(pickle.dumps(definition.kernel)) is definition.kernel
