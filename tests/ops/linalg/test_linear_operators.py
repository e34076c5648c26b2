"""Linear operators: each does what its dense matrices do."""

import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf

rng = np.random.default_rng(0)
SQUARES = rng.normal(size=(2, 3, 3)) + 3 * np.eye(3)
OPERATORS = {
    "full": lambda: dv.linalg.LinearOperatorFullMatrix(SQUARES),
    "lower": lambda: dv.linalg.LinearOperatorLowerTriangular(SQUARES),
    "diag": lambda: dv.linalg.LinearOperatorDiag(SQUARES[:, 0] + 4.0),
    "scaled": lambda: dv.linalg.LinearOperatorScaledIdentity(3, np.array([2.0, -3.0])),
    "identity": lambda: dv.linalg.LinearOperatorIdentity(3, [2], "float64"),
}


@pytest.mark.parametrize("kind", OPERATORS)
@pytest.mark.parametrize("adjoint", [False, True])
def test_products_and_solutions_are_those_of_the_dense_matrices(kind, adjoint):
    operator, x = OPERATORS[kind](), rng.normal(size=(2, 3, 4))
    dense = operator.to_dense().numpy()
    turned = np.swapaxes(dense, -1, -2) if adjoint else dense
    product = operator.matmul(x, adjoint=adjoint)
    np.testing.assert_allclose(product, turned @ x, rtol=1e-12)
    np.testing.assert_allclose(operator.solve(product, adjoint=adjoint), x, rtol=1e-9)
    other = operator.matmul(np.swapaxes(x, -1, -2), adjoint=adjoint, adjoint_arg=True)
    np.testing.assert_array_equal(other, product)
    vectors = operator.matvec(x[..., 0], adjoint=adjoint)
    np.testing.assert_allclose(vectors, (turned @ x)[..., 0], rtol=1e-12)
    np.testing.assert_allclose(operator.solvevec(vectors, adjoint=adjoint), x[..., 0], rtol=1e-9)


@pytest.mark.parametrize("kind", OPERATORS)
def test_numbers_of_the_matrices_are_those_of_the_dense_ones(kind):
    operator = OPERATORS[kind]()
    dense = operator.to_dense().numpy()
    np.testing.assert_allclose(operator.determinant(), np.linalg.det(dense), rtol=1e-12)
    logarithms = np.log(np.abs(np.linalg.det(dense)))
    np.testing.assert_allclose(operator.log_abs_determinant(), logarithms, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(operator.trace(), np.trace(dense, axis1=1, axis2=2), rtol=1e-12)
    np.testing.assert_array_equal(operator.diag_part(), np.diagonal(dense, axis1=1, axis2=2))
    np.testing.assert_array_equal(operator.add_to_tensor(SQUARES), dense + SQUARES)
    assert operator.shape.as_list() == [2, 3, 3] == operator.shape_tensor().numpy().tolist()
    assert operator.batch_shape.as_list() == [2] and operator.dtype == dv.float64
    assert operator.range_dimension.value == operator.domain_dimension.value == 3


def test_gradients_go_through_and_a_base_has_no_matrix():
    with dv.GradientTape() as tape:
        given = dv.constant(SQUARES)
        tape.watch(given)
        loss = dv.reduce_sum(dv.linalg.LinearOperatorLowerTriangular(given).to_dense())
    np.testing.assert_array_equal(tape.gradient(loss, given), np.tril(np.ones_like(SQUARES)))
    with pytest.raises(NotImplementedError, match="has no to_dense"):
        dv.linalg.LinearOperator(1.0).to_dense()


def test_shapes_and_what_follows_from_what_is_said():
    with tf.Graph().as_default(), tf.Session() as session:
        matrix = tf.placeholder(tf.float32, [None, 3, 3])
        full = tf.linalg.LinearOperatorFullMatrix(matrix, is_positive_definite=True)
        diagonal = tf.linalg.LinearOperatorDiag(matrix[0])
        found = [
            *(full.batch_shape_tensor(), full.range_dimension_tensor(), full.tensor_rank_tensor()),
            *(diagonal.shape_tensor(), diagonal.domain_dimension_tensor()),
        ]
        got = session.run(found, {matrix: np.ones((2, 3, 3))})
    assert [value.tolist() for value in got] == [[2], 3, 3, [3, 3, 3], 3]
    assert full.is_square and full.is_non_singular and full.tensor_rank == 3
    assert full.is_self_adjoint is None
    assert diagonal.is_self_adjoint
    unknown = tf.linalg.LinearOperatorFullMatrix(tf.placeholder(tf.float32, [None, 3]))
    assert unknown.is_square is None
