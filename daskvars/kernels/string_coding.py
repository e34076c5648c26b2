"""Kernels of strings in other forms: base64, other encodings, templates, joined by groups."""

from __future__ import annotations

import base64
import binascii
from typing import Any

import numpy as np

from daskvars.backend import ArrayModule
from daskvars.device_array import host_kernel
from daskvars.errors import invalid
from daskvars.kernels.control.printing import shown
from daskvars.kernels.strings import each

WEB_SAFE = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_="


def encode_base64(xp: ArrayModule, x: Any, *, pad: bool) -> np.ndarray:
    """Give strings in base64, of the alphabet that URLs may have."""

    def encoded(item: bytes) -> bytes:
        found = base64.urlsafe_b64encode(item)
        return found if pad else found.rstrip(b"=")

    return each(encoded, x)


def decode_base64(xp: ArrayModule, x: Any) -> np.ndarray:
    """Give the strings of which `encode_base64` makes these."""

    def decoded(item: bytes) -> bytes:
        if item.translate(None, WEB_SAFE):
            raise invalid(f"Invalid character found in base64: {item[:40]!r}")
        bare = item.rstrip(b"=")
        if b"=" in bare or (bare != item and (len(item) % 4 or len(item) - len(bare) > 2)):
            raise invalid(
                f"Invalid padding of base64, which completes the last four: {item[:40]!r}"
            )
        try:
            return base64.urlsafe_b64decode(bare + b"=" * (-len(bare) % 4))
        except binascii.Error as error:
            raise invalid(
                f"Invalid base64, of a length that is {len(bare) % 4} modulo 4: {item[:40]!r} "
                f"({error})"
            ) from None

    return each(decoded, x)


@host_kernel
def string_format(
    xp: ArrayModule, *data: Any, template: str, placeholder: str, summarize: int
) -> np.ndarray:
    """Give a text with arrays in the places of `placeholder`."""
    pieces = template.split(placeholder)
    words = [pieces[0]]
    for item, piece in zip(data, pieces[1:], strict=True):
        words += [shown(np.asarray(item), summarize), piece]
    return np.array("".join(words).encode(), object)


def transcode(
    xp: ArrayModule,
    x: Any,
    *,
    input_encoding: str,
    output_encoding: str,
    errors: str,
    replacement_char: int,
    replace_control_characters: bool,
) -> np.ndarray:
    """Give strings in another encoding of Unicode."""
    # Python's own handlers put U+FFFD; a decoder of one's own would have to be registered.
    handler = {"strict": "strict", "replace": "replace", "ignore": "ignore"}[errors]
    new = chr(replacement_char)

    def transcoded(item: bytes) -> bytes:
        try:
            text = item.decode(input_encoding, handler)
        except UnicodeDecodeError as error:
            raise invalid(f"Invalid formatting on input string: {error}") from None
        if errors == "replace":
            text = text.replace("\N{REPLACEMENT CHARACTER}", new)
        if replace_control_characters:
            text = "".join(new if ord(c) < 32 or 127 <= ord(c) < 160 else c for c in text)
        return text.encode(output_encoding)

    return each(transcoded, x)


def join_groups(
    xp: ArrayModule, x: Any, ids: Any, *, num_segments: int, separator: bytes
) -> np.ndarray:
    """Give the strings [n, ...] of each group one after the other."""
    rank = ids.ndim
    rest = x.shape[rank:]
    columns = int(np.prod(rest, dtype=int))
    parts: list[list[list[bytes]]] = [[[] for _ in range(columns)] for _ in range(num_segments)]
    for group, row in zip(
        ids.reshape(-1).tolist(), x.reshape(ids.size, columns).tolist(), strict=True
    ):
        if not 0 <= group < num_segments:
            raise invalid(f"segment_ids = {group} is not in [0, {num_segments})")
        for column, item in zip(parts[group], row, strict=True):
            column.append(item)
    out = np.empty((num_segments, columns), object)
    for number, texts in enumerate(parts):
        out[number] = [separator.join(column) for column in texts]
    return out.reshape(num_segments, *rest)
