"""BMP files of plain pixels: 8, 24 or 32 bits each, neither packed nor looked up in a palette.

Pillow reads the packed ones and those with a palette, but takes the fourth byte of a pixel for
padding, and no file without a palette whose pixels have one byte. TensorFlow takes each byte for a
channel, and the first two of a file, its signature, for granted.

Such a file has a header of 14 bytes, one of the pixels of 40 or more, and rows of whole words of
four bytes: blue, green, red and opacity of each pixel, the last row first unless the height is
negative.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

import numpy as np

_FILE_BYTES, _PIXELS_BYTES = 14, 40  # of the two headers, the second without later additions
_RGB = [2, 1, 0]  # places of red, green and blue


class _Header(NamedTuple):
    """What the headers say of the pixels that counts here."""

    offset: int
    size: int
    width: int
    height: int
    planes: int
    bits: int
    packing: int


def _header(data: bytes) -> _Header:
    return _Header(*struct.unpack_from("<IIiiHHI", data, 10))


def is_plain(data: bytes) -> bool:
    """Return whether the headers of a file are those of plain pixels; its signature may be any."""
    if len(data) < _FILE_BYTES + _PIXELS_BYTES:
        return False
    header = _header(data)
    if header.size < _PIXELS_BYTES or header.planes != 1 or header.packing:
        return False
    has_palette = header.bits == 8 and header.offset > _FILE_BYTES + header.size
    return header.bits in (8, 24, 32) and not has_palette


def read(data: bytes) -> np.ndarray:
    """Return the pixels [height, width, 1, 3 or 4 channels] uint8 of a file that `is_plain`.

    Raises:
      ValueError: it has no pixels, or fewer than it says.
    """
    header = _header(data)
    width, height, channels = header.width, abs(header.height), header.bits // 8
    if width <= 0 or not height:
        raise ValueError(f"width {width} must be positive and height {header.height} not 0")
    row_bytes = -(-channels * width // 4) * 4
    needed = header.offset + (height - 1) * row_bytes + channels * width
    if len(data) < needed:
        raise ValueError(f"Incomplete bmp content, requires at least {needed} bytes")
    # What fills the last row up may be missing.
    rows = data[header.offset : header.offset + height * row_bytes].ljust(height * row_bytes, b"\0")
    pixels = np.frombuffer(rows, np.uint8).reshape(height, row_bytes)[:, : channels * width]
    pixels = pixels[:: 1 if header.height < 0 else -1].reshape(height, width, channels)
    return pixels if channels == 1 else pixels[..., _RGB + [3] * (channels == 4)]
