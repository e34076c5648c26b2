"""Messages: records with declared fields, in place of protocol buffers."""

import json
import math
import pickle
from typing import ClassVar

import numpy as np
import pytest

from daskvars.surface.messages import Message


class Inner(Message):
    fields: ClassVar = {"count": 0, "ratio": 0.0}


class Outer(Message):
    fields: ClassVar = {
        "name": "",
        "flag": False,
        "data": b"",
        "inner": Inner,
        "many": [Inner],
        "numbers": [float],
        "counts": dict,
    }


def full():
    message = Outer(name="n", flag=True, data=b"\x00\xff", inner=Inner(count=2), counts={"CPU": 1})
    message.many.add(ratio=math.nan)
    message.numbers.extend([1, math.inf])
    return message


def test_fields_have_defaults_and_are_there_without_being_made():
    message = Outer()
    assert (message.name, message.flag, message.inner.count, list(message.many)) == (
        "",
        False,
        0,
        [],
    )
    assert not any(map(message.HasField, message.fields))
    message.inner.count = np.int64(3)
    message.counts["GPU"] = 0
    assert [n for n in message.fields if message.HasField(n)] == ["inner", "counts"]
    assert type(message.inner.count) is int
    message.ClearField("inner")
    assert message.inner.count == 0


@pytest.mark.parametrize("name", ["nam", "zzz"])
def test_an_unknown_field_is_an_error(name):
    message = Outer()
    for attempt in (
        lambda: Outer(**{name: 1}),
        lambda: message.HasField(name),
        lambda: message.ClearField(name),
    ):
        with pytest.raises(ValueError, match=f"Outer has no field '{name}'"):
            attempt()
    with pytest.raises(AttributeError, match="has no field"):
        setattr(message, name, 1)
    with pytest.raises(AttributeError, match="has no field"):
        getattr(message, name)


@pytest.mark.parametrize(
    "field, value", [("name", 1), ("flag", "yes"), ("inner", Outer()), ("many", [1])]
)
def test_a_value_of_another_type_is_an_error(field, value):
    with pytest.raises(TypeError, match="must be"):
        Outer(**{field: value})


def test_serialized_it_is_json_and_comes_back_the_same():
    message = full()
    text = message.SerializeToString()
    assert json.loads(text)["many"] == [{"ratio": "nan"}]
    for copy in (Outer.FromString(text), pickle.loads(pickle.dumps(message))):
        assert copy == message
        assert (copy.data, copy.numbers) == (b"\x00\xff", [1.0, math.inf])
        assert math.isnan(copy.many[0].ratio)
    other = Outer(name="other")
    other.ParseFromString(text)
    assert other == message


def test_copies_share_nothing_and_merging_keeps_what_the_other_has_not():
    message, copy = full(), Outer(name="old")
    copy.CopyFrom(message)
    assert copy == message
    copy.inner.count = 7
    assert message.inner.count == 2
    base = Outer(name="base", numbers=[5.0])
    base.MergeFrom(Outer(flag=True, numbers=[6.0], inner=Inner(ratio=0.5)))
    assert base == Outer(name="base", flag=True, numbers=[5.0, 6.0], inner=Inner(ratio=0.5))
    with pytest.raises(TypeError, match="expected a Outer"):
        base.CopyFrom(Inner())
