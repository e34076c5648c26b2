"""Summaries whose tags are given, whatever the name scope: ``tf.contrib.deprecated``.

Those of `daskvars.summary` are tagged by the names of their operations; here a tag is any text, and
it is the program's to have no two alike in what it merges.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from daskvars.dtypes import float32
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import OpDef
from daskvars.graph.definitions.static_values import constant_value
from daskvars.graph.interpreter import apply
from daskvars.graph.scopes.collections import GraphKeys
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.ops.array.joining import unstack
from daskvars.ops.array.reshaping import reshape
from daskvars.summary.summary_ops import (
    AUDIO,
    HISTOGRAM,
    IMAGE,
    MERGE,
    SCALAR,
    SUMMARIES,
    collected,
)
from daskvars.surface.signatures import Argument, Family

Inputs = tuple[list[TensorLike], dict[str, Any]]

TAGGED = Family(
    {
        "tag": Argument("a text, known when the graph is built."),
        "collections": Argument(
            "collections to add the summary to, by default that of all summaries.",
            None,
            "Sequence[Any] | None",
        ),
        "name": Argument('name of the operation, by default "{type}".', None, "str | None"),
    },
    returns=SUMMARIES.returns,
    result="Tensor",
)


def _tagged(definition: OpDef) -> Callable[[Callable[..., Inputs]], Callable[..., Tensor]]:
    """Make a summary under one tag of the function that gives an op's inputs and attributes."""

    def decorate(own: Callable[..., Inputs]) -> Callable[..., Tensor]:
        def call(given: dict[str, Any]) -> Tensor:
            name, collections = given.pop("name"), given.pop("collections")
            inputs, attrs = own(**given)
            with name_scope(name, definition.type, [given["tag"], *inputs]) as scope:
                texts = _texts(given["tag"])
                if texts.ndim:
                    raise ValueError(f"a summary of this kind has one tag, got {texts.tolist()}")
                found = apply(definition, *inputs, name=scope, tag=texts.item(), **attrs)
            return _collected(found, collections)

        return TAGGED.member(own, call, type=definition.type)

    return decorate


@TAGGED.documents(type="ScalarSummary")
def scalar_summary(
    tags: TensorLike,
    values: TensorLike,
    collections: Sequence[Any] | None = None,
    name: str | None = None,
) -> Tensor:
    """Summarize numbers, each under a tag.

    Args:
      tags: a text, or an array of them, known when the graph is built.
      values: [...] real, of the shape of `tags`.

    Raises:
      ValueError: the tags are not known, or have another shape than the values.

    Source: TensorFlow 1.15, ``tf.contrib.deprecated.scalar_summary``.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     sess.run(tf.contrib.deprecated.scalar_summary(["a b", "c"], [1.0, 2.0]))
    b'{"value": [{"tag": "a b", "simple_value": 1.0}, {"tag": "c", "simple_value": 2.0}]}'
    """
    with name_scope(name, "ScalarSummary", [tags, values]) as scope:
        numbers = convert_to_tensor(values, name="values")
        texts = _texts(tags)
        if numbers.shape.as_list() != list(texts.shape):
            raise ValueError(
                f"tags {texts.tolist()} and values must have one shape, got {numbers.shape}"
            )
        if not texts.ndim:
            found = apply(SCALAR, numbers, name=scope, tag=texts.item())
        else:
            parts = unstack(reshape(numbers, [-1]), texts.size)
            pairs = zip(parts, texts.reshape(-1).tolist(), strict=True)
            each = [apply(SCALAR, part, tag=text) for part, text in pairs]
            found = apply(MERGE, *each, name=scope)
    return _collected(found, collections)


def _texts(tags: TensorLike) -> Any:
    known = constant_value(convert_to_tensor(tags, name="tags"))
    if known is None:
        raise ValueError("tags must be known when the graph is built: give texts")
    found = numpy.empty(known.shape, object)
    for place, text in numpy.ndenumerate(known):
        found[place] = text.decode()
    return found


@_tagged(HISTOGRAM)
def histogram_summary(tag: TensorLike, values: TensorLike) -> Inputs:
    """Summarize how the elements of a tensor are distributed.

    Args:
      values: [...] real.

    Raises:
      ValueError: the tag is not known, or is not one.

    Source: TensorFlow 1.15, ``tf.contrib.deprecated.histogram_summary``.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     text = sess.run(tf.contrib.deprecated.histogram_summary("w:0", [1.0, 2.0]))
    ...     tf.Summary.FromString(text).value[0].tag
    'w:0'
    """
    return [values], {}


@_tagged(IMAGE)
def image_summary(tag: TensorLike, tensor: TensorLike, max_images: int = 3) -> Inputs:
    """Summarize images, as PNG files.

    Args:
      tag: a text, known when the graph is built; images are tagged ``<tag>/image/0`` and so on.
      tensor: [batch, height, width, channels] real, as of `summary.image`.
      max_images: how many images of a batch.

    Raises:
      ValueError: the tag is not known, or is not one; or the tensor is of no images.

    Source: TensorFlow 1.15, ``tf.contrib.deprecated.image_summary``.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     text = sess.run(tf.contrib.deprecated.image_summary("in put", tf.zeros([1, 4, 4, 1])))
    ...     tf.Summary.FromString(text).value[0].tag
    'in put/image/0'
    """
    return [tensor], {"max_outputs": max_images}


@_tagged(AUDIO)
def audio_summary(
    tag: TensorLike, tensor: TensorLike, sample_rate: TensorLike, max_outputs: int = 3
) -> Inputs:
    """Summarize sounds, as WAV files.

    Args:
      tag: a text, known when the graph is built; clips are tagged ``<tag>/audio/0`` and so on.
      tensor: [batch, frames] or [batch, frames, channels] floating, from -1 to 1.
      sample_rate: [] float32, frames in a second.
      max_outputs: how many clips of a batch.

    Raises:
      ValueError: the tag is not known, or is not one; or the tensor has another rank.

    Source: TensorFlow 1.15, ``tf.contrib.deprecated.audio_summary``.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     text = sess.run(tf.contrib.deprecated.audio_summary("a b", tf.zeros([1, 8]), 8000.0))
    ...     tf.Summary.FromString(text).value[0].tag
    'a b/audio/0'
    """
    rate = convert_to_tensor(sample_rate, float32, name="sample_rate")
    return [tensor, rate], {"max_outputs": max_outputs}


def _collected(summary: Tensor, collections: Sequence[Any] | None) -> Tensor:
    return collected(summary, [GraphKeys.SUMMARIES] if collections is None else collections)
