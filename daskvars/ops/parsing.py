"""Numbers out of strings: raw bytes, comma-separated values, serialized examples."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy

from daskvars import shapes
from daskvars.dtypes import DType, DTypeLike, as_dtype, float32, int64, string, to_numpy
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import UNDEFINED_GRADIENT, Spec, without_gradient
from daskvars.graph.definitions.patterns import Elementwise
from daskvars.graph.interpreter import apply
from daskvars.graph.records import attribute_kinds as kinds_of
from daskvars.graph.sparse_tensor import SparseTensor
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.kernels import parsing as kernels
from daskvars.ops.rules.axes import either
from daskvars.ops.rules.shapes import like_first
from daskvars.ops.sparse.arranging import merge
from daskvars.shapes import Shape, ShapeLike
from daskvars.surface.signatures import with_arguments_of

_PARSED = (float32, int64, string)

# -- bytes -----------------------------------------------------------------------------------------


def _raw(inputs: Sequence[Spec], *, dtype: DType, little_endian: bool) -> Spec:
    shape = inputs[0].shape
    return Spec(dtype, None if shape is None else (*shape, None))


DECODE_RAW = without_gradient(
    "DecodeRaw",
    "bytes:S",
    infer=_raw,
    kernel=kernels.decode_raw,
    attributes={"dtype": kinds_of.DTYPE, "little_endian": kinds_of.BOOL},
)


def decode_raw(
    input_bytes: TensorLike | None = None,
    out_type: DTypeLike | None = None,
    little_endian: bool = True,
    name: str | None = None,
    bytes: TensorLike | None = None,
) -> Tensor:
    """Return the bytes of strings as numbers.

    Args:
      input_bytes: [...] string, all equally long.
      out_type: dtype of the numbers.
      little_endian: whether their bytes come from the lowest to the highest.
      name: name of the operation, by default "DecodeRaw".
      bytes: the old name of `input_bytes`.

    Returns:
      [..., length of a string / size of a number] `out_type`.

    Raises:
      InvalidArgumentError: (when run) strings have different lengths, or not that of whole numbers.
      TypeError: `out_type` is string, or an argument is missing.
      ValueError: `input_bytes` and `bytes` are given.

    Source: TensorFlow 1.15, ``tf.decode_raw``.

    >>> decode_raw([b"AB"], dv.uint8).numpy().tolist()
    [[65, 66]]
    """
    text = either(input_bytes, bytes, "input_bytes", "bytes")
    if text is None or out_type is None:
        raise TypeError("decode_raw() needs input_bytes and out_type")
    dtype = as_dtype(out_type).base_dtype
    if dtype is string:
        raise TypeError("decode_raw() gives numbers: out_type cannot be string")
    return apply(DECODE_RAW, text, name=name, dtype=dtype, little_endian=bool(little_endian))


DECODE_COMPRESSED = without_gradient(
    "DecodeCompressed",
    "bytes:S",
    like_first,
    kernels.decode_compressed,
    pattern=Elementwise(),
    attributes={"compression_type": kinds_of.TEXT},
)


def decode_compressed(
    bytes: TensorLike, compression_type: str = "", name: str | None = None
) -> Tensor:
    """Return strings that were compressed, each by itself.

    Args:
      bytes: [...] string.
      compression_type: "ZLIB", "GZIP", or "" for strings that were not.
      name: name of the operation, by default "DecodeCompressed".

    Returns:
      [...] string.

    Raises:
      ValueError: there is no such compression.
      InvalidArgumentError: (when run) a string was not compressed so.

    Source: TensorFlow 1.15, ``tf.io.decode_compressed``.

    >>> import zlib
    >>> decode_compressed([zlib.compress(b"AB")], "ZLIB").numpy().tolist()
    [b'AB']
    """
    if compression_type not in kernels.COMPRESSIONS:
        known = ", ".join(map(repr, kernels.COMPRESSIONS))
        raise ValueError(f"compression_type must be one of {known}; got {compression_type!r}")
    return apply(DECODE_COMPRESSED, bytes, name=name, compression_type=compression_type)


# -- comma-separated values ------------------------------------------------------------------------


def _columns(inputs: Sequence[Spec], *, dtypes: Sequence[DType], **attrs: Any) -> tuple[Spec, ...]:
    return tuple(Spec(dtype, inputs[0].shape) for dtype in dtypes)


DECODE_CSV = without_gradient(
    "DecodeCSV",
    "records:S, *record_defaults:A",
    infer=_columns,
    kernel=kernels.decode_csv,
    gradient=UNDEFINED_GRADIENT,
    attributes={
        "dtypes": kinds_of.tuple_of(kinds_of.DTYPE),
        "separator": kinds_of.TEXT,
        "quoted": kinds_of.BOOL,
        "missing": kinds_of.TEXT,
        "columns": kinds_of.either(kinds_of.NONE, kinds_of.INTS),
    },
)


def decode_csv(
    records: TensorLike,
    record_defaults: Sequence[Any],
    field_delim: str = ",",
    use_quote_delim: bool = True,
    name: str | None = None,
    na_value: str = "",
    select_cols: Sequence[int] | None = None,
) -> list[Tensor]:
    """Return the columns of lines of separated values.

    Args:
      records: [...] string, each a line.
      record_defaults: for each column a list or tensor of one value, which stands for a missing
        one and says the dtype, or of none, where a value is required.
      field_delim: the character between values.
      use_quote_delim: whether values may be in double quotes.
      name: name of the operation, by default "DecodeCSV".
      na_value: what else says that a value is missing.
      select_cols: the columns that are wanted, ascending; by default all.

    Returns:
      A list of tensors [...], one for each column.

    Raises:
      ValueError: `select_cols` are not ascending, or not as many as defaults.
      InvalidArgumentError: (when run) a line has another number of values, one of them cannot be
        read, or is required and missing.

    Source: TensorFlow 1.15, ``tf.decode_csv``.

    >>> number, word = decode_csv(["1,one", "2,two"], [[0], [""]])
    >>> number.numpy().tolist(), word.numpy().tolist()
    ([1, 2], [b'one', b'two'])
    """
    if select_cols is not None:
        columns = list(select_cols)
        if any(b <= a for a, b in itertools.pairwise(columns)):
            raise ValueError("select_cols is not strictly increasing.")
        if columns and columns[0] < 0:
            raise ValueError("select_cols contains negative values.")
        if len(columns) != len(record_defaults):
            raise ValueError("Length of select_cols and record_defaults do not match.")
    defaults = [convert_to_tensor(default) for default in record_defaults]
    found = apply(
        DECODE_CSV,
        convert_to_tensor(records, string),
        *defaults,
        name=name,
        dtypes=tuple(t.spec.dtype.base_dtype for t in defaults),
        separator=field_delim,
        quoted=bool(use_quote_delim),
        missing=na_value,
        columns=None if select_cols is None else tuple(select_cols),
    )
    return list(found)


# -- examples --------------------------------------------------------------------------------------


class FixedLenFeature(NamedTuple):
    """A feature with as many values in each example.

    Attributes:
      shape: of its values in one example.
      dtype: float32, int64 or string.
      default_value: what examples without the feature have; None where all must have it.

    >>> value = tf.train.Feature(float_list=tf.train.FloatList(value=[1.0, 2.0]))
    >>> example = tf.train.Example(features=tf.train.Features(feature={"x": value}))
    >>> features = {"x": FixedLenFeature([2], tf.float32), "y": FixedLenFeature([], tf.int64, 7)}
    >>> found = parse_single_example(example.SerializeToString(), features)
    >>> found["x"].numpy().tolist(), int(found["y"])
    ([1.0, 2.0], 7)
    """

    shape: Any
    dtype: Any
    default_value: Any = None


class FixedLenSequenceFeature(NamedTuple):
    """A feature with several items of one shape in each example, filled up to as many in all.

    Attributes:
      shape: of one item.
      dtype: float32, int64 or string.
      allow_missing: whether an example may lack the feature, and has no items then; must be True
        but in sequence examples.
      default_value: what is filled up with, by default 0 or the empty string.

    >>> values = [tf.train.Int64List(value=range(n)) for n in (1, 3)]
    >>> examples = [tf.train.Example(features=tf.train.Features(
    ...     feature={"x": tf.train.Feature(int64_list=value)})) for value in values]
    >>> features = {"x": FixedLenSequenceFeature([], tf.int64, True, -1)}
    >>> rows = [example.SerializeToString() for example in examples]
    >>> parse_example(rows, features)["x"].numpy().tolist()
    [[0, -1, -1], [0, 1, 2]]
    """

    shape: Any
    dtype: Any
    allow_missing: bool = False
    default_value: Any = None


class VarLenFeature(NamedTuple):
    """A feature with any number of values, as a sparse tensor.

    Attributes:
      dtype: float32, int64 or string.

    >>> value = tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"a", b"b"]))
    >>> example = tf.train.Example(features=tf.train.Features(feature={"x": value}))
    >>> rows = [example.SerializeToString(), b""]
    >>> found = parse_example(rows, {"x": VarLenFeature(tf.string)})["x"]
    >>> found.values.numpy().tolist(), found.dense_shape.numpy().tolist()
    ([b'a', b'b'], [2, 2])
    """

    dtype: Any


class SparseFeature(NamedTuple):
    """A sparse tensor whose indices and values are two features of each example.

    Attributes:
      index_key: name of the feature of indices, int64; a list of names, one for each dimension.
      value_key: name of the feature of values.
      dtype: of the values, float32, int64 or string.
      size: how large the dimension is; a list of sizes for a list of names.
      already_sorted: whether the indices of each example are in order.

    >>> example = tf.train.Example(features=tf.train.Features(feature={
    ...     "at": tf.train.Feature(int64_list=tf.train.Int64List(value=[3, 1])),
    ...     "of": tf.train.Feature(float_list=tf.train.FloatList(value=[0.5, 2.0]))}))
    >>> features = {"x": SparseFeature("at", "of", tf.float32, 4)}
    >>> found = parse_example([example.SerializeToString()], features)["x"]
    >>> dv.sparse.to_dense(found).numpy().tolist()
    [[0.0, 2.0, 0.0, 0.5]]
    """

    index_key: Any
    value_key: str
    dtype: Any
    size: Any
    already_sorted: bool = False

    @property
    def index_keys(self) -> list[str]:
        """The names of the features of indices."""
        return [self.index_key] if isinstance(self.index_key, str) else list(self.index_key)


def _parsed(
    inputs: Sequence[Spec],
    *,
    keys: Sequence[str],
    kinds: Sequence[str],
    dtypes: Sequence[DType],
    shapes: Sequence[tuple[int, ...]],
) -> tuple[Spec, ...]:
    batch = inputs[0].shape
    if batch is not None and len(batch) > 1:
        raise ValueError(f"serialized examples must be a scalar or a vector, found {batch}")
    rank = None if batch is None else len(batch) + 1
    found: list[Spec] = []
    for kind, dtype, shape in zip(kinds, dtypes, shapes, strict=True):
        if kind == kernels.SPARSE:
            found += [Spec(int64, (None, rank)), Spec(dtype, (None,)), Spec(int64, (rank,))]
        elif batch is None:
            found.append(Spec(dtype, None))
        else:
            items = () if kind == kernels.DENSE else (None,)
            found.append(Spec(dtype, (*batch, *items, *shape)))
    return tuple(found)


def _valid(inputs: Sequence[Spec], attrs: Mapping[str, Any]) -> None:
    _, _, *defaults = inputs
    lengths = {len(attrs[name]) for name in ("keys", "kinds", "dtypes", "shapes")}
    known = {kernels.DENSE, kernels.SPARSE, kernels.SEQUENCE}
    dense = sum(kind != kernels.SPARSE for kind in attrs["kinds"])
    if len(lengths) > 1 or not known.issuperset(attrs["kinds"]) or dense != len(defaults):
        raise ValueError("keys, kinds, dtypes, shapes and defaults of features do not go together")
    if not set(_PARSED).issuperset(attrs["dtypes"]):
        raise ValueError("features are float32, int64 or string")


_OF_FEATURES = {
    "keys": kinds_of.tuple_of(kinds_of.TEXT),
    "kinds": kinds_of.tuple_of(kinds_of.TEXT),
    "dtypes": kinds_of.tuple_of(kinds_of.DTYPE),
    "shapes": kinds_of.tuple_of(kinds_of.INTS),
}
PARSE_EXAMPLE = without_gradient(
    "ParseExample",
    "serialized:S, names:S, *dense_defaults:A",
    infer=_parsed,
    kernel=kernels.parse_example,
    gradient=UNDEFINED_GRADIENT,
    attributes=_OF_FEATURES,
    valid=_valid,
)


def parse_example(
    serialized: TensorLike,
    features: Mapping[str, Any],
    name: str | None = None,
    example_names: TensorLike | None = None,
) -> dict[str, Any]:
    """Return the features of serialized examples.

    Args:
      serialized: [n] string, each an ``Example`` (`daskvars.data.Example`).
      features: name -> `FixedLenFeature`, `FixedLenSequenceFeature`, `VarLenFeature` or
        `SparseFeature`.
      name: name of the operation, by default "ParseExample".
      example_names: [n] string, what errors call the examples; by default they give the number.

    Returns:
      Name -> tensor: [n, *shape] of a feature of fixed length, [n, most items, *shape] of a
      sequence, a `SparseTensor` [n, most values] of one of variable length, [n, *size] of a sparse
      one.

    Raises:
      ValueError: there are no features, or one is declared in a way that cannot be.
      TypeError: one is no declaration of a feature.
      InvalidArgumentError: (when run) a string is no example, or one lacks a feature, or has it in
        another dtype or number.
      ImportError: protobuf is not installed (``pip install daskvars[protobuf]``).

    Source: TensorFlow 1.15, ``tf.parse_example``.

    >>> Example, Features, Feature, Int64List = (
    ...     getattr(dv.data, name) for name in ("Example", "Features", "Feature", "Int64List"))
    >>> example = Example(features=Features(feature={
    ...     "label": Feature(int64_list=Int64List(value=[7]))}))
    >>> found = parse_example([example.SerializeToString()],
    ...                       {"label": FixedLenFeature([], dv.int64)})
    >>> found["label"].numpy().tolist()
    [7]
    """
    return _parse(serialized, features, name, example_names, 1)


@with_arguments_of(parse_example)
def parse_single_example(
    serialized: TensorLike,
    features: Mapping[str, Any],
    name: str | None,
    example_names: TensorLike | None,
) -> dict[str, Any]:
    """Return the features of one serialized example.

    Args:
      serialized: scalar string, an ``Example``.
      name: name of the operation, by default "ParseSingleExample".
      example_names: scalar string, what errors call the example.

    Returns:
      Name -> tensor: as `parse_example` gives them, without the first dimension.

    Source: TensorFlow 1.15, ``tf.parse_single_example``.

    >>> value = tf.train.Feature(int64_list=tf.train.Int64List(value=[3]))
    >>> example = tf.train.Example(features=tf.train.Features(feature={"label": value}))
    >>> features = {"label": FixedLenFeature([], tf.int64)}
    >>> int(parse_single_example(example.SerializeToString(), features)["label"])
    3
    """
    return _parse(serialized, features, name or "ParseSingleExample", example_names, 0)


def _parse(
    serialized: TensorLike,
    features: Mapping[str, Any],
    name: str | None,
    example_names: TensorLike | None,
    rank: int,
) -> dict[str, Any]:
    if not features:
        raise ValueError("Missing features: give at least one, as name -> FixedLenFeature(...)")
    text = convert_to_tensor(serialized, string, name="serialized")
    if text.spec.shape is not None and len(text.spec.shape) != rank:
        raise ValueError(
            f"Input serialized must be a {'vector' if rank else 'scalar'}, found the shape "
            f"{shapes.show(text.spec.shape)}"
        )
    whole = _with_parts(features)
    keys = sorted(whole)
    declared = [_declared(key, whole[key]) for key in keys]
    defaults = [default for kind, _, _, default in declared if kind != kernels.SPARSE]
    kinds = tuple(kind for kind, _, _, _ in declared)
    found = apply(
        PARSE_EXAMPLE,
        text,
        convert_to_tensor([] if example_names is None else example_names, string, name="names"),
        *defaults,
        name=name,
        keys=tuple(keys),
        kinds=kinds,
        dtypes=tuple(dtype for _, dtype, _, _ in declared),
        shapes=tuple(shape for _, _, shape, _ in declared),
    )
    parts = dict(zip(keys, _values(found, kinds), strict=True))
    return {key: _merged(key, features[key], parts) for key in sorted(features)}


def _values(found: Iterable[Tensor], kinds: Iterable[str]) -> list[Tensor | SparseTensor]:
    """Return the value of each feature: a sparse one was found as three tensors."""
    parts = iter(found)
    return [
        SparseTensor(next(parts), next(parts), next(parts))
        if kind == kernels.SPARSE
        else next(parts)
        for kind in kinds
    ]


def _with_parts(features: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is parsed: of a `SparseFeature`, the features of indices and of values."""
    found = {key: f for key, f in features.items() if not isinstance(f, SparseFeature)}
    for key in sorted(features):
        feature = features[key]
        if not isinstance(feature, SparseFeature):
            continue
        for what in ("index_key", "value_key", "dtype", "size"):
            if getattr(feature, what) is None or getattr(feature, what) == "":
                raise ValueError(f"Missing {what} for SparseFeature {key}: {feature}.")
        wanted = dict.fromkeys(feature.index_keys, int64) | {feature.value_key: feature.dtype}
        for name, dtype in wanted.items():
            given = found.setdefault(name, VarLenFeature(dtype))
            if not isinstance(given, VarLenFeature) or as_dtype(given.dtype) != as_dtype(dtype):
                raise ValueError(
                    f"SparseFeature {key!r} needs {name!r} as VarLenFeature({dtype}), but it is "
                    f"declared as {given}"
                )
    return found


def _merged(key: str, feature: Any, parts: Mapping[str, Any]) -> Any:
    """Return a feature out of what was parsed."""
    if not isinstance(feature, SparseFeature):
        return parts[key]
    several = not isinstance(feature.index_key, str)
    ids = [parts[name] for name in feature.index_keys]
    places = ids if several else ids[0]
    return merge(
        places, parts[feature.value_key], feature.size, already_sorted=feature.already_sorted
    )


# -- examples of sequences -------------------------------------------------------------------------


def _parsed_sequence(
    inputs: Sequence[Spec],
    *,
    kinds: Sequence[str],
    dtypes: Sequence[DType],
    shapes: Sequence[tuple[int, ...]],
    num_context: int,
    **attrs: Any,
) -> tuple[Spec, ...]:
    for spec, what in zip(inputs, ("serialized", "example_name"), strict=False):
        if spec.shape:
            raise ValueError(f"{what} must be a scalar, found the shape {spec.shape}")
    found: list[Spec] = []
    for place, (kind, dtype, shape) in enumerate(zip(kinds, dtypes, shapes, strict=True)):
        rank = 1 + (place >= num_context)
        if kind == kernels.SPARSE:
            found += [Spec(int64, (None, rank)), Spec(dtype, (None,)), Spec(int64, (rank,))]
        else:
            found.append(Spec(dtype, shape if rank == 1 else (None, *shape)))
    return tuple(found)


PARSE_SEQUENCE = without_gradient(
    "ParseSingleSequenceExample",
    "serialized:S, example_name:S, *context_dense_defaults:A",
    infer=_parsed_sequence,
    kernel=kernels.parse_single_sequence_example,
    gradient=UNDEFINED_GRADIENT,
    attributes={**_OF_FEATURES, "num_context": kinds_of.INT},
)


def parse_single_sequence_example(
    serialized: TensorLike,
    context_features: Mapping[str, Any] | None = None,
    sequence_features: Mapping[str, Any] | None = None,
    example_name: TensorLike | None = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the features of one serialized example of a sequence: of all of it, and of its frames.

    Args:
      serialized: scalar string, a ``SequenceExample`` (`daskvars.data.SequenceExample`).
      context_features: name -> `FixedLenFeature`, `VarLenFeature` or `SparseFeature`.
      sequence_features: name -> `FixedLenSequenceFeature` or `VarLenFeature`.
      example_name: scalar string, for errors.
      name: name of the operation, by default "ParseSingleSequenceExample".

    Returns:
      context: name -> tensor [*shape] of a feature of fixed length, a `SparseTensor` [values] of
        one of variable length.
      sequence: name -> tensor [frames, *shape], or a `SparseTensor` [frames, most values].

    Raises:
      ValueError: there are no features, or one is declared in a way that cannot be.
      TypeError: one is no declaration of a feature that may stand there.
      InvalidArgumentError: (when run) the string is no such example, or it lacks a feature, or has
        it in another dtype or number.
      ImportError: protobuf is not installed (``pip install daskvars[protobuf]``).

    Source: TensorFlow 1.15, ``tf.parse_single_sequence_example``.

    >>> data = dv.data
    >>> frames = [data.Feature(int64_list=data.Int64List(value=[n, n])) for n in (1, 2, 3)]
    >>> example = data.SequenceExample(feature_lists=data.FeatureLists(
    ...     feature_list={"x": data.FeatureList(feature=frames)}))
    >>> _, found = parse_single_sequence_example(
    ...     example.SerializeToString(),
    ...     sequence_features={"x": FixedLenSequenceFeature([2], dv.int64)})
    >>> found["x"].numpy().tolist()
    [[1, 1], [2, 2], [3, 3]]
    """
    if not (context_features or sequence_features):
        raise ValueError("Missing features: give context_features, sequence_features or both")
    context, sequence = context_features or {}, sequence_features or {}
    whole = _with_parts(context)
    keys = sorted(whole)
    for key in keys:
        if isinstance(whole[key], FixedLenSequenceFeature):
            raise TypeError(f"context feature {key!r} cannot be a FixedLenSequenceFeature")
    declared = [_declared(key, whole[key]) for key in keys]
    defaults = [default for kind, _, _, default in declared if kind != kernels.SPARSE]
    frames = [_declared_frames(key, sequence[key]) for key in sorted(sequence)]
    entries = [(kind, dtype, shape) for kind, dtype, shape, _ in declared] + frames
    names = [*keys, *sorted(sequence)]
    kinds = tuple(kind for kind, _, _ in entries)
    found = apply(
        PARSE_SEQUENCE,
        convert_to_tensor(serialized, string, name="serialized"),
        convert_to_tensor("" if example_name is None else example_name, string),
        *defaults,
        name=name,
        keys=tuple(names),
        kinds=kinds,
        dtypes=tuple(dtype for _, dtype, _ in entries),
        shapes=tuple(shape for _, _, shape in entries),
        num_context=len(keys),
    )
    values = _values(found, kinds)
    parts = dict(zip(keys, values[: len(keys)], strict=True))
    return (
        {key: _merged(key, context[key], parts) for key in sorted(context)},
        dict(zip(sorted(sequence), values[len(keys) :], strict=True)),
    )


def _declared_frames(key: str, feature: Any) -> tuple[str, DType, tuple[int, ...]]:
    """Return kind, dtype and shape of one frame of a feature."""
    if isinstance(feature, VarLenFeature):
        return _declared(key, feature)[:3]
    if not isinstance(feature, FixedLenSequenceFeature):
        raise TypeError(
            f"sequence feature {key!r} must be a FixedLenSequenceFeature or a VarLenFeature, got "
            f"{feature!r}"
        )
    _, dtype, shape, _ = _declared(key, feature._replace(allow_missing=True))
    return (kernels.OPTIONAL if feature.allow_missing else kernels.SEQUENCE), dtype, shape


# -- examples in JSON ------------------------------------------------------------------------------

DECODE_JSON = without_gradient(
    "DecodeJSONExample", "json_examples:S", like_first, kernels.decode_json_example, Elementwise()
)


def decode_json_example(json_examples: TensorLike, name: str | None = None) -> Tensor:
    """Return examples that are written in JSON as `parse_example` takes them.

    Args:
      json_examples: [...] string, each an ``Example`` in protocol buffers' JSON.
      name: name of the operation, by default "DecodeJSONExample".

    Returns:
      [...] string, each a serialized ``Example``.

    Raises:
      InvalidArgumentError: (when run) a string is no JSON, or that of no example.
      ImportError: protobuf is not installed (``pip install daskvars[protobuf]``).

    Source: TensorFlow 1.15, ``tf.decode_json_example``.

    >>> text = '{"features": {"feature": {"n": {"int64List": {"value": [7]}}}}}'
    >>> rows = decode_json_example([text])
    >>> parse_example(rows, {"n": FixedLenFeature([], dv.int64)})["n"].numpy().tolist()
    [7]
    """
    return apply(DECODE_JSON, json_examples, name=name)


def _declared(key: str, feature: Any) -> tuple[str, DType, tuple[int, ...], Any]:
    """Return kind, dtype, shape of one item, and default of a feature."""
    if not isinstance(feature, FixedLenFeature | FixedLenSequenceFeature | VarLenFeature):
        raise TypeError(f"Invalid feature {key}:{feature!r}.")
    if not feature.dtype:
        raise ValueError(f"Missing type for feature {key}.")
    dtype = as_dtype(feature.dtype).base_dtype
    if dtype not in _PARSED:
        raise TypeError(
            f"feature {key!r} is declared as {dtype.name}: examples have float32, int64 and "
            "string; cast() what is parsed"
        )
    if isinstance(feature, VarLenFeature):
        return kernels.SPARSE, dtype, (), None
    shape = _full_shape(key, feature.shape)
    if isinstance(feature, FixedLenSequenceFeature):
        if not feature.allow_missing:
            raise ValueError(
                "Unsupported: FixedLenSequenceFeature requires allow_missing to be True. "
                f"(feature {key})"
            )
        value = feature.default_value
        default = _empty(dtype) if value is None else _default(key, value, dtype, ())
        return kernels.SEQUENCE, dtype, shape, default
    if feature.default_value is None:
        return kernels.DENSE, dtype, shape, _empty(dtype)
    default = feature.default_value
    if not isinstance(default, Tensor):
        default = _default(key, default, dtype, shape)
    return kernels.DENSE, dtype, shape, default


def _default(key: str, value: Any, dtype: DType, shape: tuple[int, ...]) -> Any:
    """Return the default of a feature in its shape. Raises ValueError where it does not fill it."""
    given = to_numpy(value, dtype)
    if given.size != math.prod(shape):
        raise ValueError(
            f"Cannot reshape a tensor with {given.size} elements to shape {list(shape)}: the "
            f"default_value of feature {key!r}"
        )
    return given.reshape(shape)


def _full_shape(key: str, given: ShapeLike) -> tuple[int, ...]:
    shape: Shape = shapes.as_tuple(given)
    if shape is None:
        raise ValueError(f"Missing shape for feature {key}.")
    if shape and shape[0] is None:
        raise ValueError(
            f"First dimension of shape for feature {key} unknown. Consider using "
            "FixedLenSequenceFeature."
        )
    if None in shape:
        raise ValueError(
            f"All dimensions of shape for feature {key} need to be known but received {shape}."
        )
    return tuple(n for n in shape if n is not None)


def _empty(dtype: DType) -> numpy.ndarray:
    return numpy.empty(0, dtype.np)
