"""Kernels that put strings into buckets by TensorFlow's hashes, bit for bit."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from importlib import import_module

import numpy

from daskvars.backend import ArrayModule
from daskvars.kernels.optional_packages import needing

WHY = "these hashes of strings are made by packages"
MASK = (1 << 64) - 1
# TensorFlow's Hash64 is MurmurHash64A with this seed.
MURMUR_SEED, MURMUR_FACTOR, MURMUR_SHIFT = 0xDECAFCAFFE, 0xC6A4A7935BD1E995, 47


def _buckets(x: numpy.ndarray, hashed: Callable[[bytes], int], num_buckets: int) -> numpy.ndarray:
    found = [hashed(item) % num_buckets for item in x.reshape(-1).tolist()]
    return numpy.array(found, numpy.int64).reshape(x.shape)


def fast_buckets(xp: ArrayModule, x: numpy.ndarray, *, num_buckets: int) -> numpy.ndarray:
    """Give the bucket of each string by FarmHash's Fingerprint64."""
    with needing("strings", WHY):
        farmhash = import_module("farmhash")
    return _buckets(x, farmhash.fingerprint64, num_buckets)


def strong_buckets(
    xp: ArrayModule, x: numpy.ndarray, *, num_buckets: int, secret: Sequence[int]
) -> numpy.ndarray:
    """Give the bucket of each string by SipHash-2-4 with a key of two numbers."""
    with needing("strings", WHY):
        siphash = import_module("siphash24").siphash24
    key = struct.pack("<QQ", *secret)

    def hashed(item: bytes) -> int:
        return int.from_bytes(siphash(item, key=key).digest(), "little")

    return _buckets(x, hashed, num_buckets)


def buckets(xp: ArrayModule, x: numpy.ndarray, *, num_buckets: int) -> numpy.ndarray:
    """Give the bucket of each string by MurmurHash64A."""
    return _buckets(x, murmur, num_buckets)


def murmur(item: bytes) -> int:
    """Return the MurmurHash64A of a string.

    >>> murmur(b"Hello") % 1000
    941
    """
    h = MURMUR_SEED ^ (len(item) * MURMUR_FACTOR & MASK)
    whole = len(item) // 8 * 8
    for (k,) in struct.iter_unpack("<Q", item[:whole]):
        k = k * MURMUR_FACTOR & MASK
        k = (k ^ k >> MURMUR_SHIFT) * MURMUR_FACTOR & MASK
        h = (h ^ k) * MURMUR_FACTOR & MASK
    if len(item) > whole:
        h = (h ^ int.from_bytes(item[whole:], "little")) * MURMUR_FACTOR & MASK
    h = (h ^ h >> MURMUR_SHIFT) * MURMUR_FACTOR & MASK
    return h ^ h >> MURMUR_SHIFT
