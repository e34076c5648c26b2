"""Transfer learning: a network whose first layers come frozen from another one's store.

    python examples/transfer.py

A network learns the digits 0 to 4 and is saved. Another one, in scopes of other names, takes over
its features, which it does not train, and learns the digits 5 to 9 from few images with a new last
layer. The optimizer has no slots for what is frozen, and no gradient of it is computed.
"""

from __future__ import annotations

import argparse
import tempfile

import digits
import numpy as np

import daskvars as dv


def features(images, scope: str, trainable: bool = True):
    """Return features [batch, 64] of images [batch, 8, 8, 1]."""
    with dv.variable_scope(scope, reuse=dv.AUTO_REUSE):
        x = dv.layers.conv2d(
            images, 16, 3, activation=dv.nn.relu, trainable=trainable, name="convolution"
        )
        x = dv.layers.flatten(dv.layers.max_pooling2d(x, 2, 2))
        return dv.layers.dense(x, 64, activation=dv.nn.relu, trainable=trainable, name="dense")


def logits(images, scope: str, head: str, trainable: bool = True):
    """Return logits [batch, 5]."""
    x = features(images, scope, trainable)
    with dv.variable_scope(head, reuse=dv.AUTO_REUSE):
        return dv.layers.dense(x, 5, name="output")


def train(network, images: np.ndarray, labels: np.ndarray, epochs: int) -> None:
    """Train all trainable variables that the network uses."""
    network(images[:1])  # makes them
    optimizer = dv.train.AdamOptimizer(0.005)
    scopes = ("old/", "old_head/") if network is old else ("new/", "new_head/")
    variables = [v for v in dv.trainable_variables() if v.name.startswith(scopes)]
    print("trained:", *(variable.op.name for variable in variables))

    @dv.function
    def step(x, y):
        with dv.GradientTape() as tape:
            loss = dv.reduce_mean(
                dv.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=network(x))
            )
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))

    for x, y in dv.data.batches(
        (images, labels), 32, shuffle=True, epochs=epochs, drop_remainder=True
    ):
        step(x, y)


def old(images):
    """The network of the digits 0 to 4."""
    return logits(images, "old", "old_head")


def new(images):
    """The network of the digits 5 to 9."""
    return logits(images, "new", "new_head", trainable=False)


def accuracy(network, images: np.ndarray, labels: np.ndarray) -> float:
    """Return the share of images that a network tells right."""
    return float((network(images).numpy().argmax(axis=1) == labels).mean())


def main(arguments: list[str] | None = None) -> float:
    """Run the command line, and return the new network's accuracy on images held out."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--images", type=int, default=100, help="of the digits 5 to 9")
    options = parser.parse_args(arguments)
    dv.set_random_seed(0)
    (images, labels), (test_images, test_labels) = digits.load()
    low, high = labels < 5, labels >= 5
    train(old, images[low], labels[low], options.epochs)
    with tempfile.TemporaryDirectory() as folder:
        path = dv.train.Saver(
            [variable for variable in dv.global_variables() if variable.name.startswith("old/")]
        ).save(None, f"{folder}/old.zarr")
        new(images[:1])  # makes the variables
        dv.train.init_from_checkpoint(path, {"old/": "new/"})
    few = np.flatnonzero(high)[: options.images]
    train(new, images[few], labels[few] - 5, 5 * options.epochs)
    held_out = test_labels >= 5
    found = accuracy(new, test_images[held_out], test_labels[held_out] - 5)
    print(f"digits 5 to 9 from {len(few)} images: held-out accuracy {found:.3f}")
    return found


if __name__ == "__main__":
    main()
