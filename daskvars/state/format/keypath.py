"""Variable keys to Zarr node paths and back.

A key is a scope-qualified variable name (``conv1/weights``). Its path in a snapshot is the key
itself wherever Zarr, an object store and the common file systems take it literally; anything else
is percent-encoded, so decoding is unquoting and needs no state. Encoding does need the whole set
of keys, for two rules:

- an array may have no children, so where one key lies under another (``w`` and ``w/Adam``) the
  slash between them becomes ``%2F``;
- macOS and Windows do not tell ``Foo`` from ``foo``, so where siblings differ in case only, their
  capitals are encoded (``%46oo`` and ``foo``).

Within one segment the rule encodes everything outside ``A-Z a-z 0-9 _ . - ~`` (so no Unicode
normalization can merge two names), the first underscore of a leading ``__`` (reserved by Zarr), a
segment of dots only, a trailing dot (Windows drops it), and the first letter of ``zarr.json``.
Rejected are names that are not canonical, because a store would silently take two of them for
one: empty, ``/a``, ``a/``, ``a//b``, ``a\\b``, ``.`` and ``..`` segments.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from urllib.parse import quote, unquote

from daskvars.errors import invalid

MAX_PATH_BYTES = 1024
"""Longest key S3 and GCS take, in bytes."""

MAX_SEGMENT_BYTES = 255
"""Longest file name the common file systems take, in bytes."""

ENCODED = re.compile("[A-Za-z0-9_.~%/-]*")
ESCAPE_OR_CAPITAL = re.compile("%[0-9A-F]{2}|[A-Z]")


def check_key(key: str) -> None:
    """Refuse a variable key that is not canonical.

    Args:
        key: the variable's scope-qualified name.

    Raises:
        InvalidArgumentError: the key is empty, has an empty, ``.`` or ``..`` segment, a
            backslash, a lone surrogate, or is longer than 1,024 bytes.

    >>> check_key("conv1/weights")
    >>> check_key("conv1//weights")
    Traceback (most recent call last):
    daskvars.errors.InvalidArgumentError: variable key 'conv1//weights' has an empty segment; \
write 'conv1/weights'
    """
    if not isinstance(key, str):
        raise invalid(f"a variable key is a string, not {type(key).__name__}: {key!r}")
    if not key:
        raise invalid("a variable key is empty; name the variable")
    if "\\" in key:
        raise invalid(
            f"variable key {key!r} has a backslash, which stores read as a slash;"
            f" write {key.replace(chr(92), '/')!r}"
        )
    segments = key.split("/")
    if "" in segments:
        canonical = "/".join(segment for segment in segments if segment)
        raise invalid(f"variable key {key!r} has an empty segment; write {canonical!r}")
    if "." in segments or ".." in segments:
        raise invalid(
            f"variable key {key!r} has a '.' or '..' segment, which stores read as a direction;"
            " rename that scope"
        )
    check_length(key)


def check_length(key: str) -> None:
    """Refuse a key that is not valid Unicode or is longer than any store takes."""
    try:
        num_bytes = len(key.encode())
    except UnicodeEncodeError:
        raise invalid(
            f"variable key {key!r} holds a lone surrogate, which is no text; rename the variable"
        ) from None
    if num_bytes > MAX_PATH_BYTES:
        raise invalid(
            f"variable key {key[:40]!r}... is {num_bytes} bytes long; object stores take"
            f" {MAX_PATH_BYTES}: shorten it"
        )


def encode_keys(keys: Iterable[str]) -> dict[str, str]:
    """Give every key of one snapshot its Zarr node path.

    Args:
        keys: all variable keys of the snapshot; the result depends on the whole set.

    Returns:
        key -> path. No two paths are equal, or equal but for case, and no path lies under another.

    Raises:
        InvalidArgumentError: a key is not canonical (`check_key`), or its path would be too long.

    >>> encode_keys(["w", "w/Adam", "layer1/b:0", "layer10/__x"])
    {'w': 'w', 'w/Adam': 'w%2FAdam', 'layer1/b:0': 'layer1/b%3A0', 'layer10/__x': 'layer10/%5F_x'}
    """
    names = dict.fromkeys(keys)
    for key in names:
        check_key(key)
    spellings = sibling_spellings(names)
    paths = {key: encode_key(key, names, spellings) for key in names}
    for key, path in paths.items():
        check_path_length(key, path)
    return paths


def sibling_spellings(keys: Iterable[str]) -> dict[tuple[str, str], set[str]]:
    """Collect, per parent scope and caseless segment, the ways in which that segment is spelled."""
    spellings: dict[tuple[str, str], set[str]] = {}
    for key in keys:
        parent = ""
        for segment in key.split("/"):
            spellings.setdefault((parent, segment.lower()), set()).add(segment)
            parent = f"{parent}/{segment}"
    return spellings


def encode_key(key: str, keys: dict[str, None], spellings: dict[tuple[str, str], set[str]]) -> str:
    """Encode one key, given the set it belongs to and the spellings of that set."""
    path = parent = ""
    for segment in key.split("/"):
        if parent:
            path += "%2F" if parent[1:] in keys else "/"
        clash = len(spellings[parent, segment.lower()]) > 1
        path += encode_segment(segment, clash)
        parent = f"{parent}/{segment}"
    return path


@lru_cache(maxsize=65536)
def encode_segment(segment: str, capitals: bool) -> str:
    """Percent-encode one segment; its capitals too where a sibling differs in case only."""
    text = quote(segment, safe="")
    if text.startswith("__"):
        text = "%5F" + text[1:]
    if not text.strip("."):
        text = "%2E" * len(text)
    elif text.endswith("."):
        text = text[:-1] + "%2E"
    if text.lower() == "zarr.json":
        text = f"%{ord(text[0]):02X}{text[1:]}"
    return ESCAPE_OR_CAPITAL.sub(escape_capital, text) if capitals else text


def escape_capital(match: re.Match[str]) -> str:
    """Percent-encode a matched capital; leave a matched escape as it is."""
    text = match[0]
    return text if len(text) > 1 else f"%{ord(text):02X}"


def check_path_length(key: str, path: str) -> None:
    """Refuse a path that object stores or file systems would not take."""
    longest = max(len(segment) for segment in path.split("/"))
    if longest > MAX_SEGMENT_BYTES or len(path) > MAX_PATH_BYTES:
        raise invalid(
            f"variable key {key[:40]!r}... becomes a path of {len(path)} bytes with a segment of"
            f" {longest}; object stores take {MAX_PATH_BYTES} and file systems"
            f" {MAX_SEGMENT_BYTES} a segment: shorten the name"
        )


def decode_path(path: str) -> str:
    """Give back the key that a node path stands for.

    Args:
        path: a path that `encode_keys` made.

    Returns:
        The variable's key.

    Raises:
        InvalidArgumentError: the path has characters that `encode_keys` escapes, or escapes that
            are not UTF-8.

    >>> decode_path("w%2FAdam")
    'w/Adam'
    """
    try:
        if not ENCODED.fullmatch(path):
            raise ValueError
        return unquote(path, errors="strict")
    except ValueError:
        raise invalid(f"path {path!r} is not an encoded one: no variable key leads to it") from None
