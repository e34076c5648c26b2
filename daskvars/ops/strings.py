"""Strings: numbers as text and back, texts joined, cut and rewritten."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from daskvars import dtypes, shapes
from daskvars.dtypes import DTypeLike, as_dtype
from daskvars.errors import InvalidArgumentError, invalid
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import OpDef, Spec, without_gradient
from daskvars.graph.definitions.patterns import Elementwise, Reduction
from daskvars.graph.interpreter import apply
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.kernels import strings as kernels
from daskvars.ops.rules.axes import as_operand, either
from daskvars.ops.rules.shapes import broadcasted, like_first
from daskvars.surface.signatures import with_arguments_of


def _typed(dtype: dtypes.DType) -> Any:
    """Return the rule of a result of `dtype` in the inputs' broadcast shape."""
    return lambda inputs, **attrs: Spec(dtype, shapes.broadcast(*[spec.shape for spec in inputs]))


def _text_op(type: str, signature: str, kernel: Any, infer: Any = broadcasted) -> OpDef:
    return without_gradient(type, signature, infer, kernel, pattern=Elementwise())


# -- numbers -----------------------------------------------------------------------------------

AS_STRING = _text_op("AsString", "input:T", kernels.as_string, _typed(dtypes.string))
_FILLS = ("", " ", "0", "-", "+", "#")


def as_string(
    input: TensorLike,
    precision: int = -1,
    scientific: bool = False,
    shortest: bool = False,
    width: int = -1,
    fill: str = "",
    name: str | None = None,
) -> Tensor:
    """Return numbers as text.

    Args:
      input: [...] number, bool or string.
      precision: digits after the point, of floats.
      scientific: write floats as 1.0e+00.
      shortest: write floats the shorter way.
      width: write at least so many characters.
      fill: how the width is filled: "0" with zeros, "-" with blanks behind, "+" writes the sign,
        " " a blank in its place.
      name: name of the operation, by default "AsString".

    Returns:
      [...] string.

    Raises:
      InvalidArgumentError: an option of floats is given for integers, or there is no such `fill`.

    Source: TensorFlow 1.15, ``tf.as_string``.

    >>> as_string([3.14159, -2.0], precision=2).numpy().tolist()
    [b'3.14', b'-2.00']
    """
    x = convert_to_tensor(input, name="input")
    _check_format(x.dtype.base_dtype, precision, scientific, shortest, fill)
    template = "%" + (f"{fill}{width}" if width > -1 else "")
    if x.dtype.is_floating or x.dtype.is_complex:
        template += f".{precision}" if precision > -1 else ""
        template += "e" if scientific else "g" if shortest else "f"
    else:
        template += "d"
    if fill and width < 0:
        warnings.warn(
            f"as_string(fill={fill!r}) has no effect without a width, as in TensorFlow",
            stacklevel=2,
        )
    return apply(AS_STRING, x, name=name, template=template)


def _check_format(
    dtype: dtypes.DType, precision: int, scientific: bool, shortest: bool, fill: str
) -> None:
    if len(fill) > 1:
        raise invalid(f"Fill string must be one or fewer characters, got {fill!r}")
    if fill not in _FILLS:
        raise invalid(f"Fill argument not supported: {fill!r}")
    if scientific and shortest:
        raise invalid("Cannot select both scientific and shortest notation")
    if dtype.is_floating or dtype.is_complex:
        return
    if scientific or shortest:
        raise invalid(
            f"scientific and shortest format not supported for datatype {dtype.name}: "
            "they are for floats"
        )
    if precision > -1:
        raise invalid(f"precision not supported for datatype {dtype.name}: it is for floats")


STRING_TO_NUMBER = _text_op(
    "StringToNumber",
    "string_tensor:S",
    kernels.to_number,
    lambda inputs, *, dtype: Spec(dtype, inputs[0].shape),
)


def string_to_number(
    string_tensor: TensorLike | None = None,
    out_type: DTypeLike = dtypes.float32,
    name: str | None = None,
    input: TensorLike | None = None,
) -> Tensor:
    """Return the numbers that texts say.

    Args:
      string_tensor: [...] string.
      out_type: float32, float64, int32 or int64.
      name: name of the operation, by default "StringToNumber".
      input: another name of `string_tensor`.

    Returns:
      [...] `out_type`.

    Raises:
      InvalidArgumentError: (when run) a text says no number of that dtype.

    Source: TensorFlow 1.15, ``tf.string_to_number``.

    >>> string_to_number(["1", " 2.5"]).numpy().tolist()
    [1.0, 2.5]
    """
    text = either(string_tensor, input, "string_tensor", "input")
    return apply(STRING_TO_NUMBER, text, name=name, dtype=as_dtype(out_type).base_dtype)


# -- joined ------------------------------------------------------------------------------------


def _joined(inputs: Sequence[Spec], **attrs: Any) -> Spec:
    shape = None
    for spec in inputs:
        if spec.shape != ():
            shape = shapes.merge(shape, spec.shape)
    return Spec(dtypes.string, () if all(spec.shape == () for spec in inputs) else shape)


STRING_JOIN = _text_op("StringJoin", "*inputs:S", kernels.join, _joined)


def string_join(inputs: Sequence[Any], separator: str = "", name: str | None = None) -> Tensor:
    """Return texts put together element by element.

    Args:
      inputs: [...] strings, of one shape or scalar.
      separator: what stands between.
      name: name of the operation, by default "StringJoin".

    Returns:
      [...] string.

    Raises:
      ValueError: the shapes differ.

    Source: TensorFlow 1.15, ``tf.string_join``.

    >>> string_join(["step", ["1", "2"]], "-").numpy().tolist()
    [b'step-1', b'step-2']
    """
    return apply(STRING_JOIN, *inputs, name=name, separator=separator.encode())


def _folded(
    inputs: Sequence[Spec],
    *,
    axis: Any,
    keepdims: bool,
    separator: str,
    operands: Sequence[str] = (),
) -> Spec:
    shape = inputs[0].shape
    if shape is None or operands:
        return Spec(dtypes.string, None)
    try:
        folded = kernels.axes_in_order(axis, len(shape))
    except InvalidArgumentError as error:
        raise ValueError(error.message) from None
    kept = [(d, n) for d, n in enumerate(shape) if d not in folded or keepdims]
    return Spec(dtypes.string, tuple(1 if d in folded else n for d, n in kept))


REDUCE_JOIN = without_gradient(
    "ReduceJoin", "inputs:S", _folded, kernels.reduce_join, pattern=Reduction(), operands=("axis",)
)


def reduce_join(
    inputs: TensorLike,
    axis: TensorLike | None = None,
    keep_dims: bool | None = None,
    separator: str = "",
    name: str | None = None,
    reduction_indices: TensorLike | None = None,
    keepdims: bool | None = None,
) -> Tensor:
    """Return texts put together along dimensions.

    Args:
      inputs: [...] string.
      axis: int, list of ints or int tensor, in the order in which they are joined: the first goes
        fastest. None for all, the last of which goes fastest.
      keep_dims: the old name of `keepdims`.
      separator: what stands between.
      name: name of the operation, by default "ReduceJoin".
      reduction_indices: the old name of `axis`.
      keepdims: keep folded dimensions, with size 1.

    Returns:
      A string tensor without the folded dimensions.

    Raises:
      ValueError: there is no such dimension, or one is given twice.
      InvalidArgumentError: that shows in the run alone.

    Source: TensorFlow 1.15, ``tf.reduce_join``.

    >>> reduce_join([["a", "b"], ["c", "d"]], 0).numpy().tolist()
    [b'ac', b'bd']
    """
    keepdims = bool(either(keepdims, keep_dims, "keepdims", "keep_dims"))
    axis = either(axis, reduction_indices, "axis", "reduction_indices")
    return apply(
        REDUCE_JOIN,
        convert_to_tensor(inputs, name="inputs"),
        name=name,
        axis=None if axis is None else as_operand(axis),
        keepdims=keepdims,
        separator=separator.encode(),
    )


# -- changed -----------------------------------------------------------------------------------

_UNITS = ("BYTE", "UTF8_CHAR")


def _checked_unit(unit: str) -> str:
    if unit not in _UNITS:
        raise ValueError(f"unit must be one of {', '.join(_UNITS)}, got {unit!r}")
    return unit


def _checked_encoding(encoding: str) -> str:
    if encoding not in ("", "utf-8"):
        raise invalid(f"only utf8 or '' (no encoding) is supported, received {encoding!r}")
    return encoding


STRING_STRIP = _text_op("StringStrip", "input:S", kernels.strip, like_first)
STRING_LOWER = _text_op("StringLower", "input:S", kernels.lower, like_first)
STRING_UPPER = _text_op("StringUpper", "input:S", kernels.upper, like_first)
STRING_LENGTH = _text_op("StringLength", "input:S", kernels.length, _typed(dtypes.int32))
SUBSTR = _text_op("Substr", "input:S, pos:I, len:I", kernels.substr)
REGEX_REPLACE = _text_op("RegexReplace", "input:S", kernels.replace, like_first)
REGEX_FULL_MATCH = _text_op("RegexFullMatch", "input:S", kernels.full_match, _typed(dtypes.bool))


def string_strip(input: TensorLike, name: str | None = None) -> Tensor:
    """Return texts without white space at their ends. Source: ``tf.strings.strip``.

    Args:
      input: [...] string.
      name: name of the operation, by default "StringStrip".

    Returns:
      [...] string.

    >>> string_strip([" a "]).numpy().tolist()
    [b'a']
    """
    return apply(STRING_STRIP, input, name=name)


def lower(input: TensorLike, encoding: str = "", name: str | None = None) -> Tensor:
    """Return texts in small letters, of ASCII only or, with `encoding` "utf-8", of all Unicode.

    Args:
      input: [...] string.
      encoding: "" for ASCII or "utf-8", in which bytes that are not text become U+FFFD.
      name: name of the operation, by default "StringLower".

    Returns:
      [...] string.

    Raises:
      InvalidArgumentError: the encoding is another.

    Source: TensorFlow 1.15, ``tf.strings.lower``.

    >>> lower(["Ab", "É"], encoding="utf-8").numpy()[1].decode(), lower("Ab").numpy()
    ('é', b'ab')
    """
    return _in_case(STRING_LOWER, input, encoding, name)


@with_arguments_of(lower)
def upper(**arguments: Any) -> Tensor:
    """Return texts in capitals, of ASCII only or, with `encoding` "utf-8", of all Unicode.

    Args:
      name: name of the operation, by default "StringUpper".

    Source: TensorFlow 1.15, ``tf.strings.upper``.

    >>> upper(["two", "words"]).numpy().tolist()
    [b'TWO', b'WORDS']
    """
    return _in_case(STRING_UPPER, **arguments)


def _in_case(definition: OpDef, input: TensorLike, encoding: str, name: str | None) -> Tensor:
    return apply(definition, input, name=name, encoding=_checked_encoding(encoding))


def length(input: TensorLike, name: str | None = None, unit: str = "BYTE") -> Tensor:
    """Return the lengths of texts, int32, in bytes or (`unit` "UTF8_CHAR") in characters.

    Args:
      input: [...] string.
      name: name of the operation, by default "StringLength".
      unit: "BYTE" or "UTF8_CHAR".

    Returns:
      [...] int32.

    Raises:
      ValueError: the unit is another.

    Source: TensorFlow 1.15, ``tf.strings.length``.

    >>> length(["a", "né"]).numpy().tolist(), length(["a", "né"], unit="UTF8_CHAR").numpy().tolist()
    ([1, 3], [1, 2])
    """
    return apply(STRING_LENGTH, input, name=name, unit=_checked_unit(unit))


def substr(
    input: TensorLike, pos: TensorLike, len: TensorLike, name: str | None = None, unit: str = "BYTE"
) -> Tensor:
    """Return parts of texts.

    Args:
      input: [...] string.
      pos: integer where the part begins, counted from the end if negative; broadcast.
      len: integer, how much of the text is taken at most; broadcast.
      name: name of the operation, by default "Substr".
      unit: "BYTE" or "UTF8_CHAR", what is counted.

    Returns:
      [...] string.

    Raises:
      InvalidArgumentError: (when run) `pos` is outside of a text.

    Source: TensorFlow 1.15, ``tf.substr``.

    >>> substr(["hello", "world"], 1, 3).numpy().tolist()
    [b'ell', b'orl']
    """
    return apply(SUBSTR, input, pos, len, name=name, unit=_checked_unit(unit))


def regex_replace(
    input: TensorLike,
    pattern: str,
    rewrite: str,
    replace_global: bool = True,
    name: str | None = None,
) -> Tensor:
    r"""Return texts with the matches of a regular expression rewritten.

    Args:
      input: [...] string.
      pattern: a regular expression, in the syntax that Python's ``re`` and RE2 share, of the
        characters of UTF-8; ``\w`` and its like are of ASCII.
      rewrite: the new text, with ``\1`` for what the first group matched.
      replace_global: rewrite all matches, not only the first.
      name: name of the operation, by default "RegexReplace".

    Returns:
      [...] string.

    Raises:
      InvalidArgumentError: (when run) `pattern` is no regular expression.

    Source: TensorFlow 1.15, ``tf.regex_replace``.

    >>> regex_replace("abcabc", "b(c)", r"<\1>").numpy()
    b'a<c>a<c>'
    """
    count = 0 if replace_global else 1
    return apply(REGEX_REPLACE, input, name=name, pattern=pattern, rewrite=rewrite, count=count)


def regex_full_match(input: TensorLike, pattern: str, name: str | None = None) -> Tensor:
    r"""Return whether a regular expression matches each text as a whole.

    Args:
      input: [...] string.
      pattern: a regular expression. See `regex_replace`.
      name: name of the operation, by default "RegexFullMatch".

    Returns:
      [...] bool.

    Raises:
      InvalidArgumentError: (when run) the pattern is none.

    Source: TensorFlow 1.15, ``tf.strings.regex_full_match``.

    >>> regex_full_match(["a12", "a12b"], r"[a-z]\d+").numpy().tolist()
    [True, False]
    """
    return apply(REGEX_FULL_MATCH, input, name=name, pattern=pattern)
