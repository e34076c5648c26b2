"""Records that are JSON as text, under the names that protocol buffers have for it."""

from __future__ import annotations

import json
import secrets
import zlib
from collections.abc import Iterator
from typing import Any, ClassVar, Self

from daskvars.graph.records.attribute_json import ArrayBytes

CHECKSUM = "crc32"
"""The last field of a file: the CRC-32 of all of its text before this field."""


class JsonRecord:
    """A record that is written as JSON. A subclass has `to_json`, `from_json` and says what it is.

    Attributes:
      what: what it is, for errors: "a graph".
    """

    what: ClassVar[str]

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON data."""
        raise NotImplementedError

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """Return what JSON data describes. Raises ValueError where it is no such thing."""
        raise NotImplementedError

    def SerializeToString(self) -> bytes:
        """Return it as JSON text."""
        return dumped(self.to_json())

    def pieces(self) -> Iterator[bytes]:
        """Give the text in pieces, for a file: of large arrays there is no second copy."""
        return sealed_pieces(self.to_json())

    def ParseFromString(self, serialized: bytes) -> int:
        """Become what `SerializeToString` gave; return the number of bytes read.

        Raises:
          ValueError: it is no such text.
        """
        vars(self).update(vars(self.FromString(serialized)))
        return len(serialized)

    @classmethod
    def FromString(cls, s: bytes) -> Self:
        """Return what `SerializeToString` gave. Raises ValueError where it is no such text."""
        return cls.from_json(parsed(s, cls.what))

    def ByteSize(self) -> int:
        """Return the size of the text, in bytes."""
        return len(self.SerializeToString())

    def CopyFrom(self, other: Self) -> None:
        """Become a copy of another. Raises TypeError where it is of another class."""
        if not isinstance(other, type(self)):
            raise TypeError(
                f"CopyFrom() of a {type(self).__name__} takes another one, found {other!r}"
            )
        self.ParseFromString(other.SerializeToString())


def dumped(data: Any) -> bytes:
    """Return JSON data, in which `ArrayBytes` stand for the texts of large arrays, as text."""
    return b"".join(pieces(data))


def pieces(data: Any) -> Iterator[bytes]:
    """Give JSON data as text in pieces; the text of a large array is never there as a whole."""
    large: list[ArrayBytes] = []
    mark = secrets.token_hex(16)  # in no text by chance, or by anybody's wish

    def marked(value: Any) -> str:
        if not isinstance(value, ArrayBytes):
            raise TypeError(f"{value!r} is no JSON data")
        large.append(value)
        return mark

    text = json.dumps(data, allow_nan=False, separators=(",", ":"), default=marked).encode()
    first, *others = text.split(mark.encode()) if large else [text]
    yield first
    for value, following in zip(large, others, strict=True):
        yield from value.base64()
        yield following


def sealed_pieces(data: Any) -> Iterator[bytes]:
    """Do so for a file, whose text says its own checksum at the end: a disk may change bytes."""
    crc, held = 0, b""
    for piece in pieces(data):
        crc = zlib.crc32(held, crc)
        yield held
        held = piece
    held = held.removesuffix(b"}")
    yield held + b',"%s":%d}' % (CHECKSUM.encode(), zlib.crc32(held, crc))


def parsed(text: bytes | str, what: str) -> Any:
    """Return the JSON data of a text.

    Raises:
      ValueError: it is none, or a file's that was altered.
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not {what} of daskvars: {error}") from None
    if isinstance(data, dict) and CHECKSUM in data:
        text = text.encode() if isinstance(text, str) else text
        found = zlib.crc32(memoryview(text)[: text.rfind(b',"%s":' % CHECKSUM.encode())])
        if data.pop(CHECKSUM) != found:
            raise ValueError(
                f"not {what} of daskvars as it was written: it has checksum {found} and is damaged;"
                f" if it was edited on purpose, take its {CHECKSUM!r} out"
            )
    return data
