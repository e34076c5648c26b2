"""A small transformer that reads text which ships with Python, and goes on with it.

    python examples/text_transformer.py

It learns, letter by letter, the license of Python and the Zen of Python (`this`): a decoder with
causal attention, trained by Adam with a rate that rises and falls.
"""

from __future__ import annotations

import argparse
import builtins
import codecs
import contextlib
import io

import numpy as np

import daskvars as dv

LENGTH, WIDTH, HEADS, LAYERS = 64, 64, 4, 2


def text() -> str:
    """Return what is learned."""
    with contextlib.redirect_stdout(io.StringIO()):
        import this  # noqa: PLC0415  # it prints itself when it is imported
    return codecs.decode(this.s, "rot13") + "\n" + str(builtins.license)


def attention(x):
    """Causal attention of HEADS heads over [batch, length, width]."""
    batch, length = dv.shape(x)[0], int(x.shape[1])
    joined = dv.layers.dense(x, 3 * WIDTH, use_bias=False, name="query_key_value")
    split = dv.reshape(joined, [batch, length, 3, HEADS, WIDTH // HEADS])
    query, key, value = dv.unstack(dv.transpose(split, [2, 0, 3, 1, 4]))
    scores = dv.matmul(query, key, transpose_b=True) / (WIDTH // HEADS) ** 0.5
    mask = np.triu(np.full((length, length), -1e9, "f4"), 1)  # nobody looks ahead
    mixed = dv.transpose(dv.matmul(dv.nn.softmax(scores + mask), value), [0, 2, 1, 3])
    return dv.layers.dense(dv.reshape(mixed, [batch, length, WIDTH]), WIDTH, name="output")


def logits(letters, num_letters: int):
    """Return logits [batch, length, num_letters] of the letters that follow."""
    with dv.variable_scope("transformer", reuse=dv.AUTO_REUSE):
        table = dv.get_variable("letters", [num_letters, WIDTH])
        places = dv.get_variable("places", [LENGTH, WIDTH])
        x = dv.gather(table, letters) + places[: int(letters.shape[1])]
        for number in range(LAYERS):
            with dv.variable_scope(f"layer{number}"):
                x += attention(dv.layers.layer_norm(x, name="before"))
                normal = dv.layers.layer_norm(x, name="between")
                inner = dv.layers.dense(normal, 4 * WIDTH, activation=dv.nn.relu, name="inner")
                x += dv.layers.dense(inner, WIDTH, name="outer")
        return dv.layers.dense(dv.layers.layer_norm(x, name="last"), num_letters, name="next")


def train(data: np.ndarray, num_letters: int, steps: int, batch: int) -> list[float]:
    """Train on random pieces of the data, and return the loss of each step."""
    step = dv.train.get_or_create_global_step()

    def rate():
        return 3e-3 * dv.minimum(1.0, (dv.cast(step, dv.float32) + 1.0) / 20.0)

    optimizer = dv.train.AdamOptimizer(rate)

    @dv.function
    def train_step(pieces):
        with dv.GradientTape() as tape:
            found = logits(pieces[:, :-1], num_letters)
            losses = dv.nn.sparse_softmax_cross_entropy_with_logits(
                labels=pieces[:, 1:], logits=found
            )
            loss = dv.reduce_mean(losses)
        variables = dv.trainable_variables()
        gradients, _ = dv.clip_by_global_norm(tape.gradient(loss, variables), 1.0)
        optimizer.apply_gradients(zip(gradients, variables), global_step=step)
        return loss

    rng, losses = np.random.default_rng(0), []
    windows = np.lib.stride_tricks.sliding_window_view(data, LENGTH + 1)
    for number in range(steps):
        losses.append(float(train_step(windows[rng.integers(0, len(windows), batch)])))
        if (number + 1) % max(1, steps // 5) == 0:
            print(f"step {number + 1:4}  loss {losses[-1]:.3f}", flush=True)
    return losses


def continued(start: np.ndarray, num_letters: int, count: int) -> np.ndarray:
    """Return letters that are likely to come after others, each time the likeliest."""
    predict = dv.function(lambda letters: logits(letters, num_letters)[:, -1])
    letters = start
    for _ in range(count):
        likeliest = predict(letters[None, -LENGTH:]).numpy().argmax(axis=1)
        letters = np.concatenate([letters, likeliest.astype(start.dtype)])
    return letters[len(start) :]


def main(arguments: list[str] | None = None) -> list[float]:
    """Run the command line, and return the losses."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--batch", type=int, default=16)
    options = parser.parse_args(arguments)
    dv.set_random_seed(0)
    learned = text()
    alphabet = sorted(set(learned))
    data = np.array([alphabet.index(letter) for letter in learned], "i4")
    print(f"{len(data)} letters, {len(alphabet)} different ones")
    losses = train(data, len(alphabet), options.steps, options.batch)
    start = learned[:LENGTH]
    found = continued(data[:LENGTH], len(alphabet), 40)
    print(f"{start!r} goes on: {''.join(alphabet[n] for n in found)!r}")
    return losses


if __name__ == "__main__":
    main()
