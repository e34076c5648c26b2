"""Items of an example, each made of some of its features: ``slim.tfexample_decoder``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from daskvars.dtypes import DTypeLike, as_dtype, uint8
from daskvars.graph.sparse_tensor import SparseTensor
from daskvars.graph.tensor import Tensor
from daskvars.ops.array.joining import concat, stack
from daskvars.ops.array.reshaping import expand_dims, reshape
from daskvars.ops.array.transposing import transpose
from daskvars.ops.control.cond import cond
from daskvars.ops.control.map_fn import map_fn
from daskvars.ops.image.coding import decode_image
from daskvars.ops.math.casting import cast
from daskvars.ops.math.comparison import equal
from daskvars.ops.math.reduce import reduce_any
from daskvars.ops.parsing import FixedLenFeature, decode_raw, parse_single_example
from daskvars.ops.sparse import indices
from daskvars.ops.sparse.dense import to_dense
from daskvars.surface.forwarding import forwards


class DataDecoder(ABC):
    """What makes items of a record: a subclass has `decode` and `list_items`.

    Source: TensorFlow 1.15, ``tf.contrib.slim.data_decoder.DataDecoder``.

    >>> class Upper(tf.contrib.slim.data_decoder.DataDecoder):
    ...     def list_items(self):
    ...         return ["text"]
    ...
    ...     def decode(self, data, items):
    ...         return [data.upper() for _ in items]
    >>> Upper().decode("a", ["text"])
    ['A']
    """

    @abstractmethod
    def decode(self, data: Any, items: Sequence[str]) -> list[Any]:
        """Return the tensors of items, in their order, of a record, [] string."""

    @abstractmethod
    def list_items(self) -> list[str]:
        """Return the names of all items."""


class ItemHandler(ABC):
    """What makes an item of features: a subclass has `tensors_to_item`.

    Args:
      keys: names of the features; one, or a list.

    Source: TensorFlow 1.15, ``tf.contrib.slim.tfexample_decoder.ItemHandler``.

    >>> decoder = tf.contrib.slim.tfexample_decoder
    >>> isinstance(decoder.Tensor("label"), decoder.ItemHandler), decoder.Tensor("label").keys
    (True, ['label'])
    """

    def __init__(self, keys: Any) -> None:
        self._keys = list(keys) if isinstance(keys, list | tuple) else [keys]

    keys: list[str] = forwards("_keys", "The names of the features.")

    @abstractmethod
    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        """Return the item of name -> tensor, or sparse tensor, of the features."""


class ItemHandlerCallback(ItemHandler):
    """An item that a function makes of features.

    Args:
      keys: names of the features.
      func: takes a dict of their tensors, returns the item.

    Source: TensorFlow 1.15, ``tf.contrib.slim.tfexample_decoder.ItemHandlerCallback``.

    >>> handler = tf.contrib.slim.tfexample_decoder.ItemHandlerCallback(
    ...     ["a", "b"], lambda found: found["a"] + found["b"]
    ... )
    >>> handler.tensors_to_item({"a": 1, "b": 2})
    3
    """

    def __init__(self, keys: Any, func: Callable[[Mapping[str, Any]], Any]) -> None:
        super().__init__(keys)
        self._func = func

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        """Return what the function makes of the features. See `ItemHandler`."""
        return self._func(keys_to_tensors)


class BoundingBox(ItemHandler):
    """Boxes whose sides are four features.

    Args:
      keys: the four names, "ymin", "xmin", "ymax" and "xmax" by default.
      prefix: what they begin with.

    Raises:
      ValueError: there are other than four.

    Source: TensorFlow 1.15, ``tf.contrib.slim.tfexample_decoder.BoundingBox``.

    >>> sides = dict(ymin=[0.0, 0.1], xmin=[0.2, 0.3], ymax=[0.4, 0.5], xmax=[0.6, 0.7])
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     box = tf.contrib.slim.tfexample_decoder.BoundingBox()
    ...     sess.run(box.tensors_to_item({k: tf.constant(v) for k, v in sides.items()})).shape
    (2, 4)
    """

    def __init__(self, keys: Sequence[str] | None = None, prefix: str = "") -> None:
        keys = ["ymin", "xmin", "ymax", "xmax"] if keys is None else keys
        if len(keys) != 4:
            raise ValueError(f"BoundingBox expects 4 keys but got {len(keys)}")
        super().__init__([prefix + key for key in keys])

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Tensor:
        """Return [n, 4], a box a row. See `ItemHandler`."""
        found = [keys_to_tensors[key] for key in self._keys]
        sides = [side.values if isinstance(side, SparseTensor) else side for side in found]
        return transpose(concat([expand_dims(side, 0) for side in sides], 0))


class TensorItem(ItemHandler):
    """A feature as it is, or in another shape.

    Args:
      tensor_key: name of the feature.
      shape_keys: names of the features that are its sizes.
      shape: its shape, where it is known.
      default_value: what a sparse feature has where it has nothing.

    Raises:
      ValueError: both `shape_keys` and `shape` are given.

    Source: TensorFlow 1.15, ``tf.contrib.slim.tfexample_decoder.Tensor``.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     item = tf.contrib.slim.tfexample_decoder.Tensor("x", shape=[2, 1])
    ...     sess.run(item.tensors_to_item({"x": tf.constant([3, 4])})).tolist()
    [[3], [4]]
    """

    def __init__(
        self, tensor_key: str, shape_keys: Any = None, shape: Any = None, default_value: Any = 0
    ) -> None:
        if shape_keys and shape is not None:
            raise ValueError("Cannot specify both shape_keys and shape parameters.")
        sizes = [shape_keys] if isinstance(shape_keys, str) else list(shape_keys or ())
        super().__init__([tensor_key, *sizes])
        self._shape, self._default_value = shape, default_value

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Tensor:
        """Return the feature, dense. See `ItemHandler`."""
        tensor, *sizes = [keys_to_tensors[key] for key in self._keys]
        shape = self._shape
        if sizes:
            dense = [to_dense(n) if isinstance(n, SparseTensor) else n for n in sizes]
            shape = reshape(stack(dense), [-1])
        if not isinstance(tensor, SparseTensor):
            return tensor if shape is None else reshape(tensor, shape)
        whole = tensor if shape is None else indices.reshape(tensor, shape)
        return to_dense(whole, self._default_value)


class Image(ItemHandler):
    """An image that is a feature, as a file or as raw pixels.

    Args:
      image_key: name of the feature, "image/encoded" by default.
      format_key: name of the one with its format, "image/format" by default; of "raw" and "RAW"
        pixels `shape` says what they are, other images say so themselves.
      shape: of the image, where it is known.
      channels: 1 for grey, 3 for colours; 0 for as many as the file has.
      dtype: of the pixels, which are from 0 to 255 in any.
      repeated: the feature is several images, of one size.
      dct_method: accepted for compatibility: there is one.

    Source: TensorFlow 1.15, ``tf.contrib.slim.tfexample_decoder.Image``.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     file = tf.image.encode_png(tf.fill([2, 3, 1], tf.cast(7, tf.uint8)))
    ...     found = {"image/encoded": file, "image/format": tf.constant("png")}
    ...     image = tf.contrib.slim.tfexample_decoder.Image(channels=1).tensors_to_item(found)
    ...     image.shape.as_list(), sess.run(image).shape
    ([None, None, 1], (2, 3, 1))
    """

    def __init__(
        self,
        image_key: str | None = None,
        format_key: str | None = None,
        shape: Any = None,
        channels: int = 3,
        dtype: DTypeLike = uint8,
        repeated: bool = False,
        dct_method: str = "",
    ) -> None:
        super().__init__([image_key or "image/encoded", format_key or "image/format"])
        self._shape, self._channels, self._repeated = shape, channels, repeated
        self._dtype = as_dtype(dtype)

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Tensor:
        """Return [height, width, channels], or several of them. See `ItemHandler`."""
        content, form = (keys_to_tensors[key] for key in self._keys)
        if self._repeated:
            return map_fn(lambda one: self._decoded(one, form), content, self._dtype)
        return self._decoded(content, form)

    def _decoded(self, content: Any, form: Any) -> Tensor:
        def pixels() -> Tensor:
            image = decode_image(content, self._channels, expand_animations=False)
            return cast(image, self._dtype)

        if self._shape is None:
            return pixels()
        is_raw = reduce_any(equal(form, ["raw", "RAW"]))
        found = cond(is_raw, lambda: decode_raw(content, self._dtype), pixels)
        return reshape(found, self._shape)


class TFExampleDecoder(DataDecoder):
    """Makes items of serialized examples.

    Args:
      keys_to_features: name -> `FixedLenFeature`, `VarLenFeature` and the like.
      items_to_handlers: name of an item -> `ItemHandler`.

    Source: TensorFlow 1.15, ``tf.contrib.slim.tfexample_decoder.TFExampleDecoder``.

    >>> value = tf.train.Feature(int64_list=tf.train.Int64List(value=[7]))
    >>> example = tf.train.Example(features=tf.train.Features(feature={"class": value}))
    >>> decoder = tf.contrib.slim.tfexample_decoder.TFExampleDecoder(
    ...     {"class": tf.FixedLenFeature([], tf.int64)},
    ...     {"label": tf.contrib.slim.tfexample_decoder.Tensor("class")},
    ... )
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     [label] = decoder.decode(example.SerializeToString(), ["label"])
    ...     int(sess.run(label))
    7
    """

    def __init__(
        self, keys_to_features: Mapping[str, Any], items_to_handlers: Mapping[str, ItemHandler]
    ) -> None:
        self._features, self._handlers = keys_to_features, items_to_handlers

    def list_items(self) -> list[str]:
        """Return the names of all items."""
        return list(self._handlers)

    def decode(self, data: Any, items: Iterable[str] | None = None) -> list[Any]:
        """Return the tensors of items (of all, by default) of an example, [] string."""
        found = parse_single_example(data, self._features)
        for key, feature in sorted(self._features.items()):
            if isinstance(feature, FixedLenFeature):
                found[key] = reshape(found[key], feature.shape)
        handlers = [self._handlers[item] for item in items or self._handlers]
        return [one.tensors_to_item({key: found[key] for key in one.keys}) for one in handlers]
