"""A decoder-only transformer on characters: vocabulary 128, width 256, 4 layers of 4 heads, 16
texts of 128 characters a step, Adam.

    python benchmarks/char_lm.py [--quick] [--rounds N]
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

import adam_big
import handwritten_transformer
import measure
import mlp_small
import numpy as np
from handwritten_transformer import EPSILON, Sizes

import daskvars.v1 as tf

LIMIT = 1.2
RATE = 0.0003
SIZES = Sizes(vocabulary=128, width=256, layers=4, heads=4, length=128, batch=16)
QUICK = Sizes(vocabulary=11, width=8, layers=2, heads=2, length=6, batch=4)


def batches(sizes: Sizes, count: int = 4) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return (characters, following characters) of random texts."""
    rng = np.random.default_rng(1)
    texts = rng.integers(0, sizes.vocabulary, (count, sizes.batch, sizes.length + 1), np.int32)
    return [(text[:, :-1].copy(), text[:, 1:].copy()) for text in texts]


def baseline(sizes: Sizes) -> Callable[..., float]:
    """Return the hand-written step."""
    return adam_big.trained(handwritten_transformer.HandwrittenTransformer(sizes), RATE)


class Builder:
    """Builds the transformer with variables that start as the hand-written ones do."""

    def __init__(self, sizes: Sizes) -> None:
        self.sizes = sizes
        self.starts = handwritten_transformer.initial_values(sizes)

    def variable(self, name: str) -> tf.Variable:
        """Return the variable of that name."""
        return tf.get_variable(name, initializer=tf.constant(self.starts[name]))

    def dense(self, x: tf.Tensor, name: str) -> tf.Tensor:
        """Return x w + b."""
        return tf.matmul(x, self.variable(f"{name}/w")) + self.variable(f"{name}/b")

    def normalized(self, x: tf.Tensor, name: str) -> tf.Tensor:
        """Return layer normalization."""
        gain, shift = self.variable(f"{name}/gain"), self.variable(f"{name}/shift")
        return tf.nn.layer_norm(x, gain, shift, EPSILON)

    def attention(self, x: tf.Tensor, layer: str) -> tf.Tensor:
        """Return what each character takes from those before it, [positions, width]."""
        sizes = self.sizes
        depth = sizes.width // sizes.heads
        parts = tf.reshape(self.dense(x, f"{layer}/qkv"), [-1, sizes.length, 3, sizes.heads, depth])
        q, k, v = tf.unstack(tf.transpose(parts, [2, 0, 3, 1, 4]))
        scores = tf.matmul(q, k, transpose_b=True) * (depth**-0.5)
        shares = tf.nn.softmax(scores + tf.constant(handwritten_transformer.mask(sizes.length)))
        taken = tf.transpose(tf.matmul(shares, v), [0, 2, 1, 3])
        return self.dense(tf.reshape(taken, [-1, sizes.width]), f"{layer}/out")

    def logits(self, characters: tf.Tensor) -> tf.Tensor:
        """Return the scores of the following characters, [positions, vocabulary]."""
        sizes = self.sizes
        x = tf.nn.embedding_lookup(self.variable("characters"), characters)
        x = tf.reshape(x + self.variable("places"), [-1, sizes.width])
        for i in range(sizes.layers):
            layer = f"layer{i + 1}"
            x += self.attention(self.normalized(x, f"{layer}/norm1"), layer)
            hidden = self.dense(self.normalized(x, f"{layer}/norm2"), f"{layer}/up")
            x += self.dense(tf.nn.gelu(hidden, approximate=True), f"{layer}/down")
        return self.dense(self.normalized(x, "norm"), "scores")


def program(sizes: Sizes, device: str | None = None) -> Callable[..., float]:
    """Return the step as a graph in a session."""
    with tf.Graph().as_default(), tf.device(device):
        characters = tf.placeholder(tf.int32, [None, sizes.length])
        following = tf.placeholder(tf.int32, [None, sizes.length])
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
            labels=tf.reshape(following, [-1]), logits=Builder(sizes).logits(characters)
        )
        loss = tf.reduce_mean(losses)
        train = tf.train.AdamOptimizer(RATE).minimize(loss)
        sess = tf.Session()
        sess.run(tf.global_variables_initializer())
        call = sess.make_callable([loss, train], [characters, following])
    return lambda *batch: float(call(*batch)[0])


def sides(sizes: Sizes) -> dict[str, Callable[[], float]]:
    """Return a step of each side; it gives the loss."""
    steps = {"daskvars": program(sizes), "NumPy": baseline(sizes)}
    return {name: mlp_small.fed(step, batches(sizes)) for name, step in steps.items()}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return the exit status."""
    return measure.compared(
        "char_lm",
        __doc__,
        arguments,
        lambda quick: sides(QUICK if quick else SIZES),
        LIMIT,
        rounds=5,
        steps=2,
    )


if __name__ == "__main__":
    sys.exit(main())
