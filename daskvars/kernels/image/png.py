"""PNG files of 16 bits for each of several channels, which Pillow neither reads nor writes.

The format is that of the W3C's Portable Network Graphics specification: chunks (length, type, data,
checksum), of which IDAT together are a zlib stream of rows, each behind the number of its filter.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

import numpy as np

SIGNATURE = b"\x89PNG\r\n\x1a\n"
COLOUR_TYPES = {1: 0, 2: 4, 3: 2, 4: 6}  # number of channels -> colour type of the header
_CHANNELS = {colour: count for count, colour in COLOUR_TYPES.items()}


def is_deep(data: bytes) -> bool:
    """Return whether a file has 16 bits for each of several channels, and rows one by one."""
    if len(data) < 33 or not data.startswith(SIGNATURE):
        return False
    depth, colour, *_, interlace = data[24:29]
    return depth == 16 and _CHANNELS.get(colour, 1) > 1 and interlace == 0


def write(pixels: np.ndarray, level: int) -> bytes:
    """Return a file of pixels [height, width, channels] uint16; the level is zlib's, -1 its own."""
    height, width, channels = pixels.shape
    header = struct.pack(">IIBBBBB", width, height, 16, COLOUR_TYPES[channels], 0, 0, 0)
    plain = np.ascontiguousarray(pixels.astype(">u2")).view(np.uint8).reshape(height, -1)
    rows = _filtered(plain, 2 * channels)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes(), level)), (b"IEND", b""))
    return SIGNATURE + b"".join(chunk(kind, data) for kind, data in chunks)


def _filtered(plain: np.ndarray, step: int) -> np.ndarray:
    """Return each row behind that of the first three filters which leaves the smallest numbers."""
    left, above = np.zeros_like(plain), np.zeros_like(plain)
    left[:, step:], above[1:] = plain[:, :-step], plain[:-1]
    told = np.stack([plain, plain - left, plain - above])
    sizes = np.abs(told.view(np.int8).astype(np.int64)).sum(axis=2)
    kinds = sizes.argmin(axis=0)
    chosen = told[kinds, np.arange(len(plain))]
    return np.concatenate([kinds[:, None].astype(np.uint8), chosen], axis=1)


def chunk(kind: bytes, data: bytes) -> bytes:
    """Return a chunk of a file: length, type, data and checksum."""
    checksum = struct.pack(">I", zlib.crc32(kind + data))
    return struct.pack(">I", len(data)) + kind + data + checksum


def read(data: bytes) -> np.ndarray:
    """Return the pixels [height, width, channels] uint16 of a file that `is_deep`.

    Raises:
      ValueError: it is damaged.
    """
    width, height = struct.unpack(">II", data[16:24])
    step = 2 * _CHANNELS[data[25]]  # from a byte to that of the pixel before
    try:
        packed = zlib.decompress(b"".join(_parts(data)))
    except (zlib.error, struct.error) as error:
        raise ValueError(str(error)) from error
    if len(packed) != height * (1 + width * step):
        raise ValueError(f"{len(packed)} bytes of pixels, not {height * (1 + width * step)}")
    rows = np.frombuffer(packed, np.uint8).reshape(height, -1)
    found = np.zeros((height, width * step), np.uint8)
    above = np.zeros(width * step, np.uint8)
    for number, row in enumerate(rows):
        above = found[number] = _unfiltered(int(row[0]), row[1:], above, step)
    return found.view(">u2").astype(np.uint16).reshape(height, width, step // 2)


def _parts(data: bytes) -> Iterator[bytes]:
    """Give the data of the chunks of pixels."""
    place = len(SIGNATURE)
    while place < len(data):
        length, kind = struct.unpack(">I4s", data[place : place + 8])
        content = data[place + 8 : place + 8 + length]
        (checksum,) = struct.unpack(">I", data[place + 8 + length : place + 12 + length])
        if zlib.crc32(kind + content) != checksum:
            raise ValueError(f"the checksum of {kind!r} is another")
        if kind == b"IDAT":
            yield content
        place += 12 + length


def _unfiltered(kind: int, row: np.ndarray, above: np.ndarray, step: int) -> np.ndarray:
    """Return a row without its filter, which told bytes from those before and above."""
    if kind == 0:
        return row
    if kind == 2:
        return row + above
    if kind == 1:
        return np.cumsum(row.reshape(-1, step), axis=0, dtype=np.uint8).reshape(-1)
    if kind not in (3, 4):
        raise ValueError(f"there is no filter {kind}")
    found, over = bytearray(step) + bytearray(row.tobytes()), bytes(step) + above.tobytes()
    guess = _average if kind == 3 else _nearest
    for place in range(step, len(found)):
        told = guess(found[place - step], over[place], over[place - step])
        found[place] = (found[place] + told) & 255
    return np.frombuffer(bytes(found[step:]), np.uint8)


def _average(left: int, above: int, _: int) -> int:
    return (left + above) // 2


def _nearest(left: int, above: int, corner: int) -> int:
    """Return which of three bytes is nearest to left + above - corner: Paeth's filter."""
    by_left, by_above = abs(above - corner), abs(left - corner)
    by_corner = abs(left + above - 2 * corner)
    if by_left <= by_above and by_left <= by_corner:
        return left
    return above if by_above <= by_corner else corner
