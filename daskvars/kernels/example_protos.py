"""Examples and tensors: protocol buffers, declared when they are first needed.

They are TensorFlow's ``Example`` (named features) and ``TensorProto``, and what those are made of,
by protobuf's own package: bytes that either writes the other reads. They are in a pool of their
own, so that TensorFlow may be loaded too.
"""

from __future__ import annotations

import functools
from importlib import import_module
from typing import Any

from daskvars.errors import invalid
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
    """Return the class of a message. Raises ImportError where protobuf is not installed."""
    found = _pool().FindMessageTypeByName(f"{PACKAGE}.{name}")
    return import_module("google.protobuf.message_factory").GetMessageClass(found)


def decode_error() -> type[Exception]:
    """Return the class of what is raised for bytes that are no message."""
    with needing("protobuf", WHY):
        found: type[Exception] = import_module("google.protobuf.message").DecodeError
    return found


def example_of_json(text: bytes) -> bytes:
    """Return an example in JSON as bytes. Raises InvalidArgumentError where it is none."""
    with needing("protobuf", WHY):
        json_format = import_module("google.protobuf.json_format")
    try:
        found: bytes = json_format.Parse(text, message_class("Example")()).SerializeToString()
    except (json_format.ParseError, UnicodeDecodeError) as error:
        raise invalid(f"Error while parsing JSON: {error} (in {text[:64]!r})") from None
    return found


_LISTS = {"BytesList": "TYPE_BYTES", "FloatList": "TYPE_FLOAT", "Int64List": "TYPE_INT64"}
# Of a tensor: its elements one by one, by field.
_ELEMENTS = (
    ("float_val", 5, "TYPE_FLOAT"),
    ("double_val", 6, "TYPE_DOUBLE"),
    ("int_val", 7, "TYPE_INT32"),
    ("string_val", 8, "TYPE_BYTES"),
    ("scomplex_val", 9, "TYPE_FLOAT"),
    ("int64_val", 10, "TYPE_INT64"),
    ("bool_val", 11, "TYPE_BOOL"),
    ("dcomplex_val", 12, "TYPE_DOUBLE"),
    ("half_val", 13, "TYPE_INT32"),
    ("uint32_val", 16, "TYPE_UINT32"),
    ("uint64_val", 17, "TYPE_UINT64"),
)


@functools.cache
def _pool() -> Any:
    with needing("protobuf", WHY):
        descriptor_pb2 = import_module("google.protobuf.descriptor_pb2")
        pool = import_module("google.protobuf.descriptor_pool").DescriptorPool()
    file = descriptor_pb2.FileDescriptorProto(
        name="daskvars/example.proto", package=PACKAGE, syntax="proto3"
    )
    declaring = _Declaring(descriptor_pb2.FieldDescriptorProto)
    declaring.examples(file)
    declaring.tensors(file)
    pool.Add(file)
    return pool


class _Declaring:
    """Declares messages.

    Args:
      field: protobuf's class of what declares a field.
    """

    def __init__(self, field: Any) -> None:
        self._field = field

    def _add(self, declared: Any, name: str, number: int, kind: str, **rest: Any) -> None:
        """Add a field, of one of protobuf's kinds or of a message."""
        is_many = rest.pop("many", False)
        label = self._field.LABEL_REPEATED if is_many else self._field.LABEL_OPTIONAL
        if not kind.startswith("TYPE_"):
            rest |= {"type_name": f".{PACKAGE}.{kind}"}
            kind = "TYPE_MESSAGE"
        declared.field.add(
            name=name, number=number, type=getattr(self._field, kind), label=label, **rest
        )

    def examples(self, file: Any) -> None:
        """Declare what an example is made of."""
        for name, kind in _LISTS.items():
            self._add(file.message_type.add(name=name), "value", 1, kind, many=True)
        feature = file.message_type.add(name="Feature")
        feature.oneof_decl.add(name="kind")
        for number, name in enumerate(_LISTS, 1):
            member = name.removesuffix("List").lower() + "_list"
            self._add(feature, member, number, name, oneof_index=0)
        for owner, member, item in (
            ("Features", "feature", "Feature"),
            ("FeatureLists", "feature_list", "FeatureList"),
        ):
            declared = file.message_type.add(name=owner)
            entry = "".join(map(str.title, member.split("_"))) + "Entry"
            pairs = declared.nested_type.add(name=entry)
            pairs.options.map_entry = True
            self._add(pairs, "key", 1, "TYPE_STRING")
            self._add(pairs, "value", 2, item)
            self._add(declared, member, 1, f"{owner}.{entry}", many=True)
        lists = file.message_type.add(name="FeatureList")
        self._add(lists, "feature", 1, "Feature", many=True)
        self._add(file.message_type.add(name="Example"), "features", 1, "Features")
        sequence = file.message_type.add(name="SequenceExample")
        self._add(sequence, "context", 1, "Features")
        self._add(sequence, "feature_lists", 2, "FeatureLists")

    def tensors(self, file: Any) -> None:
        """Declare what a tensor is made of."""
        shape = file.message_type.add(name="TensorShapeProto")
        size = shape.nested_type.add(name="Dim")
        self._add(size, "size", 1, "TYPE_INT64")
        self._add(size, "name", 2, "TYPE_STRING")
        self._add(shape, "dim", 2, "TensorShapeProto.Dim", many=True)
        self._add(shape, "unknown_rank", 3, "TYPE_BOOL")
        tensor = file.message_type.add(name="TensorProto")
        self._add(tensor, "dtype", 1, "TYPE_INT32")
        self._add(tensor, "tensor_shape", 2, "TensorShapeProto")
        self._add(tensor, "version_number", 3, "TYPE_INT32")
        self._add(tensor, "tensor_content", 4, "TYPE_BYTES")
        for name, number, kind in _ELEMENTS:
            self._add(tensor, name, number, kind, many=True)
