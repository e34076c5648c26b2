"""Products, equations and decompositions: shapes, errors, and how their gradients are made."""

import numpy as np
import pytest

import daskvars.v1 as tf
from daskvars.errors import InvalidArgumentError
from daskvars.ops.linalg.einsum import explicit_equation
from tests.sessions import run

pytestmark = pytest.mark.usefixtures("graph")


def types_of(graph):
    return {op.type for op in graph.get_operations()}


# -- matmul ------------------------------------------------------------------------------------


def test_shapes_and_types():
    x = tf.placeholder(tf.float32, [None, 3])
    product = tf.matmul(x, tf.ones([3, 5]))
    assert product.shape.as_list() == [None, 5]
    assert (product.op.type, product.op.name) == ("MatMul", "MatMul")
    batch = tf.matmul(tf.ones([7, 1, 2, 3]), tf.ones([4, 3, 5]))
    assert batch.shape.as_list() == [7, 4, 2, 5]
    assert batch.op.type == "BatchMatMulV2"
    assert tf.matmul(tf.placeholder(tf.float32), x, transpose_b=True).shape.ndims is None


def test_mistakes():
    with pytest.raises(ValueError, match="Dimensions must be equal, but are 3 and 4"):
        tf.matmul(tf.ones([2, 3]), tf.ones([4, 5]))
    with pytest.raises(ValueError, match="rank 2 but is rank 1"):
        tf.matmul(tf.ones([3]), tf.ones([3, 2]))
    with pytest.raises(ValueError, match="Only one of transpose_a and adjoint_a"):
        tf.matmul(tf.ones([3, 3]), tf.ones([3, 3]), transpose_a=True, adjoint_a=True)
    with pytest.raises(TypeError, match="same dtype"):
        tf.matmul(tf.ones([3, 3]), tf.ones([3, 3], tf.float64))


def test_gradients_transpose_nothing(graph):
    x, w = tf.placeholder(tf.float32, [8, 3]), tf.placeholder(tf.float32, [3, 5])
    tf.gradients(tf.matmul(x, w), [x, w])
    assert not types_of(graph) & {"Transpose", "MatrixTranspose", "SumToShape"}


def test_gradient_of_one_matrix_for_a_batch_is_one_product(graph):
    x, w = tf.placeholder(tf.float32, [None, 4, 3]), tf.placeholder(tf.float32, [3, 5])
    _, dw = tf.gradients(tf.matmul(x, w), [x, w])
    assert dw.op.type == "MatMul" and "SumToShape" not in types_of(graph)


def test_gradient_of_one_empty_matrix_for_an_empty_batch():
    x, w = tf.placeholder(tf.float32, [0, 2, 3]), tf.placeholder(tf.float32, [3, 0])
    dx, dw = run(tf.gradients(tf.matmul(x, w), [x, w]), {x: np.ones([0, 2, 3]), w: np.ones([3, 0])})
    assert dx.shape == (0, 2, 3) and dw.shape == (3, 0)


def test_half_precision_accumulates_in_float32():
    x = tf.ones([1, 4096], tf.float16)
    assert run(tf.matmul(x, x, transpose_b=True)).tolist() == [[4096.0]]


# -- equations ---------------------------------------------------------------------------------


def numbered(equation):
    """Return the equation with labels numbered in the order of their first use."""
    labels = dict.fromkeys(c for c in equation if c.isalpha())
    return [list(labels).index(c) if c in labels else c for c in equation]


@pytest.mark.parametrize(
    "equation, shapes, wanted",
    [
        ("ij,jk", [(2, 3), (3, 4)], ("ij,jk->ik", "")),
        ("ij, jk -> ki", [None, None], ("ij,jk->ki", "")),
        ("b...i,...->...", [(2, 3, 4, 5), (3, 4)], ("bcai,ca->ca", "ca")),
        ("...a,...->...", [(2, 3, 4), (3,)], ("bca,c->bc", "bc")),
        ("ba", [(2, 3)], ("ba->ab", "")),
    ],
)
def test_explicit_equations(equation, shapes, wanted):
    found, stretched = explicit_equation(equation, shapes)
    assert numbered(found) == numbered(wanted[0])
    assert len(stretched) == len(wanted[1])


@pytest.mark.parametrize(
    "equation, count, message",
    [
        ("ij,jk->ik", 1, "Got 1 arguments"),
        ("ii->i", 1, "appears more than once"),
        ("ij->ik", 1, "Unknown output axes"),
        ("ijk->i", 1, "does not fit"),
        ("i1->i", 1, "letters"),
        ("...i->i", 1, "lacks the ellipsis"),
    ],
)
def test_equations_that_do_not_fit(equation, count, message):
    with pytest.raises(ValueError, match=message):
        tf.einsum(equation, *[tf.ones([2, 3])] * count)


def test_dimensions_of_an_equation_must_agree():
    with pytest.raises(ValueError, match="Dimensions must be equal, but are 3 and 2"):
        tf.einsum("ij,jk->ik", tf.ones([2, 3]), tf.ones([2, 3]))
    # Only an ellipsis broadcasts.
    with pytest.raises(ValueError, match="Dimensions must be equal"):
        tf.einsum("ij,j->i", tf.ones([2, 3]), tf.ones([1]))
    with pytest.raises(TypeError, match=r"invalid keyword arguments.*: optimize, out; einsum"):
        tf.einsum("ij,jk->ik", tf.ones([2, 3]), tf.ones([3, 1]), out=None, optimize=True)


def test_tensordot():
    a, b = np.arange(24.0).reshape(2, 3, 4), np.arange(60.0).reshape(3, 4, 5)
    for axes in (2, [[1, 2], [0, 1]], ([2, 1], [1, 0]), tf.constant([[1, 2], [0, 1]])):
        wanted = np.tensordot(a, b, 2)
        np.testing.assert_allclose(run(tf.tensordot(tf.constant(a), tf.constant(b), axes)), wanted)
    outer = tf.tensordot(tf.ones([2]), tf.ones([3]), axes=0)
    assert outer.shape.as_list() == [2, 3]
    with pytest.raises(ValueError, match="Different number"):
        tf.tensordot(tf.constant(a), tf.constant(b), [[1, 2], [0]])
    with pytest.raises(ValueError, match="between 0"):
        tf.tensordot(tf.constant(a), tf.constant(b), 4)


# -- decompositions ----------------------------------------------------------------------------


def test_singular_matrices_fail_the_run():
    x = tf.placeholder(tf.float64, [2, 2])
    for result in (tf.matrix_inverse(x), tf.matrix_solve(x, x)):
        with pytest.raises(InvalidArgumentError, match="not invertible"):
            run(result, {x: np.ones((2, 2))})
    with pytest.raises(InvalidArgumentError, match="Cholesky decomposition was not successful"):
        run(tf.cholesky(x), {x: -np.eye(2)})


def test_matrices_must_be_square():
    for function in (tf.matrix_inverse, tf.matrix_determinant, tf.cholesky, tf.self_adjoint_eig):
        with pytest.raises(ValueError, match="square"):
            function(tf.ones([2, 3]))
    with pytest.raises(ValueError, match="rank"):
        tf.qr(tf.ones([3]))
    with pytest.raises(ValueError, match="differ in rows"):
        tf.matrix_solve(tf.ones([3, 3]), tf.ones([2, 1]))


def test_factors_give_the_matrix_back():
    x = np.random.default_rng(0).normal(size=(2, 4, 3))
    s, u, v = run(tf.svd(tf.constant(x)))
    np.testing.assert_allclose(u * s[:, None] @ v.swapaxes(1, 2), x, atol=1e-12)
    q, r = run(tf.qr(tf.constant(x)))
    np.testing.assert_allclose(q @ r, x, atol=1e-12)
    e, w = run(tf.self_adjoint_eig(tf.constant(x[:, :3] + x[:, :3].swapaxes(1, 2))))
    assert (np.diff(e) >= 0).all()
    np.testing.assert_allclose(
        w * e[:, None] @ w.swapaxes(1, 2), x[:, :3] + x[:, :3].swapaxes(1, 2), atol=1e-12
    )


def test_cholesky_solve():
    x = np.random.default_rng(1).normal(size=(3, 3))
    a, b = x @ x.T + np.eye(3), np.ones((3, 2))
    solution = tf.cholesky_solve(tf.cholesky(tf.constant(a)), tf.constant(b))
    np.testing.assert_allclose(run(solution), np.linalg.solve(a, b), rtol=1e-10)


def test_second_derivative_of_a_product():
    x = tf.constant([[1.0, 2.0]])
    (first,) = tf.gradients(tf.matmul(x, x, transpose_b=True), x)
    (second,) = tf.gradients(first, x)
    assert run(first).tolist() == [[2.0, 4.0]]
    assert run(second).tolist() == [[2.0, 2.0]]


def test_the_spectral_norm():
    x = np.random.default_rng(0).normal(size=(2, 3, 4))
    for axes in ((1, 2), (-1, -2), (2, 0)):
        wanted = np.linalg.norm(x, 2, axes, keepdims=True)
        np.testing.assert_allclose(run(tf.norm(x, 2, axes, keepdims=True)), wanted)
        np.testing.assert_allclose(run(tf.norm(x, 2, axes)), wanted.squeeze(axes))
