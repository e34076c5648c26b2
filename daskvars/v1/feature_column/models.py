"""What is made of columns: the input of a network, a linear model, declarations of features."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from daskvars.graph.scopes.collections import GraphKeys
from daskvars.graph.tensor import Tensor
from daskvars.ops.array import constant
from daskvars.ops.array.joining import concat
from daskvars.ops.array.reshaping import reshape
from daskvars.ops.linalg.products import matmul
from daskvars.ops.math.arithmetic import add_n
from daskvars.ops.nn.bias import bias_add
from daskvars.ops.nn.embedding_sparse import safe_embedding_lookup_sparse
from daskvars.ops.sparse.indices import reshape as sparse_reshape
from daskvars.v1.feature_column.columns import (
    CategoricalColumn,
    DenseColumn,
    FeatureColumn,
    FeatureValues,
    checked_columns,
)
from daskvars.variables.collections import global_variables
from daskvars.variables.initializers import Zeros
from daskvars.variables.partitions.partitioned_variable import parts_of
from daskvars.variables.scopes.variable_scope import (
    get_variable,
    get_variable_scope,
    variable_scope,
)


def input_layer(
    features: Mapping[str, Any],
    feature_columns: Any,
    weight_collections: Sequence[str] | None = None,
    trainable: bool = True,
    cols_to_vars: dict[Any, Any] | None = None,
    cols_to_output_tensors: dict[Any, Any] | None = None,
) -> Tensor:
    """Return dense columns beside each other, in the order of their names.

    Args:
      features: key -> tensor or sparse tensor.
      feature_columns: dense columns.
      weight_collections: collections that new variables go to, besides those of all and of the
        model's.
      trainable: whether new variables are trained.
      cols_to_vars: a dict that column -> its variables is added to.
      cols_to_output_tensors: a dict that column -> its part of the result is added to.

    Returns:
      [batch, ...] float32.

    Raises:
      ValueError: a column is not dense, or two have one name, or the batches' sizes differ.

    Source: TensorFlow 1.15, ``tf.feature_column.input_layer``.

    >>> columns = [tf.feature_column.numeric_column(key) for key in ("b", "a")]
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     sess.run(tf.feature_column.input_layer({"a": [[1.0]], "b": [[2.0]]}, columns)).tolist()
    [[1.0, 2.0]]
    """
    columns = checked_columns(feature_columns)
    for column in columns:
        if not isinstance(column, DenseColumn):
            raise ValueError(
                "Items of feature_columns must be a _DenseColumn. You can wrap a categorical "
                f"column with an embedding_column or indicator_column. Given: {column}"
            )
    collections = _collections(weight_collections)
    tensors: list[Tensor] = []
    with variable_scope(None, "input_layer", list(features.values())):
        inputs = FeatureValues(features)
        in_order: list[Any] = sorted(columns, key=lambda column: column.name)
        for column in in_order:
            with variable_scope(None, column.var_scope_name):
                tensors.append(_flat(column, inputs, collections, trainable))
                if cols_to_vars is not None:
                    cols_to_vars[column] = global_variables(f"{get_variable_scope().name}/")
        _check_batches(tensors, in_order)
        if cols_to_output_tensors is not None:
            cols_to_output_tensors.update(zip(in_order, tensors, strict=True))
        return concat(tensors, 1)


def _collections(given: Sequence[str] | None) -> list[str]:
    ours = (GraphKeys.GLOBAL_VARIABLES, GraphKeys.MODEL_VARIABLES)
    return list(dict.fromkeys([*(given or ()), *ours]))


def _flat(
    column: DenseColumn, inputs: FeatureValues, collections: list[str], trainable: bool
) -> Tensor:
    """Return a column as [batch, numbers]."""
    dense = column.get_dense_tensor(inputs, collections, trainable)
    return reshape(dense, [constant.shape(dense)[0], _numbers(column)])


def _numbers(column: DenseColumn) -> int:
    return math.prod(size for size in column.variable_shape.as_list() if size is not None)


def _check_batches(tensors: Sequence[Tensor], columns: Sequence[FeatureColumn]) -> None:
    known = [
        (size, column)
        for tensor, column in zip(tensors, columns, strict=True)
        if (size := tensor.get_shape().as_list()[0]) is not None
    ]
    for size, column in known[1:]:
        if size != known[0][0]:
            raise ValueError(
                "Batch size (first dimension) of each feature must be same. Batch size of columns "
                f"({known[0][1].name}, {column.name}): ({known[0][0]}, {size})"
            )


def linear_model(
    features: Mapping[str, Any],
    feature_columns: Any,
    units: int = 1,
    sparse_combiner: str = "sum",
    weight_collections: Sequence[str] | None = None,
    trainable: bool = True,
    cols_to_vars: dict[Any, Any] | None = None,
) -> Tensor:
    """Return the sum of what columns weigh, and a bias.

    Variables: ``weights`` of each column, [numbers or ids, units], and ``bias_weights`` [units],
    all zero.

    Args:
      features: key -> tensor or sparse tensor.
      feature_columns: dense or categorical columns; of the latter, each id has a weight.
      units: how many sums.
      sparse_combiner: how the weights of an example's ids are combined: "sum", "mean" or "sqrtn".
      weight_collections, trainable: see `input_layer`.
      cols_to_vars: a dict that column -> its variables is added to, and "bias" -> the bias.

    Returns:
      [batch, units] float32.

    Raises:
      ValueError: a column is neither dense nor categorical, or two have one name, or the batches'
        sizes differ.

    Source: TensorFlow 1.15, ``tf.feature_column.linear_model``.

    >>> price = tf.feature_column.numeric_column("price")
    >>> with tf.Graph().as_default():
    ...     sums = tf.feature_column.linear_model({"price": [[1.0], [5.0]]}, [price])
    ...     sums.shape.as_list(), [v.name for v in tf.global_variables()]
    ([2, 1], ['linear_model/price/weights:0', 'linear_model/bias_weights:0'])
    """
    columns = checked_columns(feature_columns)
    for column in columns:
        if not isinstance(column, DenseColumn | CategoricalColumn):
            raise ValueError(
                "Items of feature_columns must be either a _DenseColumn or _CategoricalColumn. "
                f"Given: {column}"
            )
    collections = _collections(weight_collections)
    found: dict[Any, Any] = {} if cols_to_vars is None else cols_to_vars
    sums: list[Tensor] = []
    with variable_scope(None, "linear_model", list(features.values())):
        inputs = FeatureValues(features)
        in_order = sorted(columns, key=lambda column: column.name)
        for column in in_order:
            with variable_scope(None, column.var_scope_name):
                sums.append(
                    _weighted(column, inputs, units, sparse_combiner, collections, trainable)
                )
                found[column] = global_variables(f"{get_variable_scope().name}/")
        _check_batches(sums, in_order)
        bias = _zeros("bias_weights", [units], collections, trainable)
        found["bias"] = parts_of(bias)
        return bias_add(add_n(sums, name="weighted_sum_no_bias"), bias, name="weighted_sum")


def _zeros(name: str, shape: list[int], collections: list[str], trainable: bool) -> Any:
    return get_variable(
        name, shape, initializer=Zeros(), trainable=trainable, collections=collections
    )


def _weighted(
    column: Any,
    inputs: FeatureValues,
    units: int,
    combiner: str,
    collections: list[str],
    trainable: bool,
) -> Tensor:
    """Return what a column weighs, [batch, units]."""
    if not isinstance(column, CategoricalColumn):
        weights = _zeros("weights", [_numbers(column), units], collections, trainable)
        dense = _flat(column, inputs, collections, trainable)
        return matmul(dense, weights, name="weighted_sum")
    ids, given = column.get_sparse_tensors(inputs)
    return safe_embedding_lookup_sparse(
        _zeros("weights", [column.num_buckets, units], collections, trainable),
        ids if ids.shape.ndims == 2 else sparse_reshape(ids, [ids.dense_shape[0], -1]),
        given,
        combiner=combiner,
        name="weighted_sum",
    )


def make_parse_example_spec(feature_columns: Iterable[FeatureColumn]) -> dict[str, Any]:
    """Return the declarations of the features that columns are made of, for `parse_example`.

    Args:
      feature_columns: those that the model is made of.

    Raises:
      ValueError: one is no column, or two declare one feature differently.

    Source: TensorFlow 1.15, ``tf.feature_column.make_parse_example_spec``.

    >>> word = tf.feature_column.categorical_column_with_hash_bucket("word", 100)
    >>> tf.feature_column.make_parse_example_spec([word])
    {'word': VarLenFeature(dtype=tf.string)}
    """
    found: dict[str, Any] = {}
    for column in feature_columns:
        if not isinstance(column, FeatureColumn):
            raise ValueError(
                f"All feature_columns must be _FeatureColumn instances. Given: {column}"
            )
        for key, declared in column.parse_example_spec.items():
            if found.setdefault(key, declared) != declared:
                raise ValueError(
                    f"feature_columns contain different parse_spec for key {key}. "
                    f"Given {declared} and {found[key]}"
                )
    return found
