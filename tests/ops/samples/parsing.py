"""Samples of strings that numbers are read out of, and of files."""

import os
import tempfile
import zlib

import numpy as np

import daskvars as dv
from tests.ops.sample import Sample

LINES = np.array([b"1,2.5,a", b"3,,b"], object)
RAW = np.array([b"abcd", b"efgh"], object)
ROWS = np.array(
    [
        dv.data.Example(
            features=dv.data.Features(
                feature={
                    "a": dv.data.Feature(int64_list=dv.data.Int64List(value=range(n))),
                    "b": dv.data.Feature(float_list=dv.data.FloatList(value=[n, 0.5])),
                }
            )
        ).SerializeToString()
        for n in (2, 0, 3)
    ],
    object,
)

JSON = np.array(
    [
        b"{}",
        b'{"features": {"feature": {"x": {"floatList": {"value": [1.5]}}}}}',
        b'{"features": {"feature": {"y": {"bytesList": {"value": ["aGk="]}}}}}',
    ],
    object,
)


def parsed(rows):
    found = dv.parse_example(
        rows, {"a": dv.VarLenFeature(dv.int64), "b": dv.FixedLenFeature([2], dv.float32)}
    )
    a = found["a"]
    return [a.indices, a.values, a.dense_shape, found["b"]]


def written(x):
    """A file written and read again."""
    path = os.path.join(FOLDER.name, "written")
    with dv.control_dependencies([dv.write_file(path, x)]):
        return dv.read_file(path)


FOLDER = tempfile.TemporaryDirectory()
HERE = np.array(__file__.encode(), object)

FRAMES = np.array(
    dv.data.SequenceExample(
        context=dv.data.Features(
            feature={"c": dv.data.Feature(float_list=dv.data.FloatList(value=[0.5]))}
        ),
        feature_lists=dv.data.FeatureLists(
            feature_list={
                "x": dv.data.FeatureList(
                    feature=[
                        dv.data.Feature(int64_list=dv.data.Int64List(value=[n, -n]))
                        for n in (1, 2, 3)
                    ]
                )
            }
        ),
    ).SerializeToString(),
    object,
)


def parsed_sequence(row):
    context, frames = dv.parse_single_sequence_example(
        row,
        {"c": dv.VarLenFeature(dv.float32), "d": dv.FixedLenFeature([], dv.float32, 2.0)},
        {"x": dv.FixedLenSequenceFeature([2], dv.int64), "y": dv.VarLenFeature(dv.string)},
    )
    c, y = context["c"], frames["y"]
    return [c.indices, c.values, context["d"], frames["x"], y.indices, y.dense_shape]


SAMPLES = [
    Sample("ReadFile", dv.read_file, (HERE,)),
    Sample("WriteFile", written, (np.array(RAW[0], object),)),
    Sample("MatchingFiles", lambda x: dv.matching_files(x), (HERE,)),
    Sample("DecodeRaw", lambda x: dv.decode_raw(input_bytes=x, out_type=dv.int16), (RAW,)),
    Sample(
        "DecodeCompressed",
        lambda x: dv.decode_compressed(x, "ZLIB"),
        (np.array([zlib.compress(b"ab"), zlib.compress(b"cde")], object),),
    ),
    Sample("DecodeCSV", lambda x: dv.decode_csv(x, [[0], [1.5], [""]]), (LINES,)),
    Sample("ParseExample", parsed, (ROWS,)),
    Sample("ParseSingleSequenceExample", parsed_sequence, (FRAMES,)),
    Sample("DecodeJSONExample", dv.decode_json_example, (JSON,)),
]
