"""Strings cut into pieces: a sparse tensor with as many columns as the longest has pieces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from daskvars.dtypes import int64, string
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import OpDef, Spec, without_gradient
from daskvars.graph.interpreter import apply
from daskvars.graph.records import attribute_kinds as kinds_of
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.sparse_tensor import SparseTensor
from daskvars.graph.tensor import TensorLike
from daskvars.kernels.sparse import splitting as kernels
from daskvars.ops.array.reshaping import reshape
from daskvars.ops.rules.axes import either


def _pieces(inputs: Sequence[Spec], **attrs: Any) -> tuple[Spec, Spec, Spec]:
    if len(inputs) > 1 and inputs[1].shape:
        raise ValueError(
            f"Shape must be rank 0 but is rank {len(inputs[1].shape)}: delimiter must be a "
            "scalar, whose characters separate"
        )
    shape = inputs[0].shape
    rank = None if shape is None else len(shape) + 1
    return Spec(int64, (None, rank)), Spec(string, (None,)), Spec(int64, (rank,))


def _split_op(type: str, signature: str, kernel: Any, **kinds: kinds_of.Kind) -> OpDef:
    return without_gradient(type, signature, _pieces, kernel, attributes=kinds)


STRING_SPLIT = _split_op(
    "StringSplit", "input:S, delimiter:S", kernels.split_at_characters, skip_empty=kinds_of.BOOL
)
STRING_SPLIT_V2 = _split_op(
    "StringSplitV2", "input:S", kernels.split, separator=kinds_of.BYTES, maxsplit=kinds_of.INT
)


def _check_result(result_type: str) -> None:
    if result_type != "SparseTensor":
        raise ValueError(
            f"result_type should be 'SparseTensor', got {result_type!r}: there are no ragged "
            "tensors here"
        )


def string_split(
    source: TensorLike,
    sep: TensorLike | None = None,
    skip_empty: bool = True,
    delimiter: TensorLike | None = None,
    result_type: str = "SparseTensor",
    name: str | None = None,
) -> SparseTensor:
    """Return the pieces of texts between any of the characters of `sep`.

    Args:
      source: [n] string.
      sep: scalar string, characters, by default " "; "" makes a piece of each byte.
      skip_empty: leave pieces without a character out.
      delimiter: another name of `sep`.
      result_type: must be "SparseTensor".
      name: name of the operation, by default "StringSplit".

    Returns:
      [n, pieces of the longest] sparse string.

    Raises:
      ValueError: `source` is not of rank 1, `sep` no scalar, or another result is wanted.

    Source: TensorFlow 1.15, ``tf.string_split``.

    >>> found = string_split(["hello world", "", "a b c"])
    >>> found.values.numpy().tolist(), found.dense_shape.numpy().tolist()
    ([b'hello', b'world', b'a', b'b', b'c'], [3, 3])
    """
    _check_result(result_type)
    texts = convert_to_tensor(source, dtype=string, name="source")
    rank = texts.shape.ndims
    if rank not in (1, None):
        raise ValueError(
            f"string_split() needs texts of rank 1, got rank {rank}; see strings.split"
        )
    characters = either(sep, delimiter, "sep", "delimiter")
    with name_scope(name, "StringSplit", [texts, characters]) as scope:
        delimiters = convert_to_tensor(
            " " if characters is None else characters, dtype=string, name="delimiter"
        )
        found = apply(STRING_SPLIT, texts, delimiters, name=scope, skip_empty=bool(skip_empty))
        return SparseTensor(*found)


def split(
    input: TensorLike | None = None,
    sep: str | None = None,
    maxsplit: int = -1,
    result_type: str = "SparseTensor",
    source: TensorLike | None = None,
    name: str | None = None,
) -> SparseTensor:
    """Return the pieces of texts between separators, as `bytes.split` does.

    Args:
      input: [...] string; a single text is taken for a row of one.
      sep: what separates, as a whole; without it runs of white space do.
      maxsplit: how often each text is cut, at most; -1 as often as it can be.
      result_type: must be "SparseTensor".
      source: another name of `input`.
      name: name of the operation, by default "StringSplitV2".

    Returns:
      [..., pieces of the longest] sparse string.

    Raises:
      ValueError: no texts are given, or another result is wanted.

    Source: TensorFlow 1.15, ``tf.strings.split``.

    >>> split(["a<>b<>c", "d<>"], "<>").values.numpy().tolist()
    [b'a', b'b', b'c', b'd', b'']
    """
    _check_result(result_type)
    given = either(input, source, "input", "source")
    if given is None:
        raise ValueError("strings.split() needs texts")
    texts = convert_to_tensor(given, dtype=string, name="input")
    if texts.shape.ndims == 0:
        texts = reshape(texts, [1])
    found = apply(
        STRING_SPLIT_V2, texts, name=name, separator=(sep or "").encode(), maxsplit=int(maxsplit)
    )
    return SparseTensor(*found)
