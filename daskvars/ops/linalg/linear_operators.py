"""Matrices that know what they are: their products, solutions and determinants need less work.

A `LinearOperator` is a batch of matrices [..., m, n], given by less than all of their numbers.
`to_dense` returns them all; a subclass says what it computes otherwise than of those.
"""

from __future__ import annotations

from typing import Any, TypedDict, Unpack

from daskvars.dtypes import DType, as_dtype, float32
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.ops.array.constant import ones, shape
from daskvars.ops.array.ranges import eye
from daskvars.ops.array.reshaping import expand_dims, identity, squeeze
from daskvars.ops.linalg.decompositions import (
    matrix_determinant,
    matrix_solve,
    matrix_triangular_solve,
)
from daskvars.ops.linalg.matrix_forms import adjoint as adjoint_of, slogdet
from daskvars.ops.linalg.matrix_parts import (
    matrix_band_part,
    matrix_diag,
    matrix_diag_part,
    matrix_set_diag,
)
from daskvars.ops.linalg.products import matmul
from daskvars.ops.math.arithmetic import abs as absolute, add, multiply
from daskvars.ops.math.casting import conj
from daskvars.ops.math.division import realdiv
from daskvars.ops.math.reduce import reduce_prod, reduce_sum
from daskvars.ops.math.transcendental import log
from daskvars.shapes import Dimension, TensorShape
from daskvars.surface.forwarding import forwards
from daskvars.surface.signatures import Argument, Family

__all__ = [
    "LinearOperator",
    "LinearOperatorDiag",
    "LinearOperatorFullMatrix",
    "LinearOperatorIdentity",
    "LinearOperatorLowerTriangular",
    "LinearOperatorScaledIdentity",
]


class Hints(TypedDict, total=False):
    """What is said of matrices."""

    is_non_singular: bool | None
    is_self_adjoint: bool | None
    is_positive_definite: bool | None
    is_square: bool | None
    name: str


HINTS = Family(
    {
        "is_non_singular": Argument("whether it has an inverse.", None, "bool | None"),
        "is_self_adjoint": Argument(
            "whether it is its own conjugate transpose.", None, "bool | None"
        ),
        "is_positive_definite": Argument(
            "whether its quadratic form is positive.", None, "bool | None"
        ),
        "is_square": Argument("whether it has as many rows as columns.", None, "bool | None"),
        "name": Argument("name scope of the operations.", "", "str"),
    }
)


@HINTS.documents()
class LinearOperator:
    """A batch of matrices [..., m, n]; a subclass has the formulas.

    What is said of a matrix is kept for those who ask, and not checked.

    Args:
      numbers: the tensor that it is made of.
      name: name scope of the operations, by default that of the class.

    Source: TensorFlow 1.15, ``tf.linalg.LinearOperator``.

    >>> lower = dv.linalg.LinearOperatorLowerTriangular([[2.0, 9.0], [1.0, 4.0]])
    >>> lower
    <LinearOperatorLowerTriangular 'LinearOperatorLowerTriangular' shape=(2, 2) dtype=float32>
    >>> lower.matvec([1.0, 1.0]).numpy(), lower.solvevec([2.0, 5.0]).numpy()
    (array([2., 5.], dtype=float32), array([1., 1.], dtype=float32))
    """

    def __init__(
        self,
        numbers: TensorLike,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        self.name = name or type(self).__name__
        with name_scope(self.name, values=[numbers]):
            self._numbers = convert_to_tensor(numbers)
        is_implied = is_non_singular is None and is_positive_definite
        self.is_non_singular = True if is_implied else is_non_singular
        self.is_self_adjoint = is_self_adjoint
        self.is_positive_definite = is_positive_definite
        self._is_square = is_square

    def __init_subclass__(cls) -> None:
        HINTS.completes(cls, name=cls.__name__)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} shape={self.shape} dtype={self.dtype.name}>"

    # -- what it is ---------------------------------------------------------------------------

    dtype: DType = forwards("_numbers.dtype", "The dtype of its numbers.")

    @property
    def graph_parents(self) -> list[Tensor]:
        """The tensors that it is made of."""
        return [self._numbers]

    @property
    def shape(self) -> TensorShape:
        """Its static shape, [..., m, n]."""
        return self._numbers.get_shape()

    @property
    def batch_shape(self) -> TensorShape:
        """Its static shape without the last two dimensions."""
        return self.shape[:-2]

    @property
    def range_dimension(self) -> Any:
        """The number of its rows, as a `Dimension`."""
        return Dimension(self.shape[-2])

    @property
    def domain_dimension(self) -> Any:
        """The number of its columns, as a `Dimension`."""
        return Dimension(self.shape[-1])

    @property
    def is_square(self) -> bool | None:
        """Whether it has as many rows as columns; None where nobody knows."""
        if self._is_square is not None:
            return self._is_square
        return self.domain_dimension == self.range_dimension

    def shape_tensor(self, name: str = "shape_tensor") -> Tensor:
        """Return its shape [..., m, n] as int32."""
        return shape(self.to_dense(), name=name)

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Tensor:
        """Return its shape without the last two dimensions as int32."""
        with name_scope(f"{self.name}/{name}"):
            return self.shape_tensor()[:-2]

    def range_dimension_tensor(self, name: str = "range_dimension_tensor") -> Tensor:
        """Return the number of its rows, a scalar int32."""
        with name_scope(f"{self.name}/{name}"):
            return self.shape_tensor()[-2]

    def domain_dimension_tensor(self, name: str = "domain_dimension_tensor") -> Tensor:
        """Return the number of its columns, a scalar int32."""
        with name_scope(f"{self.name}/{name}"):
            return self.shape_tensor()[-1]

    tensor_rank: int | None = forwards("shape.ndims", "How many dimensions its shape has.")

    def tensor_rank_tensor(self, name: str = "tensor_rank_tensor") -> Tensor:
        """Return how many dimensions its shape has, a scalar int32."""
        with name_scope(f"{self.name}/{name}"):
            return shape(self.shape_tensor())[0]

    def to_dense(self, name: str = "to_dense") -> Tensor:
        """Return its matrices [..., m, n].

        Raises:
          NotImplementedError: the class has no formula.
        """
        raise NotImplementedError(f"{type(self).__name__} has no to_dense")

    # -- what it does -------------------------------------------------------------------------

    def matmul(
        self, x: TensorLike, adjoint: bool = False, adjoint_arg: bool = False, name: str = "matmul"
    ) -> Tensor:
        """Return its product with matrices x [..., n, k], [..., m, k].

        With `adjoint` that of its conjugate transpose, with `adjoint_arg` that with x's.
        """
        with name_scope(f"{self.name}/{name}", values=[x]):
            given = self._argument(x, adjoint_arg)
            return self._matmul(given, adjoint)

    def matvec(self, x: TensorLike, adjoint: bool = False, name: str = "matvec") -> Tensor:
        """Return its product with vectors x [..., n], [..., m]; of its `adjoint` if that is set."""
        with name_scope(f"{self.name}/{name}", values=[x]):
            return squeeze(self.matmul(expand_dims(self._argument(x), -1), adjoint), [-1])

    def solve(
        self, rhs: TensorLike, adjoint: bool = False, adjoint_arg: bool = False, name: str = "solve"
    ) -> Tensor:
        """Return what its product with is `rhs` [..., n, k], [..., n, k].

        With `adjoint` its conjugate transpose is meant, with `adjoint_arg` that of `rhs`.
        """
        with name_scope(f"{self.name}/{name}", values=[rhs]):
            given = self._argument(rhs, adjoint_arg)
            return self._solve(given, adjoint)

    def solvevec(self, rhs: TensorLike, adjoint: bool = False, name: str = "solvevec") -> Tensor:
        """Return `solve` for vectors `rhs` [..., n], [..., n]; for its `adjoint` if that is set."""
        with name_scope(f"{self.name}/{name}", values=[rhs]):
            return squeeze(self.solve(expand_dims(self._argument(rhs), -1), adjoint), [-1])

    def determinant(self, name: str = "det") -> Tensor:
        """Return its determinants [...]."""
        with name_scope(f"{self.name}/{name}"):
            return self._determinant()

    def log_abs_determinant(self, name: str = "log_abs_det") -> Tensor:
        """Return the logarithms of the absolute values of its determinants [...]."""
        with name_scope(f"{self.name}/{name}"):
            return self._log_abs_determinant()

    def diag_part(self, name: str = "diag_part") -> Tensor:
        """Return its diagonals [..., least of m and n]."""
        return matrix_diag_part(self.to_dense(), name=name)

    def trace(self, name: str = "trace") -> Tensor:
        """Return the sums of its diagonals [...]."""
        with name_scope(f"{self.name}/{name}"):
            return reduce_sum(self.diag_part(), -1)

    def add_to_tensor(self, x: TensorLike, name: str = "add_to_tensor") -> Tensor:
        """Return its sum with matrices x [..., m, n], [..., m, n]."""
        return add(self.to_dense(), self._argument(x), name=name)

    def _argument(self, x: TensorLike, is_adjoint: bool = False) -> Tensor:
        given = convert_to_tensor(x, dtype=self.dtype)
        return adjoint_of(given) if is_adjoint else given

    def _matmul(self, x: Tensor, adjoint: bool) -> Tensor:
        return matmul(self.to_dense(), x, adjoint_a=adjoint)

    def _solve(self, rhs: Tensor, adjoint: bool) -> Tensor:
        return matrix_solve(self.to_dense(), rhs, adjoint=adjoint)

    def _determinant(self) -> Tensor:
        return matrix_determinant(self.to_dense())

    def _log_abs_determinant(self) -> Tensor:
        return slogdet(self.to_dense())[1]


class LinearOperatorFullMatrix(LinearOperator):
    """Matrices of which all numbers are given.

    Args:
      matrix: [..., m, n] floating or complex.

    Source: TensorFlow 1.15, ``tf.linalg.LinearOperatorFullMatrix``.

    >>> matrix = dv.linalg.LinearOperatorFullMatrix([[1.0, 2.0], [0.0, 1.0]])
    >>> float(matrix.determinant()), matrix.solve([[3.0], [1.0]]).numpy().tolist()
    (1.0, [[1.0], [1.0]])
    """

    def __init__(self, matrix: TensorLike, **hints: Unpack[Hints]) -> None:
        super().__init__(matrix, **hints)

    def to_dense(self, name: str = "to_dense") -> Tensor:
        """Return its matrices [..., m, n]."""
        return identity(self._numbers, name=name)


class LinearOperatorLowerTriangular(LinearOperator):
    """Lower triangular matrices: what is given above the diagonal does not count.

    Args:
      tril: [..., n, n] floating or complex.

    Source: TensorFlow 1.15, ``tf.linalg.LinearOperatorLowerTriangular``.

    >>> mask = dv.linalg.LinearOperatorLowerTriangular(dv.ones([3, 3])).to_dense()
    >>> mask.numpy().tolist()
    [[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [1.0, 1.0, 1.0]]
    """

    def __init__(self, tril: TensorLike, **hints: Unpack[Hints]) -> None:
        hints["is_square"] = hints["is_square"] is not False
        super().__init__(tril, **hints)

    def to_dense(self, name: str = "to_dense") -> Tensor:
        """Return its matrices [..., n, n]."""
        return matrix_band_part(self._numbers, -1, 0, name=name)

    def diag_part(self, name: str = "diag_part") -> Tensor:
        """Return its diagonals [..., n]."""
        return matrix_diag_part(self._numbers, name=name)

    def _solve(self, rhs: Tensor, adjoint: bool) -> Tensor:
        return matrix_triangular_solve(self._numbers, rhs, lower=True, adjoint=adjoint)

    def _determinant(self) -> Tensor:
        return reduce_prod(self.diag_part(), -1)

    def _log_abs_determinant(self) -> Tensor:
        return reduce_sum(log(absolute(self.diag_part())), -1)


class LinearOperatorDiag(LinearOperator):
    """Diagonal matrices.

    Args:
      diag: [..., n] floating or complex.

    Source: TensorFlow 1.15, ``tf.linalg.LinearOperatorDiag``.

    >>> scales = dv.linalg.LinearOperatorDiag([2.0, 4.0])
    >>> scales.matvec([1.0, 1.0]).numpy().tolist(), float(scales.determinant())
    ([2.0, 4.0], 8.0)
    """

    def __init__(self, diag: TensorLike, **hints: Unpack[Hints]) -> None:
        hints["is_square"] = hints["is_square"] is not False
        super().__init__(diag, **hints)
        if self.is_self_adjoint is None and not self.dtype.is_complex:
            self.is_self_adjoint = True

    @property
    def shape(self) -> TensorShape:
        """Its static shape, [..., n, n]."""
        given = self._numbers.get_shape()
        return given.concatenate(given[-1:])

    def to_dense(self, name: str = "to_dense") -> Tensor:
        """Return its matrices [..., n, n]."""
        return matrix_diag(self._numbers, name=name)

    def diag_part(self, name: str = "diag_part") -> Tensor:
        """Return its diagonals [..., n]."""
        return identity(self._numbers, name=name)

    def add_to_tensor(self, x: TensorLike, name: str = "add_to_tensor") -> Tensor:
        """Return its sum with matrices x [..., n, n], [..., n, n]."""
        with name_scope(f"{self.name}/{name}", values=[x]):
            given = self._argument(x)
            return matrix_set_diag(given, add(matrix_diag_part(given), self._numbers))

    def _matmul(self, x: Tensor, adjoint: bool) -> Tensor:
        return multiply(self._column(adjoint), x)

    def _solve(self, rhs: Tensor, adjoint: bool) -> Tensor:
        return realdiv(rhs, self._column(adjoint))

    def _column(self, adjoint: bool) -> Tensor:
        return expand_dims(conj(self._numbers) if adjoint else self._numbers, -1)

    def _determinant(self) -> Tensor:
        return reduce_prod(self._numbers, -1)

    def _log_abs_determinant(self) -> Tensor:
        return reduce_sum(log(absolute(self._numbers)), -1)


class LinearOperatorScaledIdentity(LinearOperatorDiag):
    """The identity times a number.

    Args:
      num_rows: how many rows it has.
      multiplier: [...] floating or complex.

    Source: TensorFlow 1.15, ``tf.linalg.LinearOperatorScaledIdentity``.

    >>> dv.linalg.LinearOperatorScaledIdentity(2, 3.0).to_dense().numpy().tolist()
    [[3.0, 0.0], [0.0, 3.0]]
    """

    def __init__(
        self, num_rows: TensorLike, multiplier: TensorLike, **hints: Unpack[Hints]
    ) -> None:
        with name_scope(hints["name"], values=[multiplier]):
            self.multiplier = convert_to_tensor(multiplier)
            each = ones([num_rows], self.multiplier.dtype)
            diag = multiply(expand_dims(self.multiplier, -1), each)
        super().__init__(diag, **hints)


@HINTS.documents()
class LinearOperatorIdentity(LinearOperator):
    """Identities.

    Args:
      num_rows: how many rows each has.
      batch_shape: [k] integer, the shape of the batch, by default of one matrix.
      dtype: of the numbers, by default float32.

    Source: TensorFlow 1.15, ``tf.linalg.LinearOperatorIdentity``.

    >>> dv.linalg.LinearOperatorIdentity(2).matvec([5.0, 6.0]).numpy().tolist()
    [5.0, 6.0]
    """

    def __init__(
        self,
        num_rows: TensorLike,
        batch_shape: Any = None,
        dtype: Any = None,
        is_non_singular: bool | None = True,
        is_self_adjoint: bool | None = True,
        is_positive_definite: bool | None = True,
        is_square: bool | None = True,
        name: str = "LinearOperatorIdentity",
    ) -> None:
        numbers = eye(num_rows, batch_shape=batch_shape, dtype=as_dtype(dtype or float32))
        super().__init__(
            numbers, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name
        )

    def to_dense(self, name: str = "to_dense") -> Tensor:
        """Return its matrices [..., n, n]."""
        return identity(self._numbers, name=name)

    def _solve(self, rhs: Tensor, adjoint: bool) -> Tensor:
        return self._matmul(rhs, adjoint)
