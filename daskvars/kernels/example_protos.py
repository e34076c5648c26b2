"""Examples and tensors: protocol buffers, declared when they are first needed.

They are TensorFlow's ``Example`` (named features) and ``TensorProto``, and what those are made of,
by protobuf's own package: bytes that either writes the other reads. They are in a pool of their
own, so that TensorFlow may be loaded too.
"""

from __future__ import annotations

import functools
from importlib import import_module
from typing import Any

from daskvars.errors import InvalidArgumentError
from daskvars.kernels.optional_packages import needing

WHY = "examples and tensors are protocol buffers, which the package protobuf reads and writes"
PACKAGE = "tensorflow"
NAMES = (
    "BytesList",
    "FloatList",
    "Int64List",
    "Feature",
    "Features",
    "FeatureList",
    "FeatureLists",
    "Example",
    "SequenceExample",
    "TensorShapeProto",
    "TensorProto",
)


@functools.cache
def message_class(name: str) -> Any:
    """Return the class of a message.

    Raises:
      ImportError: protobuf is not installed.
    """
    found = _pool().FindMessageTypeByName(f"{PACKAGE}.{name}")
    return import_module("google.protobuf.message_factory").GetMessageClass(found)


def decode_error() -> type[Exception]:
    """Return the class of what is raised for bytes that are no message."""
    with needing("protobuf", WHY):
        found: type[Exception] = import_module("google.protobuf.message").DecodeError
    return found


def example_of_json(text: bytes) -> bytes:
    """Return an example in JSON as bytes.

    Raises:
      InvalidArgumentError: it is none.
    """
    with needing("protobuf", WHY):
        json_format = import_module("google.protobuf.json_format")
    try:
        found: bytes = json_format.Parse(text, message_class("Example")()).SerializeToString()
    except (json_format.ParseError, UnicodeDecodeError) as error:
        raise InvalidArgumentError(
            None, None, f"Error while parsing JSON: {error} (in {text[:64]!r})"
        ) from None
    return found


@functools.cache
def _pool() -> Any:
    with needing("protobuf", WHY):
        descriptor_pb2 = import_module("google.protobuf.descriptor_pb2")
        pool = import_module("google.protobuf.descriptor_pool").DescriptorPool()
    field = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(
        name="daskvars/example.proto", package=PACKAGE, syntax="proto3"
    )

    def declare(owner: Any, name: str) -> Any:
        return owner.add(name=name)

    def add(declared: Any, name: str, number: int, kind: Any, **rest: Any) -> None:
        label = rest.pop("label", field.LABEL_OPTIONAL)
        if isinstance(kind, str):
            rest |= {"type_name": f".{PACKAGE}.{kind}"}
            kind = field.TYPE_MESSAGE
        declared.field.add(name=name, number=number, type=kind, label=label, **rest)

    many = field.LABEL_REPEATED
    for name, kind in (
        ("BytesList", field.TYPE_BYTES),
        ("FloatList", field.TYPE_FLOAT),
        ("Int64List", field.TYPE_INT64),
    ):
        add(declare(file.message_type, name), "value", 1, kind, label=many)
    feature = declare(file.message_type, "Feature")
    feature.oneof_decl.add(name="kind")
    for number, name in enumerate(("BytesList", "FloatList", "Int64List"), 1):
        add(feature, name.removesuffix("List").lower() + "_list", number, name, oneof_index=0)
    for owner, member, item in (
        ("Features", "feature", "Feature"),
        ("FeatureLists", "feature_list", "FeatureList"),
    ):
        declared = declare(file.message_type, owner)
        entry = declare(declared.nested_type, "".join(map(str.title, member.split("_"))) + "Entry")
        entry.options.map_entry = True
        add(entry, "key", 1, field.TYPE_STRING)
        add(entry, "value", 2, item)
        add(declared, member, 1, f"{owner}.{entry.name}", label=many)
    add(declare(file.message_type, "FeatureList"), "feature", 1, "Feature", label=many)
    add(declare(file.message_type, "Example"), "features", 1, "Features")
    sequence = declare(file.message_type, "SequenceExample")
    add(sequence, "context", 1, "Features")
    add(sequence, "feature_lists", 2, "FeatureLists")
    shape = declare(file.message_type, "TensorShapeProto")
    size = declare(shape.nested_type, "Dim")
    add(size, "size", 1, field.TYPE_INT64)
    add(size, "name", 2, field.TYPE_STRING)
    add(shape, "dim", 2, "TensorShapeProto.Dim", label=many)
    add(shape, "unknown_rank", 3, field.TYPE_BOOL)
    tensor = declare(file.message_type, "TensorProto")
    add(tensor, "dtype", 1, field.TYPE_INT32)
    add(tensor, "tensor_shape", 2, "TensorShapeProto")
    add(tensor, "version_number", 3, field.TYPE_INT32)
    add(tensor, "tensor_content", 4, field.TYPE_BYTES)
    for name, number, kind in (
        ("float_val", 5, field.TYPE_FLOAT),
        ("double_val", 6, field.TYPE_DOUBLE),
        ("int_val", 7, field.TYPE_INT32),
        ("string_val", 8, field.TYPE_BYTES),
        ("scomplex_val", 9, field.TYPE_FLOAT),
        ("int64_val", 10, field.TYPE_INT64),
        ("bool_val", 11, field.TYPE_BOOL),
        ("dcomplex_val", 12, field.TYPE_DOUBLE),
        ("half_val", 13, field.TYPE_INT32),
        ("uint32_val", 16, field.TYPE_UINT32),
        ("uint64_val", 17, field.TYPE_UINT64),
    ):
        add(tensor, name, number, kind, label=many)
    pool.Add(file)
    return pool
