"""A convolutional network on 28x28 images: two 5x5 convolutions of 32 and 64 filters, each with
pooling, a dense layer of 512, batches of 128, momentum.

    python benchmarks/convnet.py [--quick] [--rounds N]
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import measure
import mlp_small
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

import daskvars.v1 as tf

LIMIT = 1.2
RATE, MOMENTUM = 0.001, 0.9
PATCH_BYTES = 1 << 21


@dataclass(frozen=True)
class Sizes:
    """What the network is made of."""

    image: int = 28
    window: int = 5
    filters: tuple[int, int] = (32, 64)
    units: tuple[int, int] = (512, 10)
    batch: int = 128

    def weights(self) -> list[tuple[int, ...]]:
        """Return the shapes of the weights, convolutions first."""
        first, second = self.filters
        window, flat = (self.window, self.window), (self.image // 4) ** 2 * second
        return [(*window, 1, first), (*window, first, second), (flat, self.units[0]), self.units]


QUICK = Sizes(image=8, window=3, filters=(4, 6), units=(16, 10), batch=8)


class HandwrittenConvolution:
    """A "SAME" convolution with bias, relu and 2x2 max pooling, as products over patches.

    Images go through in blocks whose patches stay in the cache; the bias, relu and pooling of a
    block are done while it is there. Nothing is allocated after the first step.

    Args:
      shape: [batch, height, width, channels] of the images.
      w, b, dw, db: weights [window, window, channels, filters], biases [filters], and the memory
        that their gradients go to.
      has_input_gradient: whether `backward` returns the gradient of the images.
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        w: np.ndarray,
        b: np.ndarray,
        dw: np.ndarray,
        db: np.ndarray,
        has_input_gradient: bool,
    ) -> None:
        batch, height, width, channels = shape
        window, filters, kind = w.shape[0], w.shape[3], w.dtype
        self.shape, self.window, self.margin, self.kind = shape, window, window // 2, kind
        self.w, self.b, self.dw, self.db = w, b, dw.reshape(-1, filters), db
        self.padded = np.zeros((batch, height + window - 1, width + window - 1, channels), kind)
        self.active = np.empty((batch, height, width, filters), kind)
        self.pooled = np.empty((batch, height // 2, width // 2, filters), kind)
        self.slope = np.zeros((batch, height + window - 1, width + window - 1, filters), kind)
        self.dx = np.empty(shape, kind) if has_input_gradient else None
        self.part = np.empty_like(self.dw)
        most = max(channels, filters if has_input_gradient else 0)
        image_bytes = height * width * window * window * most * kind.itemsize
        self.block = min(batch, max(1, PATCH_BYTES // image_bytes))
        self.patches = np.empty(self.block * height * width * window * window * most, kind)
        self.tap = np.empty((self.block, height // 2, width // 2, filters), kind)
        self.first = np.empty(self.tap.shape, bool)
        self.flat_slope = np.empty(self.block * height * width * filters, kind)

    def blocks(self) -> Iterator[slice]:
        """Yield the images that go through together."""
        for start in range(0, self.shape[0], self.block):
            yield slice(start, min(start + self.block, self.shape[0]))

    def cut(self, padded: np.ndarray) -> np.ndarray:
        """Return the patches [positions, taps] of some padded images, in the one buffer."""
        windows = sliding_window_view(padded, (self.window, self.window), (1, 2))
        windows = windows.transpose(0, 1, 2, 4, 5, 3)
        _, height, width, *taps = windows.shape
        found = self.patches[: windows.size]
        if taps[2] == 1:  # long runs along the image rather than runs of one window's width
            turned = found.reshape(*taps, len(padded), height, width)
            turned[...] = windows.transpose(3, 4, 5, 0, 1, 2)
            return turned.reshape(np.prod(taps), -1).T
        found.reshape(windows.shape)[...] = windows
        return found.reshape(-1, np.prod(taps))

    def forward(self, x: np.ndarray) -> np.ndarray:
        """Return the pooled activations of the images."""
        inside = slice(self.margin, -self.margin)
        self.padded[:, inside, inside] = x
        matrix = self.w.reshape(-1, self.w.shape[3])
        for images in self.blocks():
            active, pooled = self.active[images], self.pooled[images]
            np.matmul(self.cut(self.padded[images]), matrix, active.reshape(-1, matrix.shape[1]))
            active += self.b
            np.maximum(active, 0, out=active)
            np.maximum(active[:, ::2, ::2], active[:, ::2, 1::2], out=pooled)
            np.maximum(pooled, active[:, 1::2, ::2], out=pooled)
            np.maximum(pooled, active[:, 1::2, 1::2], out=pooled)
        return self.pooled

    def backward(self, slope: np.ndarray) -> np.ndarray | None:
        """Fill `dw` and `db` and return the gradient of the images."""
        inside = slice(self.margin, -self.margin)
        slope *= self.pooled > 0  # the pooled value is the one that relu let through or not
        np.sum(slope, (0, 1, 2), out=self.db)
        self.dw[...] = 0
        flipped = self.w[::-1, ::-1].transpose(0, 1, 3, 2).reshape(-1, self.shape[3])
        for images in self.blocks():
            self._spread(images, slope[images])
            inner = self.slope[images, inside, inside]
            flat = self.flat_slope[: inner.size].reshape(inner.shape)
            flat[...] = inner
            patches = self.cut(self.padded[images])
            np.matmul(patches.T, flat.reshape(-1, flat.shape[3]), self.part)
            self.dw += self.part
            if self.dx is not None:
                rows = self.dx[images].reshape(-1, self.shape[3])
                np.matmul(self.cut(self.slope[images]), flipped, rows)
        return self.dx

    def _spread(self, images: slice, slope: np.ndarray) -> None:
        """Put the gradient of each pooled value where its maximum was."""
        inside = self.slope[images, self.margin : -self.margin, self.margin : -self.margin]
        first = self.first[: len(slope)]
        for row, column in ((0, 0), (0, 1), (1, 0), (1, 1)):
            pixels = (slice(None), slice(row, None, 2), slice(column, None, 2))
            np.equal(self.active[images][pixels], self.pooled[images], out=first)
            np.multiply(slope, first, out=inside[pixels])


class HandwrittenNetwork:
    """The network's forward and backward, and momentum in place."""

    def __init__(self, sizes: Sizes, weights: list[np.ndarray]) -> None:
        kind, batch = weights[0].dtype, sizes.batch
        shapes = [w.shape for w in weights] + [w.shape[-1:] for w in weights]
        self.flat, parameters = mlp_small.flat_views(shapes, kind)
        self.flat_gradient, gradients = mlp_small.flat_views(shapes, kind)
        self.velocity = np.zeros_like(self.flat)
        for parameter, start in zip(parameters, weights, strict=False):
            parameter[...] = start
        (w1, w2, *dense), (b1, b2, *dense_b) = parameters[:4], parameters[4:]
        (dw1, dw2, *ddense), (db1, db2, *ddense_b) = gradients[:4], gradients[4:]
        size = sizes.image
        self.conv1 = HandwrittenConvolution((batch, size, size, 1), w1, b1, dw1, db1, False)
        self.conv2 = HandwrittenConvolution(
            (batch, size // 2, size // 2, sizes.filters[0]), w2, b2, dw2, db2, True
        )
        self.dense = mlp_small.HandwrittenMlp(weights[2:], batch)
        self.dense.weights, self.dense.biases = dense, dense_b
        self.dense.gradients = [*ddense, *ddense_b]
        self.dense_slope = np.empty((batch, weights[2].shape[0]), kind)

    def loss_and_gradients(self, x: np.ndarray, labels: np.ndarray) -> float:
        """Return the mean cross entropy and fill `flat_gradient`."""
        features = self.conv2.forward(self.conv1.forward(x))
        loss = self.dense.loss_and_gradients(features.reshape(len(x), -1), labels)
        np.matmul(self.dense.slopes[0], self.dense.weights[0].T, self.dense_slope)
        self.conv1.backward(self.conv2.backward(self.dense_slope.reshape(features.shape)))
        return loss

    def update(self) -> None:
        """Apply momentum, tile by tile."""
        for start in range(0, self.flat.size, TILE):
            tile = slice(start, start + TILE)
            velocity, gradient = self.velocity[tile], self.flat_gradient[tile]
            velocity *= self.flat.dtype.type(MOMENTUM)
            velocity += gradient
            np.multiply(velocity, self.flat.dtype.type(RATE), gradient)
            self.flat[tile] -= gradient


TILE = 64 * 1024


def initial_weights(sizes: Sizes, kind: type = np.float32) -> list[np.ndarray]:
    """Return weights drawn by He's rule."""
    rng = np.random.default_rng(0)
    return [
        (rng.standard_normal(shape) * np.sqrt(2 / np.prod(shape[:-1]))).astype(kind)
        for shape in sizes.weights()
    ]


def batches(sizes: Sizes, count: int = 4) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return (images, labels) of random batches."""
    rng = np.random.default_rng(1)
    shape = (sizes.batch, sizes.image, sizes.image, 1)
    return [
        (
            rng.standard_normal(shape, dtype=np.float32),
            rng.integers(0, sizes.units[1], sizes.batch, dtype=np.int32),
        )
        for _ in range(count)
    ]


def baseline(sizes: Sizes) -> Callable[..., float]:
    """Return the hand-written step."""
    network = HandwrittenNetwork(sizes, initial_weights(sizes))

    def step(x: np.ndarray, labels: np.ndarray) -> float:
        loss = network.loss_and_gradients(x, labels)
        network.update()
        return loss

    return step


def program(sizes: Sizes, device: str | None = None) -> Callable[..., float]:
    """Return the step as a graph in a session."""
    with tf.Graph().as_default(), tf.device(device):
        images = tf.placeholder(tf.float32, [None, sizes.image, sizes.image, 1])
        labels = tf.placeholder(tf.int32, [None])
        loss = tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(
                labels=labels, logits=logits(sizes, images)
            )
        )
        train = tf.train.MomentumOptimizer(RATE, MOMENTUM).minimize(loss)
        sess = tf.Session()
        sess.run(tf.global_variables_initializer())
        call = sess.make_callable([loss, train], [images, labels])
    return lambda *batch: float(call(*batch)[0])


def logits(sizes: Sizes, x: tf.Tensor) -> tf.Tensor:
    """Build the network."""
    for i, start in enumerate(initial_weights(sizes)):
        with tf.variable_scope(f"layer{i + 1}"):
            w = tf.get_variable("weights", initializer=tf.constant(start))
            b = tf.get_variable("biases", [start.shape[-1]], initializer=tf.zeros_initializer())
            if i < 2:
                x = tf.nn.relu(tf.nn.conv2d(x, w, [1, 1, 1, 1], "SAME") + b)
                x = tf.nn.max_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
            else:
                x = tf.reshape(x, [-1, start.shape[0]]) if i == 2 else tf.nn.relu(x)
                x = tf.matmul(x, w) + b
    return x


def sides(sizes: Sizes) -> dict[str, Callable[[], float]]:
    """Return a step of each side; it gives the loss."""
    steps = {"daskvars": program(sizes), "NumPy": baseline(sizes)}
    return {name: mlp_small.fed(step, batches(sizes)) for name, step in steps.items()}


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark and return the exit status."""
    return measure.compared(
        "convnet",
        __doc__,
        arguments,
        lambda quick: sides(QUICK if quick else Sizes()),
        LIMIT,
        rounds=7,
        steps=3,
    )


if __name__ == "__main__":
    sys.exit(main())
