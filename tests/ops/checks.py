"""What the every-op test checks of a sample; the checkers are tested in `test_checks`."""

from __future__ import annotations

import functools
import re
from dataclasses import replace

import dask.array
import numpy
from numpy.testing import assert_allclose

import daskvars as dv
import daskvars.v1 as tf
from daskvars.errors import OpError
from daskvars.graph import nest
from tests import case


def placeholders(sample, shapes="static"):
    """Return one placeholder per input: of its static shape, or with the first dimension open."""
    made = []
    for array in map(numpy.asarray, sample.inputs):
        shape = list(array.shape)
        if shapes == "open" and shape:
            shape[0] = None
        made.append(tf.placeholder(tf.as_dtype(array.dtype), shape))
    return made


def graph_run(sample, feeds=None, shapes="static", target="", device=None):
    """Return (tensors, values) of a sample built as a graph and run once."""
    with dv.Graph().as_default() as graph, dv.device(device):
        dv.set_random_seed(7)
        inputs = placeholders(sample, shapes)
        tensors = nest.flatten(sample.call(*inputs))
        feeds = sample.inputs if feeds is None else feeds
        with dv.Session(target, graph=graph) as session:
            values = session.run(tensors, dict(zip(inputs, feeds, strict=True)))
    return tensors, values


@functools.cache
def whole(sample):
    """Return what `graph_run` does of a sample as it is, which several tests compare with."""
    return graph_run(sample)


def assert_inferred(tensor, value):
    """The inferred dtype and shape fit the computed value."""
    value = numpy.asarray(value, object if isinstance(value, bytes) else None)
    assert tensor.dtype.base_dtype.np == value.dtype, (tensor, value.dtype)
    assert tensor.shape.is_compatible_with(value.shape), (tensor.shape, value.shape)


def assert_same(found, wanted, rtol=1e-6):
    """Two lists of values are equal in dtype, shape and (up to `rtol`) value."""
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        a, b = numpy.asarray(a), numpy.asarray(b)
        assert a.dtype == b.dtype
        assert a.shape == b.shape
        if a.dtype.kind in "OSUb":
            assert a.tolist() == b.tolist()
        else:
            assert_allclose(a, b, rtol=rtol, atol=rtol * 10)


def chunked_feeds(sample):
    """Return the sample's inputs as dask arrays of two blocks along axis 0, where it says so."""
    feeds, cut = [], False
    for i, array in enumerate(map(numpy.asarray, sample.inputs)):
        wanted = sample.chunked is None or i in sample.chunked
        if wanted and array.ndim and array.shape[0] > 1:
            first = (array.shape[0] + 1) // 2
            chunks = ((first, array.shape[0] - first), *((n,) for n in array.shape[1:]))
            feeds.append(dask.array.from_array(array, chunks=chunks))
            cut = True
        else:
            feeds.append(array)
    return feeds if cut else None


# How inputs are cut down together: no rows, one, ...; a scalar is the first element.
EDGES = {
    "no rows": lambda a: a[:0] if a.ndim else a,
    "one row": lambda a: a[:1] if a.ndim else a,
    "no columns": lambda a: a[..., :0] if a.ndim else a,
    "one column": lambda a: a[..., :1] if a.ndim else a,
    "nothing": lambda a: a[(slice(0),) * a.ndim] if a.ndim else a,
    "one element": lambda a: a[(slice(1),) * a.ndim] if a.ndim else a,
    "scalars": lambda a: numpy.array(a.reshape(-1)[0], a.dtype) if a.size else a,
}
QUICK_EDGES = ("no rows",)
# What the region says of an exception that is no error of ours.
INTERNAL = re.compile(r"^\w+(Error|Exception): ")


def edge_run(sample, feeds=None):
    """Return (tensors, values) of a sample, or the error with which the op refuses its inputs.

    Raises:
      AssertionError: it fails with an error that is not meant for a user.
    """
    try:
        return graph_run(sample, feeds)
    except (TypeError, ValueError) as error:
        return error  # at the build, where infer and functions speak for themselves
    except OpError as error:
        assert not INTERNAL.match(error.message), error
        return error


def edge_feeds(arrays):
    """Return arrays as dask arrays cut along axis 0, along the last, and with an empty block."""
    tried = []
    for axis, sizes in ((0, None), (-1, None), (0, 0)):
        feeds, cut = [], False
        for array in arrays:
            size = array.shape[axis] if array.ndim else 0
            if array.ndim and (size > 1 or sizes == 0):
                first = (size + 1) // 2 if sizes is None else sizes
                chunks = [(n,) for n in array.shape]
                chunks[axis] = (first, size - first)
                array, cut = dask.array.from_array(array, chunks=tuple(chunks)), True
            feeds.append(array)
        chunks = [getattr(array, "chunks", None) for array in feeds]
        if cut and chunks not in tried:  # the last axis may be the first
            tried.append(chunks)
            yield feeds


def numerical_gradient(function, inputs, position, seed, step=1e-6):
    """Return the central-difference gradient of ``real(sum(conj(seed) * function(inputs)))``.

    By a complex input it is, as TensorFlow's, that by its real part plus i times that by its
    imaginary part: of a holomorphic function the conjugate of the derivative, times the seed.
    """
    base = [numpy.array(a) if i == position else a for i, a in enumerate(inputs)]
    result = numpy.zeros_like(base[position])
    units = (1, 1j) if result.dtype.kind == "c" else (1,)
    for index in numpy.ndindex(*result.shape):
        for unit in units:
            sides = []
            for sign in (1, -1):
                moved = base[position].copy()
                moved[index] += sign * step * unit
                values = function([*base[:position], moved, *base[position + 1 :]])
                sides.append(
                    sum(
                        float(numpy.sum(numpy.conj(s) * v).real)
                        for s, v in zip(seed, values, strict=True)
                    )
                )
            result[index] += unit * (sides[0] - sides[1]) / (2 * step)
    return result


def complexed(sample):
    """Return a sample with imaginary parts for its floating inputs; None if it has none."""
    rng = numpy.random.default_rng(11)
    inputs = list(map(numpy.asarray, sample.inputs))
    if not sample.complex or not any(a.dtype == numpy.float64 for a in inputs):
        return None
    return replace(
        sample,
        inputs=tuple(
            a + 1j * rng.uniform(-0.5, 0.5, a.shape) if a.dtype == numpy.float64 else a
            for a in inputs
        ),
    )


def is_refused(sample):
    """Return whether the op refuses the dtypes of its inputs when the graph is built."""
    with dv.Graph().as_default():
        try:
            sample.call(*placeholders(sample))
        except (TypeError, ValueError):
            return True
        return False


def seed_like(rng, value):
    """Return random numbers of the shape of a value, complex if it is."""
    shape = numpy.shape(value)
    seed = rng.normal(size=shape)
    return seed + 1j * rng.normal(size=shape) if numpy.iscomplexobj(value) else seed


def assert_gradients(sample, rtol=2e-4):
    """The symbolic gradient equals the numerical one, for every differentiable input."""
    with dv.Graph().as_default() as graph, dv.Session(graph=graph) as session:
        dv.set_random_seed(7)
        inputs = placeholders(sample)
        ys = [
            t
            for t in nest.flatten(sample.call(*inputs))
            if t.dtype.is_floating or t.dtype.is_complex
        ]

        run = session.make_callable(ys, inputs)

        def function(arrays):
            return run(*arrays)

        rng = numpy.random.default_rng(3)
        seed = [seed_like(rng, v) for v in function(sample.inputs)]
        feed = dict(zip(inputs, sample.inputs, strict=True))
        for position in sample.differentiable:
            (dx,) = dv.gradients(ys, [inputs[position]], [dv.constant(s) for s in seed])
            assert dx is not None, f"input {position} of {sample.name} has no gradient"
            found = session.run(dv.convert_to_tensor(dx), feed)
            wanted = numerical_gradient(function, sample.inputs, position, seed)
            scale = max(1.0, float(numpy.max(numpy.abs(wanted), initial=0.0)))
            with case.of(f"by input {position}"):
                assert_allclose(found, wanted, rtol=rtol, atol=rtol * scale / 10)
