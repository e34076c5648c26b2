"""Sets, crossed features, serialized tensors, strings in other forms: results are TensorFlow's."""

from __future__ import annotations

import numpy as np
import pytest

import daskvars as dv
from daskvars.errors import InvalidArgumentError


@pytest.mark.parametrize(
    "dtype", ["float16", "bfloat16", "float64", "complex64", "int8", "uint64", "bool"]
)
def test_what_is_serialized_is_parsed(dtype):
    x = dv.cast([[0, 1, 1], [1, 0, 1]], dtype)
    found = dv.parse_tensor(dv.serialize_tensor(x), dtype).numpy()
    np.testing.assert_array_equal(found, x.numpy())


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: dv.parse_tensor(b"\x08\x01\x12", dv.float32), "as TensorProto: .*, 3 bytes"),
        (lambda: dv.parse_tensor(dv.serialize_tensor([1.0]), dv.int32), "float32.*int32"),
        (lambda: dv.decode_base64("a+b"), "Invalid character"),
        (lambda: dv.decode_base64("a"), "Invalid base64"),
        (lambda: dv.sets.union([[1]], [[1], [2]]).values, "Mismatched group shapes"),
        (
            lambda: dv.strings.unicode_transcode(b"\xff", "UTF-8", "UTF-8", "strict"),
            "Invalid formatting",
        ),
    ],
)
def test_what_only_the_run_can_tell_is_refused_in_words(call, words):
    with pytest.raises(InvalidArgumentError, match=words):
        call().numpy()


SWAPPED = dv.SparseTensor([[0, 1], [0, 0]], [7, 8], [1, 2])
TWICE = dv.SparseTensor([[0, 1], [0, 1]], [7, 8], [1, 2])


@pytest.mark.parametrize(
    "call",
    [
        lambda sp, **kwargs: dv.sets.size(sp, **kwargs),
        lambda sp, **kwargs: dv.sets.union([[7, 9]], sp, **kwargs).values,
        lambda sp, **kwargs: dv.sets.difference(sp, sp, **kwargs).values,
        lambda sp, **kwargs: dv.sets.intersection(sp, [[7]], **kwargs).values,
    ],
)
def test_places_of_sets_must_be_in_order_unless_they_are_not_to_be_validated(call):
    with pytest.raises(InvalidArgumentError, match=r"indices\[1\] = \[0, 0\] is out of order"):
        call(SWAPPED).numpy()
    with pytest.raises(InvalidArgumentError, match=r"indices\[1\] = \[0, 1\] is repeated"):
        call(TWICE).numpy()
    ordered = dv.sparse.reorder(SWAPPED)
    found = call(SWAPPED, validate_indices=False).numpy()
    np.testing.assert_array_equal(found, call(ordered).numpy())


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: dv.sets.union([1], [1]), "rank, 2 or more"),
        (lambda: dv.strings.format("{} {}", [1]), "do not match 1"),
        (lambda: dv.strings.unicode_transcode("a", "UTF-8", "latin-1"), "output_encoding"),
        (lambda: dv.quantization.fake_quant_with_min_max_args(1.0, 3, 2), "smaller than max"),
        (lambda: dv.sparse.cross_hashed([[["a"]]], num_buckets=-1), "negative"),
    ],
)
def test_what_cannot_be_is_refused_in_words(call, words):
    with pytest.raises(ValueError, match=words):
        call()
