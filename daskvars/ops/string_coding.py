"""Strings in other forms: base64, other encodings, with numbers in them, joined by groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from daskvars import shapes
from daskvars.dtypes import string
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import OpDef, Spec, without_gradient
from daskvars.graph.definitions.patterns import Elementwise
from daskvars.graph.interpreter import apply
from daskvars.graph.records import attribute_kinds as kinds_of
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.kernels import string_coding as kernels
from daskvars.ops.rules import axes
from daskvars.ops.rules.shapes import like_first


def _each(type: str, kernel: Any, **kinds: kinds_of.Kind) -> OpDef:
    return without_gradient(
        type, "input:S", like_first, kernel, pattern=Elementwise(), attributes=kinds
    )


# -- base64 ------------------------------------------------------------------------------------

ENCODE_BASE64 = _each("EncodeBase64", kernels.encode_base64, pad=kinds_of.BOOL)
DECODE_BASE64 = _each("DecodeBase64", kernels.decode_base64)


def encode_base64(input: TensorLike, pad: bool = False, name: str | None = None) -> Tensor:
    """Return strings in base64, of the alphabet that URLs may have.

    Args:
      input: [...] string.
      pad: make the lengths multiples of four, by "=".
      name: name of the operation, by default "EncodeBase64".

    Returns:
      [...] string.

    Source: TensorFlow 1.15, ``tf.io.encode_base64``.

    >>> encode_base64("hello").numpy()
    b'aGVsbG8'
    """
    return apply(ENCODE_BASE64, input, name=name, pad=bool(pad))


def decode_base64(input: TensorLike, name: str | None = None) -> Tensor:
    """Return the strings that are in base64, of the alphabet that URLs may have, "=" or not.

    Args:
      input: [...] string.
      name: name of the operation, by default "DecodeBase64".

    Returns:
      [...] string.

    Raises:
      InvalidArgumentError: (when run) a string is not in base64.

    Source: TensorFlow 1.15, ``tf.io.decode_base64``.

    >>> decode_base64("aGVsbG8").numpy()
    b'hello'
    """
    return apply(DECODE_BASE64, input, name=name)


# -- texts -------------------------------------------------------------------------------------

FORMAT = without_gradient(
    "StringFormat",
    "*inputs:A",
    infer=lambda inputs, **attrs: Spec(string, ()),
    kernel=kernels.string_format,
    attributes={"template": kinds_of.TEXT, "placeholder": kinds_of.TEXT, "summarize": kinds_of.INT},
)


def format(
    template: str, inputs: Any, placeholder: str = "{}", summarize: int = 3, name: str | None = None
) -> Tensor:
    """Return a text with tensors in it.

    Args:
      template: the text.
      inputs: a tensor, or a list of as many as there are places.
      placeholder: what is a place.
      summarize: how many items of each dimension are shown at its beginning and its end.
      name: name of the operation, by default "StringFormat".

    Returns:
      [] string.

    Raises:
      ValueError: there is another number of places.

    Source: TensorFlow 1.15, ``tf.strings.format``.

    >>> format("{} of {}", [1, [2, 3]]).numpy()
    b'1 of [2 3]'
    """
    given = inputs if isinstance(inputs, list | tuple) else [inputs]
    if template.count(placeholder) != len(given):
        raise ValueError(
            f"{template.count(placeholder)} placeholder(s) {placeholder!r} in template "
            f"{template!r} do not match {len(given)} tensor(s) provided as input"
        )
    return apply(
        FORMAT,
        *[convert_to_tensor(value) for value in given],
        name=name,
        template=template,
        placeholder=placeholder,
        summarize=int(summarize),
    )


_ENCODINGS = {"UTF-8": "utf-8", "UTF-16-BE": "utf-16-be", "UTF-32-BE": "utf-32-be"}
TRANSCODE = _each(
    "UnicodeTranscode",
    kernels.transcode,
    input_encoding=kinds_of.TEXT,
    output_encoding=kinds_of.TEXT,
    errors=kinds_of.TEXT,
    replacement_char=kinds_of.INT,
    replace_control_characters=kinds_of.BOOL,
)


def unicode_transcode(
    input: TensorLike,
    input_encoding: str,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = 0xFFFD,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return texts in another encoding of Unicode.

    Args:
      input: [...] string.
      input_encoding: one that Python knows.
      output_encoding: "UTF-8", "UTF-16-BE" or "UTF-32-BE".
      errors: what is done with what is no text: "replace", "ignore", or "strict" for an error.
      replacement_char: number of the character that replaces it.
      replace_control_characters: replace control characters too.
      name: name of the operation, by default "UnicodeTranscode".

    Returns:
      [...] string.

    Raises:
      ValueError: there is no such encoding, or way with errors.
      InvalidArgumentError: (when run) a string is no text, and errors are strict.

    Source: TensorFlow 1.15, ``tf.strings.unicode_transcode``.

    >>> unicode_transcode("a", "UTF-8", "UTF-16-BE").numpy() == b"\\0a"
    True
    """
    if output_encoding not in _ENCODINGS:
        raise ValueError(
            f"output_encoding must be one of {', '.join(_ENCODINGS)}, got {output_encoding!r}"
        )
    if errors not in ("strict", "replace", "ignore"):
        raise ValueError(f"errors must be 'strict', 'replace' or 'ignore', got {errors!r}")
    try:
        b"".decode(input_encoding)
    except LookupError:
        raise ValueError(f"input_encoding is none that Python knows: {input_encoding!r}") from None
    return apply(
        TRANSCODE,
        input,
        name=name,
        input_encoding=input_encoding,
        output_encoding=_ENCODINGS[output_encoding],
        errors=errors,
        replacement_char=int(replacement_char),
        replace_control_characters=bool(replace_control_characters),
    )


def _grouped(inputs: Sequence[Spec], *, num_segments: Any, **attrs: Any) -> Spec:
    shape, ids = inputs[0].shape, inputs[1].shape
    if shape is None or ids is None:
        return Spec(string, None)
    if not shapes.compatible(shape[: len(ids)], ids):
        raise ValueError(
            f"segment_ids {shapes.show(ids)} must be as the first dimensions of inputs "
            f"{shapes.show(shape)}"
        )
    return Spec(string, (num_segments, *shape[len(ids) :]))


JOIN_GROUPS = without_gradient(
    "UnsortedSegmentJoin",
    "inputs:S, segment_ids:I",
    infer=_grouped,
    kernel=kernels.join_groups,
    operands=("num_segments",),
    attributes={
        "num_segments": kinds_of.either(kinds_of.NONE, kinds_of.INT),
        "separator": kinds_of.BYTES,
    },
)


def unsorted_segment_join(
    inputs: TensorLike,
    segment_ids: TensorLike,
    num_segments: TensorLike,
    separator: str = "",
    name: str | None = None,
) -> Tensor:
    """Return the strings of each group one after the other.

    Args:
      inputs: [*ids, ...] string.
      segment_ids: [*ids] integer, the group of each.
      num_segments: scalar integer, how many groups there are.
      separator: what stands between two.
      name: name of the operation, by default "UnsortedSegmentJoin".

    Returns:
      [num_segments, ...] string.

    Raises:
      ValueError: the shapes do not fit.
      InvalidArgumentError: (when run) there is no such group.

    Source: TensorFlow 1.15, ``tf.strings.unsorted_segment_join``.

    >>> unsorted_segment_join(["a", "b", "c"], [1, 0, 1], 2, "-").numpy().tolist()
    [b'b', b'a-c']
    """
    return apply(
        JOIN_GROUPS,
        inputs,
        segment_ids,
        name=name,
        num_segments=axes.as_operand(num_segments),
        separator=separator.encode(),
    )
