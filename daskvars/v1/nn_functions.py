"""Functions that `tf.nn` has besides the package's: second forms of others, and small ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from daskvars.dtypes import int32, int64
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.sparse_tensor import SparseTensor, SparseTensorValue
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.ops.array.constant import ones_like, shape, size_along
from daskvars.ops.array.joining import concat, stack
from daskvars.ops.array.padding import pad
from daskvars.ops.array.ranges import sequence_mask
from daskvars.ops.control.map_fn import map_fn
from daskvars.ops.gather_scatter.gather import boolean_mask
from daskvars.ops.gather_scatter.partitioning import unique
from daskvars.ops.gather_scatter.scatter import gather_nd, scatter_nd
from daskvars.ops.math.arithmetic import multiply
from daskvars.ops.math.casting import cast
from daskvars.ops.math.comparison import equal, less, logical_and, not_equal, where, where_v2
from daskvars.ops.math.division import realdiv
from daskvars.ops.math.reduce import reduce_max, reduce_sum
from daskvars.ops.nn import ctc
from daskvars.ops.nn.convolution.adjoints import conv1d_transpose
from daskvars.ops.nn.convolution.functions import conv2d_transpose, conv3d_transpose
from daskvars.ops.nn.weighting import fitted_weights
from daskvars.ops.nn.windows.arguments import PerAxis
from daskvars.ops.nn.windows.pooling_by_rank import (
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    max_pool1d,
    max_pool2d,
    max_pool3d,
)
from daskvars.ops.sparse.indices import SparseLike, as_sparse
from daskvars.surface.accepted import accepts
from daskvars.surface.signatures import with_arguments_of

__all__ = [
    "avg_pool_v2",
    "collapse_repeated",
    "compute_average_loss",
    "conv_transpose",
    "ctc_beam_search_decoder_v2",
    "ctc_loss_v2",
    "ctc_unique_labels",
    "max_pool_v2",
    "scale_regularization_loss",
]

FORMATS = {3: "NWC", 4: "NHWC", 5: "NDHWC"}

# -- windows ---------------------------------------------------------------------------------------


def avg_pool_v2(
    input: TensorLike,
    ksize: PerAxis,
    strides: PerAxis,
    padding: str,
    data_format: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Return the mean of each window of sequences, images or volumes.

    Args:
      input: [batch, *space, channels] floating, with 1 to 3 dimensions of space, or in the order of
        `data_format`.
      ksize: size of a window: an int, one for each dimension of space, or one for all dimensions.
      strides: distance between windows, likewise.
      padding: "SAME" or "VALID"; padding does not count.
      data_format: by default channels are last; "NCW", "NCHW" and "NCDHW" have them first.
      name: name of the operations.

    Returns:
      [batch, *windows, channels] of the dtype of `input`, in the order of `data_format`.

    Raises:
      ValueError: the rank is not known or another, or an argument is none of those.

    Source: TensorFlow 1.15, ``tf.nn.avg_pool_v2``.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     sess.run(tf.nn.avg_pool_v2([[[1.0], [3.0]]], 2, 1, "VALID")).tolist()
    [[[2.0]]]
    """
    forms = (avg_pool1d, avg_pool2d, avg_pool3d)
    return _of_rank(forms, input, data_format)(ksize, strides, padding, name)


@with_arguments_of(avg_pool_v2)
def max_pool_v2(input: TensorLike, data_format: str | None, **arguments: Any) -> Tensor:
    """Return the maximum of each window of sequences, images or volumes.

    Args:
      input: [batch, *space, channels] real, with 1 to 3 dimensions of space, or in the order of
        `data_format`.

    Source: TensorFlow 1.15, ``tf.nn.max_pool_v2``.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     sess.run(tf.nn.max_pool_v2([[[1.0], [3.0]]], 2, 1, "VALID")).tolist()
    [[[3.0]]]
    """
    forms = (max_pool1d, max_pool2d, max_pool3d)
    return _of_rank(forms, input, data_format)(**arguments)


def _of_rank(
    forms: tuple[Callable[..., Tensor], ...], input: TensorLike, data_format: str | None
) -> Callable[..., Tensor]:
    """Return the one of three functions of `input` that is of its rank."""
    value = convert_to_tensor(input, name="input")
    rank = value.get_shape().ndims if data_format is None else len(data_format)
    if rank not in FORMATS:
        raise ValueError(f"Input tensor must be of rank 3, 4 or 5 but was {rank}.")

    def call(ksize: Any, strides: Any, padding: str, name: str | None) -> Tensor:
        given = data_format or FORMATS[rank]
        return forms[rank - 3](value, ksize, strides, padding, given, name)

    return call


def conv_transpose(
    input: TensorLike,
    filters: TensorLike,
    output_shape: Any,
    strides: PerAxis,
    padding: str = "SAME",
    data_format: str | None = None,
    dilations: PerAxis | None = None,
    name: str | None = None,
) -> Tensor:
    """Apply the transpose of a convolution in 1 to 3 dimensions.

    Args:
      input: [batch, *windows, inputs] floating, or in the order of `data_format`.
      filters: [*size, outputs, inputs] of the dtype of `input`.
      output_shape: [n + 2] int32 for n dimensions of space, shape of the result; it may be a
        tensor whose shape is known.
      strides: distance between windows: an int, one for each dimension of space, or one for all
        dimensions.
      padding: "SAME" or "VALID".
      data_format: by default channels are last; "NCW", "NCHW" and "NCDHW" have them first.
      dilations: distance between the taps of a window, likewise.
      name: name of the operations, by default that of the convolution's transpose.

    Returns:
      [*output_shape] of the dtype of `input`.

    Raises:
      ValueError: the shapes do not fit, or `output_shape` has no length of 3 to 5.

    Source: TensorFlow 1.15, ``tf.nn.conv_transpose``.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     y = tf.nn.conv_transpose([[[1.0], [2.0]]], tf.ones([2, 1, 1]), [1, 4, 1], 2)
    ...     sess.run(y).ravel().tolist()
    [1.0, 1.0, 2.0, 2.0]
    """
    is_tensor = hasattr(output_shape, "get_shape")
    rank = output_shape.get_shape().as_list()[0] if is_tensor else len(output_shape)
    if rank not in FORMATS:
        raise ValueError(f"output_shape must be of length 3, 4 or 5 but was {rank}.")
    form = (conv1d_transpose, conv2d_transpose, conv3d_transpose)[rank - 3]
    return form(
        input,
        filters,
        output_shape,
        strides,
        padding=padding,
        data_format=data_format or FORMATS[rank],
        dilations=1 if dilations is None else dilations,
        name=name,
    )


# -- labels without their times --------------------------------------------------------------------


@accepts("unique")
def ctc_loss_v2(
    labels: TensorLike | SparseLike,
    logits: TensorLike,
    label_length: TensorLike | None,
    logit_length: TensorLike,
    logits_time_major: bool = True,
    unique: Any = None,
    blank_index: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Return how unlikely labels are, whenever they may be said: `tf.nn.ctc_loss` of any blank.

    Args:
      labels: [batch, n] integer, dense or sparse: the labels of each sequence in their order.
      logits: [time, batch, classes] floating.
      label_length: [batch] integer, how many labels each sequence has; None if they are sparse.
      logit_length: [batch] integer, how many times each sequence has.
      logits_time_major: False for `logits` of [batch, time, classes].
      blank_index: which class is the blank, counted from the end if it is negative; by default 0,
        and to be given with sparse labels.
      name: name scope of the operations, by default "ctc_loss_v2".

    Returns:
      [batch] of the dtype of `logits`, minus the logarithms of probabilities.

    Raises:
      ValueError: an argument is missing, or the shapes do not fit.
      InvalidArgumentError: (when run) there is no such class, a label is the blank, a sequence has
        no labels, or is too short for them.

    Source: TensorFlow 1.15, ``tf.nn.ctc_loss_v2``.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     loss = tf.nn.ctc_loss_v2([[1]], tf.zeros([2, 1, 2]), [1], [2])
    ...     round(float(sess.run(loss)[0]), 4)  # -log(3 / 4)
    0.2877
    """
    is_sparse = isinstance(labels, SparseTensor | SparseTensorValue)
    if is_sparse and blank_index is None:
        raise ValueError("blank_index must be given when using SparseTensor labels.")
    if not is_sparse and label_length is None:
        raise ValueError("label_length must be given when using dense labels.")
    with name_scope(name, "ctc_loss_v2", [logits, logit_length]):
        x = convert_to_tensor(logits, name="logits")
        given = as_sparse(labels) if is_sparse else _sparse_labels(labels, label_length)
        last = size_along(x, 2) - 1
        blank: Any = blank_index or 0
        if blank < 0:
            blank = blank + last + 1
        x = concat([x[:, :, :blank], x[:, :, blank + 1 :], x[:, :, blank : blank + 1]], 2)
        values = given.values
        behind = where_v2(
            equal(values, cast(blank, values.dtype)), cast(last, values.dtype), values - 1
        )
        moved = where_v2(less(values, cast(blank, values.dtype)), values, behind)
        shifted = SparseTensor(given.indices, moved, given.dense_shape)
        return ctc.ctc_loss(shifted, x, logit_length, time_major=logits_time_major)


def _sparse_labels(labels: Any, label_length: Any) -> SparseTensor:
    dense = cast(convert_to_tensor(labels, name="labels"), int32)
    sizes = shape(dense)
    indices = where(sequence_mask(label_length, sizes[1]))
    return SparseTensor(indices, gather_nd(dense, indices), cast(sizes, int64))


def ctc_beam_search_decoder_v2(
    inputs: TensorLike, sequence_length: TensorLike, beam_width: int = 100, top_paths: int = 1
) -> tuple[list[SparseTensor], Tensor]:
    """Return the likeliest labels of sequences, of which none are merged.

    See `tf.nn.ctc_beam_search_decoder` for the arguments and the results.

    Source: TensorFlow 1.15, ``tf.nn.ctc_beam_search_decoder_v2``.

    >>> sure = [[[9.0, 0.0]], [[0.0, 9.0]], [[9.0, 0.0]]]
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     (labels,), _ = tf.nn.ctc_beam_search_decoder_v2(sure, [3])
    ...     sess.run(labels.values).tolist()
    [0, 0]
    """
    return ctc.ctc_beam_search_decoder(inputs, sequence_length, beam_width, top_paths, False)


def ctc_unique_labels(labels: TensorLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Return the distinct labels of each sequence, and which of them each label is.

    Args:
      labels: [batch, n] integer.
      name: name scope of the operations, by default "ctc_unique_labels".

    Returns:
      [batch, n] int64, the distinct labels and 0 behind them, and [batch, n] int32.

    Source: TensorFlow 1.15, ``tf.nn.ctc_unique_labels``.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     [a.tolist() for a in sess.run(tf.nn.ctc_unique_labels([[5, 7, 5]]))]
    [[[5, 7, 0]], [[0, 1, 0]]]
    """
    with name_scope(name, "ctc_unique_labels", [labels]):
        given = convert_to_tensor(labels, name="labels")
        length = size_along(given, 1)

        def of_sequence(row: Tensor) -> list[Tensor]:
            distinct, places = unique(row)
            padded = pad(distinct, [[0, length - shape(distinct)[0]]])
            return [cast(padded, int64), places]

        dtypes: Any = [int64, int32]
        found, places = map_fn(of_sequence, given, dtype=dtypes)
        found.set_shape(given.get_shape())
        places.set_shape(given.get_shape())
        return found, places


def collapse_repeated(
    labels: TensorLike, seq_length: TensorLike, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Return sequences with labels that are repeated made one, and their lengths.

    Args:
      labels: [batch, n].
      seq_length: [batch] integer, how many labels each sequence has.
      name: name scope of the operations, by default "collapse_repeated_labels".

    Returns:
      [batch, longest] of the dtype of `labels`, with zeros behind a sequence, and [batch] int32.

    Source: TensorFlow 1.15, ``tf.nn.collapse_repeated``.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     found = tf.nn.collapse_repeated([[4, 4, 5, 4], [6, 6, 6, 7]], [4, 3])
    ...     [a.tolist() for a in sess.run(found)]
    [[[4, 5, 4], [6, 0, 0]], [3, 1]]
    """
    with name_scope(name, "collapse_repeated_labels", [labels, seq_length]):
        given = convert_to_tensor(labels, name="labels")
        first = cast(ones_like(given[:, :1]), "bool")
        begins = concat([first, not_equal(given[:, 1:], given[:, :-1])], 1)
        kept = logical_and(begins, sequence_mask(seq_length, size_along(given, 1)))
        lengths = reduce_sum(cast(kept, int32), 1)
        longest = reduce_max(lengths)
        places = where(sequence_mask(lengths, longest))
        sizes = stack([cast(shape(given)[0], int64), cast(longest, int64)])
        found = scatter_nd(places, boolean_mask(given, kept), sizes)
        found.set_shape([given.get_shape().as_list()[0], None])
        return found, lengths


# -- losses of batches that several replicas share -------------------------------------------------


def compute_average_loss(
    per_example_loss: TensorLike,
    sample_weight: TensorLike | None = None,
    global_batch_size: TensorLike | None = None,
) -> Tensor:
    """Return the sum of losses divided by the number of examples. There is one replica.

    Args:
      per_example_loss: [batch, ...] floating.
      sample_weight: [batch, ...] or of a shape that broadcasts with it, factors of the losses; a
        last dimension is added or left out where only that is missing or too much.
      global_batch_size: [] how many examples there are, by default those of `per_example_loss`.

    Returns:
      [] of the dtype of `per_example_loss`.

    Raises:
      ValueError: the losses are a scalar.

    Source: TensorFlow 1.15, ``tf.nn.compute_average_loss``.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     sess.run(tf.nn.compute_average_loss([1.0, 3.0], global_batch_size=8)).tolist()
    0.5
    """
    with name_scope("compute_average_loss", values=[per_example_loss]):
        losses = convert_to_tensor(per_example_loss)
        if losses.get_shape().ndims == 0:
            raise ValueError(
                "Invalid value passed for `per_example_loss`. Expected a tensor with at least "
                "rank 1, got a scalar"
            )
        if sample_weight is not None:
            losses = multiply(losses, cast(fitted_weights(sample_weight, losses), losses.dtype))
        count = size_along(losses, 0) if global_batch_size is None else global_batch_size
        return realdiv(reduce_sum(losses), cast(count, losses.dtype))


def scale_regularization_loss(regularization_loss: TensorLike) -> Tensor:
    """Return the sum of losses, of which each replica has its share. There is one replica.

    Args:
      regularization_loss: [...] floating, or a list of such.

    Returns:
      [] of that dtype.

    Source: TensorFlow 1.15, ``tf.nn.scale_regularization_loss``.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     sess.run(tf.nn.scale_regularization_loss([1.0, 2.0])).tolist()
    3.0
    """
    return reduce_sum(regularization_loss)
