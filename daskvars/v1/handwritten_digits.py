"""Handwritten digits in batches: ``tensorflow.examples.tutorials.mnist.input_data``.

What most programs that teach TensorFlow 1 begin with. The four files are read as they are
published; one that is not in the folder is fetched there.
"""

from __future__ import annotations

import gzip
import math
import os
import urllib.request
from typing import Any, BinaryIO, NamedTuple

import numpy
import numpy.typing

from daskvars.dtypes import DTypeLike, as_dtype, float32, uint8
from daskvars.errors import invalid
from daskvars.graph.scopes.default_graph import in_graph
from daskvars.ops.random.distributions import get_seed

__all__ = [
    "DEFAULT_SOURCE_URL",
    "DataSet",
    "Datasets",
    "extract_images",
    "extract_labels",
    "read_data_sets",
]

DEFAULT_SOURCE_URL = "https://storage.googleapis.com/cvdf-datasets/mnist/"
_IMAGES = 2051  # the first number of a file of images, and of one of labels
_LABELS = 2049

Array = numpy.typing.NDArray[Any]


def _numbers(file: BinaryIO, kind: int, axes: int) -> Array:
    """Return the bytes in a gzipped file of a kind, in the shape that it tells."""
    with gzip.GzipFile(fileobj=file) as unzipped:
        found, *shape = numpy.frombuffer(unzipped.read(4 + 4 * axes), ">u4").tolist()
        if found != kind:
            name = getattr(file, "name", "the file")
            raise ValueError(f"Invalid magic number {found} in MNIST file {name}: {kind} is wanted")
        return numpy.frombuffer(unzipped.read(), numpy.uint8).reshape(shape)


def extract_images(f: BinaryIO) -> Array:
    """Return the images in a file.

    Args:
      f: the gzipped file, open in binary mode.

    Returns:
      [images, rows, columns, 1] uint8.

    Raises:
      ValueError: it is no such file.
    """
    return _numbers(f, _IMAGES, axes=3)[..., None]


def extract_labels(f: BinaryIO, one_hot: bool = False, num_classes: int = 10) -> Array:
    """Return the labels in a file.

    Args:
      f: the gzipped file, open in binary mode.
      one_hot: give a row for each, which is one at the label.
      num_classes: how long these are.

    Returns:
      [labels] uint8, or [labels, num_classes] float64.

    Raises:
      ValueError: it is no such file.
    """
    labels = _numbers(f, _LABELS, axes=1)
    return numpy.eye(num_classes)[labels] if one_hot else labels


def _fake(count: int, one_hot: bool) -> tuple[Array, Array]:
    """Return images of ones, and as many labels 0."""
    labels = numpy.zeros(count, numpy.int64)
    return numpy.ones([count, 784], numpy.float32), numpy.eye(10)[labels] if one_hot else labels


def _seed_numpy(seed: int | None) -> None:
    """Seed NumPy's global generator, as programs know it, if there is a seed."""
    of_graph, own = in_graph(get_seed)(seed)
    chosen = of_graph if seed is None else own
    if chosen is not None:
        numpy.random.seed(chosen)


class DataSet:
    """Images with their labels, in batches.

    Args:
      images: [examples, rows, columns, 1] uint8.
      labels: [examples] or [examples, classes].
      fake_data: give images of ones that are all of class 0, in place of `images`.
      one_hot: whether the labels of these are one-hot.
      dtype: uint8, or float32 for images between 0 and 1.
      reshape: make a row of each image.
      seed: of the order, which is that of NumPy's global generator.

    Attributes:
      images: [examples, rows * columns], or as they were given.
      labels: as they were given.
      num_examples: how many there are.
      epochs_completed: how often all of them were gone through.

    Raises:
      TypeError: `dtype` is another one.
      InvalidArgumentError: there are not as many labels as images.

    >>> digits = DataSet(np.full([3, 2, 2, 1], 255, np.uint8), np.array([4, 5, 6]))
    >>> images, labels = digits.next_batch(2, shuffle=False)
    >>> images.shape, labels.tolist()
    ((2, 4), [4, 5])
    """

    def __init__(
        self,
        images: Any,
        labels: Any,
        fake_data: bool = False,
        one_hot: bool = False,
        dtype: DTypeLike = float32,
        reshape: bool = True,
        seed: int | None = None,
    ) -> None:
        _seed_numpy(seed)
        if as_dtype(dtype).base_dtype not in (uint8, float32):
            raise TypeError(f"Invalid image dtype {dtype!r}, expected uint8 or float32")
        self.one_hot = one_hot
        self.epochs_completed = 0
        self._next = 0
        if fake_data:
            self.num_examples = 10000
            images, labels = _fake(self.num_examples, one_hot)
        elif len(images) != len(labels):
            raise invalid(f"images are {numpy.shape(images)}, labels are {numpy.shape(labels)}")
        else:
            shape = (len(images), math.prod(images.shape[1:])) if reshape else images.shape
            images = images.reshape(shape)
            if as_dtype(dtype).base_dtype is float32:
                images = numpy.multiply(images.astype(numpy.float32), 1.0 / 255.0)
        self.images, self.labels, self.num_examples = images, labels, len(images)

    def next_batch(
        self, batch_size: int, fake_data: bool = False, shuffle: bool = True
    ) -> tuple[Any, Any]:
        """Return the next images and labels; after the last, the first of the next epoch follow.

        Args:
          batch_size: how many.
          fake_data: give ones of class 0.
          shuffle: go through each epoch in another order.
        """
        if fake_data:
            return _fake(batch_size, self.one_hot)
        if shuffle and self._next == self.epochs_completed == 0:
            self._shuffle()
        start, self._next = self._next, self._next + batch_size
        if self._next <= self.num_examples:
            return self.images[start : self._next], self.labels[start : self._next]
        rest = self.images[start:], self.labels[start:]
        self.epochs_completed += 1
        if shuffle:
            self._shuffle()
        self._next -= self.num_examples
        new = self.images[: self._next], self.labels[: self._next]
        return numpy.concatenate([rest[0], new[0]]), numpy.concatenate([rest[1], new[1]])

    def _shuffle(self) -> None:
        order = numpy.arange(self.num_examples)
        numpy.random.shuffle(order)
        self.images, self.labels = self.images[order], self.labels[order]


class Datasets(NamedTuple):
    """Digits to train with, to choose models by, and to test with."""

    train: DataSet
    validation: DataSet
    test: DataSet


def _path(folder: str, name: str, source_url: str) -> str:
    """Return the path of a file in a folder, fetched if it is not there."""
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        unfinished = f"{path}.part"
        urllib.request.urlretrieve(source_url + name, unfinished)
        os.replace(unfinished, path)
    return path


def _read(folder: str, name: str, one_hot: bool, source_url: str) -> tuple[Array, Array]:
    """Return the images and labels of "train" or "t10k"."""
    with open(_path(folder, f"{name}-images-idx3-ubyte.gz", source_url), "rb") as file:
        images = extract_images(file)
    with open(_path(folder, f"{name}-labels-idx1-ubyte.gz", source_url), "rb") as file:
        return images, extract_labels(file, one_hot=one_hot)


def read_data_sets(
    train_dir: str | os.PathLike[str],
    fake_data: bool = False,
    one_hot: bool = False,
    dtype: DTypeLike = float32,
    reshape: bool = True,
    validation_size: int = 5000,
    seed: int | None = None,
    source_url: str = DEFAULT_SOURCE_URL,
) -> Datasets:
    """Return the handwritten digits of MNIST, or of files like its own.

    Args:
      train_dir: folder of the files, ``train-images-idx3-ubyte.gz``, ``train-labels-idx1-ubyte.gz``
        and those of ``t10k``.
      fake_data: read none; all images are ones of class 0.
      one_hot, dtype, reshape, seed: see `DataSet`.
      validation_size: how many of the first images are kept out of training.
      source_url: where a file comes from that is not in the folder.

    Raises:
      ValueError: a file is none of them, or `validation_size` is negative or too large.
      TypeError: see `DataSet`.
      OSError: a file is not in the folder and cannot be fetched.

    Source: TensorFlow 1.15, ``tensorflow.examples.tutorials.mnist.input_data``; LeCun et al. 1998,
    "Gradient-based learning applied to document recognition".

    >>> digits = read_data_sets("nowhere", fake_data=True, one_hot=True)
    >>> images, labels = digits.train.next_batch(2)
    >>> images.shape, labels.shape
    ((2, 784), (2, 10))
    """
    if fake_data:
        fakes = (DataSet([], [], True, one_hot, dtype, seed=seed) for _ in Datasets._fields)
        return Datasets(*fakes)
    folder = os.fspath(train_dir)
    images, labels = _read(folder, "train", one_hot, source_url or DEFAULT_SOURCE_URL)
    if not 0 <= validation_size <= len(images):
        raise ValueError(
            f"Validation size should be between 0 and {len(images)}. Received: {validation_size}."
        )
    cut = validation_size
    parts = [(images[cut:], labels[cut:]), (images[:cut], labels[:cut])]
    parts.append(_read(folder, "t10k", one_hot, source_url or DEFAULT_SOURCE_URL))
    return Datasets(*(DataSet(*p, dtype=dtype, reshape=reshape, seed=seed) for p in parts))
