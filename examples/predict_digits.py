"""Restore the network that `train_digits` saved and classify the images held out.

python examples/predict_digits.py digits.zarr
"""

from __future__ import annotations

import argparse

import digits
import numpy as np
import train_digits

import daskvars as dv


def main(arguments: list[str] | None = None) -> np.ndarray:
    """Run the command line and return the predicted digits."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("store", help="the Zarr store that train_digits.py --store wrote")
    parser.add_argument("--output", metavar="FILE", help="write the predictions to this .npy file")
    options = parser.parse_args(arguments)
    _, (images, labels) = digits.load()
    train_digits.logits(dv.constant(images[:1]))  # makes the variables
    dv.train.Saver(dv.trainable_variables()).restore(None, options.store)
    predicted = train_digits.predict(images).numpy()
    print(f"{len(labels)} images, accuracy {np.mean(predicted == labels):.4f}")
    print("first row:", *predicted[:20])
    if options.output:
        np.save(options.output, predicted)
    return predicted


if __name__ == "__main__":
    main()
