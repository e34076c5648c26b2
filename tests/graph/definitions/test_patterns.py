"""Access patterns: a block computed from what the pattern says it needs is that of the whole."""

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from daskvars.graph.definitions.patterns import (
    Contraction,
    Dim,
    Elementwise,
    Reduction,
    reshape_access,
)


def factors(draw, n):
    """Draw a shape of `n` elements."""
    shape = []
    while n > 1 and len(shape) < 4:
        f = draw(st.sampled_from([d for d in range(1, n + 1) if n % d == 0]))
        shape.append(f)
        n //= f
    return (*shape, n)


@st.composite
def reshapes(draw):
    n = draw(st.sampled_from([6, 12, 24, 36, 60]))
    return factors(draw, n), factors(draw, n)


@settings(max_examples=200)
@given(reshapes())
def test_blocks_of_a_reshape_are_reshapes_of_blocks(shapes):
    source, target = shapes
    access = reshape_access([source], [target], {})
    (ins,), (outs,) = access.inputs, access.outputs
    whole = np.arange(math.prod(source)).reshape(source)
    for label in {d.label for d in ins if d}:
        i = next(i for i, d in enumerate(ins) if d and d.label == label)
        j = next(j for j, d in enumerate(outs) if d and d.label == label)
        units = source[i] // ins[i].factor
        assert target[j] // outs[j].factor == units
        for start in range(units):
            a = [slice(None)] * len(source)
            b = [slice(None)] * len(target)
            a[i] = slice(start * ins[i].factor, (start + 1) * ins[i].factor)
            b[j] = slice(start * outs[j].factor, (start + 1) * outs[j].factor)
            block = whole.reshape(target)[tuple(b)]
            assert (whole[tuple(a)].reshape(block.shape) == block).all()


def test_a_batch_stays_cut_through_flattening_and_back():
    flat = reshape_access([(8, 4, 4, 3)], [(8, 48)], {})
    assert flat.inputs[0][0] == flat.outputs[0][0] == Dim(0, 1)
    merged = reshape_access([(8, 5, 7)], [(40, 7)], {})
    assert merged.inputs[0][0] == Dim(0, 1)
    assert merged.outputs[0][0] == Dim(0, 5)
    split = reshape_access([(40, 7)], [(8, 5, 7)], {})
    assert split.inputs[0][0] == Dim(0, 5)


def test_elementwise_broadcasting_leaves_size_one_whole():
    access = Elementwise().access([(4, 1), (3,)], [(4, 3)], {})
    assert access.inputs == ((Dim(0), None), (Dim(1),))


def test_reductions_label_what_they_fold_only_if_parts_can_be_merged():
    sums = Reduction("add").access([(4, 3)], [(4,)], {"axis": (1,)})
    assert sums.inputs[0] == (Dim(0), Dim(1))
    assert sums.outputs == ((Dim(0),),)
    firsts = Reduction().access([(4, 3)], [(4,)], {"axis": 1})
    assert firsts.inputs[0] == (Dim(0), None)


def test_subscripts_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="rank 3"):
        Contraction("mk,kn->mn").access([(2, 3, 4), (4, 5)], [(2, 5)], {})


@pytest.mark.parametrize(
    "pattern, inputs, output, multiplications",
    [
        (Contraction("...mk,...kn->...mn"), [(2, 3), (3, 4)], (2, 4), 24),
        (Contraction("...mk,...kn->...mn"), [(7, 2, 3), (7, 3, 4)], (7, 2, 4), 168),
        (Contraction("...mk,...kn->...mn"), [(7, 2, 3), (1, 3, 4)], (7, 2, 4), 168),
        (Contraction("...mk,...kn->...mn"), [(None, 3), (3, 4)], (None, 4), 12),
        (Contraction("..._->..._", None), [(5, 9)], (5, 9), 45),
        (Contraction("n__c->n__c", None), [(2, 8, 8, 3)], (2, 4, 4, 3), 384),
        (
            Contraction("n_,____->n_", work=((1, 0), (-1, 0), (-1, 1))),
            [(2, 3), (4,) * 4],
            (2, 5),
            40,
        ),
    ],
)
def test_multiplications_are_as_many_as_combinations_of_labels(
    pattern, inputs, output, multiplications
):
    access = pattern.access(inputs, [output], {})
    assert pattern.flops(inputs, [output], access) == 2 * multiplications
