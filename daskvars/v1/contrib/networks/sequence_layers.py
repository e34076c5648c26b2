"""Layers of ``tf.contrib.layers`` whose inputs are ids: rows of a table, one each or combined."""

from __future__ import annotations

from typing import Any

from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.sparse_tensor import SparseTensor
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.ops.array.constant import shape as shape_of
from daskvars.ops.array.joining import concat
from daskvars.ops.array.reshaping import reshape
from daskvars.ops.gather_scatter.partitioning import unique
from daskvars.ops.math.reduce import reduce_mean
from daskvars.ops.nn.embedding import embedding_lookup
from daskvars.ops.nn.embedding_sparse import safe_embedding_lookup_sparse
from daskvars.surface.signatures import with_arguments_in_order
from daskvars.v1.contrib.networks.plain_layers import dense_to_sparse_tensor
from daskvars.v1.contrib.variables.model_variables import model_variable
from daskvars.variables.initializers import RandomNormal
from daskvars.variables.scopes.variable_scope import variable_scope


def embed_sequence(
    ids: TensorLike,
    vocab_size: int | None = None,
    embed_dim: int | None = None,
    unique: bool = False,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool = True,
    scope: Any = None,
    reuse: Any = None,
) -> Tensor:
    """Return the row of a table for each id.

    Variables: `embeddings` [vocab_size, embed_dim].

    Args:
      ids: [batch, length] integer, below `vocab_size`.
      vocab_size: number of rows.
      embed_dim: size of a row.
      unique: whether a row that is wanted several times is looked up once.
      initializer: of the table, by default normal.
      regularizer: function of the table that gives a loss.
      trainable: whether it is trained.
      scope: name of the variable scope, by default "EmbedSequence".
      reuse: whether the table exists.

    Returns:
      [batch, length, embed_dim] float32.

    Raises:
      ValueError: a size is missing.

    >>> with tf.Graph().as_default():
    ...     tf.contrib.layers.embed_sequence([[1, 2, 3]], 10, 4).shape.as_list()
    [1, 3, 4]
    """
    if not reuse and (vocab_size is None or embed_dim is None):
        raise ValueError(
            f"Must specify vocab size and embedding dimension when not reusing: "
            f"vocab_size={vocab_size} and embed_dim={embed_dim}"
        )
    with variable_scope(scope, "EmbedSequence", [ids], reuse=reuse):
        shape = None if reuse else [vocab_size, embed_dim]
        table = _table(shape, initializer, regularizer, trainable)
        return embedding_lookup_unique(table, ids) if unique else embedding_lookup(table, ids)


def _table(shape: Any, initializer: Any, regularizer: Any, trainable: bool) -> Any:
    start = initializer or RandomNormal()
    return model_variable(
        "embeddings", shape, initializer=start, regularizer=regularizer, trainable=trainable
    )


@with_arguments_in_order(
    "ids vocab_size= embed_dim= sparse_lookup initializer regularizer trainable scope reuse",
    embed_sequence,
)
def bow_encoder(
    ids: Any,
    vocab_size: int,
    embed_dim: int,
    scope: Any,
    reuse: Any,
    sparse_lookup: bool = True,
    **of_table: Any,
) -> Tensor:
    """Return the mean of the rows of a table that each example's ids name.

    Args:
      ids: [batch, length] integer, Tensor (0 is no id) or SparseTensor.
      sparse_lookup: whether ids that are 0 are left out; otherwise they count as others do.
      scope: name of the variable scope, by default "bow_encoder".

    Returns:
      [batch, embed_dim] float32.

    Raises:
      TypeError: `sparse_lookup` is False and the ids are a SparseTensor.
    """
    with variable_scope(scope, "bow_encoder", [ids], reuse=reuse):
        table = _table([vocab_size, embed_dim], **of_table)
        if sparse_lookup:
            if not isinstance(ids, SparseTensor):
                ids = dense_to_sparse_tensor(ids)
            return safe_embedding_lookup_sparse([table], ids, combiner="mean", default_id=0)
        if isinstance(ids, SparseTensor):
            raise TypeError(f"ids are expected to be dense Tensor, got: {ids}")
        return reduce_mean(embedding_lookup(table, ids), axis=1)


def embedding_lookup_unique(params: Any, ids: TensorLike, name: str | None = None) -> Tensor:
    """Return the rows of a table that ids name; one wanted several times is looked up once.

    Args:
      params: see `nn.embedding_lookup`.
      ids: [...] integer.
      name: name scope, by default "EmbeddingLookupUnique".
    """
    with name_scope(name, "EmbeddingLookupUnique", [ids]):
        ids = convert_to_tensor(ids)
        found, places = unique(reshape(ids, [-1]))
        rows = embedding_lookup(embedding_lookup(params, found), places)
        outputs = reshape(rows, concat([shape_of(ids), shape_of(rows)[1:]], 0))
        outputs.set_shape(ids.get_shape().concatenate(rows.get_shape()[1:]))
        return outputs
