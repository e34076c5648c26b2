import numpy as np
import pytest

from daskvars.errors import InvalidArgumentError
from daskvars.kernels.nn import loss as loss_kernels
from daskvars.kernels.nn.loss import softmax_cross_entropy, sparse_softmax_cross_entropy
from tests.kernels.numerical import assert_gradient, frozen, normal


def plain(logits, labels):
    shifted = logits - logits.max(axis=1, keepdims=True)
    logarithm = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return -(labels * logarithm).sum(axis=1)


@pytest.mark.parametrize("block", [3, 1 << 16])
def test_dense_loss_and_gradient(monkeypatch, block):
    monkeypatch.setattr(loss_kernels, "BLOCK_ELEMENTS", block)
    monkeypatch.setattr("daskvars.kernels.nn.normalization.BLOCK_ELEMENTS", block)
    logits = normal(6, 5)
    labels = frozen(np.random.default_rng(1).dirichlet(np.ones(5), 6))
    loss, gradient = softmax_cross_entropy(np, logits, labels)
    np.testing.assert_allclose(loss, plain(logits, labels), rtol=1e-12)
    assert_gradient(lambda logits: plain(logits, labels), logits, np.ones(6), gradient)


@pytest.mark.parametrize("index", ["int32", "int64", "uint8"])
def test_sparse_loss_and_gradient(index):
    logits, labels = normal(6, 5), frozen(np.array([0, 4, 2, 2, 1, 3], index))
    loss, gradient = sparse_softmax_cross_entropy(np, logits, labels)
    wanted = softmax_cross_entropy(np, logits, np.eye(5)[labels])
    np.testing.assert_allclose(loss, wanted[0], rtol=1e-12)
    np.testing.assert_allclose(gradient, wanted[1], atol=1e-14)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_dtype_is_kept_and_large_logits_are_fine(dtype):
    logits = frozen(np.array([[1e4, 0], [0, 1e4], [0, 0]], dtype))
    labels = frozen(np.array([0, 0, 1], "int32"))
    dense = frozen(np.eye(2, dtype=dtype)[labels])
    for loss, gradient in (
        sparse_softmax_cross_entropy(np, logits, labels),
        softmax_cross_entropy(np, logits, dense),
    ):
        assert loss.dtype == gradient.dtype == dtype
        np.testing.assert_allclose(loss, [0, 1e4, np.log(2)], rtol=1e-3)
        np.testing.assert_allclose(gradient, [[0, 0], [-1, 1], [0.5, -0.5]])


@pytest.mark.parametrize("label", [-1, 3])
def test_a_wrong_label_is_named_with_its_row(label):
    labels = frozen(np.array([0, label, 1], "int32"))
    with pytest.raises(InvalidArgumentError, match=rf"label value of {label} .*\[0, 3\), in row 1"):
        sparse_softmax_cross_entropy(np, normal(3, 3), labels)


def test_no_rows_no_loss():
    loss, gradient = sparse_softmax_cross_entropy(np, np.zeros((0, 3)), np.zeros(0, "int64"))
    assert loss.shape == (0,)
    assert gradient.shape == (0, 3)
