"""Crossed features: for each row, all combinations of one element of each input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from daskvars import shapes
from daskvars.dtypes import int64, string
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import OpDef, Spec, without_gradient
from daskvars.graph.interpreter import apply
from daskvars.graph.records import attribute_kinds as kinds_of
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.sparse_tensor import SparseTensor, SparseTensorValue
from daskvars.graph.tensor import Tensor
from daskvars.kernels.sparse import crossing as kernels
from daskvars.ops.math.casting import cast
from daskvars.ops.sparse.indices import as_sparse, parts

HASH_KEY = 0xDECAFCAFFE  # TensorFlow's


def _crossed(result: Any) -> Any:
    def infer(inputs: Sequence[Spec], **attrs: Any) -> tuple[Spec, Spec, Spec]:
        return Spec(int64, (None, 2)), Spec(result, (None,)), Spec(int64, (2,))

    return infer


def _cross_op(type: str, kernel: Any, result: Any, **kinds: kinds_of.Kind) -> OpDef:
    attributes = {"forms": kinds_of.tuple_of(kinds_of.TEXT), **kinds}
    return without_gradient(
        type, "*inputs:A", infer=_crossed(result), kernel=kernel, attributes=attributes
    )


CROSS = _cross_op("SparseCross", kernels.cross, string, separator=kinds_of.BYTES)
CROSS_HASHED = _cross_op(
    "SparseCrossHashed",
    kernels.cross_hashed,
    int64,
    num_buckets=kinds_of.INT,
    hash_key=kinds_of.INT,
)


def _inputs(values: Any) -> tuple[list[Tensor], tuple[str, ...]]:
    """Return the tensors of the inputs, the sparse ones first, as TensorFlow has them."""
    if not isinstance(values, list | tuple) or isinstance(values, SparseTensorValue):
        raise TypeError("Inputs must be a list")
    is_sparse = [isinstance(value, SparseTensor | SparseTensorValue) for value in values]
    tensors: list[Tensor] = []
    for value, sparse in zip(values, is_sparse, strict=True):
        if sparse:
            found = as_sparse(value)
            tensors += parts(SparseTensor(found.indices, _element(found.values), found.dense_shape))
    for value, sparse in zip(values, is_sparse, strict=True):
        if not sparse:
            dense = _element(convert_to_tensor(value))
            if not shapes.compatible(dense.spec.shape, (None, None)):
                raise ValueError(f"inputs must be [rows, n], got {dense.shape}")
            tensors.append(dense)
    sparse_first = sorted(is_sparse, reverse=True)
    return tensors, tuple(["sparse" if sparse else "dense" for sparse in sparse_first])


def _element(x: Tensor) -> Tensor:
    """Return strings, or integers as int64. Raises TypeError for others."""
    kind = x.dtype.base_dtype
    if kind is string:
        return x
    if not kind.is_integer:
        raise TypeError(f"inputs must be integers or strings, got {kind.name}")
    return cast(x, int64)


def cross(inputs: Any, name: str | None = None, separator: str | None = None) -> SparseTensor:
    """Return for each row all combinations of one element of each input, as strings.

    Args:
      inputs: list of [rows, n] tensors and sparse tensors, integer or string.
      name: name of the operation, by default "SparseCross".
      separator: what stands between the elements, "_X_" by default.

    Returns:
      [rows, most combinations] sparse string; the sparse inputs' elements come first.

    Raises:
      TypeError: the inputs are no list, or of another dtype.

    Source: TensorFlow 1.15, ``tf.sparse.cross``.

    >>> cross([[["a", "b"]], [[1]]]).values.numpy().tolist()
    [b'a_X_1', b'b_X_1']
    """
    with name_scope(name, "SparseCross", []) as scope:
        tensors, forms = _inputs(inputs)
        between = "_X_" if separator is None else separator
        found = apply(CROSS, *tensors, name=scope, forms=forms, separator=between.encode())
        return SparseTensor(*found)


def cross_hashed(
    inputs: Any, num_buckets: int = 0, hash_key: int | None = None, name: str | None = None
) -> SparseTensor:
    """Return for each row all combinations of one element of each input, as numbers of buckets.

    The numbers are TensorFlow's.

    Args:
      inputs: see `cross`.
      num_buckets: how many there are; 0 for hashes from 0 to 2**63 - 2.
      hash_key: what hashes begin with.
      name: name of the operation, by default "SparseCrossHashed".

    Returns:
      [rows, most combinations] sparse int64.

    Raises:
      TypeError: the inputs are no list, or of another dtype.
      ValueError: the number of buckets is negative.
      ImportError: in the run: the extra ``strings`` is not installed.

    Source: TensorFlow 1.15, ``tf.sparse.cross_hashed``.

    >>> cross_hashed([[["a", "b"]], [[1]]], num_buckets=1).values.numpy().tolist()
    [0, 0]
    """
    if num_buckets < 0:
        raise ValueError(f"num_buckets must not be negative, got {num_buckets}")
    with name_scope(name, "SparseCrossHashed", []) as scope:
        tensors, forms = _inputs(inputs)
        key = HASH_KEY if hash_key is None else int(hash_key)
        options: dict[str, Any] = {"num_buckets": int(num_buckets), "hash_key": key}
        return SparseTensor(*apply(CROSS_HASHED, *tensors, name=scope, forms=forms, **options))
