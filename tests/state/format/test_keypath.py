"""Keys become paths one to one, and only keys that no store mistakes for another are taken."""

from __future__ import annotations

import pytest
import zarr
from hypothesis import given, strategies as st

from daskvars.errors import InvalidArgumentError
from daskvars.state import check_key, decode_path, encode_keys

TABLE = {
    "conv1/weights": "conv1/weights",
    "conv1/weights:0": "conv1/weights%3A0",
    "CNN_W!": "CNN_W%21",
    "...": "%2E%2E%2E",
    "__x": "%5F_x",
    "scope/__x": "scope/%5F_x",
    "___": "%5F__",
    "zarr.json": "%7Aarr.json",
    "Zarr.JSON": "%5Aarr.JSON",
    "a%2Fb": "a%252Fb",
    "c": "c",
    "c/0": "c%2F0",
    "v1.": "v1%2E",
    "größe": "gr%C3%B6%C3%9Fe",
    "a b": "a%20b",
}


@pytest.mark.parametrize("key", TABLE)
def test_each_name_of_the_table(key: str) -> None:
    path = encode_keys([key, "c"])[key]
    assert path == TABLE[key]
    assert decode_path(path) == key


def test_a_key_under_another_is_no_child_of_its_array() -> None:
    paths = {
        "w": "w",
        "w/Adam": "w%2FAdam",
        "w/Adam/x": "w%2FAdam%2Fx",
        "w/free/x": "w%2Ffree/x",
        "layer1": "layer1",
        "layer10/b": "layer10/b",
        "layer1/b": "layer1%2Fb",
    }
    assert encode_keys(list(paths)) == paths


def test_siblings_that_differ_in_case_only_have_their_capitals_encoded() -> None:
    paths = {
        "Foo/a": "%46oo/a",
        "foo/a": "foo/a",
        "FOO": "%46%4F%4F",
        "Bar/Baz": "Bar/Baz",
        "W": "%57",
        "w/Adam": "w/Adam",
        "W/Adam": "%57%2FAdam",
    }
    assert encode_keys(list(paths)) == paths


@pytest.mark.parametrize(
    ("key", "says"),
    [
        ("", "empty"),
        ("/a", "write 'a'"),
        ("a/", "write 'a'"),
        ("a//b", "write 'a/b'"),
        ("a\\b", "write 'a/b'"),
        (".", "rename"),
        ("a/../b", "rename"),
        ("\ud800", "surrogate"),
        ("ä" * 513, "1026 bytes"),
        (7, "int"),
    ],
)
def test_names_that_are_not_canonical_are_refused_with_the_remedy(key: str, says: str) -> None:
    with pytest.raises(InvalidArgumentError, match=says):
        check_key(key)


def test_a_path_too_long_for_file_systems_is_refused() -> None:
    encode_keys(["x" * 255])
    with pytest.raises(InvalidArgumentError, match="segment of 256"):
        encode_keys(["x" * 256])
    with pytest.raises(InvalidArgumentError, match="segment of 300"):
        encode_keys(["ä" * 50])


SEGMENTS = st.one_of(
    st.sampled_from(["w", "W", "c", "0", "__x", "...", "zarr.json", "a:b", "%2F", "Adam", "adam"]),
    st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="/\\"), min_size=1),
    st.text("aAkKöÖ\u0131\u0130\u212a_%2F.", min_size=1),
).filter(lambda segment: segment not in (".", ".."))
KEYS = st.lists(SEGMENTS, min_size=1, max_size=4).map("/".join)
KEY_SETS = st.sets(KEYS.filter(lambda key: len(key.encode()) <= 80), max_size=12)


@given(KEY_SETS)
def test_encoding_is_reversible_and_free_of_collisions(keys: set[str]) -> None:
    paths = encode_keys(keys)
    assert {key: decode_path(path) for key, path in paths.items()} == {key: key for key in keys}
    caseless = [path.lower() for path in paths.values()]
    assert len(set(caseless)) == len(keys)
    for path in caseless:
        assert not any(other.startswith(path + "/") for other in caseless)


@given(KEY_SETS)
def test_every_path_is_a_legal_zarr_node(keys: set[str]) -> None:
    for path in encode_keys(keys).values():
        assert path.isascii()
        for segment in path.split("/"):
            assert segment
            assert segment.strip(".")
            assert not segment.startswith("__")
            assert segment.lower() != "zarr.json"
            assert not set(segment) & set("\\:!?*<>|\"' \x00")


@given(KEY_SETS)
def test_the_order_of_the_keys_does_not_matter(keys: set[str]) -> None:
    assert encode_keys(sorted(keys)) == encode_keys(sorted(keys, reverse=True))


def test_plain_zarr_reads_every_name_of_the_table() -> None:
    group = zarr.open_group(zarr.storage.MemoryStore())
    keys = [*TABLE, "w", "w/Adam"]
    for number, path in enumerate(encode_keys(keys).values()):
        group.create_array(path, shape=(), dtype="int64")[...] = number
    for number, path in enumerate(encode_keys(keys).values()):
        assert group[path][()] == number
