"""Train a small convolutional network on handwritten digits, here or on a Dask cluster.

    python examples/train_digits.py                      # in this process
    python examples/train_digits.py --cluster 2          # on two worker processes of this machine
    python examples/train_digits.py --scheduler ADDRESS  # on a running Dask cluster
    python examples/train_digits.py --store digits.zarr  # and keep the variables

The program is the same in all cases, and so are the numbers, bit for bit: what decides them is the
number of parts that a batch is cut into (--parts), not where the parts run.
"""

from __future__ import annotations

import argparse
import time
from contextlib import ExitStack

import digits
import numpy as np
from distributed import Client, LocalCluster, Security

import daskvars as dv


def conv_relu(x, name, filters):
    """A 3x3 convolution with bias and relu."""
    with dv.variable_scope(name):
        channels = int(x.shape[-1])
        weights = dv.get_variable(
            "weights", [3, 3, channels, filters], initializer=dv.initializers.he_normal()
        )
        biases = dv.get_variable("biases", [filters], initializer=dv.zeros_initializer())
        return dv.nn.relu(dv.nn.conv2d(x, weights, [1, 1, 1, 1], "SAME") + biases)


def dense(x, name, units):
    """A fully connected layer."""
    with dv.variable_scope(name):
        weights = dv.get_variable("weights", [int(x.shape[-1]), units])
        biases = dv.get_variable("biases", [units], initializer=dv.zeros_initializer())
        return dv.matmul(x, weights) + biases


def logits(images):
    """The network: [batch, 8, 8, 1] images to [batch, 10] logits."""
    with dv.variable_scope("features", reuse=dv.AUTO_REUSE):
        x = conv_relu(images, "conv1", 16)
        x = conv_relu(x, "conv2", 32)
        x = dv.nn.max_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
        x = dv.reshape(x, [-1, 4 * 4 * 32])
    with dv.variable_scope("classifier", reuse=dv.AUTO_REUSE):
        return dense(dv.nn.relu(dense(x, "hidden", 64)), "output", 10)


OPTIMIZER = dv.train.AdamOptimizer(0.003)


@dv.function
def train_step(images, labels):
    """One step of training; returns the loss."""
    with dv.GradientTape() as tape:
        scores = logits(images)
        loss = dv.reduce_mean(
            dv.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=scores)
        )
    variables = dv.trainable_variables()
    with dv.name_scope("backward"):
        gradients = tape.gradient(loss, variables)
    OPTIMIZER.apply_gradients(zip(gradients, variables))
    return loss


@dv.function
def predict(images):
    """The digit that each image shows."""
    return dv.argmax(logits(images), axis=1)


def train(epochs: int, batch: int) -> float:
    """Train, printing progress, and return the accuracy on the images held out."""
    (images, labels), (test_images, test_labels) = digits.load()
    accuracy = 0.0
    for epoch in range(epochs):
        started = time.perf_counter()
        losses = [train_step(x, y) for x, y in digits.batches(images, labels, batch, epoch)]
        loss = float(np.mean([float(value) for value in losses]))
        accuracy = float(np.mean(predict(test_images).numpy() == test_labels))
        seconds = time.perf_counter() - started
        print(
            f"epoch {epoch + 1:2}/{epochs}  loss {loss:.4f}  held-out accuracy {accuracy:.4f}  "
            f"{len(losses) / seconds:6.1f} steps/s",
            flush=True,
        )
    return accuracy


def main(arguments: list[str] | None = None) -> float:
    """Run the command line and return the held-out accuracy."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--parts", type=int, default=2, help="parts that a batch is cut into")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cluster", type=int, metavar="N", help="start N worker processes")
    parser.add_argument("--tls", action="store_true", help="these speak TLS, with new certificates")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="use a running Dask cluster")
    parser.add_argument("--store", metavar="PATH", help="save the variables in this Zarr store")
    options = parser.parse_args(arguments)
    with ExitStack() as stack:
        if options.cluster:
            cluster = stack.enter_context(
                LocalCluster(
                    n_workers=options.cluster,
                    threads_per_worker=1,
                    host="127.0.0.1",
                    dashboard_address="127.0.0.1:0",  # ":8787" would be open to the network
                    security=Security.temporary() if options.tls else None,
                )
            )
            stack.enter_context(Client(cluster))
            print(f"dashboard: {cluster.dashboard_link}")
        elif options.scheduler:
            client = stack.enter_context(Client(options.scheduler))
            print(f"dashboard: {client.dashboard_link}")
        stack.enter_context(dv.config.set(batch_parts=options.parts))
        dv.set_random_seed(options.seed)
        accuracy = train(options.epochs, options.batch)
        if options.store:
            path = dv.train.Saver().save(None, options.store)
            print(f"variables saved in {path}")
    return accuracy


if __name__ == "__main__":
    main()
