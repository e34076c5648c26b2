"""Samples of strings."""

import numpy as np

import daskvars as dv
from tests.ops.sample import Sample

WORDS = np.array([[b"alpha", b" Beta"], [b"gamma ", b"d\xc3\xa9lta"], [b"e", b""]], object)

SAMPLES = [
    Sample("AsString", dv.as_string, (np.array([[1.5, -2.0], [0.0, 1e10]]),)),
    Sample("AsString", dv.as_string, (np.array([True, False]),), id="bool"),
    Sample("StringToNumber", dv.string_to_number, (np.array([b"1", b" 2.5 ", b"-1e3"], object),)),
    Sample("StringJoin", lambda x: dv.string_join([x, "b", x], "-"), (WORDS,)),
    Sample("ReduceJoin", lambda x: dv.reduce_join(x, 1, separator=" "), (WORDS,)),
    Sample("ReduceJoin", lambda x: dv.reduce_join(x, [1, 0], keepdims=True), (WORDS,), id="kept"),
    *[
        Sample(
            "ReduceJoin",
            lambda x, axis: dv.reduce_join(x, axis, separator="-"),
            (WORDS, np.array(axis, np.int32)),
            id=f"of-run {axis}",
        )
        for axis in (0, -1, [0, 1], [1, 0])
    ],
    Sample("Add", dv.add, (WORDS, WORDS[:1]), id="strings"),
    Sample("StringToHashBucket", lambda x: dv.strings.to_hash_bucket(x, 1000), (WORDS,)),
    Sample("StringToHashBucketFast", lambda x: dv.strings.to_hash_bucket_fast(x, 1000), (WORDS,)),
    Sample(
        "StringToHashBucketStrong",
        lambda x: dv.strings.to_hash_bucket_strong(x, 1000, [1, 2]),
        (WORDS,),
    ),
    Sample("StringSplit", lambda x: dv.string_split(x).values, (WORDS.reshape(-1),)),
    Sample("StringSplitV2", lambda x: dv.strings.split(x, "a").values, (WORDS,)),
    Sample("StringStrip", dv.string_strip, (WORDS,)),
    Sample("StringLower", dv.strings.lower, (WORDS,)),
    Sample("StringUpper", lambda x: dv.strings.upper(x, "utf-8"), (WORDS,)),
    Sample("StringLength", dv.strings.length, (WORDS,)),
    Sample("Substr", lambda x, n: dv.substr(x, 0, n), (WORDS, np.int32([[2], [3], [1]]))),
    Sample("RegexReplace", lambda x: dv.regex_replace(x, "[aeiou]", "_"), (WORDS,)),
    Sample("RegexFullMatch", lambda x: dv.strings.regex_full_match(x, ".*a"), (WORDS,)),
]
