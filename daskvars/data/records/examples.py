"""Examples: named features as protocol buffers, under TensorFlow's names.

The classes are protobuf's, which is loaded when the first of them is used (``pip install
daskvars[protobuf]``); what they write TensorFlow reads.
"""

from __future__ import annotations

from typing import Any

from daskvars.kernels.examples import message_class

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
    """Strings: ``BytesList(value=[b"a"])``."""


class FloatList(metaclass=_Message):
    """Numbers of 32 bits: ``FloatList(value=[0.5])``."""


class Int64List(metaclass=_Message):
    """Integers: ``Int64List(value=[1])``."""


class Feature(metaclass=_Message):
    """The values of a feature: one of ``bytes_list``, ``float_list`` and ``int64_list``."""


class Features(metaclass=_Message):
    """Features by name: ``Features(feature={"label": Feature(...)})``."""


class FeatureList(metaclass=_Message):
    """The features of the steps of a sequence, of one name."""


class FeatureLists(metaclass=_Message):
    """Features of steps by name."""


class Example(metaclass=_Message):
    """A row of data: ``Example(features=Features(...))``, to be serialized and parsed.

    Source: TensorFlow 1.15, ``tf.train.Example``.

    >>> example = Example()
    >>> example.features.feature["label"].int64_list.value.append(7)
    >>> Example.FromString(example.SerializeToString()).features.feature["label"].int64_list.value
    [7]
    """


class SequenceExample(metaclass=_Message):
    """A sequence: features of all of it (``context``), and of its steps (``feature_lists``)."""
