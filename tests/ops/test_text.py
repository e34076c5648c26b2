"""Strings: what TensorFlow gives and refuses."""

import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf
from daskvars.errors import InvalidArgumentError


@pytest.mark.parametrize(
    "values, options, wanted",
    [
        ([1, -20], {}, ["1", "-20"]),
        ([3.14159, 1e10, np.nan, -np.inf], {}, ["3.141590", "10000000000.000000", "nan", "-inf"]),
        ([3.14159, 1e10, 1e-7], {"shortest": True}, ["3.14159", "1e+10", "1e-07"]),
        ([3.14159], {"scientific": True}, ["3.141590e+00"]),
        ([3.14159], {"precision": 2, "width": 8}, ["    3.14"]),
        ([3.14159], {"precision": 2, "width": 8, "fill": "0"}, ["00003.14"]),
        ([3], {"width": 5, "fill": "-"}, ["3    "]),
        ([3], {"width": 5, "fill": "+"}, ["   +3"]),
        ([True, False], {"width": 6}, ["true", "false"]),
        ([1 + 2j], {"precision": 1, "width": 6}, ["(   1.0,   2.0)"]),
        (np.array([2**63], np.uint64), {}, ["9223372036854775808"]),
        (np.array([1.5], np.float16), {}, ["1.500000"]),
    ],
)
def test_as_string(values, options, wanted):
    found = dv.as_string(values, **options).numpy().tolist()
    assert [item.decode() for item in found] == wanted


@pytest.mark.parametrize(
    "values, options, problem",
    [
        ([3], {"precision": 2}, "precision not supported for datatype int32"),
        ([3], {"scientific": True}, "scientific and shortest format not supported"),
        ([3], {"width": 5, "fill": "00"}, "one or fewer"),
        ([1.5], {"scientific": True, "shortest": True}, "both"),
        ([3], {"fill": "x"}, "Fill argument"),
    ],
)
def test_as_string_refuses(values, options, problem):
    with pytest.raises(InvalidArgumentError, match=problem):
        dv.as_string(values, **options)


@pytest.mark.parametrize(
    "text, dtype",
    [
        ("abc", "float32"),
        ("1_0", "float32"),
        ("1.5", "int32"),
        ("", "int32"),
        ("99999999999", "int32"),
    ],
)
def test_string_to_number_refuses(text, dtype):
    with pytest.raises(InvalidArgumentError, match=f"could not correctly convert string: {text}"):
        dv.string_to_number(text, dtype).numpy()


def test_string_to_number():
    assert dv.string_to_number(["inf", " 3 "]).numpy().tolist() == [np.inf, 3.0]
    found = dv.string_to_number([" 7 ", "-8"], dv.int64).numpy()
    assert (found.dtype, found.tolist()) == (np.int64, [7, -8])


@pytest.mark.parametrize(
    "text, start, count, options, wanted",
    [
        ("hello", 5, 2, {}, b""),
        ("hello", 3, 20, {}, b"lo"),
        ("hello", 1, -1, {}, b"ello"),
        ("hello", -3, 2, {}, b"ll"),
        ("héllo", 1, 2, {"unit": "UTF8_CHAR"}, "él".encode()),
    ],
)
def test_substr(text, start, count, options, wanted):
    assert dv.substr(text, start, count, **options).numpy() == wanted


@pytest.mark.parametrize("start", [7, -7])
def test_substr_refuses_what_begins_outside(start):
    with pytest.raises(InvalidArgumentError, match=f"pos {start} out of range"):
        dv.substr("hello", start, 2).numpy()


def test_letters_and_lengths():
    assert dv.strings.lower("ABcÉ").numpy() == "abcÉ".encode()
    assert dv.strings.lower("ABcÉ", "utf-8").numpy() == "abcé".encode()
    assert int(dv.strings.length("ABcÉ")) == 5
    assert int(dv.strings.length("ABcÉ", unit="UTF8_CHAR")) == 4
    for change in (dv.strings.lower, dv.strings.upper):
        with pytest.raises(InvalidArgumentError, match=r"only utf8 or '' .* received 'latin1'"):
            change("A", "latin1")


def test_bytes_that_are_no_text_are_characters_too():
    """As in TensorFlow 2.21."""
    assert dv.strings.lower(b"\xffA\xc3", "utf-8").numpy().decode() == "\ufffda\ufffd"
    assert int(dv.strings.length(b"\xffA\xc3", unit="UTF8_CHAR")) == 3
    assert dv.strings.substr(b"\xffA\xc3", 0, 2, unit="UTF8_CHAR").numpy() == b"\xffA"


@pytest.mark.parametrize(
    "axis, options, wanted",
    [
        (0, {}, [b"ac", b"bd"]),
        (1, {"separator": " ", "keep_dims": True}, [[b"a b"], [b"c d"]]),
        (None, {"separator": "-"}, b"a-b-c-d"),
        ([1, 0], {"separator": "-"}, b"a-b-c-d"),
        ([0, -1], {"separator": "-"}, b"a-c-b-d"),
        ([], {}, [[b"a", b"b"], [b"c", b"d"]]),
    ],
)
def test_reduce_join(axis, options, wanted):
    found = dv.reduce_join([["a", "b"], ["c", "d"]], axis, **options).numpy()
    assert np.asarray(found).tolist() == wanted


def test_joins_and_expressions():
    assert dv.string_join(["a", ["b", "c"]], "-").numpy().tolist() == [b"a-b", b"a-c"]
    with pytest.raises(ValueError, match=r"compatible|equal"):
        dv.string_join([["a"], ["b", "c"]])
    assert dv.regex_replace("abcabc", "b", "X", replace_global=False).numpy() == b"aXcabc"
    assert dv.strings.regex_full_match(["abc", "abcd"], "a.c").numpy().tolist() == [True, False]
    with pytest.raises(InvalidArgumentError, match="Invalid pattern"):
        dv.regex_replace("abc", "(", "X").numpy()
    for function, more in ((dv.regex_replace, ["X"]), (dv.strings.regex_full_match, [])):
        with tf.Graph().as_default(), tf.Session() as session:
            result = function(tf.constant("abc"), "A[", *more)
            with pytest.raises(InvalidArgumentError, match=r"Invalid pattern: A\[, error"):
                session.run(result)
