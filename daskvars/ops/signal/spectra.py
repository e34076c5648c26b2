"""Fourier transforms, and cosine transforms made of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from daskvars import dtypes, shapes
from daskvars.dtypes import DType
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import OpDef, Spec
from daskvars.graph.definitions.patterns import Contraction
from daskvars.graph.interpreter import apply
from daskvars.graph.records import attribute_kinds as kinds_of
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.kernels.signal import spectra as kernels
from daskvars.ops.array.constant import constant, fill, shape as shape_of, size_along
from daskvars.ops.array.joining import concat
from daskvars.ops.array.padding import pad
from daskvars.ops.array.ranges import range as range_of
from daskvars.ops.array.rearranging import roll
from daskvars.ops.array.reshaping import identity
from daskvars.ops.math.arithmetic import multiply, number
from daskvars.ops.math.casting import cast, complex, real
from daskvars.ops.math.transcendental import cos, sin
from daskvars.ops.rules import axes
from daskvars.shapes import Shape
from daskvars.surface.signatures import named, with_arguments_of

COMPLEX_OF = {dtypes.float32: dtypes.complex64, dtypes.float64: dtypes.complex128}


def _at_least(spec: Spec, rank: int) -> Shape:
    if spec.shape is not None and len(spec.shape) < rank:
        raise ValueError(
            f"Shape must be at least rank {rank} but is rank {len(spec.shape)}: "
            f"{shapes.show(spec.shape)}"
        )
    return spec.shape


def _pattern(rank: int) -> Contraction:
    dims = "..." + "_" * rank
    return Contraction(f"{dims}->{dims}", None)


# -- complex to complex ------------------------------------------------------------------------


def _complex(inputs: Sequence[Spec], *, rank: int, inverse: bool) -> Spec:
    if not inputs[0].dtype.is_complex:
        raise TypeError(
            f"a Fourier transform is of complex numbers, got {inputs[0].dtype.name}: cast() to "
            "complex64, or use rfft"
        )
    return Spec(inputs[0].dtype, _at_least(inputs[0], rank))


def _fft_gradient(op: Operation, dy: Tensor) -> Tensor:
    rank, inverse = op.attrs["rank"], op.attrs["inverse"]
    back = apply(_FFT[rank], dy, rank=rank, inverse=not inverse)
    shape = dy.spec.shape
    known = None if shape is None else shapes.size(shape[-rank:])
    count: Any = known if known is not None else _count(dy, rank)
    if known is not None:
        factor = number(1 / known if inverse and known else known, dy)
        return multiply(back, factor)
    count = cast(count, dy.dtype)
    return back / count if inverse else back * count


def _count(x: Tensor, rank: int) -> Tensor:
    sizes = shape_of(x)
    total = sizes[-1]
    for place in range(2, rank + 1):
        total = total * sizes[-place]
    return total


def _transform(type: str, rank: int) -> OpDef:
    return OpDef(
        type,
        "input:F",
        infer=_complex,
        pattern=_pattern(rank),
        kernel=kernels.fft,
        gradient=_fft_gradient,
        attributes={"rank": kinds_of.INT, "inverse": kinds_of.BOOL},
    )


_FFT = {1: _transform("FFT", 1), 2: _transform("FFT2D", 2), 3: _transform("FFT3D", 3)}
_IN_WORDS = {1: "dimension", 2: "two dimensions", 3: "three dimensions"}


def _complex_function(name: str, rank: int, inverse: bool) -> Callable[..., Tensor]:
    default = ("I" if inverse else "") + _FFT[rank].type

    def function(input: TensorLike, name: str | None = None) -> Tensor:
        return apply(_FFT[rank], input, name=name or default, rank=rank, inverse=inverse)

    what = "inverse Fourier" if inverse else "Fourier"
    doc = f"""Return the {what} transform along the last {_IN_WORDS[rank]}.

    Args:
      input: [...] complex64 or complex128, of rank {rank} or more.
      name: name of the operation, by default "{default}".

    Returns:
      [...] shaped and typed as `input`.

    Raises:
      TypeError: the numbers are not complex.
      ValueError: the rank is below {rank}.

    Source: TensorFlow 1.15, ``tf.signal.{name}``.

    >>> {name}(dv.zeros({[2] * rank}, dv.complex64)).numpy().shape
    {(2,) * rank}
    """
    return named(function, name, doc)


fft = _complex_function("fft", 1, False)
ifft = _complex_function("ifft", 1, True)
fft2d = _complex_function("fft2d", 2, False)
ifft2d = _complex_function("ifft2d", 2, True)
fft3d = _complex_function("fft3d", 3, False)
ifft3d = _complex_function("ifft3d", 3, True)


# -- real to complex ---------------------------------------------------------------------------


def _lengths(fft_length: Any, operands: Sequence[Spec], rank: int) -> tuple[int | None, ...]:
    found = axes.sizes_of(fft_length, operands)
    if found is None:
        return (None,) * rank
    if len(found) != rank:
        raise ValueError(f"fft_length must be {rank} numbers, got {len(found)}")
    if any(n is not None and n < 0 for n in found):
        raise ValueError(f"fft_length must not be negative, got {shapes.show(found)}")
    return found


def _half(n: int | None) -> int | None:
    return None if n is None else n // 2 + 1 if n else 0


def _halved(rank: int) -> Any:
    def infer(inputs: Sequence[Spec], *, fft_length: Any, **attrs: Any) -> Spec:
        dtype = inputs[0].dtype
        if dtype not in COMPLEX_OF:
            raise TypeError(f"rfft is of float32 or float64, got {dtype.name}")
        shape = _at_least(inputs[0], rank)
        sizes = _lengths(fft_length, inputs[1:], rank)
        wanted = None if shape is None else (*shape[:-rank], *sizes[:-1], _half(sizes[-1]))
        return Spec(COMPLEX_OF[dtype], wanted)

    return infer


def _doubled(rank: int) -> Any:
    def infer(inputs: Sequence[Spec], *, fft_length: Any, **attrs: Any) -> Spec:
        if not inputs[0].dtype.is_complex:
            raise TypeError(f"irfft is of complex numbers, got {inputs[0].dtype.name}")
        shape = _at_least(inputs[0], rank)
        sizes = _lengths(fft_length, inputs[1:], rank)
        wanted = None if shape is None else (*shape[:-rank], *sizes)
        return Spec(inputs[0].dtype.real_dtype, wanted)

    return infer


def _fitted(x: Tensor, like: Tensor, rank: int) -> Tensor:
    """Return a tensor cut, or filled with zeros, to the last sizes of another."""
    given, wanted = _last_sizes(x, rank), _last_sizes(like, rank)
    if given is not None and wanted is not None:
        pairs = [*zip(given, wanted, strict=True)]
        if any(n > m for n, m in pairs):
            x = x[(..., *[slice(m) for _, m in pairs])]
        if any(n < m for n, m in pairs):
            before = [[0, 0]] * (len(x.spec.shape or given) - rank)
            x = pad(x, before + [[0, max(0, m - n)] for n, m in pairs])
        return x
    sizes, target = shape_of(x), shape_of(like)
    for place in range(1, rank + 1):
        axis = -place
        missing = target[axis] - sizes[axis]
        zeros = fill(_with(shape_of(x), axis, _positive(missing)), number(0, x))
        x = concat([x, zeros], axis)
        x = x[(..., slice(target[axis]), *[slice(None)] * (place - 1))]
    return x


def _last_sizes(x: Tensor, rank: int) -> list[int] | None:
    """Return the last sizes of a tensor, None where one of them is not known."""
    shape = x.spec.shape
    sizes = [] if shape is None else [n for n in shape[-rank:] if n is not None]
    return sizes if len(sizes) == rank else None


def _positive(n: Tensor) -> Tensor:
    return cast(n > 0, n.dtype) * n


def _with(sizes: Tensor, axis: int, size: Tensor) -> Tensor:
    after = [sizes[axis + 1 :]] if axis != -1 else []
    return concat([sizes[:axis], [size], *after], 0)


def _rfft_gradient(rank: int) -> Any:
    def gradient(op: Operation, dy: Tensor) -> Tensor:
        """The transform back of the half that there is, zeros for the other."""
        x = op.inputs[0]
        length = axes.operand_of(op, "fft_length")
        given = dy.spec.shape
        if isinstance(length, tuple) and given is not None and given[-1] is not None:
            filled = pad(dy, [[0, 0]] * (len(given) - 1) + [[0, length[-1] - given[-1]]])
        else:
            sizes = shape_of(dy)
            missing = convert_to_tensor(length, dtypes.int32)[-1] - sizes[-1]
            filled = concat([dy, fill(_with(sizes, -1, missing), number(0, dy))], -1)
        back = apply(_FFT[rank], filled, rank=rank, inverse=True)
        total = math.prod(length) if isinstance(length, tuple) else _count(back, rank)
        whole = real(back)
        scaled = multiply(whole, cast(total, whole.dtype))
        return _fitted(scaled, x, rank)

    return gradient


def _irfft_gradient(rank: int) -> Any:
    def gradient(op: Operation, dy: Tensor) -> Tensor:
        """What stands for two halves counts twice: all but the first column and the middle one."""
        x = op.inputs[0]
        length = axes.operand_of(op, "fft_length")
        back = apply(_RFFT[rank], dy, fft_length=length)
        kind = dy.dtype.base_dtype
        if isinstance(length, tuple):
            half = _half(length[-1]) or 0
            once = [k == 0 or 2 * k == length[-1] for k in range(half)]
            weights: Any = constant([1.0 if o else 2.0 for o in once], kind, shape=[half])
            total: Any = math.prod(length)
        else:
            last = convert_to_tensor(length, dtypes.int32)[-1]
            k = range_of(last // 2 + 1)
            twice = cast(k > 0, dtypes.int32) * cast(k * 2 < last, dtypes.int32)
            weights = cast(twice + 1, kind)
            total = _count(dy, rank)
        scaled = weights / cast(total, kind)
        zero = number(0, scaled)
        return _fitted(multiply(back, complex(scaled, scaled * zero)), x, rank)

    return gradient


def _real_transform(type: str, rank: int, inverse: bool) -> OpDef:
    return OpDef(
        type,
        "input:F" if inverse else "input:D",
        infer=_doubled(rank) if inverse else _halved(rank),
        pattern=_pattern(rank),
        kernel=kernels.irfft if inverse else kernels.rfft,
        gradient=_irfft_gradient(rank) if inverse else _rfft_gradient(rank),
        operands=("fft_length",),
        attributes={"fft_length": kinds_of.SIZES},
    )


_RFFT = {
    rank: _real_transform("RFFT" + ("" if rank == 1 else f"{rank}D"), rank, False)
    for rank in (1, 2, 3)
}
_IRFFT = {
    rank: _real_transform("IRFFT" + ("" if rank == 1 else f"{rank}D"), rank, True)
    for rank in (1, 2, 3)
}


def _length_of(x: Tensor, fft_length: Any, rank: int, inverse: bool) -> Any:
    """Return the length of a transform: what is given, or what follows from the input."""
    if fft_length is not None:
        return axes.as_operand(fft_length)
    _at_least(x.spec, rank)
    known = _last_sizes(x, rank)
    if known is not None:
        last = max(0, 2 * (known[-1] - 1)) if inverse else known[-1]
        return (*known[:-1], last)
    sizes = shape_of(x)[-rank:]
    if not inverse:
        return sizes
    return concat([sizes[:-1], [_positive(2 * (sizes[-1] - 1))]], 0)


def _real_function(name: str, rank: int, inverse: bool) -> Callable[..., Tensor]:
    definition = (_IRFFT if inverse else _RFFT)[rank]

    def function(
        input_tensor: TensorLike, fft_length: TensorLike | None = None, name: str | None = None
    ) -> Tensor:
        with name_scope(name, function.__name__, [input_tensor, fft_length]) as scope:
            hint = dtypes.complex64 if inverse else dtypes.float32
            x = convert_to_tensor(input_tensor, dtype_hint=hint, name="input")
            length = _length_of(x, fft_length, rank, inverse)
            return apply(definition, x, name=scope, fft_length=length)

    last = "fft_length // 2 + 1"
    if inverse:
        summary = f"Return the real numbers of which `{name[1:]}` gives the input."
        given, made = "complex64 or complex128", "float32 or float64, the last sizes `fft_length`"
        usual = "as many as there are, of the last dimension 2 * (size - 1)"
    else:
        summary = f"Return the Fourier transform of real numbers along the last {_IN_WORDS[rank]}."
        given, made = "float32 or float64", f"complex64 or complex128; the last size is {last}"
        usual = "as many as there are"
    doc = f"""{summary}

    Args:
      input_tensor: [...] {given}, of rank {rank} or more.
      fft_length: [{rank}] integer, how many numbers are transformed: the input is cut, or filled
        with zeros; by default {usual}.
      name: name scope of the operations, by default "{name}".

    Returns:
      [...] {made}.

    Raises:
      TypeError: the numbers are of another dtype.
      ValueError: the rank is below {rank}.

    Source: TensorFlow 1.15, ``tf.signal.{name}``.

    >>> {name}(dv.zeros({[4] * rank}, dv.{"complex64" if inverse else "float32"})).numpy().shape
    {(*(4,) * (rank - 1), 6 if inverse else 3)}
    """
    return named(function, name, doc)


rfft = _real_function("rfft", 1, False)
irfft = _real_function("irfft", 1, True)
rfft2d = _real_function("rfft2d", 2, False)
irfft2d = _real_function("irfft2d", 2, True)
rfft3d = _real_function("rfft3d", 3, False)
irfft3d = _real_function("irfft3d", 3, True)


# -- cosine transforms -------------------------------------------------------------------------


def _turn(count: Any, kind: DType, sign: float) -> Tensor:
    """Return 2 exp(sign i pi k / 2 n) for k below n, as [n] complex numbers."""
    k = cast(range_of(count), kind)
    angle = multiply(k, sign * math.pi / 2) / cast(count, kind)
    return complex(multiply(cos(angle), 2.0), multiply(sin(angle), 2.0))


def _first_apart(count: Any, first: float, others: float, kind: DType) -> Tensor:
    """Return a vector of one number at the beginning, and another behind it."""
    is_first = cast(range_of(count) < 1, kind)
    return others + is_first * (first - others)


def dct(
    input: TensorLike,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Return the cosine transform along the last dimension, as `scipy.fft.dct` has it.

    Args:
      input: [..., samples] float32 or float64.
      type: 1, 2 or 3.
      n: how many samples are transformed: the input is cut, or filled with zeros.
      axis: must be -1.
      norm: None, or "ortho" (not of type 1) for an orthonormal transform.
      name: name scope of the operations, by default "dct".

    Returns:
      [..., n] of the dtype of `input`.

    Raises:
      ValueError: an argument is another, or there are too few samples.

    Source: TensorFlow 1.15, ``tf.signal.dct``.

    >>> float(dct([1.0, 2.0, 3.0])[0])  # twice their sum
    12.0
    """
    _check_cosine(type, axis, norm)
    if n is not None and n < 1:
        raise ValueError(f"n should be a positive integer, got {n}")
    with name_scope(name, "dct", [input]) as scope:
        x = convert_to_tensor(input, dtype_hint=dtypes.float32)
        _at_least(x.spec, 1)
        if n is not None:
            x = _of_length(x, n)
        kind = x.dtype.base_dtype
        count = size_along(x, -1)
        if type == 1:
            if isinstance(count, int) and count < 2:
                raise ValueError("dimension 0 of dct1 input should be greater than 1")
            return real(rfft(concat([x, x[..., -2:0:-1]], -1)), name=scope)
        root = cast(count, kind) ** 0.5
        if type == 2:
            spectrum = rfft(x, [2 * count])[..., :count]
            y = real(multiply(spectrum, _turn(count, kind, -1.0)))
            if norm == "ortho":
                y = y * _first_apart(count, 0.5, math.sqrt(0.5), kind) / root
            return identity(y, name=scope)
        if norm == "ortho":
            x = x * _first_apart(count, 1.0, math.sqrt(0.5), kind) * root
        else:
            x = x * cast(count, kind)
        turned = multiply(_turn(count, kind, 1.0), complex(x, x * number(0, x)))
        return identity(irfft(turned, [2 * count])[..., :count], name=scope)


@with_arguments_of(dct)
def idct(
    input: TensorLike, type: int, n: int | None, axis: int, norm: str | None, name: str | None
) -> Tensor:
    """Return what `dct` of the type gives the input of, but for a factor without "ortho".

    Args:
      input: [..., n] floating.
      type: 1, 2 or 3, as it was for `dct`.
      n: must be None.
      axis: must be -1.
      norm: None or "ortho"; without it the result is 2 n times as large, 2 (n - 1) for type 1.
      name: name of the operation, by default "idct".

    Raises:
      ValueError: an argument is another.

    See `dct`; `n` must be None.

    Source: TensorFlow 1.15, ``tf.signal.idct``.

    >>> [round(x, 4) for x in idct(dct([1.0, 2.0], norm="ortho"), norm="ortho").numpy().tolist()]
    [1.0, 2.0]
    """
    _check_cosine(type, axis, norm)
    if n is not None:
        raise ValueError(f"n must be None for an inverse transform, got {n}")
    return dct(input, {1: 1, 2: 3, 3: 2}[type], None, axis, norm, name or "idct")


def _check_cosine(type: int, axis: int, norm: str | None) -> None:
    if type not in (1, 2, 3):
        raise ValueError(f"Types I, II and III (1, 2, 3) are there, got {type}")
    if axis != -1:
        raise ValueError(f"axis must be -1, the last dimension, got {axis}")
    if norm not in (None, "ortho"):
        raise ValueError(f"norm must be None or 'ortho', got {norm!r}")
    if type == 1 and norm == "ortho":
        raise ValueError("Normalization is not supported for the Type-I DCT.")


def _of_length(x: Tensor, n: int) -> Tensor:
    x = x[..., :n]
    known = None if x.spec.shape is None else x.spec.shape[-1]
    if known is not None:
        rank = x.shape.ndims or 1
        return pad(x, [[0, 0]] * (rank - 1) + [[0, n - known]])
    missing = n - shape_of(x)[-1]
    zeros = fill(_with(shape_of(x), -1, missing), number(0, x))
    return concat([x, zeros], -1)


# -- shifted -----------------------------------------------------------------------------------


def fftshift(
    x: TensorLike, axes: int | Sequence[int] | None = None, name: str | None = None
) -> Tensor:
    """Return a transform with frequency zero in the middle of axes.

    Args:
      x: [...] of known sizes along the axes.
      axes: an int or several, by default all.
      name: name of the operation, by default "fftshift".

    Returns:
      Shape and dtype of `x`.

    Raises:
      ValueError: a size is not known.

    Source: TensorFlow 1.15, ``tf.signal.fftshift``.

    >>> dv.signal.fftshift([0, 1, 2, -2, -1]).numpy().tolist()
    [-2, -1, 0, 1, 2]
    """
    return _shifted("fftshift", x, axes, name, lambda size: size // 2)


@with_arguments_of(fftshift)
def ifftshift(**arguments: Any) -> Tensor:
    """Return a transform with frequency zero first again: the inverse of `fftshift`.

    Args:
      name: name of the operation, by default "ifftshift".

    Source: TensorFlow 1.15, ``tf.signal.ifftshift``.

    >>> dv.signal.ifftshift([-2, -1, 0, 1, 2]).numpy().tolist()
    [0, 1, 2, -2, -1]
    """
    return _shifted("ifftshift", **arguments, shift=lambda size: -(size // 2))


def _shifted(
    scope_name: str, x: TensorLike, axes: Any, name: str | None, shift: Callable[[int], int]
) -> Tensor:
    with name_scope(name, scope_name, [x]) as scope:
        given = convert_to_tensor(x, name="x")
        sizes = given.get_shape().as_list()
        every = range(len(sizes)) if axes is None else [axes] if isinstance(axes, int) else axes
        places = [int(axis) for axis in every]
        steps = []
        for axis in places:
            size = sizes[axis]
            if size is None:
                raise ValueError(f"{scope_name} needs the size of axis {axis}, of {given.shape}")
            steps.append(shift(size))
        return roll(given, steps, places, name=scope)
