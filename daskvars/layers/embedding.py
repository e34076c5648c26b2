"""Rows of a table: one for each id, or those of several combined."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from daskvars import dtypes
from daskvars.chunk_grid import ChunksLike
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.sparse_tensor import SparseTensor, SparseTensorValue
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.layers.layer import Layer
from daskvars.ops.array import constant
from daskvars.ops.linalg.products import matmul
from daskvars.ops.math.arithmetic import maximum, number
from daskvars.ops.math.casting import cast
from daskvars.ops.math.comparison import not_equal
from daskvars.ops.math.reduce import reduce_sum
from daskvars.ops.math.transcendental import sqrt
from daskvars.ops.nn.embedding import embedding_lookup, interleaved
from daskvars.ops.nn.embedding_sparse import COMBINERS, embedding_lookup_sparse
from daskvars.ops.sparse.indices import SparseLike, as_sparse
from daskvars.shapes import ShapeLike, TensorShape
from daskvars.variables.initializers import InitializerLike, RandomUniform

_SMALL = RandomUniform(-0.05, 0.05)


class Embedding(Layer):
    """A layer that gives the row of a table for each id. Its gradient stays sparse.

    Variables: `embeddings` [input_dim, output_dim].

    Args:
      input_dim: number of rows: ids are below it.
      output_dim: size of a row.
      embeddings_initializer: initializer, by default uniform in [-0.05, 0.05).
      embeddings_regularizer: function of the table that gives a loss.
      embeddings_constraint: function that projects the table after an update.
      chunks: layout of the table, see `Variable`; chunks of rows are kept by different workers.
      partition_strategy: "div" keeps id i in row i; "mod" deals ids out to the chunks in turns,
        so that ids numbered by frequency do not all come from one worker: id i is in row
        ``i % n * (input_dim // n) + i // n`` for n chunks.
      trainable, name: see `Layer`.
      activity_regularizer: function of the output that gives a loss.

    Raises:
      ValueError: there is no such `partition_strategy`.

    Source: Keras, ``keras.layers.Embedding``.

    >>> layer = dv.layers.Embedding(5, 3, name="words")
    >>> layer([[0, 4]]).shape.as_list(), layer.embeddings.name
    ([1, 2, 3], 'words/embeddings:0')
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        embeddings_initializer: InitializerLike = _SMALL,
        embeddings_regularizer: Callable[[Any], Any] | None = None,
        activity_regularizer: Callable[[Any], Any] | None = None,
        embeddings_constraint: Callable[[Any], Any] | None = None,
        chunks: ChunksLike | None = None,
        partition_strategy: str = "div",
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        kwargs.setdefault("dtype", dtypes.float32)
        super().__init__(trainable, name, activity_regularizer=activity_regularizer, **kwargs)
        self.input_dim, self.output_dim = int(input_dim), int(output_dim)
        self.embeddings_initializer = embeddings_initializer
        self.embeddings_regularizer = embeddings_regularizer
        self.embeddings_constraint = embeddings_constraint
        if partition_strategy not in ("mod", "div"):
            raise ValueError(f"Unrecognized partition strategy: {partition_strategy}")
        self.chunks = chunks
        self.partition_strategy = partition_strategy
        self.embeddings: Any = None

    def build(self, input_shape: ShapeLike) -> None:
        """Make `embeddings`."""
        self.embeddings = self.add_weight(
            "embeddings",
            [self.input_dim, self.output_dim],
            initializer=self.embeddings_initializer,
            regularizer=self.embeddings_regularizer,
            constraint=self.embeddings_constraint,
            chunks=self.chunks,
        )
        self.built = True

    def call(self, inputs: TensorLike) -> Tensor:
        """Return [*inputs.shape, output_dim]."""
        ids = convert_to_tensor(inputs)
        if ids.dtype.base_dtype not in (dtypes.int32, dtypes.int64):
            ids = cast(ids, dtypes.int32)
        return embedding_lookup(self.embeddings, self._rows(ids))

    def _rows(self, ids: Tensor) -> Tensor:
        """Return the rows of the table that ids are in."""
        chunks = self.embeddings.chunks  # None for one
        if self.partition_strategy == "div" or chunks is None:
            return ids
        return interleaved(ids, self.input_dim, len(chunks[0]))

    def compute_output_shape(self, input_shape: ShapeLike) -> TensorShape:
        """Return [*input_shape, output_dim]."""
        return TensorShape([*TensorShape(input_shape).as_list(), self.output_dim])


class EmbeddingBag(Embedding):
    """A layer that gives for each row of ids the rows of a table that they name, combined.

    Variables: `embeddings` [input_dim, output_dim].

    Args:
      input_dim: number of rows of the table: ids are below it.
      output_dim: size of a row.
      combiner: "sum", "mean" or "sqrtn". See `nn.embedding_lookup_sparse`.
      padding_idx: the id in a row of dense ids that stands for none; by default each id counts.
      others: see `Embedding`.

    Raises:
      ValueError: there is no such combiner, or the padding is no id.

    Dense ids are cut along their rows, over workers too; sparse ones are combined in one place.

    Source: PyTorch, ``torch.nn.EmbeddingBag``, with the combiners of TensorFlow.

    >>> layer = dv.layers.EmbeddingBag(5, 3, "sum", padding_idx=0)
    >>> ids = dv.SparseTensor([[0, 0], [0, 1], [1, 0]], [1, 4, 2], [2, 2])
    >>> layer(ids).shape.as_list(), layer([[1, 4], [2, 0]]).shape.as_list()
    ([2, 3], [2, 3])
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        combiner: str = "mean",
        padding_idx: int | None = None,
        **others: Any,
    ) -> None:
        super().__init__(input_dim, output_dim, **others)
        if combiner not in COMBINERS:
            raise ValueError(f"combiner must be one of {', '.join(COMBINERS)}, got {combiner!r}")
        if padding_idx is not None and not 0 <= padding_idx < self.input_dim:
            raise ValueError(
                f"padding_idx must be an id, from 0 to {self.input_dim - 1}, found {padding_idx}"
            )
        self.combiner, self.padding_idx = combiner, padding_idx

    def call(self, inputs: Any, weights: SparseLike | None = None) -> Tensor:
        """Return [rows, output_dim].

        Args:
          inputs: ids [rows, columns]: a `SparseTensor`, or integers with `padding_idx` for none.
          weights: a `SparseTensor` of equal places, beside sparse ids; None for ones.

        Raises:
          ValueError: dense ids are not [rows, columns], or are given with weights.
        """
        if not isinstance(inputs, SparseTensor | SparseTensorValue):
            return self._combined(convert_to_tensor(inputs), weights)
        ids = as_sparse(inputs)
        ids = SparseTensor(ids.indices, self._rows(ids.values), ids.dense_shape)
        return embedding_lookup_sparse(self.embeddings, ids, weights, combiner=self.combiner)

    def _combined(self, ids: Tensor, weights: SparseLike | None) -> Tensor:
        shape = ids.get_shape()
        if shape.ndims != 2 or weights is not None:
            raise ValueError(
                f"{self.name}: dense ids are to be [rows, columns] and without weights, found "
                f"{'weights and ' if weights is not None else ''}shape {shape}; give a SparseTensor"
            )
        found = embedding_lookup(self.embeddings, self._rows(ids))
        if self.padding_idx is None:
            shares = constant.ones_like(ids, dtype=found.dtype)
        else:
            shares = cast(not_equal(ids, number(self.padding_idx, ids)), found.dtype)
        if self.combiner != "sum":
            counts = maximum(reduce_sum(shares, axis=1, keepdims=True), number(1, shares))
            shares = shares / (sqrt(counts) if self.combiner == "sqrtn" else counts)
        return matmul(shares[:, None, :], found)[:, 0, :]

    def compute_output_shape(self, input_shape: ShapeLike) -> TensorShape:
        """Return [rows, output_dim]."""
        return TensorShape([TensorShape(input_shape).as_list()[0], self.output_dim])
