"""Samples of sets, crossed features, serialized tensors, and strings in other forms."""

import numpy as np

import daskvars as dv
from daskvars.ops.sparse import serializing
from tests.ops.sample import Sample

PLACES = np.array([[0, 0], [0, 1], [1, 0]])
VALUES = np.array([5, 1, 7])
SHAPE = np.array([2, 2])
SPARSE = (PLACES, VALUES, SHAPE)
DENSE = np.array([[1, 5, 9], [7, 7, 3]])
TEXTS = np.array([b"hello", b"", "déjà".encode()], object)


def sparse(*parts):
    return dv.SparseTensor(*parts)


def parts(value):
    return [value.indices, value.values, value.dense_shape]


SAMPLES = [
    Sample(
        "DenseToDenseSetOperation",
        lambda a, b: parts(dv.sets.union(a, b)),
        (DENSE, DENSE[:, :2]),
        chunked=(0,),
    ),
    Sample(
        "DenseToSparseSetOperation",
        lambda a, *b: parts(dv.sets.difference(sparse(*b), a)),
        (DENSE, *SPARSE),
        chunked=(0,),
    ),
    Sample(
        "SparseToSparseSetOperation",
        lambda *a: parts(dv.sets.intersection(sparse(*a), sparse(*a))),
        SPARSE,
        chunked=(),
    ),
    Sample("SetSize", lambda *a: dv.sets.size(sparse(*a)), SPARSE, chunked=()),
    Sample(
        "EditDistance",
        lambda *a: dv.edit_distance(sparse(*a), sparse(a[0], a[1] + 1, a[2])),
        SPARSE,
        chunked=(),
    ),
    Sample(
        "SparseCross", lambda *a: parts(dv.sparse.cross([sparse(*a), DENSE])), SPARSE, chunked=()
    ),
    Sample(
        "SparseCrossHashed",
        lambda *a: parts(dv.sparse.cross_hashed([sparse(*a), DENSE], 100)),
        SPARSE,
        chunked=(),
    ),
    Sample("SerializeTensor", dv.serialize_tensor, (DENSE,)),
    Sample("ParseTensor", lambda x: dv.parse_tensor(dv.serialize_tensor(x), dv.int64), (DENSE,)),
    Sample(
        "SerializeSparse", lambda *a: serializing.serialize_sparse(sparse(*a)), SPARSE, chunked=()
    ),
    Sample(
        "SerializeManySparse",
        lambda *a: serializing.serialize_many_sparse(sparse(*a)),
        SPARSE,
        chunked=(),
    ),
    Sample(
        "DeserializeManySparse",
        lambda *a: parts(
            serializing.deserialize_many_sparse(
                serializing.serialize_many_sparse(sparse(*a)), dv.int64
            )
        ),
        SPARSE,
        chunked=(),
    ),
    Sample("EncodeBase64", dv.encode_base64, (TEXTS,)),
    Sample("DecodeBase64", lambda x: dv.decode_base64(dv.encode_base64(x)), (TEXTS,)),
    Sample(
        "UnicodeTranscode",
        lambda x: dv.strings.unicode_transcode(x, "UTF-8", "UTF-16-BE"),
        (TEXTS,),
    ),
    Sample("StringFormat", lambda x: dv.strings.format("it is {}", x), (DENSE,)),
    Sample(
        "UnsortedSegmentJoin",
        lambda x, i: dv.strings.unsorted_segment_join(x, i, 2),
        (TEXTS, np.array([1, 0, 1])),
    ),
]
