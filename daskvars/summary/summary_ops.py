"""Summary ops: tensors that hold values under a tag as JSON, and their merging."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from daskvars.dtypes import float32, string
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import OpDef, Spec, without_gradient
from daskvars.graph.interpreter import apply, builder_for
from daskvars.graph.scopes.collections import GraphKeys
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Tensor
from daskvars.kernels import summaries
from daskvars.summary.records import SHOWN_AS_TEXT, SummaryMetadata
from daskvars.surface.signatures import Family

_NOT_IN_NAMES = re.compile(r"[^-/\w\.]", re.ASCII)


def _text(inputs: tuple[Spec, ...], **attrs: Any) -> Spec:
    return Spec(string, ())


def _ranked(rank: int, what: str) -> Any:
    """Return a rule for an input of known rank."""

    def infer(inputs: tuple[Spec, ...], **attrs: Any) -> Spec:
        shape = inputs[0].shape
        if shape is not None and len(shape) != rank:
            raise ValueError(f"summary {attrs['tag']!r}: {what} has rank {rank}, found {shape}")
        return Spec(string, ())

    return infer


def _images(inputs: tuple[Spec, ...], **attrs: Any) -> Spec:
    spec = _ranked(4, "[batch, height, width, channels]")(inputs, **attrs)
    shape = inputs[0].shape
    if shape is not None and shape[3] not in (None, *summaries.PNG_COLORS):
        raise ValueError(
            f"summary {attrs['tag']!r}: an image has 1 (grey), 3 (RGB) or 4 (RGBA) channels, found "
            f"{shape[3]} in {shape}"
        )
    return spec


def _clips(inputs: tuple[Spec, ...], **attrs: Any) -> Spec:
    shape = inputs[0].shape
    if shape is not None and len(shape) not in (2, 3):
        raise ValueError(
            f"summary {attrs['tag']!r}: [batch, frames] or [batch, frames, channels] has rank 2 or "
            f"3, found {shape}"
        )
    return Spec(string, ())


def _summary_op(type: str, signature: str, kernel: Any, infer: Any = _text) -> OpDef:
    return without_gradient(type, signature, infer, kernel)


SCALAR = _summary_op("ScalarSummary", "values:R", summaries.scalar, _ranked(0, "a scalar"))
HISTOGRAM = _summary_op("HistogramSummary", "values:R", summaries.histogram)
IMAGE = _summary_op("ImageSummary", "tensor:R", summaries.image, _images)
AUDIO = _summary_op("AudioSummaryV2", "tensor:R, sample_rate:F", summaries.audio, _clips)
TENSOR = _summary_op("TensorSummaryV2", "tensor:T", summaries.tensor)
MERGE = _summary_op("MergeSummary", "*inputs:S", summaries.merge)

SUMMARIES = Family({}, returns="[] string: a `Summary` as JSON.")


@SUMMARIES.documents()
def scalar(
    name: str, tensor: Any, collections: Sequence[Any] | None = None, family: str | None = None
) -> Tensor:
    """Summarize one number.

    Args:
      name: name of the operation. With the scopes around it, it is also the tag.
      tensor: [] real.
      collections: collections to add the summary to, by default ``GraphKeys.SUMMARIES``.
      family: comes before the tag and in the name: summaries of a family are shown together.

    Raises:
      ValueError: the tensor is no scalar.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     sess.run(tf.summary.scalar("loss", 0.5))
    b'{"value": [{"tag": "loss", "simple_value": 0.5}]}'
    """
    return _summarized(SCALAR, name, tensor, collections, family)


@SUMMARIES.documents()
def histogram(
    name: str, values: Any, collections: Sequence[Any] | None = None, family: str | None = None
) -> Tensor:
    """Summarize how the elements of a tensor are distributed, in buckets 10 % wide.

    Args:
      name, collections, family: see `scalar`.
      values: [...] real.

    Raises:
      InvalidArgumentError: (when run) there is a NaN or an infinity.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     weights = tf.summary.histogram("weights", [1.0, 2.0, 2.0])
    ...     found = tf.Summary.FromString(sess.run(weights)).value[0]
    >>> found.tag, found.histo.num, found.histo.sum
    ('weights', 3.0, 5.0)
    """
    return _summarized(HISTOGRAM, name, values, collections, family)


@SUMMARIES.documents()
def image(
    name: str,
    tensor: Any,
    max_outputs: int = 3,
    collections: Sequence[Any] | None = None,
    family: str | None = None,
) -> Tensor:
    """Summarize images, as PNG files.

    uint8 is shown as it is. Of other types, the largest value of an image becomes 255; where one is
    negative, zero becomes 128 and the value farthest from it 1 or 255. A pixel that is not finite
    is red.

    Args:
      name, collections, family: see `scalar`. The tags are ``<tag>/image/0`` and so on, or
        ``<tag>/image`` where `max_outputs` is 1.
      tensor: [batch, height, width, channels] real, of 1 (grey), 3 (RGB) or 4 (RGBA) channels.
      max_outputs: how many images of a batch.

    Raises:
      ValueError: the tensor has another rank, or other channels.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     images = tf.summary.image("input", tf.zeros([1, 4, 6, 3]), max_outputs=1)
    ...     found = tf.Summary.FromString(sess.run(images)).value[0]
    >>> found.tag, found.image.height, found.image.width, found.image.encoded_image_string[1:4]
    ('input/image', 4, 6, b'PNG')
    """
    return _summarized(IMAGE, name, tensor, collections, family, max_outputs=max_outputs)


@SUMMARIES.documents()
def audio(
    name: str,
    tensor: Any,
    sample_rate: Any,
    max_outputs: int = 3,
    collections: Sequence[Any] | None = None,
    family: str | None = None,
) -> Tensor:
    """Summarize clips of sound, as WAV files of 16 bits.

    Args:
      name, collections, family: see `scalar`. The tags are ``<tag>/audio/0`` and so on, or
        ``<tag>/audio`` where `max_outputs` is 1.
      tensor: [batch, frames, channels] or [batch, frames] real, in [-1, 1]; what is beyond is cut
        off.
      sample_rate: [] float32, frames per second.
      max_outputs: how many clips of a batch.

    Raises:
      ValueError: the tensor has another rank.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     clips = tf.summary.audio("noise", tf.zeros([2, 800]), sample_rate=8000)
    ...     found = tf.Summary.FromString(sess.run(clips))
    >>> [(value.tag, value.audio.sample_rate) for value in found.value]
    [('noise/audio/0', 8000.0), ('noise/audio/1', 8000.0)]
    """
    rate = convert_to_tensor(sample_rate, float32, name="sample_rate")
    return _summarized(AUDIO, name, tensor, collections, family, rate, max_outputs=max_outputs)


@SUMMARIES.documents()
def text(name: str, tensor: Any, collections: Sequence[Any] | None = None) -> Tensor:
    """Keep text.

    Args:
      name, collections: see `scalar`.
      tensor: [...] string.

    Raises:
      ValueError: the tensor is no string.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     note = tf.summary.text("note", tf.constant("all is well"))
    ...     found = tf.Summary.FromString(sess.run(note)).value[0]
    >>> found.tag, found.tensor
    ('note', {'dtype': 'string', 'shape': [], 'values': ['all is well']})
    """
    tensor = convert_to_tensor(tensor)
    if tensor.dtype.base_dtype is not string:
        raise ValueError(f"Expected tensor {tensor.name} to have dtype string, got {tensor.dtype}")
    return tensor_summary(name, tensor, collections=collections, summary_metadata=SHOWN_AS_TEXT)


@SUMMARIES.documents()
def tensor_summary(
    name: str,
    tensor: Any,
    summary_description: str | None = None,
    collections: Sequence[Any] | None = None,
    summary_metadata: SummaryMetadata | None = None,
    family: str | None = None,
    display_name: str | None = None,
) -> Tensor:
    """Keep a whole tensor: dtype, shape and elements. For small ones.

    Args:
      name, collections, family: see `scalar`.
      tensor: [...] of any dtype.
      summary_description: what TensorBoard says of it, in Markdown.
      summary_metadata: which plugin of TensorBoard shows it, and what is said of it.
      display_name: the name to show in place of the tag.

    Raises:
      TypeError: `summary_metadata` is no `SummaryMetadata`.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     kept = tf.summary.tensor_summary("sizes", [[1, 2]])
    ...     found = tf.Summary.FromString(sess.run(kept)).value[0]
    >>> found.tag, found.tensor
    ('sizes', {'dtype': 'int32', 'shape': [1, 2], 'values': [1, 2]})
    """
    tensor = convert_to_tensor(tensor)
    described = SummaryMetadata()
    if summary_metadata is not None:
        described.CopyFrom(summary_metadata)
    if summary_description is not None:
        described.summary_description = summary_description
    if display_name is not None:
        described.display_name = display_name
    return _summarized(
        TENSOR,
        name,
        tensor,
        collections,
        family,
        dtype=tensor.dtype.base_dtype.name,
        metadata=described.SerializeToString().decode(),
    )


@SUMMARIES.documents()
def merge(
    inputs: Sequence[Any], collections: Sequence[Any] | None = None, name: str | None = None
) -> Tensor:
    """Put summaries into one.

    Args:
      inputs: summaries.
      collections: collections to add the result to, none by default.
      name: name of the operation and of the scope that it is in, by default "Merge/MergeSummary".

    Raises:
      InvalidArgumentError: (when run) two of them have one tag.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     both = tf.summary.merge([tf.summary.scalar("a", 1.0), tf.summary.scalar("b", 2.0)])
    ...     found = tf.Summary.FromString(sess.run(both))
    >>> [(value.tag, value.simple_value) for value in found.value]
    [('a', 1.0), ('b', 2.0)]
    """
    name = clean_name(name)
    with name_scope(name, "Merge", inputs):
        merged = apply(MERGE, *inputs, name=name)
    return collected(merged, collections or ())


def merge_all(
    key: Any = GraphKeys.SUMMARIES, scope: str | None = None, name: str | None = None
) -> Tensor | None:
    """Put all summaries of the graph into one.

    Args:
      key: the collection that they are in.
      scope: regular expression that the start of a summary's name must match.
      name: see `merge`.

    Returns:
      [] string, or None where there are none.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     loss, rate = tf.summary.scalar("loss", 0.5), tf.summary.scalar("rate", 0.1)
    ...     found = tf.Summary.FromString(sess.run(tf.summary.merge_all(scope="loss")))
    >>> [(value.tag, value.simple_value) for value in found.value]
    [('loss', 0.5)]
    """
    found = builder_for(()).get_collection(key, scope)
    return merge(found, name=name) if found else None


def clean_name(name: str | None) -> str | None:
    """Return a name with "_" for what names of operations must not hold."""
    return name and _NOT_IN_NAMES.sub("_", name).lstrip("/")


@contextmanager
def _tag(name: str, family: str | None, values: Sequence[Any]) -> Iterator[tuple[str, str]]:
    """Yield the tag and the scope, whose name the operation gets."""
    name, family = clean_name(name) or "", clean_name(family)
    with name_scope(f"{family}/{name}" if family else name, values=values) as scope:
        tag = scope.rstrip("/")
        yield (f"{family}/{tag}" if family else tag), scope


def _summarized(
    definition: OpDef,
    name: str,
    value: Any,
    collections: Sequence[Any] | None,
    family: str | None,
    *more: Tensor,
    **attrs: Any,
) -> Tensor:
    value = convert_to_tensor(value)
    with _tag(name, family, [value]) as (tag, scope):
        result = apply(definition, value, *more, name=scope or name, tag=tag or name, **attrs)
    return collected(result, [GraphKeys.SUMMARIES] if collections is None else collections)


def collected(summary: Tensor, collections: Sequence[Any]) -> Tensor:
    """Return a summary, which is now in collections of its graph."""
    builder = builder_for((summary,))
    if not builder.is_eager:
        builder.add_to_collections(list(collections), summary)
    return summary
