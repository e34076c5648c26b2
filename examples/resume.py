"""Training that goes on in a second process, with its optimizer, as if nothing had happened.

    python examples/resume.py --steps 30 --store run.zarr   # trains 30 steps and saves
    python examples/resume.py --steps 30 --store run.zarr   # goes on from there: step 60

Adam keeps two slots for each variable and two numbers of its own. All are variables, and are saved
and restored like the model's: sixty steps have the same bits, made in one process or in two.
"""

from __future__ import annotations

import argparse

import numpy as np

import daskvars as dv

dv.set_random_seed(0)
step = dv.train.get_or_create_global_step()
with dv.variable_scope("model"):
    hidden = dv.get_variable("hidden", [8, 16])
    output = dv.get_variable("output", [16, 1])
VARIABLES = [hidden, output]
OPTIMIZER = dv.train.AdamOptimizer(0.01)
OPTIMIZER.build(VARIABLES)  # makes the slots now, so that they can be restored


@dv.function
def train_step(x, y):
    """One step of training; returns the loss."""
    with dv.GradientTape() as tape:
        loss = dv.reduce_mean(dv.square(dv.matmul(dv.tanh(dv.matmul(x, hidden)), output) - y))
    OPTIMIZER.apply_gradients(zip(tape.gradient(loss, VARIABLES), VARIABLES), global_step=step)
    return loss


def batch(number: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the batch of a step: the same one in whatever process the step is made."""
    x = np.random.default_rng(number).normal(size=(64, 8)).astype("f4")
    return x, np.tanh(x[:, :1] - x[:, 1:2])


def main(arguments: list[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=30, help="how many more steps to make")
    parser.add_argument("--store", default="run.zarr", metavar="PATH")
    options = parser.parse_args(arguments)
    saver = dv.train.Saver()
    if dv.train.checkpoint_exists(options.store):
        saver.restore(None, options.store)
        print(f"restored step {int(step)}")
    for _ in range(options.steps):
        loss = train_step(*batch(int(step)))
    print(f"step {int(step)}, loss {float(loss):.4f}, saved in {saver.save(None, options.store)}")


if __name__ == "__main__":
    main()
