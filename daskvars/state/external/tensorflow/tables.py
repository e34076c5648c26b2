"""Sorted tables as LevelDB has them: keys to values in one file, checked block by block.

A table is blocks, an index of them, and a footer that says where that is. A block is entries, whose
keys leave out what they share with the key before; then a byte that says how it is compressed; then
its masked crc32c.

Source: tensorflow/core/lib/io/table_format.txt, format.cc.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator

import google_crc32c

from daskvars.state.external.tensorflow.messages import read_varint, varint
from daskvars.state.format.manifest import shorten

MAGIC = 0xDB4775248B80FB57
FOOTER = struct.Struct("<40sQ")
TRAILER = struct.Struct("<BI")
COUNT = struct.Struct("<I")
PLAIN, SNAPPY = 0, 1
BLOCK_BYTES = 1 << 18
RESTART_INTERVAL = 16
"""Each so many entries have their key whole, and are listed at a block's end, to search them."""


def masked(crc: int) -> int:
    """Give a crc32c as it is stored: of data with its own crc in it, a crc means little.

    >>> hex(masked(google_crc32c.value(b"abc"))), masked(0) == 0xA282EAD8
    ('0x21f1576e', True)
    """
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def read_table(data: bytes) -> dict[bytes, bytes]:
    """Give what a table holds.

    Raises:
        ValueError: it is no such table, cut off or altered, or its blocks are compressed.
    """
    if len(data) < FOOTER.size or FOOTER.unpack(data[-FOOTER.size :])[1] != MAGIC:
        raise ValueError("it does not end as a table of TensorFlow's does: it is cut off, or none")
    handles = FOOTER.unpack(data[-FOOTER.size :])[0]
    _, at = read_handle(handles, 0)  # of filters, of which there are none
    index, _ = read_handle(handles, at)
    found, last = dict[bytes, bytes](), b""
    for _, handle in entries(block(data, *index)):
        for key, value in entries(block(data, *read_handle(handle, 0)[0])):
            if found and key <= last:
                raise ValueError(f"key {shorten(key)} is not in its order")
            found[key] = value
            last = key
    return found


def read_handle(data: bytes, at: int) -> tuple[tuple[int, int], int]:
    """Give where a block is, offset and size, and where this ends."""
    offset, at = read_varint(data, at)
    size, at = read_varint(data, at)
    return (offset, size), at


def block(data: bytes, offset: int, size: int) -> bytes:
    """Give the content of a block, having compared its checksum."""
    end = offset + size
    if end + TRAILER.size > len(data) - FOOTER.size:
        raise ValueError(f"a block of {size} bytes at {offset} is not within its {len(data)} bytes")
    kind, checksum = TRAILER.unpack_from(data, end)
    if masked(google_crc32c.value(data[offset : end + 1])) != checksum:
        raise ValueError(f"crc32c differs in the block at {offset}")
    if kind == SNAPPY:
        raise ValueError(
            "its blocks are compressed with Snappy, which is not read here and which TensorFlow "
            "does not use for checkpoints; load and save it with what wrote it, uncompressed"
        )
    if kind != PLAIN:
        raise ValueError(f"the block at {offset} is compressed in a way {kind} that is not known")
    return data[offset:end]


def entries(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the keys and values of a block."""
    if len(content) < COUNT.size:
        raise ValueError("a block is too short")
    end = len(content) - COUNT.size * (COUNT.unpack_from(content, len(content) - COUNT.size)[0] + 1)
    if end < 0:
        raise ValueError("a block is too short for what it lists")
    at, key = 0, b""
    while at < end:
        shared, at = read_varint(content, at)
        own, at = read_varint(content, at)
        size, at = read_varint(content, at)
        if shared > len(key) or at + own + size > end:
            raise ValueError("an entry is not within its block")
        key = key[:shared] + content[at : at + own]
        at += own
        yield key, content[at : at + size]
        at += size


def written_table(pairs: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Give the table of keys, which are in order, and values."""
    found, index = bytearray(), []
    for last, content in blocks(pairs):
        index.append((last, append(found, content)))
    no_filters = append(found, written_block([]))
    whole = append(found, written_block(index))
    return bytes(found) + FOOTER.pack((no_filters + whole).ljust(40, b"\0"), MAGIC)


def append(found: bytearray, content: bytes) -> bytes:
    """Append a block; give where it is, as an index has it."""
    handle = varint(len(found)) + varint(len(content))
    found += content
    found += TRAILER.pack(PLAIN, masked(google_crc32c.value(content + bytes([PLAIN]))))
    return handle


def blocks(pairs: Iterable[tuple[bytes, bytes]]) -> Iterator[tuple[bytes, bytes]]:
    """Yield the last key and the content of each block."""
    waiting, size = list[tuple[bytes, bytes]](), 0
    for key, value in pairs:
        waiting.append((key, value))
        size += len(key) + len(value)
        if size >= BLOCK_BYTES:
            yield key, written_block(waiting)
            waiting, size = [], 0
    if waiting:
        yield waiting[-1][0], written_block(waiting)


def written_block(pairs: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Give the content of a block; all keys are whole, as those of variables are few and short."""
    found, restarts = bytearray(), []
    for number, (key, value) in enumerate(pairs):
        if number % RESTART_INTERVAL == 0:
            restarts.append(len(found))
        found += varint(0) + varint(len(key)) + varint(len(value)) + key + value
    restarts = restarts or [0]
    return bytes(found) + b"".join(map(COUNT.pack, (*restarts, len(restarts))))
