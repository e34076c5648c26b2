"""Slim's layers without weights, layers of layers, and initializers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from daskvars import dtypes
from daskvars.dtypes import DTypeLike, as_dtype, float32, int32, int64
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.sparse_tensor import SparseTensor
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.layers.dropout import Dropout
from daskvars.layers.flatten import flatten as flatten_batch
from daskvars.ops.array.constant import shape as shape_of
from daskvars.ops.array.joining import concat
from daskvars.ops.array.one_hot import one_hot
from daskvars.ops.array.ranges import linspace
from daskvars.ops.array.repeating import meshgrid
from daskvars.ops.array.reshaping import identity, reshape
from daskvars.ops.array.transposing import transpose
from daskvars.ops.control.custom_gradient import custom_gradient
from daskvars.ops.gather_scatter.scatter import gather_nd
from daskvars.ops.math.arithmetic import multiply
from daskvars.ops.math.casting import cast
from daskvars.ops.math.comparison import not_equal, where
from daskvars.ops.math.division import divide
from daskvars.ops.math.reduce import reduce_max, reduce_sum
from daskvars.ops.nn.softmax import softmax as softmax_of
from daskvars.ops.nn.windows.pooling import avg_pool as op_avg_pool, max_pool as op_max_pool
from daskvars.ops.nn.windows.pooling_by_rank import (
    avg_pool3d as op_avg_pool3d,
    max_pool3d as op_max_pool3d,
    pool as pool_windows,
)
from daskvars.v1.contrib.arg_scopes import add_arg_scope
from daskvars.v1.contrib.networks.collected import (
    collect_named_outputs,
    get_variable_collections,
    last_dimension,
    n_positive_integers,
)
from daskvars.v1.contrib.networks.slim_layers import model_variable_getter, plain
from daskvars.v1.contrib.networks.weighted_layers import check_format
from daskvars.v1.contrib.variables.model_variables import model_variable
from daskvars.variables.initializers import TRUNCATED_STDDEV, Constant, Ones, VarianceScaling
from daskvars.variables.scopes.variable_scope import variable_scope

# -- pooling -------------------------------------------------------------------------------------


def _pooling(name: str, scope: str, op: Any, formats: tuple[str, str]) -> Any:
    """Return the pooling of images or volumes by an op."""
    what = "greatest value" if name.startswith("max") else "mean"
    rank = len(formats[0]) - 2

    def pooled(
        inputs: Tensor, kernel_size: Any, stride: Any, padding: str, data_format: str
    ) -> Tensor:
        check_format(data_format, *formats)

        def spread(size: tuple[int, ...]) -> list[int]:
            return [1, 1, *size] if data_format == formats[0] else [1, *size, 1]

        sizes = [n_positive_integers(rank, size) for size in (kernel_size, stride)]
        return op(inputs, *map(spread, sizes), padding.upper(), data_format)

    pooled.__name__ = pooled.__qualname__ = name
    pooled.__doc__ = f"Return the {what} of each window of each channel."
    order = (
        f"inputs kernel_size stride=2 padding='VALID' data_format={formats[1]!r} "
        "outputs_collections scope"
    )
    return plain(scope, order)(pooled)


_IMAGES, _VOLUMES = ("NCHW", "NHWC"), ("NCDHW", "NDHWC")
avg_pool2d = _pooling("avg_pool2d", "AvgPool2D", op_avg_pool, _IMAGES)
avg_pool3d = _pooling("avg_pool3d", "AvgPool3D", op_avg_pool3d, _VOLUMES)
max_pool2d = _pooling("max_pool2d", "MaxPool2D", op_max_pool, _IMAGES)
max_pool3d = _pooling("max_pool3d", "MaxPool3D", op_max_pool3d, _VOLUMES)


@add_arg_scope
def pool(
    inputs: TensorLike,
    kernel_size: Any,
    pooling_type: str,
    padding: str = "VALID",
    data_format: str | None = None,
    dilation_rate: Any = 1,
    stride: Any = 1,
    outputs_collections: Any = None,
    scope: str | None = None,
) -> Tensor:
    """Return the greatest value or the mean of each window, in any number of dimensions.

    Args:
      inputs: [batch, ..., channels] floating, or in the order of `data_format`.
      kernel_size: size of the window, one or one for each dimension.
      pooling_type: "MAX" or "AVG".
      padding, data_format: see `nn.pool`.
      dilation_rate, stride: distances in and between windows, likewise.
      outputs_collections: collections for the output.
      scope: name scope, by default "max_pool" or "avg_pool".

    Raises:
      ValueError: the rank is not known, or below 3.
    """
    with name_scope(scope, f"{pooling_type.lower()}_pool", [inputs]) as opened:
        inputs = convert_to_tensor(inputs)
        rank = inputs.get_shape().ndims
        if rank is None:
            raise ValueError("Rank of inputs must be known")
        if rank < 3:
            raise ValueError("Rank of inputs must be >= 3")
        window, rate, step = (
            n_positive_integers(rank - 2, sizes) for sizes in (kernel_size, dilation_rate, stride)
        )
        outputs = pool_windows(
            inputs, window, pooling_type, padding, rate, step, opened, data_format
        )
        return collect_named_outputs(outputs_collections, opened, outputs)


# -- other arrangements of the same values -------------------------------------------------------


@plain("Flatten", "inputs outputs_collections scope")
def flatten(inputs: Tensor) -> Tensor:
    """Return [batch, values]: all but the batch in one dimension.

    Returns:
      [batch, values], of the inputs' dtype.

    Raises:
      ValueError: there is no batch dimension.
    """
    return flatten_batch(inputs)


@plain("OneHotEncoding", "labels num_classes on_value off_value outputs_collections scope")
def one_hot_encoding(
    labels: Tensor, num_classes: int, on_value: float = 1.0, off_value: float = 0.0
) -> Tensor:
    """Return a row for each label that has `on_value` at its place, and `off_value` elsewhere.

    Args:
      labels: [...] integer.
      num_classes: size of the rows.
      on_value, off_value: the two values.

    Returns:
      [..., num_classes], of the dtype of `on_value`.
    """
    labels = cast(labels, int64) if labels.dtype == int32 else labels
    return one_hot(labels, num_classes, on_value=on_value, off_value=off_value)


@add_arg_scope
def dense_to_sparse(
    tensor: TensorLike, eos_token: Any = 0, outputs_collections: Any = None, scope: Any = None
) -> SparseTensor:
    """Return a SparseTensor of the elements that are not `eos_token`.

    Args:
      tensor: [...] of any dtype.
      eos_token: the value to leave out.
      outputs_collections: collections for the output.
      scope: name of the scope, by default "dense_to_sparse".
    """
    with variable_scope(scope, "dense_to_sparse", [tensor]) as opened:
        outputs = _sparse(convert_to_tensor(tensor), eos_token)
        return collect_named_outputs(outputs_collections, opened.name, outputs)


def dense_to_sparse_tensor(dense_tensor: TensorLike, ignore_value: Any = None) -> SparseTensor:
    """Return a SparseTensor of the elements that are not `ignore_value`, by default zero or "".

    Args:
      dense_tensor: [...] of any dtype.
      ignore_value: the value to leave out.
    """
    with name_scope("DenseToSparseTensor"):
        tensor = convert_to_tensor(dense_tensor)
        if ignore_value is None:
            ignore_value = "" if tensor.dtype == dtypes.string else 0
        return _sparse(tensor, ignore_value)


def _sparse(tensor: Tensor, left_out: Any) -> SparseTensor:
    places = where(not_equal(tensor, convert_to_tensor(left_out, tensor.dtype)))
    values = gather_nd(tensor, places)
    return SparseTensor(places, values, shape_of(tensor, out_type=int64))


def _known(inputs: Tensor, axis: int) -> int:
    size = inputs.get_shape().as_list()[axis]
    if size is None:
        raise ValueError(f"dimension {axis} of {inputs} must be known")
    return size


@plain("ImagesToSequence", "inputs data_format='NHWC' outputs_collections scope")
def images_to_sequence(inputs: Tensor, data_format: str) -> Tensor:
    """Return the columns of images as a sequence: [width, batch * height, channels].

    Returns:
      [width, batch * height, channels], of the inputs' dtype.

    Raises:
      ValueError: `data_format` is unknown.
    """
    check_format(data_format)
    if data_format == "NCHW":
        inputs = transpose(inputs, [0, 2, 3, 1])
    width, depth = (_known(inputs, axis) for axis in (2, 3))
    sizes = shape_of(inputs)
    return reshape(transpose(inputs, [2, 0, 1, 3]), [width, sizes[0] * sizes[1], depth])


@plain("SequenceToImages", "inputs height output_data_format outputs_collections scope")
def sequence_to_images(
    inputs: Tensor, height: int, output_data_format: str = "channels_last"
) -> Tensor:
    """Return a sequence as images: what `images_to_sequence` was given.

    Args:
      inputs: [width, batch * height, channels].
      height: of the images.
      output_data_format: "channels_last" or "channels_first".

    Returns:
      Images of that height, of the inputs' dtype.
    """
    batches = inputs.get_shape().as_list()[1]
    width, depth = (_known(inputs, axis) for axis in (0, 2))
    batch = -1 if batches is None else batches // height
    order = [1, 3, 2, 0] if output_data_format == "channels_first" else [1, 2, 0, 3]
    return transpose(reshape(inputs, [width, batch, height, depth]), order)


# -- functions of the values ---------------------------------------------------------------------


@add_arg_scope
def dropout(
    inputs: TensorLike,
    keep_prob: Any = 0.5,
    noise_shape: TensorLike | None = None,
    is_training: Any = True,
    outputs_collections: Any = None,
    scope: Any = None,
    seed: int | None = None,
) -> Tensor:
    """Keep each element with a probability, and scale it up; drop the others.

    Args:
      inputs: [...] floating.
      keep_prob: the probability.
      noise_shape, seed: see `nn.dropout`.
      is_training: bool or scalar bool tensor: otherwise nothing is dropped.
      outputs_collections: collections for the output.
      scope: name of the scope, by default "Dropout".
    """
    getter = model_variable_getter({})
    with variable_scope(scope, "Dropout", [inputs], custom_getter=getter) as opened:
        rate = 1 - keep_prob
        layer: Any = Dropout(rate, noise_shape, seed, name=opened.name, _scope=opened)
        outputs = layer(convert_to_tensor(inputs), training=is_training)
        return collect_named_outputs(outputs_collections, opened.name, outputs)


@add_arg_scope
def softmax(logits: TensorLike, scope: Any = None) -> Tensor:
    """Return probabilities along the last axis.

    Args:
      logits: [..., classes] floating, of at least rank 2.
      scope: name of the scope, by default "softmax".

    Raises:
      ValueError: the rank is smaller, or the number of classes not known.
    """
    with variable_scope(scope, "softmax", [logits]):
        logits = convert_to_tensor(logits)
        last_dimension(logits.get_shape(), min_rank=2)
        return softmax_of(logits)


@add_arg_scope
def spatial_softmax(
    features: TensorLike,
    temperature: float | None = None,
    name: Any = None,
    variables_collections: Any = None,
    trainable: bool = True,
    data_format: str = "NHWC",
) -> Tensor:
    """Return where in an image each channel is large: the expected place under a softmax.

    Variables: `temperature`, a scalar.

    Args:
      features: [batch, height, width, channels] float32, or in the order of `data_format`.
      temperature: initial value of the variable, by default 1.
      name: name of the variable scope, by default "spatial_softmax".
      variables_collections: collections for the variable.
      trainable: whether it is trained.
      data_format: "NHWC" or "NCHW".

    Returns:
      [batch, channels * 2] float32: height and width of the place, from -1 to 1.

    Raises:
      ValueError: `data_format` is unknown, or the number of channels not known.

    Source: Finn et al., "Deep Spatial Autoencoders for Visuomotor Learning", 2016.
    """
    check_format(data_format)
    with variable_scope(name, "spatial_softmax", [features]):
        features = convert_to_tensor(features)
        channels = features.get_shape().as_list()[1 if data_format == "NCHW" else 3]
        if channels is None:
            raise ValueError(
                "The num_channels dimension of the inputs to `spatial_softmax` should be defined."
            )
        if data_format == "NHWC":
            features = transpose(features, [0, 3, 1, 2])
        collections = get_variable_collections(variables_collections, "temperature")
        with name_scope("spatial_softmax_op"):
            sizes = shape_of(features)
            lines = (linspace(-1.0, 1.0, num=sizes[i]) for i in (2, 3))
            places = meshgrid(*lines, indexing="ij")
            variable = model_variable(
                "temperature",
                (),
                float32,
                Ones() if temperature is None else Constant(temperature),
                collections=collections if trainable else None,
                trainable=trainable,
            )
            flat = reshape(features, [-1, sizes[2] * sizes[3]])
            attention = softmax_of(divide(flat, variable))
            expected = [
                reduce_sum(multiply(reshape(place, [-1]), attention), [1], keepdims=True)
                for place in places
            ]
            result = reshape(concat(expected, 1), [-1, channels * 2])
            result.set_shape([None, channels * 2])
            return result


@add_arg_scope
def maxout(inputs: TensorLike, num_units: int, axis: int = -1, scope: Any = None) -> Tensor:
    """Return the greatest of each group of values along an axis.

    Args:
      inputs: [...] number.
      num_units: number of groups, which divides the size of the axis.
      axis: the axis.
      scope: name of the scope, by default "MaxOut".

    Raises:
      ValueError: it does not divide it.

    Source: Goodfellow et al., "Maxout Networks", 2013.
    """
    with variable_scope(scope, "MaxOut", [inputs]):
        inputs = convert_to_tensor(inputs)
        sizes: list[Any] = inputs.get_shape().as_list()
        channels = sizes[axis]
        if channels % num_units:
            raise ValueError(
                f"number of features({channels}) is not a multiple of num_units({num_units})"
            )
        dynamic = shape_of(inputs)
        sizes = [dynamic[i] if n is None else n for i, n in enumerate(sizes)]
        sizes[axis] = num_units
        return reduce_max(reshape(inputs, [*sizes, channels // num_units]), -1)


def scale_gradient(inputs: TensorLike, gradient_multiplier: Any) -> Tensor:
    """Return `inputs`, whose gradient is multiplied with a number.

    Args:
      inputs: [...] floating.
      gradient_multiplier: the number.
    """

    @custom_gradient
    def scaled(x: Tensor) -> Any:
        return identity(x), lambda dy: multiply(dy, gradient_multiplier)

    return scaled(convert_to_tensor(inputs))


# -- layers of layers ----------------------------------------------------------------------------


def repeat(
    inputs: TensorLike, repetitions: int, layer: Callable[..., Any], *args: Any, **kwargs: Any
) -> Any:
    """Apply the same layer again and again, with variables of its own each time.

    Args:
      inputs: input of the first.
      repetitions: how often.
      layer: a layer that takes a ``scope``.
      *args: its other arguments.
      **kwargs: likewise; with a ``scope`` the variables are under it, and numbered names in it.

    >>> slim = tf.contrib.slim
    >>> with tf.Graph().as_default():
    ...     _ = slim.repeat(tf.ones([1, 3]), 2, slim.fully_connected, 4, scope="fc")
    ...     [v.op.name for v in slim.get_variables_by_name("weights")]
    ['fc/fc_1/weights', 'fc/fc_2/weights']
    """
    return _applied(inputs, layer, [args] * repetitions, "Repeat", "repeat", kwargs)


def stack(
    inputs: TensorLike, layer: Callable[..., Any], stack_args: Sequence[Any], **kwargs: Any
) -> Any:
    """Apply a layer again and again, with other arguments each time.

    Args:
      inputs: input of the first.
      layer: a layer that takes a ``scope``.
      stack_args: its arguments each time, one or a list of them.
      **kwargs: those that are always the same; as for `repeat`.

    Raises:
      ValueError: `stack_args` is no list.

    >>> slim = tf.contrib.slim
    >>> with tf.Graph().as_default():
    ...     slim.stack(tf.ones([2, 3]), slim.fully_connected, [8, 4]).shape.as_list()
    [2, 4]
    """
    if not isinstance(stack_args, list | tuple):
        raise ValueError(f"stack_args need to be a list or tuple, got {stack_args!r}")
    each = [a if isinstance(a, list | tuple) else [a] for a in stack_args]
    return _applied(inputs, layer, each, "Stack", "stack", kwargs)


def _applied(
    inputs: Any, layer: Any, each: Any, default: str, otherwise: str, kwargs: dict[str, Any]
) -> Any:
    scope = kwargs.pop("scope", None)
    with variable_scope(scope, default, [inputs]):
        outputs = convert_to_tensor(inputs)
        if scope is None:
            scope = getattr(getattr(layer, "func", layer), "__name__", otherwise)
        for number, args in enumerate(each, start=1):
            outputs = layer(outputs, *args, **{**kwargs, "scope": f"{scope}_{number}"})
        return outputs


# -- initializers --------------------------------------------------------------------------------


def xavier_initializer(
    uniform: bool = True, seed: int | None = None, dtype: DTypeLike = float32
) -> VarianceScaling:
    """Return the initializer that keeps the variance of values through layers: Glorot's.

    Args:
      uniform: a uniform distribution rather than a normal one.
      seed: of the random numbers.
      dtype: floating.

    Source: Glorot and Bengio, "Understanding the difficulty of training deep feedforward neural
    networks", 2010.
    """
    return variance_scaling_initializer(1.0, "FAN_AVG", uniform, seed, dtype)


xavier_initializer_conv2d = xavier_initializer


def variance_scaling_initializer(
    factor: float = 2.0,
    mode: str = "FAN_IN",
    uniform: bool = False,
    seed: int | None = None,
    dtype: DTypeLike = float32,
) -> VarianceScaling:
    """Return an initializer whose variance is ``factor / n``.

    Args:
      factor: 2 for rectified layers.
      mode: n is the number of inputs ("FAN_IN"), of outputs ("FAN_OUT") or their mean ("FAN_AVG").
      uniform: a uniform distribution rather than a normal one without its tails.
      seed: of the random numbers.
      dtype: floating.

    Raises:
      TypeError: the mode is unknown, or the dtype not floating.
    """
    if not as_dtype(dtype).is_floating:
        raise TypeError("Cannot create initializer for non-floating point type.")
    if mode not in ("FAN_IN", "FAN_OUT", "FAN_AVG"):
        raise TypeError(f"Unknown mode {mode} [FAN_IN, FAN_OUT, FAN_AVG]")
    if uniform:
        return VarianceScaling(factor, mode.lower(), "uniform", seed, dtype)
    # The tails that are cut off are made up for by 1.3, where the core divides by what is left.
    scale = factor * 1.3 * TRUNCATED_STDDEV**2
    return VarianceScaling(scale, mode.lower(), "truncated_normal", seed, dtype)
