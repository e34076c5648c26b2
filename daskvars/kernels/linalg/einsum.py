"""Sums of products by an equation, as matrix products on views wherever it has that form.

The labels of two operands fall into those that both have and the result keeps (batch), those that
both have and the result lacks (summed), and those of one only (rows and columns). With the
dimensions in that order the contraction is a batched matrix product.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy

from daskvars.backend import Array, ArrayModule
from daskvars.kernels.linalg.products import blas_ready, widened


class PairPlan(NamedTuple):
    """How to contract two operands; the first gives the rows of the matrix product.

    Attributes:
      swapped: the operands change places.
      first, second: permutations that bring dimensions into the order batch, rows, summed, and
        batch, summed, columns.
      counts: the numbers of batch, row, summed and column labels.
      result: the permutation from (batch, rows, columns) to the result's order.
      inverse: the one back.
      direct: rows, and columns, are neighbours in the result, which can be written in place.
    """

    swapped: bool
    first: tuple[int, ...]
    second: tuple[int, ...]
    counts: tuple[int, int, int, int]
    result: tuple[int, ...]
    inverse: tuple[int, ...]
    direct: bool


def split_equation(equation: str) -> tuple[list[str], str]:
    """Return the terms of the inputs and that of the output."""
    left, _, right = equation.partition("->")
    return left.split(","), right


def einsum(xp: ArrayModule, *arrays: Array, equation: str) -> Array:
    """Evaluate an equation such as "bij,bjk->bik": explicit, and no label twice in a term."""
    values = [widened(array) for array in arrays]
    if len(values) == 1:
        result = _of_one(xp, values[0], equation)
    else:
        for first, second, *terms in steps_of(equation, tuple([x.shape for x in arrays])):
            right, left = values.pop(second), values.pop(first)
            values.append(contract(xp, left, right, *terms))
        (result,) = values
    return result.astype(arrays[0].dtype, copy=False)


def _of_one(xp: ArrayModule, x: Array, equation: str) -> Array:
    (term,), out = split_equation(equation)
    return x.copy() if term == out else rearranged(xp, x, term, out)


@lru_cache(maxsize=1024)
def steps_of(
    equation: str, shapes: tuple[tuple[int, ...], ...]
) -> list[tuple[int, int, str, str, str]]:
    """Return what is contracted in which order: two places, their terms, and that of the result.

    What a pair gives stands last.

    >>> steps_of("ij,jk,kl->il", ((2, 3), (3, 4), (4, 5)))
    [(1, 2, 'jk', 'kl', 'jl'), (0, 1, 'ij', 'jl', 'il')]
    """
    terms, out = split_equation(equation)
    steps = []
    for pair in contraction_path(equation, shapes):
        first, second = sorted(pair)
        right, left = terms.pop(second), terms.pop(first)
        needed = set(out).union(*terms)
        term = out if not terms else "".join(dict.fromkeys(c for c in left + right if c in needed))
        steps.append((first, second, left, right, term))
        terms.append(term)
    return steps


def contraction_path(
    equation: str, shapes: tuple[tuple[int, ...], ...]
) -> tuple[tuple[int, ...], ...]:
    """Return which operands to contract in which order, as NumPy numbers them."""
    if len(shapes) == 2:
        return ((0, 1),)
    stands = [numpy.broadcast_to(numpy.float32(0), shape) for shape in shapes]
    path = numpy.einsum_path(equation, *stands, optimize="greedy", einsum_call=False)[0][1:]
    pairs, count = [], len(shapes)
    for step in path:
        pairs += pairs_of(step, count)
        count -= len(step) - 1
    return tuple(pairs)


def pairs_of(step: tuple[int, ...], count: int) -> list[tuple[int, ...]]:
    """Split a step that contracts more than two of `count` operands at once into pairs.

    What a pair gives stands last, and those behind the places that it had move up.

    >>> pairs_of((0, 1, 2, 3), 4)
    [(0, 1), (0, 2), (0, 1)]
    """
    if len(step) == 1:
        return [tuple(step)]
    first, second, *others = sorted(step)
    return [(first, second), *((n - 2 - k, count - 2 - k) for k, n in enumerate(others))]


def rearranged(xp: ArrayModule, x: Array, term: str, out: str) -> Array:
    """Sum the labels that `out` lacks and bring the others into its order; a fresh array."""
    summed = tuple(i for i, c in enumerate(term) if c not in out)
    if summed:
        x = x.sum(axis=summed, dtype=x.dtype)
        term = "".join(c for c in term if c in out)
    moved = x.transpose([term.index(c) for c in out])
    return moved if summed else moved.copy()


def contract(xp: ArrayModule, a: Array, b: Array, left: str, right: str, out: str) -> Array:
    """Contract two operands: terms `left` and `right`, result `out`."""
    (of_a, of_b), left, right = lone_labels(left, right, out)
    a = a.sum(axis=of_a, dtype=a.dtype) if of_a else a
    b = b.sum(axis=of_b, dtype=b.dtype) if of_b else b
    plan = pair_plan(left, right, out)
    if plan is None:
        return xp.multiply(_aligned(a, left, out), _aligned(b, right, out))
    if plan.swapped:
        a, b = b, a
    a, b = a.transpose(plan.first), b.transpose(plan.second)
    batch, rows, summed, _ = plan.counts
    row_sizes, column_sizes = a.shape[batch : batch + rows], b.shape[batch + summed :]
    inner = math.prod(b.shape[batch : batch + summed])
    a = blas_ready(xp, a.reshape(*a.shape[:batch], math.prod(row_sizes), inner))
    b = blas_ready(xp, b.reshape(*b.shape[:batch], inner, math.prod(column_sizes)))
    batch_sizes = a.shape[:-2]
    if batch_sizes != b.shape[:-2]:
        batch_sizes = numpy.broadcast_shapes(batch_sizes, b.shape[:-2])
    sizes = (*batch_sizes, *row_sizes, *column_sizes)
    if not (plan.direct and xp is numpy):
        return xp.matmul(a, b).reshape(sizes).transpose(plan.result)
    result = numpy.empty([sizes[i] for i in plan.result], a.dtype)
    matrices = result.transpose(plan.inverse).reshape(*batch_sizes, a.shape[-2], b.shape[-1])
    xp.matmul(a, b, out=matrices)
    return result


@lru_cache(maxsize=1024)
def lone_labels(
    left: str, right: str, out: str
) -> tuple[tuple[tuple[int, ...], tuple[int, ...]], str, str]:
    """Return the dimensions of two operands whose labels occur nowhere else, and the other labels.

    >>> lone_labels("aib", "bj", "ij")
    (((0,), ()), 'ib', 'bj')
    """
    axes, terms = [], []
    for term, others in ((left, right + out), (right, left + out)):
        axes.append(tuple(i for i, c in enumerate(term) if c not in others))
        terms.append("".join(c for c in term if c in others))
    return (axes[0], axes[1]), terms[0], terms[1]


def _aligned(x: Array, term: str, out: str) -> Array:
    """Bring an operand into the order of the result, with size 1 for the labels that it lacks."""
    x = x.transpose([term.index(c) for c in out if c in term])
    return x[tuple(slice(None) if c in term else None for c in out)]


@lru_cache(maxsize=1024)
def pair_plan(left: str, right: str, out: str) -> PairPlan | None:
    """Return how to contract two terms; None where nothing is summed: that is a product."""
    both = [c for c in left if c in right and c not in out]
    if not both:
        return None
    swapped = bool(out) and out[-1] in left and out[-1] not in right
    if swapped:
        left, right = right, left
    batch = [c for c in out if c in left and c in right]
    rows = [c for c in out if c in left and c not in right]
    columns = [c for c in out if c in right and c not in left]
    order = [*batch, *rows, *columns]
    return PairPlan(
        swapped,
        tuple(left.index(c) for c in [*batch, *rows, *both]),
        tuple(right.index(c) for c in [*batch, *both, *columns]),
        (len(batch), len(rows), len(both), len(columns)),
        tuple(order.index(c) for c in out),
        tuple(out.index(c) for c in order),
        "".join(rows) in out and "".join(columns) in out,
    )
