"""Equations against NumPy's einsum, and results in memory of their own."""

import numpy as np
import pytest

from daskvars.kernels.linalg import einsum as kernels

SIZES = dict(zip("abcdefghijklmnopqrstuvwxyz", [2, 3, 4, 5] * 7, strict=False))
EQUATIONS = [
    "ij,jk->ik",
    "ij,jk->ki",
    "ij,kj->ik",
    "bij,bjk->bik",
    "bthd,bshd->bhts",
    "bhts,bshd->bthd",
    "bhts,bthd->bshd",
    "btd,dn->btn",
    "btn,dn->btd",
    "btd,btn->dn",
    "i,j->ij",
    "ij->ji",
    "ij->",
    "ij->i",
    "ij->ij",
    "ij,ij->",
    "ij,ij->i",
    "ij,ij->ji",
    "abc,cd,de->abe",
    "ijk,kl,jm->ilm",
    "ij,k->k",
    "ab,bc,cd,da->",
    "abcd,cdef->abef",
    "abcd,dcef->efab",
    "acbd,cdef->eabf",
    "a,a,a->",
    "ab,ab,ab->ba",
    "i,j,k->kji",
    "ab,ac,ad->bcd",
    "aeb,ec->bac",
]


@pytest.mark.parametrize("equation", EQUATIONS)
@pytest.mark.parametrize("dtype", ["f8", "c16", "i8"])
def test_equation(equation, dtype):
    rng = np.random.default_rng(0)
    terms, _ = kernels.split_equation(equation)
    arrays = [(rng.normal(size=[SIZES[c] for c in term]) * 9).astype(dtype) for term in terms]
    found = kernels.einsum(np, *arrays, equation=equation)
    wanted = np.einsum(equation, *arrays)
    assert found.dtype == dtype and found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-10)
    assert not any(np.shares_memory(found, array) for array in arrays)


def test_repeated_memory():
    x = np.broadcast_to(np.float32(2), (4, 3))
    y = np.broadcast_to(np.arange(3, dtype="f4")[:, None], (3, 5))
    np.testing.assert_array_equal(kernels.einsum(np, x, y, equation="ij,jk->ik"), x @ y)


def test_half_precision_accumulates_in_float32():
    x = np.ones(4096, np.float16)
    total = kernels.einsum(np, x, x, equation="i,i->")
    assert total.dtype == np.float16 and total == 4096


def test_heads_of_attention_are_not_copied():
    plan = kernels.pair_plan("bthd", "bshd", "bhts")
    assert plan.counts == (2, 1, 1, 1) and plan.direct and plan.result == (0, 1, 2, 3)
