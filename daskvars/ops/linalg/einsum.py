"""Sums of products by an equation, `einsum`."""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any

from daskvars import shapes
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import OpDef, Spec
from daskvars.graph.definitions.patterns import Contraction
from daskvars.graph.interpreter import apply
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.kernels.linalg import einsum as kernels
from daskvars.ops.array import constant, repeating, reshaping
from daskvars.ops.array.broadcasting import sum_to_shape
from daskvars.ops.math.casting import conj
from daskvars.shapes import Shape


def _sizes(inputs: Sequence[Spec], terms: list[str], stretched: str) -> dict[str, int | None]:
    """Return the size of each label; labels of an ellipsis may be broadcast."""
    sizes: dict[str, int | None] = {}
    for spec, term in zip(inputs, terms, strict=True):
        if spec.shape is None:
            continue
        if len(spec.shape) != len(term):
            raise ValueError(
                f"the term {term!r} does not fit a tensor of shape {shapes.show(spec.shape)}"
            )
        for label, n in zip(term, spec.shape, strict=True):
            known = sizes.get(label)
            if label in stretched and label in sizes:
                (sizes[label],) = shapes.broadcast((known,), (n,)) or (None,)
            elif not shapes.compatible((known,), (n,)):
                raise ValueError(f"Dimensions must be equal, but are {known} and {n} for {label!r}")
            else:
                sizes[label] = n if known is None else known
    return sizes


def _contracted(inputs: Sequence[Spec], *, equation: str, _stretched: Any) -> Spec:
    terms, out = kernels.split_equation(equation)
    sizes = _sizes(inputs, terms, _stretched)
    if any(spec.shape is None for spec in inputs) and not set(out) <= set(sizes):
        return Spec(inputs[0].dtype, (None,) * len(out))
    return Spec(inputs[0].dtype, tuple(sizes[label] for label in out))


def _einsum_gradient(op: Operation, dy: Tensor) -> list[Tensor]:
    terms, out = kernels.split_equation(op.attrs["equation"])
    gradients = []
    for i, x in enumerate(op.inputs):
        others = [conj(t) for j, t in enumerate(op.inputs) if j != i]
        given = [out, *(term for j, term in enumerate(terms) if j != i)]
        kept = "".join(label for label in terms[i] if any(label in term for term in given))
        equation = f"{','.join(given)}->{kept}"
        stretched = op.attrs["_stretched"]
        dx = apply(EINSUM, dy, *others, equation=equation, _stretched=stretched)
        gradients.append(_like_input(dx, x, terms[i], kept, stretched))
    return gradients


def _like_input(dx: Tensor, x: Tensor, term: str, kept: str, stretched: str) -> Tensor:
    """Bring a gradient into the shape of its input.

    Labels that were summed alone are broadcast, labels that were broadcast are summed.
    """
    shape = x.spec.shape
    sizes = constant.full_shape(x)
    if kept != term:
        for axis, label in enumerate(term):
            if label not in kept:
                dx = reshaping.expand_dims(dx, axis)
    if any(
        label in stretched and (shape is None or shape[axis] in (1, None))
        for axis, label in enumerate(term)
    ):
        return sum_to_shape(dx, sizes)
    return dx if kept == term else repeating.broadcast_to(dx, sizes)


EINSUM = OpDef(
    "Einsum",
    "*inputs:N",
    infer=_contracted,
    kernel=kernels.einsum,
    gradient=_einsum_gradient,
    pattern=Contraction(lambda inputs, attrs: attrs["equation"]),
)


def einsum(equation: str, *inputs: TensorLike, name: str | None = None, **others: Any) -> Tensor:
    """Sum products of tensors as an equation says.

    Args:
      equation: a term of labels for each input, then "->" and the result's term; labels that the
        result lacks are summed. Without "->" the result has the labels that occur once, in
        alphabetical order. "..." stands for any further dimensions, which are broadcast.
      *inputs: tensors [...] of one dtype, any number.
      name: name of the operation, by default "einsum".
      **others: none; NumPy's `optimize` and the like have no counterpart.

    Returns:
      The sum, of the dtype of the inputs.

    Raises:
      TypeError: there are `others`; the error names all of them.
      ValueError: the equation does not fit the inputs, or repeats a label within a term.

    Source: TensorFlow 1.15, ``tf.einsum``.

    >>> einsum("ij,jk->ik", [[1, 2]], [[3], [4]]).numpy().tolist()
    [[11]]
    """
    if others:
        raise TypeError(
            f"invalid keyword arguments for this function: {', '.join(sorted(others))}; einsum() "
            "takes an equation, its inputs and a name"
        )
    with name_scope(name, "einsum", inputs) as scope:
        tensors = [convert_to_tensor(x) for x in inputs]
        explicit, stretched = explicit_equation(equation, [t.spec.shape for t in tensors])
        return apply(EINSUM, *tensors, name=scope, equation=explicit, _stretched=stretched)


def explicit_equation(equation: str, operands: list[Shape]) -> tuple[str, str]:
    """Return the equation with a result and without ellipses, and the labels of the ellipses.

    >>> explicit_equation("...ij,jk", [(2, 3, 4), (4, 5)])
    ('aij,jk->aik', 'a')
    """
    left, arrow, out = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(operands):
        raise ValueError(
            f"Got {len(operands)} arguments for equation {equation!r}, expecting {len(terms)}"
        )
    free = [c for c in string.ascii_letters if c not in equation]
    counts = [_ellipsis_rank(t, s) for t, s in zip(terms, operands, strict=True)]
    stretched = "".join(free[: max(counts)])
    terms = [
        term.replace("...", stretched[len(stretched) - count :])
        for term, count in zip(terms, counts, strict=True)
    ]
    if not arrow:
        joined = "".join(terms)
        once = sorted(c for c in set(joined) if joined.count(c) == 1 and c not in stretched)
        out = "..." * bool(stretched) + "".join(once)
    if stretched and "..." not in out:
        raise ValueError(f"the result of {equation!r} lacks the ellipsis; sum with reduce_sum")
    out = out.replace("...", stretched)
    _check_terms(equation, terms, out)
    return f"{','.join(terms)}->{out}", stretched


def _ellipsis_rank(term: str, shape: Shape) -> int:
    """Return how many dimensions the ellipsis of a term stands for; 0 where it has none."""
    if "..." not in term:
        return 0
    if shape is None:
        raise ValueError(f"the term {term!r} has an ellipsis for a tensor of unknown rank")
    count = len(shape) - len(term) + 3
    if count < 0:
        raise ValueError(f"the term {term!r} does not fit a tensor of rank {len(shape)}")
    return count


def _check_terms(equation: str, terms: list[str], out: str) -> None:
    for term in (*terms, out):
        if not all(c in string.ascii_letters for c in term):
            raise ValueError(f"{equation!r} must consist of letters, ',', '->' and '...'")
        if len(set(term)) != len(term):
            raise ValueError(
                f"Subscript not supported: an axis appears more than once: {term}. Take the "
                "diagonal with matrix_diag_part first."
            )
    missing = set(out).difference(*terms)
    if missing:
        raise ValueError(f"Unknown output axes of {equation!r}: {sorted(missing)} are in no input")
