"""Draws the README's picture: a real run of ``examples/train_digits.py`` on a cluster.

    python .github/training.py  # writes .github/training.svg

It trains once in this process, and once on two worker processes, one of which is killed on the way.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from distributed import Client, LocalCluster

import daskvars as dv

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "examples"))

import digits  # noqa: E402
import train_digits  # noqa: E402

EPOCHS, BATCH = 6, 64


def train(start: str, victim: int | None = None) -> tuple[list[float], list[float]]:
    """Return the loss of each step and the accuracy after each epoch.

    Args:
      start: a checkpoint of the variables at the beginning.
      victim: a process that is killed in the middle of the third epoch.
    """
    (images, labels), (test_images, test_labels) = digits.load()
    losses, accuracies = [], []
    dv.train.Saver().restore(None, start)
    for epoch in range(EPOCHS):
        for number, (x, y) in enumerate(digits.batches(images, labels, BATCH, epoch)):
            losses.append(float(train_digits.train_step(x, y)))
            if victim is not None and (epoch, number) == (2, 10):
                os.kill(victim, signal.SIGKILL)
        accuracies.append(float(np.mean(train_digits.predict(test_images).numpy() == test_labels)))
    return losses, accuracies


def draw(undisturbed: list[float], losses: list[float], accuracies: list[float]) -> None:
    """Draw the curves of both runs."""
    plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "daskvars", "font.size": 9})
    figure, axes = plt.subplots(figsize=(7.2, 2.6), layout="constrained")
    per_epoch = len(losses) // EPOCHS
    axes.semilogy(undisturbed, color="#d8dee9", linewidth=5, label="in one process, undisturbed")
    axes.semilogy(losses, color="#2f6f9f", linewidth=1, label="on two workers, one killed")
    killed = 2 * per_epoch + 10
    axes.axvline(killed, color="#bf4040", linewidth=1, linestyle="--")
    axes.annotate("kill -9", (killed + 1, max(losses) * 0.6), color="#bf4040")
    axes.set(xlabel="step", ylabel="loss", xlim=(0, len(losses)))
    axes.legend(loc="lower left", frameon=False)
    above = axes.twinx()
    steps = [per_epoch * (epoch + 1) for epoch in range(EPOCHS)]
    above.plot(steps, accuracies, "o", color="#6a8f3c", markersize=4, clip_on=False)
    above.set_ylabel("held-out accuracy", color="#6a8f3c")
    above.set_ylim(0.5, 1)
    figure.savefig(HERE / "training.svg", metadata={"Date": None})


def main() -> None:
    """Train twice, compare the bits, and draw."""
    with dv.config.set(batch_parts=2), tempfile.TemporaryDirectory() as folder:
        dv.set_random_seed(0)
        train_digits.predict(digits.load()[0][0])  # makes the variables
        train_digits.OPTIMIZER.build(dv.trainable_variables())
        start = dv.train.Saver().save(None, f"{folder}/start.zarr")
        undisturbed, _ = train(start)
        cluster = LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
        )
        with cluster, Client(cluster) as client:
            victim = next(iter(client.run(os.getpid).values()))
            losses, accuracies = train(start, victim)
    assert losses == undisturbed, "the bits differ"
    draw(undisturbed, losses, accuracies)
    print(f"{len(losses)} steps, the same bits; held-out accuracy {accuracies[-1]:.3f}")


if __name__ == "__main__":
    main()
