"""The digits that programs to learn from begin with, read from files like those of MNIST."""

from __future__ import annotations

import gzip
import struct

import numpy as np
import pytest
from daskvars.v1.examples.tutorials.mnist import input_data

import daskvars.v1 as tf


@pytest.fixture
def folder(tmp_path):
    """A folder with 20 images to train with and 6 to test with, of 2 by 3 pixels."""
    for name, count in (("train", 20), ("t10k", 6)):
        pixels = (np.arange(count * 6) % 256).astype(np.uint8)
        labels = (np.arange(count) % 10).astype(np.uint8)
        with gzip.open(tmp_path / f"{name}-images-idx3-ubyte.gz", "wb") as file:
            file.write(struct.pack(">IIII", 2051, count, 2, 3) + pixels.tobytes())
        with gzip.open(tmp_path / f"{name}-labels-idx1-ubyte.gz", "wb") as file:
            file.write(struct.pack(">II", 2049, count) + labels.tobytes())
    return tmp_path


def test_the_first_images_are_for_validation_and_those_of_t10k_for_tests(folder):
    digits = input_data.read_data_sets(folder, validation_size=5)
    assert [part.num_examples for part in digits] == [15, 5, 6]
    assert digits.validation.labels.tolist() == [0, 1, 2, 3, 4]
    np.testing.assert_allclose(digits.validation.images[1], np.arange(6, 12) / 255.0)
    assert digits.train.images.dtype == np.float32


def test_labels_are_one_hot_and_images_keep_their_shape_and_bytes(folder):
    digits = input_data.read_data_sets(
        folder, one_hot=True, dtype=tf.uint8, reshape=False, validation_size=0
    )
    assert digits.train.images.shape == (20, 2, 3, 1)
    assert digits.train.images[1, 0, 0, 0] == 6
    np.testing.assert_array_equal(digits.train.labels[:2], np.eye(10)[:2])


def test_a_batch_goes_on_with_the_next_epoch(folder):
    train = input_data.read_data_sets(folder, validation_size=5).train
    labels = [train.next_batch(10, shuffle=False)[1].tolist() for _ in range(2)]
    assert labels == [[5, 6, 7, 8, 9, 0, 1, 2, 3, 4], [5, 6, 7, 8, 9, 5, 6, 7, 8, 9]]
    assert train.epochs_completed == 1


def test_epochs_are_shuffled_by_the_seed_as_in_tensorflow(folder):
    train = input_data.read_data_sets(folder, validation_size=0, seed=3).train
    with tf.Graph().as_default():
        np.random.seed(tf.get_seed(3)[1])
    first, second = np.arange(20), np.arange(20)
    np.random.shuffle(first)
    np.random.shuffle(second)
    np.random.seed(tf.get_seed(3)[1])
    found = np.concatenate([train.next_batch(10)[0][:, 0] for _ in range(4)])
    wanted = np.concatenate([first, first[second]])
    np.testing.assert_allclose(found * 255, wanted * 6, rtol=1e-6)


def test_a_file_that_is_not_there_is_fetched(folder, tmp_path_factory):
    empty = tmp_path_factory.mktemp("empty")
    digits = input_data.read_data_sets(
        empty / "new", validation_size=1, source_url=f"{folder.as_uri()}/"
    )
    assert digits.test.num_examples == 6
    assert len(list((empty / "new").iterdir())) == 4


def test_fake_digits_need_no_files(tmp_path):
    digits = input_data.read_data_sets(tmp_path / "none", fake_data=True, one_hot=True)
    images, labels = digits.train.next_batch(3)
    assert images.shape == (3, 784)
    np.testing.assert_array_equal(labels, np.eye(10)[[0, 0, 0]])


def test_what_is_wrong_is_said(folder):
    with pytest.raises(ValueError, match=r"between 0 and 20\. Received: 21"):
        input_data.read_data_sets(folder, validation_size=21)
    with pytest.raises(TypeError, match="expected uint8 or float32"):
        input_data.read_data_sets(folder, dtype=tf.float64, validation_size=0)
    with gzip.open(folder / "t10k-labels-idx1-ubyte.gz", "wb") as file:
        file.write(struct.pack(">II", 7, 6))
    with pytest.raises(ValueError, match="magic number 7"):
        input_data.read_data_sets(folder, validation_size=0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="labels are"):
        input_data.DataSet(np.zeros([2, 1, 1, 1], np.uint8), np.zeros(3))
