"""The hand-written transformer that `char_lm` compares with: forward and backward in NumPy.

Memory is made once and written into; passes over wide rows go block by block, so that they find
their rows in the cache; attention works on views of the one product that gives q, k and v.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import mlp_small
import numpy as np

EPSILON = 1e-5
BLOCK_ELEMENTS = 32 * 1024
GELU_SCALE, GELU_CUBE = math.sqrt(2 / math.pi), 0.044715


@dataclass(frozen=True)
class Sizes:
    """What the transformer is made of."""

    vocabulary: int
    width: int
    layers: int
    heads: int
    length: int
    batch: int

    @property
    def positions(self) -> int:
        """Characters in a batch."""
        return self.batch * self.length


def initial_values(sizes: Sizes, kind: type = np.float32) -> dict[str, np.ndarray]:
    """Return name -> value at the start of all variables."""
    rng = np.random.default_rng(0)
    width = sizes.width
    matrices = {"scores": (width, sizes.vocabulary)}
    norms = ["norm"]
    for i in range(1, sizes.layers + 1):
        matrices[f"layer{i}/qkv"] = (width, 3 * width)
        matrices[f"layer{i}/out"] = (width, width)
        matrices[f"layer{i}/up"] = (width, 4 * width)
        matrices[f"layer{i}/down"] = (4 * width, width)
        norms += [f"layer{i}/norm1", f"layer{i}/norm2"]
    values = {
        "characters": rng.standard_normal((sizes.vocabulary, width)),
        "places": rng.standard_normal((sizes.length, width)),
    }
    for name, shape in matrices.items():
        values[f"{name}/w"] = rng.standard_normal(shape) * shape[0] ** -0.5
        values[f"{name}/b"] = np.zeros(shape[1])
    for name in norms:
        values[f"{name}/gain"], values[f"{name}/shift"] = np.ones(width), np.zeros(width)
    return {name: value.astype(kind) for name, value in values.items()}


def mask(length: int, kind: type = np.float32) -> np.ndarray:
    """Return [length, length]: 0 where the column is not after the row, else -1e9."""
    return np.triu(np.full((length, length), -1e9, kind), 1)


def row_blocks(rows: int, columns: int) -> Iterator[slice]:
    """Yield slices of rows that fit the cache."""
    step = max(1, BLOCK_ELEMENTS // columns)
    for start in range(0, rows, step):
        yield slice(start, min(start + step, rows))


class Parameters:
    """All variables in one array and their gradients in another, each also by name.

    Args:
      starts: name -> initial value.
      shared: other parameters whose variables these are, with gradients of their own.
    """

    def __init__(self, starts: dict[str, np.ndarray], shared: Parameters | None = None) -> None:
        shapes = [value.shape for value in starts.values()]
        kind = next(iter(starts.values())).dtype
        self.flat_gradient, gradients = mlp_small.flat_views(shapes, kind)
        self.gradients = dict(zip(starts, gradients, strict=True))
        if shared is not None:
            self.flat, self.values = shared.flat, shared.values
            return
        self.flat, values = mlp_small.flat_views(shapes, kind)
        self.values = dict(zip(starts, values, strict=True))
        for name, start in starts.items():
            self.values[name][...] = start


class Dense:
    """x w + b."""

    def __init__(self, of: Parameters, name: str, rows: int, ones: np.ndarray) -> None:
        self.w, self.b = of.values[f"{name}/w"], of.values[f"{name}/b"]
        self.dw, self.db = of.gradients[f"{name}/w"], of.gradients[f"{name}/b"]
        self.y = np.empty((rows, self.w.shape[1]), self.w.dtype)
        self.ones = ones

    def forward(self, x: np.ndarray) -> np.ndarray:
        self.x = x
        np.matmul(x, self.w, self.y)
        self.y += self.b
        return self.y

    def backward(self, dy: np.ndarray, dx: np.ndarray) -> None:
        np.matmul(self.x.T, dy, self.dw)
        np.matmul(self.ones, dy, self.db)
        np.matmul(dy, self.w.T, dx)


class LayerNorm:
    """Rows to mean 0 and variance 1, scaled and shifted."""

    def __init__(self, of: Parameters, name: str, rows: int, ones: np.ndarray) -> None:
        self.gain, self.shift = of.values[f"{name}/gain"], of.values[f"{name}/shift"]
        self.dgain, self.dshift = of.gradients[f"{name}/gain"], of.gradients[f"{name}/shift"]
        width, kind = len(self.gain), self.gain.dtype
        self.h, self.y = np.empty((rows, width), kind), np.empty((rows, width), kind)
        self.scale = np.empty((rows, 1), kind)
        self.mean = np.full((width, 1), 1 / width, kind)  # as a product: rows' means
        self.ones = ones

    def forward(self, x: np.ndarray) -> np.ndarray:
        for rows in row_blocks(*x.shape):
            h, y, scale = self.h[rows], self.y[rows], self.scale[rows]
            np.subtract(x[rows], x[rows] @ self.mean, h)
            np.multiply(h, h, y)
            np.matmul(y, self.mean, scale)
            scale += scale.dtype.type(EPSILON)
            np.sqrt(scale, scale)
            np.divide(1, scale, scale)
            h *= scale
            np.multiply(h, self.gain, y)
            y += self.shift
        return self.y

    def backward(self, dy: np.ndarray, dx: np.ndarray) -> None:
        """Add to `dx`; `dy` is overwritten."""
        np.matmul(self.ones, dy, self.dshift)
        self.dgain[...] = 0
        for rows in row_blocks(*dy.shape):
            slope, h, t = dy[rows], self.h[rows], self.y[rows]
            np.multiply(slope, h, t)
            self.dgain += self.ones[: len(t)] @ t
            slope *= self.gain
            mean = slope @ self.mean
            np.multiply(slope, h, t)
            np.multiply(h, t @ self.mean, t)
            slope -= t
            slope -= mean
            slope *= self.scale[rows]
            dx[rows] += slope


class Gelu:
    """x (1 + tanh(u)) / 2, u = c (x + 0.044715 x^3), as x / (1 + exp(-2 u)): ``tanh`` is slow."""

    def __init__(self, shape: tuple[int, int], kind: np.dtype) -> None:
        self.y, self.share = np.empty(shape, kind), np.empty(shape, kind)
        self.scratch = np.empty((max(1, BLOCK_ELEMENTS // shape[1]), shape[1]), kind)
        self.scale, self.cube = kind.type(2 * GELU_SCALE), kind.type(2 * GELU_SCALE * GELU_CUBE)
        self.one, self.three = kind.type(1), kind.type(3)

    def forward(self, x: np.ndarray) -> np.ndarray:
        self.x = x
        for rows in row_blocks(*x.shape):
            u, y, share = x[rows], self.y[rows], self.share[rows]
            np.multiply(u, u, share)
            share *= -self.cube
            share -= self.scale
            share *= u
            np.exp(share, share)
            share += self.one
            np.reciprocal(share, share)
            np.multiply(u, share, y)
        return self.y

    def backward(self, dy: np.ndarray) -> np.ndarray:
        """Return the gradient of x, in the memory of `dy`."""
        for rows in row_blocks(*dy.shape):
            u, share, slope = self.x[rows], self.share[rows], dy[rows]
            t, inner = self.scratch[: len(u)], self.y[rows]  # y is not needed any more
            np.multiply(u, u, inner)
            inner *= self.three * self.cube
            inner += self.scale
            inner *= u
            np.subtract(self.one, share, t)
            inner *= t
            inner += self.one
            inner *= share
            slope *= inner
        return dy


class Attention:
    """softmax(q k^T / sqrt(depth) + mask) v for every text and head."""

    def __init__(self, sizes: Sizes, kind: np.dtype) -> None:
        depth = sizes.width // sizes.heads
        self.parts = (sizes.batch, sizes.length, 3, sizes.heads, depth)
        self.scale = kind.type(depth**-0.5)
        self.mask = mask(sizes.length, kind.type)
        square = (sizes.batch, sizes.heads, sizes.length, sizes.length)
        self.shares, self.slope = np.empty(square, kind), np.empty(square[1:], kind)
        self.product = np.empty(square[1:], kind)
        self.y = np.empty((sizes.positions, sizes.width), kind)
        self.dqkv = np.empty((sizes.positions, 3 * sizes.width), kind)
        self.ones = np.ones((sizes.length, 1), kind)

    def _split(self, qkv: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return q, k, v as views [batch, heads, length, depth]."""
        return tuple(qkv.reshape(self.parts).transpose(2, 0, 3, 1, 4))

    def _heads(self, y: np.ndarray) -> np.ndarray:
        batch, length, _, heads, depth = self.parts
        return y.reshape(batch, length, heads, depth).transpose(0, 2, 1, 3)

    def forward(self, qkv: np.ndarray) -> np.ndarray:
        self.qkv = qkv
        y = self._heads(self.y)
        for q, k, v, shares, taken in zip(*self._split(qkv), self.shares, y, strict=True):
            np.matmul(q, k.transpose(0, 2, 1), shares)
            shares *= self.scale
            shares += self.mask
            shares -= shares.max(-1, keepdims=True)
            np.exp(shares, shares)
            shares /= shares @ self.ones
            np.matmul(shares, v, taken)
        return self.y

    def backward(self, dy: np.ndarray) -> np.ndarray:
        """Return the gradient of q, k and v."""
        slope, product = self.slope, self.product
        for q, k, v, dq, dk, dv, shares, taken in zip(
            *self._split(self.qkv),
            *self._split(self.dqkv),
            self.shares,
            self._heads(dy),
            strict=True,
        ):
            np.matmul(shares.transpose(0, 2, 1), taken, dv)
            np.matmul(taken, v.transpose(0, 2, 1), slope)
            np.multiply(slope, shares, product)
            slope -= product @ self.ones
            slope *= shares
            slope *= self.scale
            np.matmul(slope, k, dq)
            np.matmul(slope.transpose(0, 2, 1), q, dk)
        return self.dqkv


class Layer:
    """Attention and two dense layers, each after a normalization and added to what came in."""

    def __init__(self, of: Parameters, name: str, sizes: Sizes, ones: np.ndarray) -> None:
        rows, width = sizes.positions, sizes.width
        kind = ones.dtype
        self.norm1 = LayerNorm(of, f"{name}/norm1", rows, ones)
        self.norm2 = LayerNorm(of, f"{name}/norm2", rows, ones)
        self.qkv = Dense(of, f"{name}/qkv", rows, ones)
        self.out = Dense(of, f"{name}/out", rows, ones)
        self.up = Dense(of, f"{name}/up", rows, ones)
        self.down = Dense(of, f"{name}/down", rows, ones)
        self.attention, self.gelu = Attention(sizes, kind), Gelu((rows, 4 * width), kind)
        self.narrow = np.empty((rows, width), kind)
        self.wide = np.empty((rows, 4 * width), kind)

    def forward(self, x: np.ndarray) -> None:
        """Add to `x` in place."""
        x += self.out.forward(self.attention.forward(self.qkv.forward(self.norm1.forward(x))))
        x += self.down.forward(self.gelu.forward(self.up.forward(self.norm2.forward(x))))

    def backward(self, dx: np.ndarray) -> None:
        """Turn the gradient of what comes out into that of what came in, in place."""
        self.down.backward(dx, self.wide)
        self.up.backward(self.gelu.backward(self.wide), self.narrow)
        self.norm2.backward(self.narrow, dx)
        self.out.backward(dx, self.narrow)
        self.qkv.backward(self.attention.backward(self.narrow), self.narrow)
        self.norm1.backward(self.narrow, dx)


class HandwrittenTransformer:
    """The whole network.

    Attributes:
      flat, flat_gradient: [n], all variables and their gradients.
    """

    def __init__(
        self, sizes: Sizes, kind: type = np.float32, shared: Parameters | None = None
    ) -> None:
        of = Parameters(initial_values(sizes, kind), shared)
        self.flat, self.flat_gradient = of.flat, of.flat_gradient
        rows, ones = sizes.positions, np.ones(sizes.positions, kind)
        self.sizes, self.of, self.ones = sizes, of, ones
        self.layers = [Layer(of, f"layer{i + 1}", sizes, ones) for i in range(sizes.layers)]
        self.norm = LayerNorm(of, "norm", rows, ones)
        self.scores = Dense(of, "scores", rows, ones)
        self.x, self.narrow = np.empty((2, rows, sizes.width), kind)
        self.first = np.arange(rows) * sizes.vocabulary
        self.column = np.ones((sizes.vocabulary, 1), kind)

    def loss_and_gradients(self, characters: np.ndarray, following: np.ndarray) -> float:
        """Return the mean cross entropy and fill `flat_gradient`."""
        sizes, x, dx = self.sizes, self.x, self.x
        flat = characters.reshape(-1)
        self.of.values["characters"].take(flat, 0, x, "clip")
        x.reshape(sizes.batch, sizes.length, -1)[...] += self.of.values["places"]
        for layer in self.layers:
            layer.forward(x)
        scores = self.scores.forward(self.norm.forward(x))
        loss = self._cross_entropy(scores, following.reshape(-1))
        self.scores.backward(scores, self.narrow)
        dx[...] = 0
        self.norm.backward(self.narrow, dx)
        for layer in reversed(self.layers):
            layer.backward(dx)
        np.sum(dx.reshape(sizes.batch, -1), 0, out=self.of.gradients["places"].reshape(-1))
        chosen = np.zeros((sizes.vocabulary, len(flat)), x.dtype)
        chosen[flat, np.arange(len(flat))] = 1
        np.matmul(chosen, dx, self.of.gradients["characters"])
        return loss

    def _cross_entropy(self, scores: np.ndarray, labels: np.ndarray) -> float:
        """Return the loss; `scores` becomes its gradient."""
        places = self.first + labels
        scores -= scores.max(1, keepdims=True)
        flat = scores.reshape(-1)
        chosen = flat[places].sum(dtype=np.float64)
        np.exp(scores, scores)
        sums = scores @ self.column
        scores /= sums
        flat[places] -= 1
        scores *= scores.dtype.type(1 / len(labels))
        return float(np.log(sums).sum(dtype=np.float64) - chosen) / len(labels)
