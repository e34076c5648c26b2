"""Every registered op: inferred = computed, chunked = whole, gradient = numerical, eager = graph,
and its definition pickles."""

import dataclasses
import functools
import itertools
import pickle

import numpy as np
import pytest

import daskvars as dv
from daskvars import lowering
from daskvars.graph import nest
from daskvars.graph.definitions.opdef import REGISTRY
from daskvars.graph.definitions.patterns import HostCall
from daskvars.remote.regions.region_program import Call
from tests import case
from tests.ops import checks
from tests.ops.each_op import each_op, each_op_that
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
    "MakeIterator",
    "IteratorGetNext",
}

# Now: other tests define ops of their own. What a session's process does itself is no kernel, in
# the body of a function neither.
TYPES = sorted(
    type
    for type, op in REGISTRY.items()
    if not isinstance(op.pattern, HostCall) and not type.endswith("InBody")
)


def test_every_registered_op_has_a_sample():
    missing = set(TYPES) - {sample.type for sample in SAMPLES} - INTERNAL
    assert not missing, f"add samples for {sorted(missing)}"


@each_op
def test_inferred_is_computed(sample):
    for tensors, values in (checks.whole(sample), checks.graph_run(sample, shapes="open")):
        for tensor, value in zip(tensors, values, strict=True):
            checks.assert_inferred(tensor, value)


@each_op_that(checks.chunked_feeds)
def test_chunked_is_whole(sample):
    tensors, chunked = checks.graph_run(sample, checks.chunked_feeds(sample))
    checks.assert_same(chunked, checks.whole(sample)[1], sample.rtol)
    for tensor, value in zip(tensors, chunked, strict=True):
        checks.assert_inferred(tensor, value)


# How an array is given, and the view of it that is the array.
ORDERS = {
    "columns first": (np.transpose, dv.transpose),
    "strided": (lambda a: np.repeat(a, 2, axis=-1), lambda x: x[..., ::2]),
    "backwards": (lambda a: a[..., ::-1], lambda x: x[..., ::-1]),
}


@each_op_that(lambda sample: not sample.random and any(np.ndim(a) for a in sample.inputs))
def test_the_order_of_memory_changes_nothing(sample):
    wanted = checks.whole(sample)[1]
    arrays = [np.asarray(array) for array in sample.inputs]
    for orders in at_once(sample, ORDERS):
        given, views = zip(*map(ORDERS.get, orders), strict=True)
        inputs = tuple(give(array) if array.ndim else array for give in given for array in arrays)
        found = checks.graph_run(dataclasses.replace(called(sample, views), inputs=inputs))[1]
        for order, of_order in zip(orders, shared_out(found, orders), strict=True):
            with case.of(order):
                checks.assert_same(of_order, wanted, sample.rtol)


def at_once(sample, cases):
    """Yield the cases of a sample that one run can be of; what else it takes is most of a run.

    Summaries have names of their graph in their results: they need a run each.
    """
    if "Summary" in sample.type:
        yield from ([one] for one in cases)
    elif cases:
        yield [*cases]


def called(sample, views):
    """Return a sample that is called once with each of some views of inputs, those of all given."""

    def call(*tensors):
        rest = iter(tensors)
        return [
            sample.call(*[view(next(rest)) if np.ndim(a) else next(rest) for a in sample.inputs])
            for view in views
        ]

    return dataclasses.replace(sample, call=call, inputs=sample.inputs * len(views))


def shared_out(values, cases):
    """Return the values of each case, of those of all that one run was of."""
    count, rest = divmod(len(values), len(cases))
    assert not rest, f"{len(values)} values of {len(cases)} cases"
    return [values[i * count : (i + 1) * count] for i in range(len(cases))]


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


@pytest.mark.parametrize(
    "edges",
    [
        pytest.param(checks.QUICK_EDGES, id="no rows"),
        pytest.param(checks.EDGES, id="all", marks=pytest.mark.slow),
    ],
)
@each_op_that(takes_any_sizes)
def test_edges(sample, edges):
    """Scalars, nothing and single elements: refused in words, or chunked = whole = inferred."""
    tried = set()
    for edge in edges:
        arrays = [checks.EDGES[edge](np.asarray(a)) for a in sample.inputs]
        shapes = tuple(a.shape for a in arrays)
        if shapes not in tried and (edges is checks.QUICK_EDGES or edge not in checks.QUICK_EDGES):
            at_the_edge(dataclasses.replace(sample, inputs=tuple(arrays)))
        tried.add(shapes)


def at_the_edge(sample):
    """What a sample refuses in words is done; or chunked = whole = inferred."""
    found = checks.edge_run(sample)
    if isinstance(found, Exception):
        return
    for tensor, value in zip(*found, strict=True):
        checks.assert_inferred(tensor, value)
    for cuts in at_once(sample, [*checks.edge_feeds(sample.inputs)]):
        views = [lambda tensor: tensor] * len(cuts)
        chunked = checks.edge_run(called(sample, views), [*itertools.chain(*cuts)])
        assert not isinstance(chunked, Exception), chunked
        for cut, of_cut in zip(cuts, shared_out(chunked[1], cuts), strict=True):
            with case.of([getattr(array, "chunks", None) for array in cut]):
                assert len(of_cut) == len(found[1])
                if not sample.random:
                    checks.assert_same(of_cut, found[1], sample.rtol)


@each_op_that(lambda sample: sample.differentiable)
def test_gradient_is_numerical(sample):
    checks.assert_gradients(sample)


@each_op_that(checks.complexed)
def test_complex_is_whole_and_its_gradient_numerical(sample):
    sample = checks.complexed(sample)
    if checks.is_refused(sample):
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


@each_op
def test_eager_is_graph(sample):
    dv.set_random_seed(7)
    tensors = nest.flatten(sample.call(*[dv.constant(a) for a in sample.inputs]))
    eager = [t.numpy() for t in tensors]
    _, graph = checks.whole(sample)
    if sample.random:
        assert [e.shape for e in eager] == [g.shape for g in graph]
    else:
        checks.assert_same(eager, graph, sample.rtol)


def watched(call):
    """Return a call whose kernel fails if its results are in memory that they may not be in."""

    def kernel(xp, *args, **attrs):
        function = getattr(xp, call.kernel) if isinstance(call.kernel, str) else call.kernel
        xps = () if isinstance(call.kernel, str) else (xp,)
        result = function(*xps, *args, **attrs)
        mine = args[call.views :]
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

    attrs = {
        name: tuple(map(watching, value)) if name == "branches" else value
        for name, value in call.attrs.items()
    }
    return call._replace(kernel=kernel, attrs=attrs)


def watching(program):
    """Return the program of a region with watched calls."""
    return dataclasses.replace(program, calls=tuple(map(watched, program.calls)), cache={})


@each_op
def test_results_are_memory_of_their_own(sample, monkeypatch):
    """Later calls write over what elementwise kernels and those said to be `fresh` made, and a
    variable over its own memory: an op says that it may give its first input on (`views`)."""
    emit, regions = lowering.emit, []

    @functools.wraps(emit)
    def emitted(*args):
        plan = emit(*args)
        found = [dataclasses.replace(r, program=watching(r.program)) for r in plan.regions]
        regions.extend(found)
        return dataclasses.replace(plan, regions=tuple(found))

    with monkeypatch.context() as patch:
        patch.setattr(lowering, "emit", emitted)
        checks.graph_run(sample)
        if (feeds := checks.chunked_feeds(sample)) is not None:
            checks.graph_run(sample, feeds)
    assert all(call.kernel.__name__ == "kernel" for r in regions for call in r.program.calls)


def test_memory_that_is_not_its_own_is_noticed():
    call = Call(lambda xp, x: x[:], (0,), (1,), {}, name="exp", elementwise=True)
    x = np.ones(3)
    with pytest.raises(AssertionError, match="exp"):
        watched(call).kernel(np, x)
    with pytest.raises(AssertionError, match="exp"):
        watched(call._replace(views=True)).kernel(np, x)
    watched(call._replace(kernel="exp")).kernel(np, x)


def test_definitions_pickle_to_themselves():
    for type in TYPES:
        with case.of(type):
            definition = REGISTRY[type]
            assert pickle.loads(pickle.dumps(definition)) is definition
            kernel = definition.kernel
            if callable(kernel):
                assert kernel.__module__.startswith(("daskvars.kernels", "daskvars.state"))
                assert pickle.loads(pickle.dumps(kernel)) is kernel
