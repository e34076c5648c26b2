"""Strings to numbers of buckets: the ids of features whose vocabulary nobody keeps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from daskvars.dtypes import int64
from daskvars.errors import invalid
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import OpDef, Spec, without_gradient
from daskvars.graph.definitions.patterns import Elementwise
from daskvars.graph.interpreter import apply
from daskvars.graph.records import attribute_kinds as kinds_of
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.kernels import string_hashes as kernels
from daskvars.ops.rules.axes import either


def _hash_op(type: str, kernel: Any, **kinds: kinds_of.Kind) -> OpDef:
    return without_gradient(
        type,
        "input:S",
        infer=lambda inputs, **attrs: Spec(int64, inputs[0].shape),
        kernel=kernel,
        pattern=Elementwise(),
        attributes={"num_buckets": kinds_of.INT, **kinds},
    )


FAST = _hash_op("StringToHashBucketFast", kernels.fast_buckets)
STRONG = _hash_op("StringToHashBucketStrong", kernels.strong_buckets, secret=kinds_of.INTS)
PLAIN = _hash_op("StringToHashBucket", kernels.buckets)


def _checked(num_buckets: int) -> int:
    if not 1 <= num_buckets < 1 << 63:
        raise ValueError(f"num_buckets should be from 1 to 2**63 - 1, got {num_buckets}")
    return int(num_buckets)


def string_to_hash_bucket_fast(
    input: TensorLike, num_buckets: int, name: str | None = None
) -> Tensor:
    """Return for each string which of `num_buckets` it falls into, by FarmHash's Fingerprint64.

    The numbers are TensorFlow's, on every machine and in every version. Who chooses the strings can
    put them all into one bucket; see `string_to_hash_bucket_strong`.

    Args:
      input: [...] string.
      num_buckets: how many there are, 1 or more.
      name: name of the operation, by default "StringToHashBucketFast".

    Returns:
      [...] int64, from 0 to ``num_buckets - 1``.

    Raises:
      ValueError: there are no buckets.
      ImportError: in the run: the extra ``strings`` is not installed.

    Source: TensorFlow 1.15, ``tf.string_to_hash_bucket_fast``.

    >>> string_to_hash_bucket_fast(["Hello", "TensorFlow"], 1000).numpy().tolist()
    [151, 254]
    """
    return apply(FAST, input, name=name, num_buckets=_checked(num_buckets))


def string_to_hash_bucket_strong(
    input: TensorLike, num_buckets: int, key: Sequence[int], name: str | None = None
) -> Tensor:
    """Return for each string which of `num_buckets` it falls into, by SipHash-2-4 with a key.

    Who does not know the key cannot choose strings that fall into one bucket.

    Args:
      input: [...] string.
      num_buckets: how many there are, 1 or more.
      key: two numbers from 0 to 2**64 - 1.
      name: name of the operation, by default "StringToHashBucketStrong".

    Returns:
      [...] int64, from 0 to ``num_buckets - 1``.

    Raises:
      ValueError: there are no buckets.
      InvalidArgumentError: the key is no two such numbers.
      ImportError: in the run: the extra ``strings`` is not installed.

    Source: TensorFlow 1.15, ``tf.string_to_hash_bucket_strong``.

    >>> string_to_hash_bucket_strong(["Hello"], 1000, [1, 2]).shape
    TensorShape([Dimension(1)])
    """
    numbers = tuple(int(number) for number in key)
    if len(numbers) != 2 or not all(0 <= number < 1 << 64 for number in numbers):
        raise invalid(f"Key must have 2 elements, numbers from 0 to 2**64 - 1, got {list(key)}")
    return apply(STRONG, input, name=name, num_buckets=_checked(num_buckets), secret=numbers)


def string_to_hash_bucket(
    string_tensor: TensorLike | None = None,
    num_buckets: int | None = None,
    name: str | None = None,
    input: TensorLike | None = None,
) -> Tensor:
    """Return for each string which of `num_buckets` it falls into, by MurmurHash64A.

    Args:
      string_tensor: [...] string.
      num_buckets: how many there are, 1 or more.
      name: name of the operation, by default "StringToHashBucket".
      input: another name of `string_tensor`.

    Returns:
      [...] int64, from 0 to ``num_buckets - 1``.

    Raises:
      ValueError: there are no strings, or no buckets.

    Source: TensorFlow 1.15, ``tf.string_to_hash_bucket``, which recommends
    `string_to_hash_bucket_fast`.

    >>> string_to_hash_bucket(["Hello"], 1000).numpy().tolist()
    [941]
    """
    texts = either(input, string_tensor, "input", "string_tensor")
    if texts is None or num_buckets is None:
        raise ValueError("string_to_hash_bucket() needs strings and num_buckets")
    found = convert_to_tensor(texts, name="string_tensor")
    return apply(PLAIN, found, name=name, num_buckets=_checked(num_buckets))
