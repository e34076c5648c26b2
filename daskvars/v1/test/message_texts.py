"""Messages beside protocol buffers' text: what `TestCase.assertProtoEquals` compares."""

from __future__ import annotations

import ast
import dataclasses
import re
import typing
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from absl.testing import absltest

from daskvars.dtypes import as_dtype
from daskvars.graph.records.graph_def import GraphDef
from daskvars.graph.records.node_def import AttrValue, Dim, ListValue, NodeDef, Shape
from daskvars.surface.accepted import accepts
from daskvars.surface.messages import Message

_DTYPES = {"float": "float32", "double": "float64", "half": "float16"}
_TOKENS = re.compile(r"""\s*(?:\#[^\n]*|("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[\w.+-]+|\S))""")


def assert_same_messages(
    test: absltest.TestCase, expected: Any, message: Any, msg: str | None = None
) -> None:
    """Fail a test unless two messages are equal, numbers to six digits.

    The expected one may be a text. Of a node a text says which attributes are compared: nodes have
    others than TensorFlow's.

    Raises:
      TypeError: what is expected is neither such a message nor a text.
    """
    if isinstance(expected, str) and isinstance(message, NodeDef):
        expected = _node(_all_fields(expected))
        message = message._replace(attr={key: message.attr[key] for key in expected.attr})
    elif isinstance(expected, str):
        expected = parsed(expected, type(message))
    if not isinstance(expected, type(message)):
        raise TypeError(f"Can't compare messages of type {type(expected)} and {type(message)}")
    first, second = (_plain(value) for value in (expected, message))
    test.assertEqual(first, second, msg)


def _plain(message: Any) -> Any:
    return _rounded(message.plain()) if isinstance(message, Message) else message


def _rounded(value: Any) -> Any:
    """Return plain data whose numbers have six digits after the point, as texts mean them."""
    if isinstance(value, dict):
        return {name: _rounded(item) for name, item in value.items()}
    if isinstance(value, list):
        return list(map(_rounded, value))
    return round(value, 6) if isinstance(value, float) else value


def parsed(text: str, kind: type) -> Any:
    """Return the message of a class that protocol buffers' text describes.

    >>> from daskvars.summary.records import Summary
    >>> found = parsed("value { tag: 'loss' simple_value: 0.5 }", Summary)
    >>> found.value[0].tag, found.value[0].simple_value
    ('loss', 0.5)

    Examples are messages of protobuf's own, which reads their texts itself.

    Raises:
      TypeError: messages of the class have no text.
      ValueError: the text is none of the class.
      google.protobuf.text_format.ParseError: likewise, of an example.
    """
    if hasattr(kind, "DESCRIPTOR"):
        return import_module("google.protobuf.text_format").Parse(text, kind())
    if not (issubclass(kind, Message) or dataclasses.is_dataclass(kind)):
        raise TypeError(f"messages of {kind.__name__} are compared with each other, not with text")
    return _sub_message(kind, _all_fields(text))


def _all_fields(text: str) -> list[tuple[str, Any]]:
    return list(_fields(token for token in _TOKENS.findall(text) if token))


def _fields(tokens: Iterator[str]) -> Iterator[tuple[str, Any]]:
    """Give (name, value) of the fields up to the closing brace or the end."""
    for name in tokens:
        if name == "}":
            return
        if name in ",;":
            continue
        sign = next(tokens, "")
        if sign == ":":
            sign = next(tokens, "")
            yield name, list(_fields(tokens)) if sign == "{" else _scalar(sign)
        elif sign == "{":
            yield name, list(_fields(tokens))
        else:
            raise ValueError(
                f"expected ':' or '{{' after {name!r} in a message's text, got {sign!r}"
            )


def _scalar(token: str) -> Any:
    if token in ("true", "false"):
        return token == "true"
    if token.startswith("DT_"):
        name = token.removeprefix("DT_").lower()
        return as_dtype(_DTYPES.get(name, name)).as_datatype_enum
    return ast.literal_eval(token)


def _merge(message: Message, name: str, value: Any) -> None:
    current = getattr(message, name)  # raises for an unknown field
    declared = message.fields[name]
    if isinstance(current, dict) and isinstance(value, list):
        entry = dict(value)
        current[entry["key"]] = entry["value"]
    elif isinstance(declared, list):
        kind = declared[0]
        current.append(_sub_message(kind, value) if isinstance(value, list) else value)
    elif isinstance(value, list):
        for part, inner in value:
            _merge(current, part, inner)
    else:
        setattr(message, name, value)


def _sub_message(kind: Any, fields: list[tuple[str, Any]]) -> Any:
    if not issubclass(kind, Message):
        return _record(kind, fields)
    result = kind()
    for name, value in fields:
        _merge(result, name, value)
    return result


def _record(kind: Any, fields: list[tuple[str, Any]]) -> Any:
    """Return a message that is a dataclass; what it declares says how a field is read."""
    declared = typing.get_type_hints(kind)
    found: dict[str, list[Any]] = {}
    for name, value in fields:
        if name not in declared:
            raise ValueError(f"{kind.__name__} has no field {name!r}; it has {', '.join(declared)}")
        found.setdefault(name, []).append(value)
    return kind(**{name: _field(declared[name], values) for name, values in found.items()})


def _field(declared: Any, values: list[Any]) -> Any:
    """Return a field's value from all that the text gives for it, the last one where it is one."""
    of = typing.get_args(declared)
    if typing.get_origin(declared) is dict:
        return {entry["key"]: entry["value"] for entry in map(dict, values)}
    if typing.get_origin(declared) is list:
        return [_field(of[0], [value]) for value in values]
    if dataclasses.is_dataclass(declared):
        return _record(declared, [field for value in values for field in value])
    value = values[-1]
    return value.encode() if declared is bytes and isinstance(value, str) else value


def _node(fields: list[tuple[str, Any]]) -> NodeDef:
    """Return the operation that a text describes."""
    attr = {}
    for entry in (dict(value) for name, value in fields if name == "attr"):
        attr[entry["key"]] = _attribute(entry["value"])
    inputs = tuple([value for name, value in fields if name == "input"])
    one = {name: value for name, value in fields if name in ("name", "op", "device")}
    return NodeDef(**{"name": "", "op": "", "device": "", **one, "input": inputs, "attr": attr})


def _attribute(fields: list[tuple[str, Any]]) -> AttrValue:
    ((name, value),) = fields
    if name == "shape":
        return AttrValue(shape=_shape(value))
    if name != "list":
        return AttrValue(**{name: value.encode() if name == "s" else value})
    readers: dict[str, Any] = {"shape": _shape, "s": str.encode}
    several: dict[str, list[Any]] = {}
    for kind, item in value:
        several.setdefault(kind, []).append(readers[kind](item) if kind in readers else item)
    return AttrValue(list=ListValue(**several))


def _shape(fields: list[tuple[str, Any]]) -> Shape:
    sizes = tuple([Dim(dict(value)["size"]) for name, value in fields if name == "dim"])
    return Shape(sizes, dict(fields).get("unknown_rank", False))


@accepts("checkpoint_v2", "hash_table_shared_name")
def assert_equal_graph_def(
    actual: GraphDef,
    expected: GraphDef,
    checkpoint_v2: bool = False,
    hash_table_shared_name: bool = False,
) -> None:
    """Raise AssertionError unless two graphs have the same nodes, in whatever order.

    Args:
      actual: what was found.
      expected: what should be.

    Raises:
      TypeError: one of them is no graph.
      AssertionError: the nodes differ.

    >>> def graph_of(value):
    ...     with tf.Graph().as_default() as graph:
    ...         tf.constant(value, name="c")
    ...     return graph.as_graph_def()
    >>> tf.test.assert_equal_graph_def(graph_of(1.0), graph_of(1.0))
    >>> tf.test.assert_equal_graph_def(graph_of(1.0), graph_of(2.0))
    Traceback (most recent call last):
    AssertionError: node 'c': found ...
    """
    for name, graph in {"actual": actual, "expected": expected}.items():
        if not isinstance(graph, GraphDef):
            raise TypeError(f"Expected tf.GraphDef for {name}, got {type(graph).__name__}")
    found, wanted = (
        {node.name: (node.op, sorted(node.input), node.attr) for node in graph.node}
        for graph in (actual, expected)
    )
    for name in sorted({*found, *wanted}):
        if name not in found or name not in wanted:
            where = "only in the actual" if name in found else "not in the actual"
            raise AssertionError(f"node {name!r} is {where} graph")
        if found[name] != wanted[name]:
            raise AssertionError(f"node {name!r}: found {found[name]}, expected {wanted[name]}")
