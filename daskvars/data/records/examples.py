"""Examples: named features as protocol buffers, under TensorFlow's names.

The classes are protobuf's, which is loaded when the first of them is used (``pip install
daskvars[protobuf]``); what they write TensorFlow reads.
"""

from __future__ import annotations

from typing import Any

from daskvars.kernels.example_protos import message_class

__all__ = [
    "BytesList",
    "Example",
    "Feature",
    "FeatureList",
    "FeatureLists",
    "Features",
    "FloatList",
    "Int64List",
    "SequenceExample",
]


class _Message(type):
    """The class of names that stand for classes of protobuf's."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return message_class(cls.__name__)(*args, **kwargs)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(message_class(cls.__name__), name)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, message_class(cls.__name__))


class BytesList(metaclass=_Message):
    """Strings: ``BytesList(value=[b"a"])``.

    >>> BytesList(value=[b"a", b"b"]).value
    [b'a', b'b']
    """


class FloatList(metaclass=_Message):
    """Numbers of 32 bits: ``FloatList(value=[0.5])``.

    >>> FloatList(value=[0.5, 2]).value
    [0.5, 2.0]
    """


class Int64List(metaclass=_Message):
    """Integers: ``Int64List(value=[1])``.

    >>> Int64List(value=[1, 1 << 40]).value
    [1, 1099511627776]
    """


class Feature(metaclass=_Message):
    """The values of a feature: one of ``bytes_list``, ``float_list`` and ``int64_list``.

    >>> Feature(int64_list=Int64List(value=[7])).WhichOneof("kind")
    'int64_list'
    """


class Features(metaclass=_Message):
    """Features by name: ``Features(feature={"label": Feature(...)})``.

    >>> features = Features(feature={"label": Feature(int64_list=Int64List(value=[7]))})
    >>> features.feature["label"].int64_list.value
    [7]
    """


class FeatureList(metaclass=_Message):
    """The features of the steps of a sequence, of one name.

    >>> steps = [Feature(float_list=FloatList(value=[x])) for x in (0.5, 1.5)]
    >>> [float(step.float_list.value[0]) for step in FeatureList(feature=steps).feature]
    [0.5, 1.5]
    """


class FeatureLists(metaclass=_Message):
    """Features of steps by name.

    >>> words = FeatureList(feature=[Feature(bytes_list=BytesList(value=[b"hello"]))])
    >>> len(FeatureLists(feature_list={"words": words}).feature_list["words"].feature)
    1
    """


class Example(metaclass=_Message):
    """A row of data: ``Example(features=Features(...))``, to be serialized and parsed.

    Source: TensorFlow 1.15, ``tf.train.Example``.

    >>> example = Example()
    >>> example.features.feature["label"].int64_list.value.append(7)
    >>> Example.FromString(example.SerializeToString()).features.feature["label"].int64_list.value
    [7]
    """


class SequenceExample(metaclass=_Message):
    """A sequence: features of all of it (``context``), and of its steps (``feature_lists``).

    Source: TensorFlow 1.15, ``tf.train.SequenceExample``.

    >>> example = SequenceExample()
    >>> example.context.feature["length"].int64_list.value.append(2)
    >>> for word in (b"good", b"day"):
    ...     step = example.feature_lists.feature_list["words"].feature.add()
    ...     step.bytes_list.value.append(word)
    >>> [s.bytes_list.value[0] for s in example.feature_lists.feature_list["words"].feature]
    [b'good', b'day']
    """
