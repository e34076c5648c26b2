"""A generative adversarial network: two optimizers over the variables of two scopes.

    python examples/gan.py

The generator learns to draw from two bells of which it sees only samples; the discriminator learns
to tell its samples from real ones. A step is one plan with two updates: both gradients are of the
values that the step began with.
"""

from __future__ import annotations

import argparse

import numpy as np

import daskvars as dv

NOISE = 4


def network(x, units: int, outputs: int):
    """Two dense layers, their variables made in the first call."""
    hidden = dv.layers.dense(x, units, activation=dv.nn.tanh, name="hidden")
    return dv.layers.dense(hidden, outputs, name="output")


def generator(noise):
    """Return samples [batch, 1] made from noise [batch, NOISE]."""
    with dv.variable_scope("generator", reuse=dv.AUTO_REUSE):
        return network(noise, 32, 1)


def discriminator(samples):
    """Return the logits [batch, 1] that samples are real."""
    with dv.variable_scope("discriminator", reuse=dv.AUTO_REUSE):
        return network(samples, 32, 1)


def cross_entropy(logits, is_real: float):
    """Return how far the discriminator is from saying so."""
    labels = dv.fill(dv.shape(logits), is_real)
    return dv.reduce_mean(dv.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits))


GENERATOR_OPTIMIZER = dv.train.AdamOptimizer(2e-3, beta1=0.5)
DISCRIMINATOR_OPTIMIZER = dv.train.AdamOptimizer(2e-3, beta1=0.5)


@dv.function
def train_step(real, noise):
    """One step of both; returns their losses."""
    with dv.GradientTape(persistent=True) as tape:
        fake = generator(noise)
        seen = discriminator(fake)
        generator_loss = cross_entropy(seen, 1.0)
        discriminator_loss = cross_entropy(discriminator(real), 1.0) + cross_entropy(seen, 0.0)
    ours, theirs = dv.trainable_variables("generator/"), dv.trainable_variables("discriminator/")
    our_gradients = tape.gradient(generator_loss, ours)
    their_gradients = tape.gradient(discriminator_loss, theirs)
    GENERATOR_OPTIMIZER.apply_gradients(zip(our_gradients, ours))
    DISCRIMINATOR_OPTIMIZER.apply_gradients(zip(their_gradients, theirs))
    return generator_loss, discriminator_loss


def draw_real(rng: np.random.Generator, size: int) -> np.ndarray:
    """Return samples [size, 1] of two bells at -2 and 2."""
    centers = rng.choice([-2.0, 2.0], (size, 1))
    return (centers + 0.3 * rng.normal(size=(size, 1))).astype("f4")


def main(arguments: list[str] | None = None) -> np.ndarray:
    """Run the command line, and return samples of the generator."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--batch", type=int, default=128)
    options = parser.parse_args(arguments)
    dv.set_random_seed(0)
    rng = np.random.default_rng(0)
    for step in range(options.steps):
        noise = rng.normal(size=(options.batch, NOISE)).astype("f4")
        losses = train_step(draw_real(rng, options.batch), noise)
        if (step + 1) % max(1, options.steps // 5) == 0:
            ours, theirs = map(float, losses)
            print(f"step {step + 1:5}  generator {ours:.3f}  discriminator {theirs:.3f}")
    samples = generator(rng.normal(size=(1000, NOISE)).astype("f4")).numpy().ravel()
    counts, _ = np.histogram(samples, bins=np.arange(-4, 5))
    print("samples by unit from -4 to 4:", *counts)
    return samples


if __name__ == "__main__":
    main()
