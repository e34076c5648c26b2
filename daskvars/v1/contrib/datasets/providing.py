"""The description of a data set, and tensors of its items: ``slim.dataset_data_provider``."""

from __future__ import annotations

from collections.abc import KeysView, Mapping, Sequence
from typing import Any

from daskvars.surface.signatures import with_arguments_in_order
from daskvars.v1.contrib.datasets.example_decoding import DataDecoder
from daskvars.v1.contrib.datasets.parallel_reading import parallel_read


class Dataset:
    """The description of a data set. All that it is made with are its attributes.

    Args:
      data_sources: its files, see `get_data_files`.
      reader: a kind of reader, `TFRecordReader` for one.
      decoder: what makes items of a record.
      num_samples: how many records there are.
      items_to_descriptions: name of an item -> what it is.
      **kwargs: what else is to be known of it.

    Source: TensorFlow 1.15, ``tf.contrib.slim.dataset.Dataset``.

    >>> slim = tf.contrib.slim
    >>> slim.dataset.Dataset("train*", tf.TextLineReader, None, 100, {}, num_classes=5).num_classes
    5
    """

    def __init__(
        self,
        data_sources: Any,
        reader: Any,
        decoder: DataDecoder,
        num_samples: int,
        items_to_descriptions: Mapping[str, str],
        **kwargs: Any,
    ) -> None:
        self.data_sources, self.reader, self.decoder = data_sources, reader, decoder
        self.num_samples, self.items_to_descriptions = num_samples, items_to_descriptions
        self.__dict__.update(kwargs)


class DataProvider:
    """Tensors of the items of a data set, which are those of another record in each run.

    Args:
      items_to_tensors: name -> tensor.
      num_samples: how many records the data set has.

    Source: TensorFlow 1.15, ``tf.contrib.slim.data_provider.DataProvider``.

    >>> tf.contrib.slim.data_provider.DataProvider({"a": 1, "b": 2}, 10).get(["b", "a"])
    [2, 1]
    """

    def __init__(self, items_to_tensors: Mapping[str, Any], num_samples: int) -> None:
        self._items_to_tensors, self._num_samples = items_to_tensors, num_samples

    def get(self, items: Sequence[str]) -> list[Any]:
        """Return the tensors of a list of items. Raises ValueError for one that it has not."""
        if not isinstance(items, list | tuple):
            raise ValueError("items must be a list or tuple")
        valid = self.list_items()
        for item in items:
            if item not in valid:
                raise ValueError(f"Item [{item}] is invalid. Valid entries include: {list(valid)}")
        return [self._items_to_tensors[item] for item in items]

    def list_items(self) -> KeysView[str]:
        """Return the names of all items."""
        return self._items_to_tensors.keys()

    def num_samples(self) -> int:
        """Return how many records the data set has."""
        return self._num_samples


class DatasetDataProvider(DataProvider):
    """Tensors of the items of a data set that queues are filled with.

    Args:
      dataset: a `Dataset`.
      num_readers: see `parallel_read`, also for `reader_kwargs`, `shuffle`, `num_epochs`, `seed`
        and `scope`.
      common_queue_capacity: how many records are in a queue.
      common_queue_min: how many are in it at least, where they are shuffled.
      record_key: the item that is the key of a record.

    Raises:
      ValueError: an item is called as `record_key`; the data set has no files.

    Source: TensorFlow 1.15, ``tf.contrib.slim.dataset_data_provider.DatasetDataProvider``.

    >>> import pathlib, tempfile
    >>> slim, path = tf.contrib.slim, pathlib.Path(tempfile.mkdtemp()) / "records"
    >>> value = tf.train.Feature(int64_list=tf.train.Int64List(value=[7]))
    >>> example = tf.train.Example(features=tf.train.Features(feature={"class": value}))
    >>> with tf.python_io.TFRecordWriter(str(path)) as writer:
    ...     writer.write(example.SerializeToString())
    >>> decoder = slim.tfexample_decoder.TFExampleDecoder(
    ...     {"class": tf.FixedLenFeature([], tf.int64)},
    ...     {"label": slim.tfexample_decoder.Tensor("class")},
    ... )
    >>> dataset = slim.dataset.Dataset(str(path), tf.TFRecordReader, decoder, 1, {"label": "class"})
    >>> with tf.Graph().as_default():
    ...     provider = slim.dataset_data_provider.DatasetDataProvider(dataset, shuffle=False)
    ...     [label] = provider.get(["label"])
    ...     with tf.train.MonitoredSession() as sess:
    ...         int(sess.run(label))
    7
    """

    @with_arguments_in_order(
        "dataset num_readers=1 reader_kwargs shuffle num_epochs common_queue_capacity "
        "common_queue_min record_key seed scope",
        parallel_read,
    )
    def __init__(
        self,
        dataset: Dataset,
        common_queue_capacity: int = 256,
        common_queue_min: int = 128,
        record_key: str = "record_key",
        **of_reading: Any,
    ) -> None:
        items = dataset.decoder.list_items()
        if record_key in items:
            raise ValueError(
                "The item name used for `record_key` cannot also be used for a dataset item: "
                f"{record_key}"
            )
        key, data = parallel_read(
            dataset.data_sources,
            dataset.reader,
            capacity=common_queue_capacity,
            min_after_dequeue=common_queue_min,
            **of_reading,
        )
        tensors = dict(zip(items, dataset.decoder.decode(data, items), strict=True))
        super().__init__({**tensors, record_key: key}, dataset.num_samples)
