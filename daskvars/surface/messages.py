"""Records with declared fields: TensorFlow's protocol buffers as plain Python and JSON.

A `Message` behaves as a protocol buffer's Python class where programs rely on it: fields have
defaults, an unknown one is an error, sub-messages and lists are there without being made.
Serialized it is JSON.
"""

from __future__ import annotations

import json
import math
import numbers
from typing import Any, ClassVar, Self

from daskvars.errors import did_you_mean

_NUMBERS = {bool: numbers.Integral, int: numbers.Integral, float: numbers.Real}


class Message:
    """A record with declared fields.

    `fields` gives for each field its default (a bool, int, float, str or bytes, which is also its
    type), a Message class, `dict`, or a list of one type for a repeated field.

    Args:
      **values: fields and what they are; the others have their defaults.

    Raises:
      ValueError: there is no such field.

    >>> class Point(Message):
    ...     fields = {"x": 0, "names": [str]}
    >>> point = Point(x=3)
    >>> point.names.append("p")
    >>> point.SerializeToString()
    b'{"x": 3, "names": ["p"]}'
    >>> Point(z=3)
    Traceback (most recent call last):
    ValueError: Point has no field 'z'; it has names, x
    """

    fields: ClassVar[dict[str, Any]] = {}

    def __init__(self, **values: Any) -> None:
        object.__setattr__(self, "_values", {})
        for name, value in values.items():
            if name not in self.fields:
                raise ValueError(self._unknown(name))
            if value is not None:
                self._set(name, value)

    def __getattr__(self, name: str) -> Any:
        if name[0] == "_" or name not in self.fields:
            raise AttributeError(self._unknown(name))
        value = self._values.get(name)
        if value is None:
            declared = self.fields[name]
            if not isinstance(declared, type | list):
                return declared
            value = Repeated(declared[0]) if isinstance(declared, list) else declared()
            self._values[name] = value
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.fields:
            raise AttributeError(self._unknown(name))
        self._set(name, value)

    def _set(self, name: str, value: Any) -> None:
        declared = self.fields[name]
        where = f"{type(self).__name__}.{name}"
        if isinstance(declared, list):
            self._values[name] = repeated = Repeated(declared[0])
            repeated.extend(value)
        elif isinstance(declared, type):
            self._values[name] = checked(value, declared, where)
        else:
            self._values[name] = checked(value, type(declared), where)

    def _unknown(self, name: str) -> str:
        guess = did_you_mean(name, self.fields)
        known = "" if guess else f"; it has {', '.join(sorted(self.fields)) or 'no fields'}"
        return f"{type(self).__name__} has no field {name!r}{guess}{known}"

    # -- as protocol buffers have them ----------------------------------------------------------

    def HasField(self, field_name: str) -> bool:
        """Return whether a field was set, or something in it. Raises ValueError for no field."""
        if field_name not in self.fields:
            raise ValueError(self._unknown(field_name))
        value = self._values.get(field_name)
        if isinstance(value, Message):
            return bool(value._values) and any(map(value.HasField, value._values))
        return value is not None and value != {} and value != []

    def WhichOneof(self, oneof_group: str) -> str | None:
        """Return the name of a field of the group that is set; a group is a list in `oneofs`."""
        return next((n for n in getattr(self, "oneofs", {})[oneof_group] if self.HasField(n)), None)

    def ClearField(self, field_name: str) -> None:
        """Set a field back to its default."""
        if field_name not in self.fields:
            raise ValueError(self._unknown(field_name))
        self._values.pop(field_name, None)

    def Clear(self) -> None:
        """Set all fields back to their defaults."""
        self._values.clear()

    def CopyFrom(self, other: Message) -> None:
        """Become a copy of another message of the class."""
        if not isinstance(other, type(self)) and not isinstance(self, type(other)):
            raise TypeError(f"expected a {type(self).__name__}, got {type(other).__name__}")
        found = from_plain(type(self), other.plain())
        self._values.clear()
        self._values.update(found._values)

    def MergeFrom(self, other: Message) -> None:
        """Take over the fields that are set in `other`; lists are appended."""
        for name, value in other._values.items():
            if not other.HasField(name):
                continue
            if isinstance(value, Message):
                getattr(self, name).MergeFrom(value)
            elif isinstance(value, list):
                getattr(self, name).extend(value)
            elif isinstance(value, dict):
                getattr(self, name).update(value)
            else:
                self._values[name] = value

    def plain(self) -> dict[str, Any]:
        """Return the fields that are set as plain data that JSON can hold."""
        return {
            name: _plain(self._values[name])
            for name in self.fields
            if name in self._values and self.HasField(name)
        }

    def SerializeToString(self) -> bytes:
        """Return the message as JSON."""
        return json.dumps(self.plain()).encode()

    def ParseFromString(self, serialized: bytes) -> None:
        """Become the message that `SerializeToString` wrote. Raises ValueError for other bytes."""
        found = from_plain(type(self), json.loads(serialized))
        self._values.clear()
        self._values.update(found._values)

    @classmethod
    def FromString(cls, s: bytes) -> Self:
        """Return the message that `SerializeToString` wrote."""
        return from_plain(cls, json.loads(s))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Message):
            return NotImplemented
        return self.fields == other.fields and self.plain() == other.plain()

    __hash__ = None  # type: ignore[assignment]  # Python's way of saying that there is none

    def __repr__(self) -> str:
        values = ", ".join(f"{n}={v!r}" for n, v in self._values.items() if self.HasField(n))
        return f"{type(self).__name__}({values})"

    def __reduce__(self) -> tuple[Any, ...]:
        return from_plain, (type(self), self.plain())


class Repeated(list):
    """The values of a repeated field, all of one type."""

    def __init__(self, kind: type) -> None:
        super().__init__()
        self.kind = kind

    def add(self, **values: Any) -> Any:
        """Append a new message and return it."""
        message = self.kind(**values)
        self.append(message)
        return message

    def append(self, value: Any) -> None:
        """Append a value. Raises TypeError for one of another type."""
        super().append(checked(value, self.kind, "element"))

    def extend(self, values: Any) -> None:
        """Append all values."""
        for value in values:
            self.append(value)


def checked(value: Any, kind: type, where: str) -> Any:
    """Return `value` as a field of type `kind` holds it.

    Raises:
      TypeError: it is of another type; `where` says what it was meant for.
    """
    if kind in _NUMBERS and isinstance(value, (_NUMBERS[kind], bool)):
        return kind(value)
    if kind in _NUMBERS and getattr(value, "shape", None) == ():  # an array of one number
        return checked(value.item(), kind, where)
    if kind is str and isinstance(value, bytes):
        return value.decode()
    if kind is bytes and isinstance(value, str):
        return value.encode()
    if isinstance(value, kind) or (issubclass(kind, Message) and _is_same(value, kind)):
        return value
    raise TypeError(f"{where} must be {kind.__name__}, got {value!r}")


def _is_same(value: Any, kind: type[Message]) -> bool:
    return isinstance(value, Message) and value.fields is kind.fields


def _plain(value: Any) -> Any:
    if isinstance(value, Message):
        return value.plain()
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)  # JSON has no such numbers; read back by `from_plain`
    return value.decode("latin-1") if isinstance(value, bytes) else value


def from_plain(cls: Any, data: dict[str, Any]) -> Any:
    """Return the message of class `cls` that `Message.plain` gave `data` for.

    Raises:
      ValueError: it is no such data; names the field.
    """
    message = cls()
    if not isinstance(data, dict):
        raise ValueError(f"{data!r:.80} where a {cls.__name__} belongs")
    for name, value in data.items():
        declared = cls.fields.get(name)
        try:
            if isinstance(declared, list):
                getattr(message, name).extend(_parsed(declared[0], item) for item in value)
            elif declared is not None:
                kind = declared if isinstance(declared, type) else type(declared)
                message._set(name, _parsed(kind, value))
        except (TypeError, ValueError, AttributeError) as error:
            raise ValueError(f"{name!r}: {error}") from None
    return message


def _parsed(kind: type, value: Any) -> Any:
    if issubclass(kind, Message):
        return from_plain(kind, value)
    if kind is float:
        return float(value)
    return value.encode("latin-1") if kind is bytes else value
