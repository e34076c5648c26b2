"""The messages in a checkpoint's index, and the keys of slices: bytes to data and back.

Source: tensorflow/core/protobuf/tensor_bundle.proto, tensorflow/core/lib/strings/ordered_code.cc.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from daskvars.dtypes import DType, as_dtype
from daskvars.state.format.manifest import shorten

VARINT, FIXED64, DELIMITED, FIXED32 = 0, 1, 2, 5
"""How a field of a message is written; protobuf calls them wire types."""

FULL_EXTENT = -1
"""The length of a slice along an axis that it has whole."""

Slice = tuple[tuple[int, int], ...]
"""Which part of a tensor an entry holds: start and length on each axis."""


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Give the number that stands at a place, and where it ends.

    Raises:
        ValueError: no number of at most 64 bits is there.

    >>> read_varint(bytes([0xAC, 0x02]), 0)
    (300, 2)
    """
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            raise ValueError("a number is cut off")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value >> 64:
                break
            return value, at
    raise ValueError("a number has more than 64 bits")


def varint(value: int) -> bytes:
    """Give a number, negative ones as 64 bits, as a varint."""
    value &= (1 << 64) - 1
    found = bytearray()
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


def fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """Yield the number and the value of each field of a message.

    A value is an int, or bytes: what they mean is for who knows the message.

    Raises:
        ValueError: this is no message.
    """
    at = 0
    while at < len(data):
        tag, at = read_varint(data, at)
        number, kind = tag >> 3, tag & 7
        if kind == VARINT:
            value: Any
            value, at = read_varint(data, at)
        elif kind in (FIXED32, FIXED64, DELIMITED):
            size = 4 if kind == FIXED32 else 8
            if kind == DELIMITED:
                size, at = read_varint(data, at)
            value, at = data[at : at + size], at + size
            if at > len(data):
                raise ValueError(f"field {number} is cut off")
            if kind != DELIMITED:
                value = int.from_bytes(value, "little")
        else:
            raise ValueError(f"field {number} is of a kind {kind} that is not known")
        yield number, value


def field(number: int, value: int | bytes) -> bytes:
    """Give a field with a varint or bytes; nothing for 0, which is what a missing one means."""
    if isinstance(value, int):
        return varint(number << 3 | VARINT) + varint(value) if value else b""
    return varint(number << 3 | DELIMITED) + varint(len(value)) + value


def signed(value: Any) -> int:
    """Give the number that a varint of a signed field means."""
    if not isinstance(value, int):
        raise ValueError(f"{shorten(value)} where a number belongs")
    return value - (1 << 64) if value >> 63 else value


def message(value: Any) -> bytes:
    """Give the bytes of a field that holds a message."""
    if not isinstance(value, bytes):
        raise ValueError(f"{shorten(value)} where a message belongs")
    return value


@dataclass(frozen=True)
class Header:
    """What an index says of itself.

    Attributes:
        num_shards: how many files of data there are.
        is_big_endian: in which order bytes stand.
        min_consumer: the oldest version of a reader that may read it.
    """

    num_shards: int
    is_big_endian: bool = False
    min_consumer: int = 0

    @staticmethod
    def parse(data: bytes) -> Header:
        """Read a ``BundleHeaderProto``. Raises ValueError."""
        found, version = {1: 0, 2: 0}, dict[int, Any]()
        for number, value in fields(data):
            if number in found:
                found[number] = signed(value)
            elif number == 3:
                version = dict(fields(message(value)))
        return Header(found[1], bool(found[2]), signed(version.get(2, 0)))

    def serialized(self) -> bytes:
        """Write a ``BundleHeaderProto``."""
        return field(1, self.num_shards) + field(3, field(1, 1))


@dataclass(frozen=True)
class Entry:
    """What an index says of one tensor, or of one slice of it.

    Attributes:
        dtype: its DT_ number.
        shape: size of each axis.
        shard: number of the file that has its bytes.
        offset: where they begin.
        size: how many they are.
        checksum: their crc32c, masked.
        slices: the parts that it is stored in, if it is stored in parts.
    """

    dtype: int
    shape: tuple[int, ...]
    shard: int = 0
    offset: int = 0
    size: int = 0
    checksum: int = 0
    slices: tuple[Slice, ...] = ()

    @staticmethod
    def parse(data: bytes) -> Entry:
        """Read a ``BundleEntryProto``. Raises ValueError."""
        numbers = {1: 0, 3: 0, 4: 0, 5: 0, 6: 0}
        shape: tuple[int, ...] = ()
        slices = []
        for number, value in fields(data):
            if number in numbers:
                numbers[number] = signed(value)
            elif number == 2:
                shape = parse_shape(message(value))
            elif number == 7:
                slices.append(parse_slice(message(value)))
        return Entry(
            numbers[1], shape, numbers[3], numbers[4], numbers[5], numbers[6], tuple(slices)
        )

    def serialized(self) -> bytes:
        """Write a ``BundleEntryProto``, which is not in slices."""
        dims = b"".join(field(2, field(1, size)) for size in self.shape)
        numbers = ((1, self.dtype), (3, self.shard), (4, self.offset), (5, self.size))
        first, *rest = (field(number, value) for number, value in numbers)
        checksum = varint(6 << 3 | FIXED32) + self.checksum.to_bytes(4, "little")
        return first + field(2, dims) + b"".join(rest) + checksum

    @property
    def known_dtype(self) -> DType | None:
        """The dtype, None where there is no such one here."""
        try:
            found = as_dtype(self.dtype)
        except TypeError:
            return None
        return found if found.is_numpy_compatible and not found.is_ref else None


def parse_shape(data: bytes) -> tuple[int, ...]:
    """Read a ``TensorShapeProto``. Raises ValueError."""
    sizes = []
    for number, value in fields(data):
        if number == 2:
            sizes.append(signed(dict(fields(message(value))).get(1, 0)))
        elif number == 3 and value:
            raise ValueError("a tensor's rank is not known")
    if any(size < 0 for size in sizes):
        raise ValueError(f"no tensor has the shape {shorten(sizes)}")
    return tuple(sizes)


def parse_slice(data: bytes) -> Slice:
    """Read a ``TensorSliceProto``. Raises ValueError."""
    found = []
    for number, value in fields(data):
        if number == 1:
            extent = dict(fields(message(value)))
            found.append((signed(extent.get(1, 0)), signed(extent.get(2, FULL_EXTENT))))
    return tuple(found)


def slice_key(name: str, part: Slice) -> bytes:
    r"""Give the key of the entry of a slice of a tensor, in ``OrderedCode``.

    >>> slice_key("p", ((3, 2), (0, -1)))
    b'\x00p\x00\x01\x01\x02\x83\x82\x80\x7f'
    """
    text = b"".join(ESCAPES.get(byte, bytes([byte])) for byte in name.encode())
    numbers = [signed_code(number) for axis in part for number in axis]
    return b"\0" + text + b"\0\1" + unsigned_code(len(part)) + b"".join(numbers)


ESCAPES = {0x00: b"\0\xff", 0xFF: b"\xff\0"}


def unsigned_code(value: int) -> bytes:
    """Give a number as its length and its bytes, the largest first."""
    size = (value.bit_length() + 7) // 8
    return bytes([size]) + value.to_bytes(size, "big")


def signed_code(value: int) -> bytes:
    r"""Give a number so that the order of bytes is that of numbers.

    Seven bits to a byte; as many leading ones as there are bytes, zeros for a negative number.

    >>> signed_code(3), signed_code(-1), signed_code(64), signed_code(10001)
    (b'\x83', b'\x7f', b'\xc0@', b"\xe0'\x11")
    """
    bits = (~value if value < 0 else value).bit_length()
    size = bits // 7 + 1
    body = bytearray(value.to_bytes(size, "big", signed=True))
    header = ((1 << size) - 1) << (16 - size)
    body[0] ^= header >> 8
    if size > 8:
        body[1] ^= header & 0xFF
    return bytes(body)


def slice_shape(part: Slice, shape: Sequence[int]) -> tuple[int, ...]:
    """Give the shape of a slice of a tensor.

    Raises:
        ValueError: it is not within the tensor.
    """
    if len(part) != len(shape):
        raise ValueError(f"a slice of {len(part)} axes of shape {shorten(tuple(shape))}")
    found = []
    for (start, length), size in zip(part, shape, strict=True):
        length = size - start if length == FULL_EXTENT else length
        if not 0 <= start <= start + length <= size:
            raise ValueError(f"slice {shorten(part)} is not within {shorten(tuple(shape))}")
        found.append(length)
    return tuple(found)
