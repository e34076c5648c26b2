"""Slim's layers that normalize: by the batch, the layer, instances, groups, or the norm."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from daskvars.dtypes import float16, float32
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.scopes.collections import GraphKeys
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Tensor
from daskvars.layers.normalization.batch_normalization import BatchNormalization
from daskvars.layers.training_phase import chosen, in_phase, known_phase
from daskvars.ops.array.constant import constant, ones_like, shape as shape_of
from daskvars.ops.array.reshaping import identity, reshape
from daskvars.ops.control.dependencies import control_dependencies
from daskvars.ops.math.arithmetic import add, minimum, multiply, square
from daskvars.ops.math.division import divide
from daskvars.ops.math.moments import (
    moments,
    normalize_moments,
    sufficient_statistics,
    weighted_moments,
)
from daskvars.ops.math.reduce import reduce_sum
from daskvars.ops.math.transcendental import rsqrt, sqrt
from daskvars.ops.nn.normalization.batch_norm import batch_moments, fused_batch_norm
from daskvars.ops.nn.normalization.moments import batch_normalization
from daskvars.shapes import TensorShape
from daskvars.surface.signatures import Argument, Family
from daskvars.train.optimizers.moving_averages import assign_moving_average
from daskvars.v1.contrib.arg_scopes import add_arg_scope
from daskvars.v1.contrib.networks.collected import add_to_collections
from daskvars.v1.contrib.networks.slim_layers import (
    COMMON,
    SHARED,
    activated,
    model_variable_getter,
    own_variable,
)
from daskvars.v1.contrib.networks.weighted_layers import check_format, core_format
from daskvars.variables.colocation import owner
from daskvars.variables.initializers import Ones, Zeros
from daskvars.variables.scopes.scope_stack import get_variable_scope
from daskvars.variables.scopes.variable_scope import variable_scope

_INITIAL = {"beta": Zeros(), "gamma": Ones(), "moving_mean": Zeros(), "moving_variance": Ones()}
_DICT = "Mapping[str, Any] | None"
NORMALIZED = Family(
    {
        **SHARED,
        "activation_fn": Argument("function of the output; None leaves it as it is.", None, "Any"),
        "data_format": Argument(
            '"NHWC" or "NCHW": the last or the second axis is that of channels.', "NHWC", "str"
        ),
        "center": Argument("whether there is a `beta`, a shift.", True, "bool"),
        "scale": Argument("whether there is a `gamma`, a factor.", True, "bool"),
        "epsilon": Argument("added to the variance.", 1e-6, "float"),
        "param_initializers": Argument("initializers of variables, by their names.", None, _DICT),
        "param_regularizers": Argument(
            "functions of `beta` and `gamma` that give losses, by name.", None, _DICT
        ),
        "decay": Argument("how much of a moving average stays in one update.", 0.999, "Any"),
        "updates_collections": Argument(
            "collections for the updates of the moving averages; None updates with each output.",
            GraphKeys.UPDATE_OPS,
            "Any",
        ),
        "is_training": Argument(
            "bool or scalar bool tensor: take the moments of the batch.", True, "Any"
        ),
        "batch_weights": Argument("[batch] weights of examples in the moments.", None, "Any"),
        "fused": Argument("False never takes the one op for images.", None, "bool | None"),
        "zero_debias_moving_mean": Argument(
            "whether the moving mean, which starts at zero, is corrected for that.", False, "bool"
        ),
        "renorm": Argument("see `layers.BatchNormalization`.", False, "bool"),
        "renorm_clipping": Argument("see there.", None, _DICT),
        "renorm_decay": Argument("see there, ``renorm_momentum``.", 0.99, "float"),
        "adjustment": Argument("see there.", None, "Any"),
        "begin_norm_axis": Argument("the first axis to normalize over.", 1, "int"),
        "begin_params_axis": Argument("the first axis of `beta` and `gamma`.", -1, "int"),
        "groups": Argument("number of groups.", 32, "int"),
        "channels_axis": Argument("the axis of the channels.", -1, "int"),
        "reduction_axes": Argument(
            "the axes to normalize over, beside the channels of a group.", (-3, -2), "Sequence[int]"
        ),
        "mean_close_to_zero": Argument(
            "whether the variance may be found in one pass, from the sum of squares.", False, "bool"
        ),
    },
    returns="As `inputs`, of their shape and dtype, after the activation.",
    result="Tensor",
)


def _rank(inputs: Tensor) -> int:
    rank = inputs.get_shape().ndims
    if rank is None:
        raise ValueError(f"Inputs {inputs.name} has undefined rank.")
    return rank


def _normalization(default: str, order: str) -> Any:
    """Make a layer of a function of the inputs as a tensor, and all arguments by name."""

    def decorate(own: Any) -> Any:
        def call(given: dict[str, Any]) -> Any:
            given["inputs"] = convert_to_tensor(given["inputs"])
            _rank(given["inputs"])
            return own(given["inputs"], given)

        made = NORMALIZED.function(
            __name__, own.__name__, order, call, own.__doc__, default=default
        )
        return add_arg_scope(made)

    return decorate


def _parameter(given: Mapping[str, Any], name: str, shape: Any, dtype: Any, **kwargs: Any) -> Any:
    """Return one of the variables of a normalization."""
    initializers = given.get("param_initializers") or {}
    regularizers = given.get("param_regularizers") or {}
    initial = initializers.get(name, _INITIAL[name])
    return own_variable(given, name, shape, initial, dtype, regularizers.get(name), **kwargs)


def _shift_and_factor(given: Mapping[str, Any], shape: Any, dtype: Any) -> tuple[Any, Any]:
    """Return `beta` and `gamma`, None for what there is none of."""
    beta = _parameter(given, "beta", shape, dtype) if given["center"] else None
    return beta, _parameter(given, "gamma", shape, dtype) if given["scale"] else None


def _channels(inputs: Tensor, axis: int) -> int:
    size = inputs.get_shape().as_list()[axis]
    if size is None:
        raise ValueError(f"Inputs {inputs.name} has undefined channels dimension {axis}.")
    return size


# -- by the batch --------------------------------------------------------------------------------


@_normalization(
    "BatchNorm",
    "inputs decay center scale=False epsilon=0.001 activation_fn param_initializers "
    "param_regularizers updates_collections is_training reuse variables_collections "
    "outputs_collections trainable batch_weights fused data_format zero_debias_moving_mean scope "
    "renorm renorm_clipping renorm_decay adjustment",
)
def batch_norm(inputs: Tensor, given: dict[str, Any]) -> Any:
    """Normalize each channel by the batch's moments in training, by moving averages otherwise.

    Variables: `beta` and `gamma`, ``moving_mean`` and ``moving_variance``, each [channels].

    Raises:
      ValueError: `data_format` is unknown, the rank or the number of channels is not known, or
        `renorm` comes with weights, immediate updates or `zero_debias_moving_mean`.

    Source: Ioffe and Szegedy, "Batch Normalization", 2015.

    >>> with tf.Graph().as_default():
    ...     y = tf.contrib.layers.batch_norm(tf.ones([8, 3]))
    ...     len(tf.get_collection("update_ops")), [v.op.name for v in tf.model_variables()]
    (2, ['BatchNorm/beta', 'BatchNorm/moving_mean', 'BatchNorm/moving_variance'])
    """
    check_format(given["data_format"])
    rank = _rank(inputs)
    is_fused = given["fused"] is not False and rank in (2, 4) and given["batch_weights"] is None
    is_fused = is_fused and not given["renorm"] and given["adjustment"] is None
    is_plain = given["updates_collections"] == GraphKeys.UPDATE_OPS
    is_plain = is_plain and not given["zero_debias_moving_mean"] and given["batch_weights"] is None
    if is_plain and not (is_fused and rank == 2):
        return _of_the_core(inputs, given)
    if given["renorm"]:
        raise ValueError(
            "renorm is not supported with batch_weights, updates_collections or "
            "zero_debias_moving_mean"
        )
    with variable_scope(given["scope"], "BatchNorm", [inputs], reuse=given["reuse"]) as scope:
        shape = inputs.get_shape()
        normalized = (_fused if is_fused else _weighted)(inputs, given)
        outputs, averages, found = normalized
        outputs = _updated(outputs, averages, found, given)
        outputs.set_shape(shape)
        return activated(outputs, given, scope)


def _of_the_core(inputs: Tensor, given: dict[str, Any]) -> Any:
    """Normalize by the core's layer, whose updates wait in the usual collection."""
    getter = model_variable_getter({})
    initial = {**_INITIAL, **(given["param_initializers"] or {})}
    regularizers = given["param_regularizers"] or {}
    with variable_scope(
        given["scope"], "BatchNorm", [inputs], reuse=given["reuse"], custom_getter=getter
    ) as scope:
        layer: Any = BatchNormalization(
            axis=1 if given["data_format"] == "NCHW" else -1,
            momentum=given["decay"],
            epsilon=given["epsilon"],
            **{name: given[name] for name in ("center", "scale", "trainable", "fused", "renorm")},
            **{name: given[name] for name in ("renorm_clipping", "adjustment")},
            renorm_momentum=given["renorm_decay"],
            **{f"{name}_initializer": value for name, value in initial.items()},
            beta_regularizer=regularizers.get("beta"),
            gamma_regularizer=regularizers.get("gamma"),
            name=scope.name,
            _scope=scope,
            _reuse=given["reuse"],
        )
        outputs = layer(inputs, training=given["is_training"])
        for name in _INITIAL:
            if getattr(layer, name) is not None:
                add_to_collections(getattr(layer, name), given["variables_collections"], name)
        return activated(outputs, given, scope)


def _averages(given: Mapping[str, Any], shape: Any, dtype: Any) -> tuple[Any, Any]:
    """Return ``moving_mean`` and ``moving_variance``, which are never cut."""
    with variable_scope(get_variable_scope()) as scope:
        scope.set_partitioner(None)
        names = "moving_mean", "moving_variance"
        mean, variance = (_parameter(given, n, shape, dtype, trainable=False) for n in names)
        return mean, variance


def _fused(inputs: Tensor, given: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    """Return what is normalized by the op for images, the averages, and what they move to."""
    data_format = given["data_format"]
    is_matrix = inputs.get_shape().ndims == 2
    channels = _channels(inputs, 1 if is_matrix or data_format == "NCHW" else -1)
    images = inputs
    if is_matrix:
        one = [-1, channels, 1, 1] if data_format == "NCHW" else [-1, 1, 1, channels]
        images = reshape(inputs, one)
    beta, gamma = _shift_and_factor(given, [channels], float32)
    beta = constant(0.0, float32, [channels]) if beta is None else beta
    gamma = constant(1.0, float32, [channels]) if gamma is None else gamma
    averages = _averages(given, [channels], float32)
    options: dict[str, Any] = {"epsilon": given["epsilon"], "data_format": data_format}
    training = given["is_training"]
    if known_phase(training):
        outputs, *found = fused_batch_norm(images, gamma, beta, **options)
    else:
        mean, variance = (average.value() for average in averages)
        found = [mean, variance]
        if known_phase(training) is None:
            batch_mean, biased, unbiased = batch_moments(images, float32, data_format)
            found = [batch_mean, unbiased]
            mean = chosen(training, batch_mean, mean)
            variance = chosen(training, biased, variance)
        outputs, _, _ = fused_batch_norm(
            images, gamma, beta, mean, variance, is_training=False, **options
        )
    return (reshape(outputs, shape_of(inputs)) if is_matrix else outputs), averages, found


def _weighted(inputs: Tensor, given: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    """Return what is normalized by moments in which examples have weights; the rest as `_fused`."""
    shape, rank, dtype = inputs.get_shape(), _rank(inputs), inputs.dtype.base_dtype
    axis = 1 if given["data_format"] == "NCHW" else rank - 1
    channels = _channels(inputs, axis)
    others = [i for i in range(rank) if i != axis]
    weights = given["batch_weights"]
    if weights is not None:
        weights = convert_to_tensor(weights)
        shape[0:1].assert_is_compatible_with(weights.get_shape())
        weights = reshape(weights, [-1, *[1] * (rank - 1)])
    beta, gamma = _shift_and_factor(given, [channels], dtype)
    averages = _averages(given, [channels], dtype)
    mean, variance = found = tuple(average.value() for average in averages)
    training = given["is_training"]
    if known_phase(training) is not False:
        if weights is None:
            found = moments(inputs, others)
        else:
            found = weighted_moments(inputs, others, weights)
        mean, variance = chosen(training, found[0], mean), chosen(training, found[1], variance)

    def spread(value: Any) -> Any:
        if value is None or axis == rank - 1:
            return value
        return reshape(value, [channels if i == axis else 1 for i in range(rank)])

    mean, variance, beta, gamma = map(spread, (mean, variance, beta, gamma))
    outputs = batch_normalization(inputs, mean, variance, beta, gamma, given["epsilon"])
    return outputs, averages, found


def _updated(outputs: Tensor, averages: Any, found: Any, given: Mapping[str, Any]) -> Tensor:
    """Move the averages: in training with the outputs, or by operations in collections."""
    training, collections = given["is_training"], given["updates_collections"]
    if known_phase(training) is False:
        return outputs

    def moved(average: Any, value: Tensor, zero_debias: bool) -> Any:
        return in_phase(
            training,
            lambda: assign_moving_average(average, value, given["decay"], zero_debias),
            lambda: average.value(),
        )

    of_mean = moved(averages[0], found[0], given["zero_debias_moving_mean"])
    updates = [of_mean, moved(averages[1], found[1], False)]
    if collections is None:
        with control_dependencies(updates):
            return identity(outputs)
    for update in updates:
        owner().add_to_collections(collections, update)
    return outputs


# -- by each example -----------------------------------------------------------------------------


@_normalization(
    "LayerNorm",
    f"inputs center scale activation_fn {COMMON} begin_norm_axis begin_params_axis scope",
)
def layer_norm(inputs: Tensor, given: dict[str, Any]) -> Any:
    """Normalize each example over its axes from `begin_norm_axis` on.

    Variables: `beta` and `gamma`, of the sizes of the axes from `begin_params_axis` on.

    Raises:
      ValueError: an axis does not exist, or those sizes are not known.

    Source: Ba et al., "Layer Normalization", 2016.
    """
    shape, dtype = inputs.get_shape(), inputs.dtype.base_dtype
    rank, first, of_parameters = _rank(inputs), given["begin_norm_axis"], given["begin_params_axis"]
    with variable_scope(given["scope"], "LayerNorm", [inputs], reuse=given["reuse"]) as scope:
        first += rank if first < 0 else 0
        if of_parameters >= rank or first >= rank:
            raise ValueError(
                f"begin_params_axis ({of_parameters}) and begin_norm_axis ({first}) must be < "
                f"rank(inputs) ({rank})"
            )
        sizes = shape[of_parameters:]
        if not sizes.is_fully_defined():
            raise ValueError(
                f"Inputs {inputs.name}: shape(inputs)[{of_parameters}:] is not fully defined: "
                f"{shape}"
            )
        beta, gamma = _shift_and_factor(given, sizes, dtype)
        mean, variance = moments(inputs, list(range(first, rank)), keepdims=True)
        epsilon = 1e-3 if dtype is float16 else 1e-12
        outputs = batch_normalization(inputs, mean, variance, beta, gamma, epsilon)
        outputs.set_shape(shape)
        return activated(outputs, given, scope)


@_normalization(
    "InstanceNorm",
    f"inputs center scale epsilon activation_fn param_initializers {COMMON} data_format scope",
)
def instance_norm(inputs: Tensor, given: dict[str, Any]) -> Any:
    """Normalize each channel of each example.

    Variables: `beta` and `gamma`, [channels].

    Raises:
      ValueError: `data_format` is unknown, or the number of channels is not known.

    Source: Ulyanov et al., "Instance Normalization", 2016.
    """
    check_format(given["data_format"])
    rank, dtype = _rank(inputs), inputs.dtype.base_dtype
    axis = 1 if core_format(given["data_format"]) == "channels_first" else rank - 1
    channels = _channels(inputs, axis)
    with variable_scope(given["scope"], "InstanceNorm", [inputs], reuse=given["reuse"]) as scope:
        beta, gamma = _shift_and_factor(given, [channels], dtype)
        if axis == 1 and rank > 2:
            spread = [1, channels, *[1] * (rank - 2)]
            beta, gamma = (v if v is None else reshape(v, spread) for v in (beta, gamma))
        axes = [i for i in range(1, rank) if i != axis]
        mean, variance = moments(inputs, axes, keepdims=True)
        outputs = batch_normalization(
            inputs, mean, variance, beta, gamma, given["epsilon"], "instancenorm"
        )
        outputs.set_shape(inputs.get_shape())
        return activated(outputs, given, scope)


@_normalization(
    "GroupNorm",
    "inputs groups channels_axis reduction_axes center scale epsilon activation_fn "
    f"param_initializers {COMMON} scope mean_close_to_zero",
)
def group_norm(inputs: Tensor, given: dict[str, Any]) -> Any:
    """Normalize groups of channels of each example.

    Variables: `beta` and `gamma`, [channels].

    Raises:
      ValueError: an axis does not exist or is there twice, the groups do not divide the channels,
        or a size is not known.

    Source: Wu and He, "Group Normalization", 2018.
    """
    shape, dtype, groups = inputs.get_shape(), inputs.dtype.base_dtype, given["groups"]
    rank = _rank(inputs)
    axis = _axis(given["channels_axis"], rank)
    channels = _channels(inputs, axis)
    reduced = [_axis(a, rank) for a in given["reduction_axes"]]
    for other in reduced:
        if shape.as_list()[other] is None:
            raise ValueError(f"Inputs {inputs.name} has undefined dimensions {other}.")
        if other == axis:
            raise ValueError("reduction_axis must be mutually exclusive with channels_axis")
    if groups > channels:
        raise ValueError(f"Invalid groups {groups} for {channels} channels.")
    if channels % groups:
        raise ValueError(f"{channels} channels is not commensurate with {groups} groups.")
    dynamic = shape_of(inputs)
    sizes = [dynamic[i] if n is None else n for i, n in enumerate(shape.as_list())]
    grouped = reshape(inputs, [*sizes[:axis], groups, channels // groups, *sizes[axis + 1 :]])
    axes = [axis + 1, *(a + 1 if a > axis else a for a in reduced)]
    with variable_scope(given["scope"], "GroupNorm", [inputs], reuse=given["reuse"]) as scope:
        beta, gamma = _shift_and_factor(given, [channels], dtype)
        spread = [1] * axis + [groups, channels // groups] + [1] * (rank - axis - 1)
        grown: Any = (v if v is None else reshape(v, spread) for v in (beta, gamma))
        beta, gamma = grown
        if given["mean_close_to_zero"]:
            count, total, squares, _ = sufficient_statistics(grouped, axes, keepdims=True)
            none: Any = None
            mean, variance = normalize_moments(count, total, squares, none)
        else:
            mean, variance = moments(grouped, axes, keepdims=True)
        outputs = batch_normalization(grouped, mean, variance, beta, gamma, given["epsilon"])
        outputs = reshape(outputs, sizes)
        outputs.set_shape(shape)
        return activated(outputs, given, scope)


def _axis(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise ValueError(f"Axis is out of bounds: {axis} of rank {rank}.")
    return axis % rank


@add_arg_scope
def unit_norm(inputs: Any, dim: int, epsilon: float = 1e-7, scope: Any = None) -> Tensor:
    """Divide by the Euclidean norm along an axis.

    Args:
      inputs: [...] floating, of known rank.
      dim: the axis, not negative.
      epsilon: added to the sum of squares.
      scope: name of the scope, by default "UnitNorm".

    Raises:
      ValueError: there is no such axis.
    """
    with variable_scope(scope, "UnitNorm", [inputs]):
        inputs = convert_to_tensor(inputs)
        shape: TensorShape = inputs.get_shape()
        if shape.ndims is None:
            raise ValueError("The input rank must be known.")
        if not 0 <= dim < shape.ndims:
            raise ValueError("dim must be positive but smaller than the input rank.")
        squares = reduce_sum(square(inputs), dim, keepdims=True)
        return divide(inputs, sqrt(add(squares, epsilon)))


def poincare_normalize(
    x: Any, axis: Any = 1, epsilon: float = 1e-5, name: str | None = None
) -> Tensor:
    """Bring vectors into the ball of radius ``1 - epsilon``.

    Args:
      x: [...] floating.
      axis: the axis or axes of the vectors.
      epsilon: how far from the sphere they stay.
      name: name scope, by default "poincare_normalize".
    """
    with name_scope(name, "poincare_normalize", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        inverse = rsqrt(reduce_sum(square(x), axis, keepdims=True))
        factor = minimum(multiply(inverse, 1.0 - epsilon), ones_like(inverse))
        return multiply(x, factor, name=scope)
