"""Ids as dense numbers: indicators, and rows of a table."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from daskvars.dtypes import float32
from daskvars.graph.scopes.collections import GraphKeys
from daskvars.graph.scopes.default_graph import get_default_graph
from daskvars.graph.tensor import Tensor
from daskvars.ops.array.one_hot import one_hot
from daskvars.ops.math.reduce import reduce_sum
from daskvars.ops.nn.embedding_sparse import safe_embedding_lookup_sparse
from daskvars.ops.sparse.arranging import merge, slice as slice_sparse
from daskvars.ops.sparse.dense import to_dense
from daskvars.shapes import TensorShape
from daskvars.surface.signatures import with_arguments_in_order, with_arguments_of
from daskvars.train.checkpoints.initializers import init_from_checkpoint
from daskvars.v1.feature_column.categorical import WeightedCategoricalColumn
from daskvars.v1.feature_column.columns import CategoricalColumn, DenseColumn, FeatureValues
from daskvars.variables.initializers import TruncatedNormal
from daskvars.variables.scopes.variable_scope import get_variable


@dataclass(frozen=True)
class IndicatorColumn(DenseColumn):
    """See `indicator_column`."""

    categorical_column: CategoricalColumn

    @property
    def name(self) -> str:
        """That of the ids, and what is made of them."""
        return f"{self.categorical_column.name}_indicator"

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """That of the ids."""
        return self.categorical_column.parse_example_spec

    @property
    def variable_shape(self) -> TensorShape:
        """A number for each id."""
        return TensorShape([1, self.categorical_column.num_buckets])

    def transform_feature(self, inputs: FeatureValues) -> Tensor:
        """Return how often each id is there, or what it weighs."""
        ids, weights = self.categorical_column.get_sparse_tensors(inputs)
        depth = self.categorical_column.num_buckets
        if weights is not None:
            merged = merge(ids, weights, depth)  # ids of -1 are no ids
            return to_dense(slice_sparse(merged, [0, 0], merged.dense_shape))
        return reduce_sum(one_hot(to_dense(ids, -1), depth, 1.0, 0.0), axis=[-2])


@dataclass(frozen=True)
class EmbeddingColumn(DenseColumn):
    """See `embedding_column`, and `shared_embedding_columns` where it has a collection's name."""

    categorical_column: CategoricalColumn
    dimension: int
    combiner: str
    initializer: Callable[..., Any]
    ckpt_to_load_from: str | None
    tensor_name_in_ckpt: str | None
    max_norm: float | None
    trainable: bool
    shared_embedding_collection_name: str | None = None

    @property
    def name(self) -> str:
        """That of the ids, and what is made of them."""
        shared = "" if self.shared_embedding_collection_name is None else "_shared"
        return f"{self.categorical_column.name}{shared}_embedding"

    @property
    def var_scope_name(self) -> str:
        """The scope of the table."""
        return self.shared_embedding_collection_name or self.name

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """That of the ids."""
        return self.categorical_column.parse_example_spec

    @property
    def variable_shape(self) -> TensorShape:
        """A row of the table."""
        return TensorShape([self.dimension])

    def transform_feature(self, inputs: FeatureValues) -> Any:
        """Return the ids."""
        return inputs.get(self.categorical_column)

    @with_arguments_of(DenseColumn.get_dense_tensor)
    def get_dense_tensor(
        self, inputs: FeatureValues, weight_collections: Sequence[str] | None, trainable: Any
    ) -> Tensor:
        """Return the rows of the table that the ids name, combined for each example."""
        ids, weights = self.categorical_column.get_sparse_tensors(inputs)
        table = self._table(weight_collections, trainable is not False and self.trainable)
        if self.ckpt_to_load_from is not None and self.tensor_name_in_ckpt is not None:
            init_from_checkpoint(self.ckpt_to_load_from, {self.tensor_name_in_ckpt: table})
        name = f"{self.name}_weights"
        return safe_embedding_lookup_sparse(
            table, ids, weights, combiner=self.combiner, name=name, max_norm=self.max_norm
        )

    def _table(self, collections: Sequence[str] | None, trainable: bool) -> Any:
        shape = (self.categorical_column.num_buckets, self.dimension)
        shared = self.shared_embedding_collection_name
        if shared is not None and (found := get_default_graph().get_collection(shared)):
            table = found[0]
            if len(found) > 1 or tuple(table.get_shape().as_list()) != shape:
                raise ValueError(
                    f"Collection {shared} can only contain one variable, of shape {shape}. It has "
                    f"{found}. Suggested fix: Use another shared_embedding_collection_name."
                )
            return table
        given = [GraphKeys.GLOBAL_VARIABLES, *(collections or ())]
        table = get_variable(
            "embedding_weights",
            shape,
            float32,
            self.initializer,
            trainable=trainable,
            collections=list(dict.fromkeys(given)),
        )
        if shared is not None:
            get_default_graph().add_to_collection(shared, table)
        return table


def indicator_column(categorical_column: CategoricalColumn) -> IndicatorColumn:
    """Return a dense column of how often each id is there.

    Args:
      categorical_column: the ids; of weighted ones, the weights are added up.

    Source: TensorFlow 1.15, ``tf.feature_column.indicator_column``.

    >>> day = tf.feature_column.categorical_column_with_identity("day", 3)
    >>> day = tf.feature_column.indicator_column(day)
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     sess.run(tf.feature_column.input_layer({"day": [[2, 2], [0, -1]]}, [day])).tolist()
    [[0.0, 0.0, 2.0], [1.0, 0.0, 0.0]]
    """
    return IndicatorColumn(categorical_column)


def _checked(dimension: Any, initializer: Any, checkpoint: Any, tensor_name: Any, of: str) -> Any:
    """Return the initializer of a table. Raises ValueError for arguments that cannot be."""
    if dimension is None or dimension < 1:
        raise ValueError(f"Invalid dimension {dimension}.")
    if (checkpoint is None) != (tensor_name is None):
        raise ValueError(
            "Must specify both `ckpt_to_load_from` and `tensor_name_in_ckpt` or none of them."
        )
    if initializer is not None and not callable(initializer):
        raise ValueError(f"initializer must be callable if specified.{of}")
    return initializer or TruncatedNormal(0.0, 1 / math.sqrt(dimension))


def embedding_column(
    categorical_column: CategoricalColumn,
    dimension: int,
    combiner: str = "mean",
    initializer: Callable[..., Any] | None = None,
    ckpt_to_load_from: str | None = None,
    tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None,
    trainable: bool = True,
) -> EmbeddingColumn:
    """Return a dense column of the rows of a table that ids name, combined for each example.

    Variables: ``embedding_weights`` [ids, dimension], in the scope of the call and of the column.

    Args:
      categorical_column: the ids.
      dimension: the size of a row.
      combiner: "mean", "sqrtn" or "sum". See `nn.embedding_lookup_sparse`.
      initializer: of the table; by default normal draws of deviation ``1/sqrt(dimension)``.
      ckpt_to_load_from: a checkpoint that has the table's initial value.
      tensor_name_in_ckpt: the table's name in it.
      max_norm: rows of a larger l2 norm are scaled to it.
      trainable: whether the table is trained.

    Raises:
      ValueError: the dimension is below 1, the initializer cannot be called, or of checkpoint and
        name one is missing.

    Source: TensorFlow 1.15, ``tf.feature_column.embedding_column``.

    >>> day = tf.feature_column.categorical_column_with_identity("day", 3)
    >>> day = tf.feature_column.embedding_column(day, 2, initializer=tf.ones_initializer())
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     layer = tf.feature_column.input_layer({"day": [[2], [0]]}, [day])
    ...     sess.run(tf.global_variables_initializer())
    ...     sess.run(layer).tolist(), [v.name for v in tf.global_variables()]
    ([[1.0, 1.0], [1.0, 1.0]], ['input_layer/day_embedding/embedding_weights:0'])
    """
    of = f" Embedding of column_name: {getattr(categorical_column, 'name', categorical_column)}"
    of_file = ckpt_to_load_from, tensor_name_in_ckpt
    made = _checked(dimension, initializer, *of_file, of)
    return EmbeddingColumn(
        categorical_column, dimension, combiner, made, *of_file, max_norm, trainable
    )


@with_arguments_in_order(
    "categorical_columns dimension combiner initializer shared_embedding_collection_name "
    "ckpt_to_load_from tensor_name_in_ckpt max_norm trainable",
    embedding_column,
)
def shared_embedding_columns(
    categorical_columns: Sequence[CategoricalColumn],
    initializer: Callable[..., Any] | None,
    shared_embedding_collection_name: str | None = None,
    **arguments: Any,
) -> list[EmbeddingColumn]:
    """Return dense columns of rows of one table, which several columns of ids share.

    Args:
      categorical_columns: columns of one kind, with as many ids each.
      shared_embedding_collection_name: the graph collection of the table, and its scope; by default
        from the columns' names.

    Returns:
      A column for each, in their order.

    Raises:
      ValueError: as of `embedding_column`, or the columns' kinds or numbers of ids differ.

    Source: TensorFlow 1.15, ``tf.feature_column.shared_embedding_columns``.

    >>> of, to = (tf.feature_column.categorical_column_with_identity(k, 3) for k in ("of", "to"))
    >>> [column.name for column in tf.feature_column.shared_embedding_columns([of, to], 2)]
    ['of_shared_embedding', 'to_shared_embedding']
    """
    of_file = arguments["ckpt_to_load_from"], arguments["tensor_name_in_ckpt"]
    made = _checked(arguments["dimension"], initializer, *of_file, "")
    in_order = sorted(categorical_columns, key=lambda column: column.name)
    first = in_order[0]
    if not isinstance(first, CategoricalColumn):
        raise ValueError(
            "All categorical_columns must be subclasses of _CategoricalColumn. Given: "
            f"{first}, of type: {type(first)}"
        )
    for column in in_order[1:]:
        if type(_unweighted(column)) is not type(_unweighted(first)):
            raise ValueError(
                "To use shared_embedding_column, all categorical_columns must have the same type, "
                "or be weighted_categorical_column of the same type. Given column: "
                f"{first} of type: {type(first)} does not match given column: {column} of type: "
                f"{type(column)}"
            )
        if first.num_buckets != column.num_buckets:
            raise ValueError(
                "To use shared_embedding_column, all categorical_columns must have the same number "
                f"of buckets. Given column: {first} with buckets: {first.num_buckets} does not "
                f"match column: {column} with buckets: {column.num_buckets}"
            )
    names = "_".join(column.name for column in in_order)
    shared = shared_embedding_collection_name or f"{names}_shared_embedding"
    return [
        EmbeddingColumn(
            column, initializer=made, shared_embedding_collection_name=shared, **arguments
        )
        for column in categorical_columns
    ]


def _unweighted(column: CategoricalColumn) -> CategoricalColumn:
    return column.categorical_column if isinstance(column, WeightedCategoricalColumn) else column
