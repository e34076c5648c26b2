"""NumPy's functions on tensors and variables: ops on the tape, or a refusal that says so."""

import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf
from daskvars.ops.protocols import numpy_functions as numpy_protocols
from tests import case

_UFUNCS = sorted(
    {f for f in vars(np).values() if isinstance(f, np.ufunc)}, key=lambda f: f.__name__
)
_FUNCTIONS = sorted(
    {
        f
        for module in (np, np.linalg, np.fft)
        for f in vars(module).values()
        if hasattr(f, "_implementation")
    },
    key=lambda f: f.__name__,
)
_VALUES = {
    "f": np.array([[0.5, 0.25], [0.75, 0.125]], "f4"),
    "i": np.array([[5, 2], [7, 1]], "i4"),
    "b": np.array([[True, False], [True, True]]),
    "c": np.array([[0.5 + 1j, 0.25], [0.75j, 0.125]], "c8"),
}


def _operands(ufunc, kind):
    return [_VALUES[kind], _VALUES[kind][::-1].copy()][: ufunc.nin]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("kind", _VALUES)
@pytest.mark.parametrize("ufunc", _UFUNCS, ids=lambda f: f.__name__)
def test_a_ufunc_is_numpys_or_refused(ufunc, kind):
    """In eager code, in a function and in a graph; and never does it leave the tape."""
    arrays = _operands(ufunc, kind)
    try:
        wanted = ufunc(*arrays)
    except (TypeError, ValueError):
        pytest.skip("NumPy does not take it either")
    variables = [dv.Variable(array) for array in arrays]
    tensors = [dv.constant(array) for array in arrays]
    known = ufunc in numpy_protocols._UFUNCS
    try:
        found = ufunc(*tensors)
    except TypeError as error:
        assert known or ufunc.__name__ in str(error)
        for given in (variables, [*arrays[:-1], tensors[-1]]):
            with pytest.raises(TypeError):
                ufunc(*given)
        return
    assert known and isinstance(found, dv.Tensor)
    tolerance = 2e-3 if kind == "b" else 1e-5  # NumPy takes bools for float16
    compiled, in_graph = dv.function(ufunc)(*arrays), _in_graph(ufunc, arrays)
    for result in (found, ufunc(*variables), compiled, in_graph):
        assert (np.asarray(result).dtype.kind in "fc") is (wanted.dtype.kind in "fc")
        np.testing.assert_allclose(np.asarray(result), wanted, rtol=tolerance)
    if len(arrays) == 2:
        mixed = ufunc(arrays[0], tensors[1]), ufunc(tensors[0], arrays[1])
        assert all(isinstance(result, dv.Tensor) for result in mixed)
        for result in mixed:
            np.testing.assert_allclose(np.asarray(result), wanted, rtol=tolerance)


def _in_graph(function, arrays):
    with tf.Graph().as_default(), tf.Session() as session:
        result = function(*map(tf.constant, arrays))
        assert isinstance(result, tf.Tensor) and result.graph is session.graph
        return session.run(result)


@pytest.mark.parametrize("ufunc", _UFUNCS, ids=lambda f: f.__name__)
def test_a_gradient_goes_through_or_nothing_does(ufunc):
    w = dv.Variable(_VALUES["f"])
    own = {np.exp: dv.exp, np.add: dv.add, np.tanh: dv.tanh}
    with dv.GradientTape(persistent=True) as tape:
        try:
            found = ufunc(*[w] * ufunc.nin)
        except TypeError:
            return
        same = own[ufunc](*[w] * ufunc.nin) if ufunc in own else found
    if not found.dtype.is_floating:
        return
    gradient = tape.gradient(found, w)
    assert gradient is not None or ufunc in (np.sign, np.rint, np.floor, np.ceil, np.floor_divide)
    if ufunc in own:
        assert np.array_equal(gradient, tape.gradient(same, w))


# function -> calls of it, with the tensor as `x` (a matrix) or among others.
_CALLS = {
    np.sum: [lambda x: np.sum(x), lambda x: np.sum(x, 0), lambda x: np.sum(x, 1, keepdims=True)],
    np.prod: [lambda x: np.prod(x, axis=0)],
    np.mean: [lambda x: np.mean(x), lambda x: np.mean(x, axis=(0, 1))],
    np.std: [lambda x: np.std(x, axis=0)],
    np.var: [lambda x: np.var(x)],
    np.max: [lambda x: np.max(x, axis=1)],
    np.min: [lambda x: np.min(x)],
    np.amax: [lambda x: np.amax(x)],
    np.amin: [lambda x: np.amin(x, 0)],
    np.all: [lambda x: np.all(x > 0.2, axis=0)],
    np.any: [lambda x: np.any(x > 0.6)],
    np.count_nonzero: [lambda x: np.count_nonzero(x, axis=0)],
    np.argmax: [lambda x: np.argmax(x), lambda x: np.argmax(x, axis=1)],
    np.argmin: [lambda x: np.argmin(x), lambda x: np.argmin(x, 0)],
    np.cumsum: [lambda x: np.cumsum(x), lambda x: np.cumsum(x, axis=1)],
    np.cumprod: [lambda x: np.cumprod(x), lambda x: np.cumprod(x, axis=0)],
    np.sort: [lambda x: np.sort(x), lambda x: np.sort(x, axis=0)],
    np.argsort: [lambda x: np.argsort(x)],
    np.searchsorted: [lambda x: np.searchsorted(np.float32([0.1, 0.6]), np.ravel(x), side="right")],
    np.concatenate: [
        lambda x: np.concatenate([x, x], axis=1),
        lambda x: np.concatenate((x, _VALUES["f"])),
        lambda x: np.concatenate([x, x], axis=None),
    ],
    np.stack: [lambda x: np.stack([x, _VALUES["f"]]), lambda x: np.stack((x, x), axis=-1)],
    np.split: [
        lambda x: np.split(x, 2)[1],
        lambda x: np.concatenate(np.split(x, np.array([1]), axis=1)[::-1], axis=-1),
        lambda x: np.split(x, x.shape[:1], -1)[0],
    ],
    np.where: [lambda x: np.where(x > 0.3, x, 0.0), lambda x: np.where([True, False], x, -x)],
    np.clip: [
        lambda x: np.clip(x, 0.2, 0.6),
        lambda x: np.clip(x, None, 0.6),
        lambda x: np.clip(x, min=0.2),
    ],
    np.round: [lambda x: np.round(x)],
    np.around: [lambda x: np.around(x)],
    np.reshape: [lambda x: np.reshape(x, (4, 1)), lambda x: np.reshape(x, -1)],
    np.ravel: [lambda x: np.ravel(x)],
    np.transpose: [lambda x: np.transpose(x), lambda x: np.transpose(x, (1, 0))],
    np.swapaxes: [lambda x: np.swapaxes(x, 0, -1)],
    np.moveaxis: [
        lambda x: np.moveaxis(np.expand_dims(x, 0), 0, -1),
        lambda x: np.moveaxis(np.expand_dims(x, 0), -1, 0),
    ],
    np.expand_dims: [lambda x: np.expand_dims(x, 1)],
    np.squeeze: [lambda x: np.squeeze(np.expand_dims(x, 0)), lambda x: np.squeeze(x[:1], axis=0)],
    np.broadcast_to: [lambda x: np.broadcast_to(x, (3, 2, 2))],
    np.tile: [lambda x: np.tile(x, (2, 1))],
    np.repeat: [lambda x: np.repeat(x, 2), lambda x: np.repeat(x, 2, axis=0)],
    np.roll: [lambda x: np.roll(x, 1, axis=0)],
    np.flip: [lambda x: np.flip(x), lambda x: np.flip(x, 1)],
    np.take: [lambda x: np.take(x, [3, 0]), lambda x: np.take(x, [1, 1], axis=1)],
    np.dot: [
        lambda x: np.dot(x, x),
        lambda x: np.dot(x, x[0]),
        lambda x: np.dot(x[0], x[1]),
        lambda x: np.dot(x, 2.0),
        lambda x: np.dot(_VALUES["f"], x),
    ],
    np.tensordot: [lambda x: np.tensordot(x, x, 1), lambda x: np.tensordot(x, x)],
    np.einsum: [lambda x: np.einsum("ij,kj->ik", x, x)],
    np.trace: [lambda x: np.trace(x)],
    np.linalg.norm: [
        lambda x: np.linalg.norm(x),
        lambda x: np.linalg.norm(x, axis=1, keepdims=True),
        lambda x: np.linalg.norm(x, 1, axis=0),
    ],
    np.linalg.inv: [lambda x: np.linalg.inv(x)],
    np.linalg.det: [lambda x: np.linalg.det(x)],
    np.linalg.solve: [lambda x: np.linalg.solve(x, x)],
    np.linalg.cholesky: [lambda x: np.linalg.cholesky(np.dot(x, np.transpose(x)))],
    np.real: [lambda x: np.real(x)],
    np.imag: [lambda x: np.imag(x)],
    np.zeros_like: [lambda x: np.zeros_like(x), lambda x: np.zeros_like(x, dtype="i4")],
    np.ones_like: [lambda x: np.ones_like(x)],
    np.full_like: [lambda x: np.full_like(x, 3.0)],
    np.shape: [lambda x: np.shape(x)],
    np.ndim: [lambda x: np.ndim(x)],
    np.size: [lambda x: np.size(x), lambda x: np.size(x, 1)],
}
_OF_NUMBERS = {np.shape, np.ndim, np.size}


def test_each_function_that_is_known_is_tried():
    assert set(_CALLS) == set(numpy_protocols._FUNCTIONS)


@pytest.mark.parametrize("function", _CALLS, ids=lambda f: f.__name__)
def test_a_function_gives_what_numpys_gives(function):
    for call in _CALLS[function]:
        wanted = np.asarray(call(_VALUES["f"]))
        found = [call(dv.constant(_VALUES["f"])), call(dv.Variable(_VALUES["f"]))]
        if function not in _OF_NUMBERS:
            assert all(isinstance(result, dv.Tensor) for result in found)
            found += [dv.function(call)(_VALUES["f"]), _in_graph(call, [_VALUES["f"]])]
        for result in found:
            np.testing.assert_allclose(np.asarray(result), wanted, rtol=1e-5, atol=1e-6)


def test_the_shape_of_a_tensor_of_a_graph_is_what_is_known(graph):
    x = tf.placeholder(tf.float32, [None, 3])
    assert np.shape(x).as_list() == [None, 3] and np.size(x, 1) == 3 and np.ndim(x) == 2


def test_means_of_integers_are_not_integers():
    x = dv.constant([[1, 2], [3, 5]])
    assert float(np.mean(x)) == 2.75 and np.std(x).numpy() == np.std([1.0, 2.0, 3.0, 5.0])
    assert np.mean(x > 2).numpy() == 0.5


def test_no_function_leaves_the_tape_without_a_word():
    w = dv.Variable(_VALUES["f"])
    for function in _FUNCTIONS:
        with case.of(function.__name__):
            looking = function in numpy_protocols._LOOKING
            try:
                found = function(w)
            except TypeError as error:
                known = looking or function in numpy_protocols._FUNCTIONS
                assert known or function.__name__ in str(error)
                continue
            assert not isinstance(found, np.ndarray)
            assert looking or not isinstance(found, np.generic)


def test_a_refusal_names_the_function_and_what_to_use():
    x = dv.constant([1.0, 2.0], name="x")
    with pytest.raises(TypeError, match=r"numpy.unique.* x:0.*daskvars.unique.*tensor.numpy\(\)"):
        np.unique(x)
    with pytest.raises(TypeError, match=r"numpy.add.reduce.*daskvars.reduce_sum"):
        np.add.reduce(x)
    with pytest.raises(TypeError, match=r"numpy.sum with these arguments \(.*dtype"):
        np.sum(x, dtype="f8")
    with pytest.raises(TypeError, match=r"numpy.exp with where="):
        np.exp(x, where=[True, False])
    with dv.Graph().as_default(), pytest.raises(TypeError, match=r"session.run\(tensor\)"):
        np.unique(dv.constant([1.0]))


def test_a_training_with_numpys_functions_is_that_with_ours():
    def trained(exp, mean, where):
        w = dv.Variable(_VALUES["f"])
        for _ in range(3):
            with dv.GradientTape() as tape:
                loss = mean(where(w > 0.2, exp(-w), w * w))
            w.assign_sub(tape.gradient(loss, w))
        return w.numpy().tobytes()

    assert trained(np.exp, np.mean, np.where) == trained(dv.exp, dv.reduce_mean, dv.where_v2)


def test_arrays_take_values_where_they_are_written_into(tmp_path):
    x, total = dv.constant([1.0, 2.0]), np.ones(2)
    total += x
    total[1:] = x[1:] * 5.0
    np.multiply(total, x, out=total)
    assert total.tolist() == [2.0, 20.0]
    with pytest.raises(TypeError, match=r"numpy.add with out="):
        np.add(x, x, out=x)
    with dv.Graph().as_default(), pytest.raises(NotImplementedError, match="is symbolic"):
        total += dv.constant([1.0, 2.0])
    np.save(tmp_path / "x.npy", x)
    assert np.load(tmp_path / "x.npy").tolist() == [1.0, 2.0]
    assert np.allclose(x, [1.0, 2.0]) and np.array_equal(dv.Variable([1.0]), [1.0])


def test_scalars_and_arrays_on_the_left():
    x = dv.constant([1.0, 2.0])
    for left in (2.0, np.float32(2), np.float64(2), np.array([2.0, 2.0]), np.array(2), [2.0, 2.0]):
        for result, wanted in (
            (left + x, [3, 4]),
            (left - x, [1, 0]),
            (left * x, [2, 4]),
            (left / x, [2, 1]),
            (left > x, [True, False]),
            (left == x, [False, True]),
        ):
            assert isinstance(result, dv.Tensor) and result.numpy().tolist() == wanted
    assert (np.ones((2, 2), "f4") @ dv.ones([2, 1])).numpy().tolist() == [[2.0], [2.0]]
    with dv.Graph().as_default():
        assert (np.zeros(2) == dv.constant([0.0, 0.0])) is False
        x, y, z = dv.constant([1.0, 2.0]), np.float32(2), np.ones([2, 2], "f4")
        found = [y + x, y - x, y * x, y / x, y // x, y % x, y**x, z @ dv.constant(z)]
        names = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"]
        assert [tensor.op.name for tensor in found] == names  # as without NumPy
