"""Inception, versions 1 and 3: layers that are several branches beside one another.

A network is a table, a layer a line. ``Conv2d_0b_3x3 96`` is a convolution with a window of 3 x 3
that gives 96 channels, in the scope of that name; a window of another size than its name says is
written after them, ``/2`` is a stride, ``valid`` and ``same`` a padding that is not the usual one.
Behind a name and a colon are branches, with ``;`` between them, each of layers with ``,`` between
them; ``+`` joins what two layers make of the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from daskvars.graph.scopes.collections import GraphKeys
from daskvars.graph.tensor import Tensor
from daskvars.ops.array.joining import concat
from daskvars.ops.array.reshaping import squeeze
from daskvars.ops.nn.activation import relu
from daskvars.surface.signatures import with_arguments_in_order
from daskvars.v1.contrib.arg_scopes import arg_scope
from daskvars.v1.contrib.networks.normalizations import batch_norm
from daskvars.v1.contrib.networks.plain_layers import (
    avg_pool2d,
    dropout,
    max_pool2d,
    softmax,
    variance_scaling_initializer,
)
from daskvars.v1.contrib.networks.weighted_layers import conv2d, fully_connected
from daskvars.variables.initializers import TruncatedNormal
from daskvars.variables.regularizers import l2_regularizer
from daskvars.variables.scopes.variable_scope import variable_scope

Depth = Callable[[int], int]

_V1 = """
Conv2d_1a_7x7 64 /2
MaxPool_2a_3x3 /2
Conv2d_2b_1x1 64
Conv2d_2c_3x3 192
MaxPool_3a_3x3 /2
Mixed_3b: 64; 96 128; 16 32; 32
Mixed_3c: 128; 128 192; 32 96; 64
MaxPool_4a_3x3 /2
Mixed_4b: 192; 96 208; 16 48; 64
Mixed_4c: 160; 112 224; 24 64; 64
Mixed_4d: 128; 128 256; 24 64; 64
Mixed_4e: 112; 144 288; 32 64; 64
Mixed_4f: 256; 160 320; 32 128; 128
MaxPool_5a_2x2 /2
Mixed_5b: 256; 160 320; 32 128; 128
Mixed_5c: 384; 192 384; 48 128; 128
"""
_MIXED_V1 = (
    "Conv2d_0a_1x1 {}; Conv2d_0a_1x1 {}, Conv2d_0b_3x3 {}; Conv2d_0a_1x1 {}, {} {}; "
    "MaxPool_0a_3x3, Conv2d_0b_1x1 {}"
)
_STEM_V3 = """
Conv2d_1a_3x3 32 /2
Conv2d_2a_3x3 32
Conv2d_2b_3x3 64 same
MaxPool_3a_3x3 /2
Conv2d_3b_1x1 80
Conv2d_4a_3x3 192
MaxPool_5a_3x3 /2
"""
_OF_FIVE = (
    "Conv2d_0a_1x1 64; {} 48, {} 64; Conv2d_0a_1x1 64, Conv2d_0b_3x3 96, Conv2d_0c_3x3 96; "
    "AvgPool_0a_3x3, Conv2d_0b_1x1 {}"
)
_OF_SEVEN = (
    "Conv2d_0a_1x1 192; Conv2d_0a_1x1 {0}, Conv2d_0b_1x7 {0}, Conv2d_0c_7x1 192; "
    "Conv2d_0a_1x1 {0}, Conv2d_0b_7x1 {0}, Conv2d_0c_1x7 {0}, Conv2d_0d_7x1 {0}, "
    "Conv2d_0e_1x7 192; AvgPool_0a_3x3, Conv2d_0b_1x1 192"
)
_OF_HALVES = (
    "Conv2d_0a_1x1 320; Conv2d_0a_1x1 384, Conv2d_0b_1x3 384 + {} 384; "
    "Conv2d_0a_1x1 448, Conv2d_0b_3x3 384, Conv2d_0c_1x3 384 + Conv2d_0d_3x1 384; "
    "AvgPool_0a_3x3, Conv2d_0b_1x1 192"
)
_PLAIN = "Conv2d_0a_1x1", "Conv2d_0b_5x5"
_MIXED_V3 = {  # names of scopes are TensorFlow's, slips included: checkpoints have them
    "Mixed_5b": _OF_FIVE.format(*_PLAIN, 32),
    "Mixed_5c": _OF_FIVE.format("Conv2d_0b_1x1", "Conv_1_0c_5x5", 64),
    "Mixed_5d": _OF_FIVE.format(*_PLAIN, 64),
    "Mixed_6a": (
        "Conv2d_1a_1x1 384 3x3 /2 valid; Conv2d_0a_1x1 64, Conv2d_0b_3x3 96, "
        "Conv2d_1a_1x1 96 3x3 /2 valid; MaxPool_1a_3x3 /2 valid"
    ),
    **{
        f"Mixed_6{letter}": _OF_SEVEN.format(depth)
        for letter, depth in zip("bcde", (128, 160, 160, 192), strict=True)
    },
    "Mixed_7a": (
        "Conv2d_0a_1x1 192, Conv2d_1a_3x3 320 /2 valid; Conv2d_0a_1x1 192, Conv2d_0b_1x7 192, "
        "Conv2d_0c_7x1 192, Conv2d_1a_3x3 192 /2 valid; MaxPool_1a_3x3 /2 valid"
    ),
    "Mixed_7b": _OF_HALVES.format("Conv2d_0b_3x1"),
    "Mixed_7c": _OF_HALVES.format("Conv2d_0c_3x1"),
}


def _of_text(x: Tensor, text: str, depth: Depth) -> Tensor:
    """Return what one layer of a table makes of images."""
    if "+" in text:
        return concat([_of_text(x, part, depth) for part in text.split("+")], 3)
    scope, *words = text.split()
    given: dict[str, Any] = {"scope": scope}
    window, channels = scope.rpartition("_")[2], 0
    for word in words:
        if word[0] == "/":
            given["stride"] = int(word[1:])
        elif word in ("same", "valid"):
            given["padding"] = word.upper()
        elif "x" in word:
            window = word
        else:
            channels = depth(int(word))
    sizes = [int(size) for size in window.split("x")]
    if scope.startswith("Conv"):
        return conv2d(x, channels, sizes, **given)
    return (max_pool2d if scope.startswith("Max") else avg_pool2d)(x, sizes, **given)


def _mixed(x: Tensor, name: str, text: str, depth: Depth) -> Tensor:
    """Return what branches make of images, joined along the channels."""
    found = []
    with variable_scope(name):
        for number, branch in enumerate(text.split(";")):
            y = x
            with variable_scope(f"Branch_{number}"):
                for layer in branch.split(","):
                    y = _of_text(y, layer, depth)
            found.append(y)
        return concat(found, 3)


def _built(
    x: Tensor, table: dict[str, str], depth: Depth, stem_padding: str, last: str
) -> tuple[Tensor, dict[str, Tensor]]:
    """Return the layers of a table, up to the one of a name."""
    if last not in table:
        raise ValueError(f"Unknown final endpoint {last}: there are {', '.join(table)}")
    end_points: dict[str, Tensor] = {}
    for name, text in table.items():
        is_mixed = name.startswith("Mixed")
        padding = "SAME" if is_mixed else stem_padding
        with arg_scope([conv2d, max_pool2d, avg_pool2d], stride=1, padding=padding):
            x = _mixed(x, name, text, depth) if is_mixed else _of_text(x, text, depth)
        end_points[name] = x
        if name == last:
            break
    return x, end_points


def _table(lines: str) -> dict[str, str]:
    """Return name of a layer -> what it is."""
    return {line.split()[0].rstrip(":"): line for line in lines.strip().splitlines()}


def _table_v1() -> dict[str, str]:
    found = _table(_V1)
    for name, line in found.items():
        if name.startswith("Mixed"):
            numbers = line.partition(":")[2].replace(";", " ").split()
            # So it is called in TensorFlow's checkpoints, in this one layer.
            wide = "Conv2d_0a_3x3" if name == "Mixed_5b" else "Conv2d_0b_3x3"
            found[name] = _MIXED_V1.format(*numbers[:4], wide, *numbers[4:])
    return found


_TABLE_V1, _TABLE_V3 = _table_v1(), {**_table(_STEM_V3), **_MIXED_V3}


def inception_v1_base(
    inputs: Tensor, final_endpoint: str = "Mixed_5c", scope: Any = "InceptionV1"
) -> tuple[Tensor, dict[str, Tensor]]:
    """Return what Inception of version 1 makes of images below its classes, and all layers by name.

    Args:
      inputs: [batch, height, width, channels] floating.
      final_endpoint: name of the last layer.
      scope: name or `VariableScope` for its variables.

    Raises:
      ValueError: there is no such layer.

    Source: Szegedy et al. 2014, "Going Deeper with Convolutions"; TensorFlow 1.15,
    ``tf.contrib.slim.nets.inception.inception_v1_base``.
    """
    with (
        variable_scope(scope, "InceptionV1", [inputs]),
        arg_scope([conv2d, fully_connected], weights_initializer=TruncatedNormal(0.0, 0.01)),
    ):
        return _built(inputs, _TABLE_V1, int, "SAME", final_endpoint)


def inception_v1(
    inputs: Tensor,
    num_classes: int = 1000,
    is_training: Any = True,
    dropout_keep_prob: float = 0.8,
    prediction_fn: Callable[..., Tensor] = softmax,
    spatial_squeeze: bool = True,
    reuse: Any = None,
    scope: Any = "InceptionV1",
) -> tuple[Tensor, dict[str, Tensor]]:
    """Return the logits of Inception of version 1, GoogLeNet, and what its layers gave, by name.

    Args:
      inputs: [batch, 224, 224, channels] floating.
      num_classes: number of classes.
      is_training: whether batches are normalized by themselves and units are dropped.
      dropout_keep_prob: the share of units that are kept.
      prediction_fn: function of the logits, as `softmax`.
      spatial_squeeze: whether logits are [batch, num_classes].
      reuse: whether its variables exist.
      scope: name or `VariableScope` for its variables.

    Source: Szegedy et al. 2014, "Going Deeper with Convolutions"; TensorFlow 1.15,
    ``tf.contrib.slim.nets.inception.inception_v1``.
    """
    with (
        variable_scope(scope, "InceptionV1", [inputs], reuse=reuse) as own,
        arg_scope([batch_norm, dropout], is_training=is_training),
    ):
        y, end_points = inception_v1_base(inputs, scope=own)
        with variable_scope("Logits"):
            y = avg_pool2d(y, [7, 7], stride=1, scope="MaxPool_0a_7x7")
            y = dropout(y, dropout_keep_prob, scope="Dropout_0b")
            logits = _logits(y, num_classes, spatial_squeeze, "Conv2d_0c_1x1")
        end_points["Logits"] = logits
        end_points["Predictions"] = prediction_fn(logits, scope="Predictions")
        return logits, end_points


def _logits(y: Tensor, num_classes: int, is_flat: bool, scope: str, **given: Any) -> Tensor:
    plain = {"activation_fn": None, "normalizer_fn": None, **given}
    found = conv2d(y, num_classes, [1, 1], scope=scope, **plain)
    return squeeze(found, [1, 2], name="SpatialSqueeze") if is_flat else found


def _depth(depth_multiplier: float, min_depth: int) -> Depth:
    if depth_multiplier <= 0:
        raise ValueError("depth_multiplier is not greater than zero.")
    return lambda number: max(int(number * depth_multiplier), min_depth)


def inception_v3_base(
    inputs: Tensor,
    final_endpoint: str = "Mixed_7c",
    min_depth: int = 16,
    depth_multiplier: float = 1.0,
    scope: Any = None,
) -> tuple[Tensor, dict[str, Tensor]]:
    """Return what Inception of version 3 makes of images below its classes, and all layers by name.

    Args:
      inputs: [batch, height, width, channels] floating.
      final_endpoint: name of the last layer.
      min_depth: least number of channels.
      depth_multiplier: what numbers of channels are multiplied with.
      scope: name or `VariableScope` for its variables.

    Raises:
      ValueError: there is no such layer, or `depth_multiplier` is not positive.

    Source: Szegedy et al. 2015, "Rethinking the Inception Architecture for Computer Vision";
    TensorFlow 1.15, ``tf.contrib.slim.nets.inception.inception_v3_base``.
    """
    depth = _depth(depth_multiplier, min_depth)
    with variable_scope(scope, "InceptionV3", [inputs]):
        return _built(inputs, _TABLE_V3, depth, "VALID", final_endpoint)


@with_arguments_in_order(
    "inputs num_classes is_training dropout_keep_prob min_depth depth_multiplier prediction_fn "
    "spatial_squeeze reuse scope='InceptionV3'",
    inception_v1,
    inception_v3_base,
)
def inception_v3(
    inputs: Tensor,
    num_classes: int,
    is_training: Any,
    min_depth: int,
    depth_multiplier: float,
    spatial_squeeze: bool,
    reuse: Any,
    scope: Any,
    **at_end: Any,
) -> tuple[Tensor, dict[str, Tensor]]:
    """Return the logits of Inception of version 3, and what its layers gave, by name.

    "AuxLogits" are of a classifier in the middle, for a second loss.

    Args:
      inputs: [batch, 299, 299, channels] floating.

    Raises:
      ValueError: `depth_multiplier` is not positive.

    Source: Szegedy et al. 2015, "Rethinking the Inception Architecture for Computer Vision";
    TensorFlow 1.15, ``tf.contrib.slim.nets.inception.inception_v3``.
    """
    depth = _depth(depth_multiplier, min_depth)
    with (
        variable_scope(scope, "InceptionV3", [inputs], reuse=reuse) as own,
        arg_scope([batch_norm, dropout], is_training=is_training),
    ):
        y, end_points = inception_v3_base(
            inputs, min_depth=min_depth, depth_multiplier=depth_multiplier, scope=own
        )
        with arg_scope([conv2d], stride=1, padding="SAME"), variable_scope("AuxLogits"):
            side = avg_pool2d(
                end_points["Mixed_6e"], [5, 5], stride=3, padding="VALID", scope="AvgPool_1a_5x5"
            )
            side = conv2d(side, depth(128), [1, 1], scope="Conv2d_1b_1x1")
            window = _at_most(side, 5)
            side = conv2d(
                side,
                depth(768),
                window,
                weights_initializer=TruncatedNormal(0.0, 0.01),
                padding="VALID",
                scope="Conv2d_2a_{}x{}".format(*window),
            )
            narrow = TruncatedNormal(0.0, 0.001)
            end_points["AuxLogits"] = _logits(
                side, num_classes, spatial_squeeze, "Conv2d_2b_1x1", weights_initializer=narrow
            )
        with variable_scope("Logits"):
            window = _at_most(y, 8)
            # With the distance 2 that a pooling has by default, as TensorFlow's.
            y = avg_pool2d(y, window, padding="VALID", scope="AvgPool_1a_{}x{}".format(*window))
            y = dropout(y, at_end["dropout_keep_prob"], scope="Dropout_1b")
            end_points["PreLogits"] = y
            logits = _logits(y, num_classes, spatial_squeeze, "Conv2d_1c_1x1")
        end_points["Logits"] = logits
        end_points["Predictions"] = at_end["prediction_fn"](logits, scope="Predictions")
        return logits, end_points


def _at_most(y: Tensor, size: int) -> list[int]:
    """Return the size of a window that fits into images, where their size is known."""
    known = y.get_shape().as_list()[1:3]
    return [size, size] if None in known else [min(size, int(n or 0)) for n in known]


inception_v1.default_image_size = 224  # type: ignore[attr-defined]
inception_v3.default_image_size = 299  # type: ignore[attr-defined]


def inception_arg_scope(
    weight_decay: float = 0.00004,
    batch_norm_var_collection: str = "moving_vars",
    batch_norm_decay: float = 0.9997,
    batch_norm_epsilon: float = 0.001,
    updates_collections: Any = GraphKeys.UPDATE_OPS,
) -> Any:
    """Return the arg_scope that an Inception is built in.

    Args:
      weight_decay: of the squares of weights.
      batch_norm_var_collection: collection for moving averages.
      batch_norm_decay, batch_norm_epsilon, updates_collections: as of `batch_norm`.

    >>> slim, nets = tf.contrib.slim, tf.contrib.slim.nets.inception
    >>> with tf.Graph().as_default(), slim.arg_scope(nets.inception_v3_arg_scope()):
    ...     images = tf.placeholder(tf.float32, [None, 299, 299, 3])
    ...     y, layers = nets.inception_v3_base(images, "Conv2d_2b_3x3")
    ...     y.shape.as_list(), list(layers)
    ([None, 147, 147, 64], ['Conv2d_1a_3x3', 'Conv2d_2a_3x3', 'Conv2d_2b_3x3'])
    """
    averages = [batch_norm_var_collection]
    normalized = {
        "decay": batch_norm_decay,
        "epsilon": batch_norm_epsilon,
        "updates_collections": updates_collections,
        "variables_collections": {"moving_mean": averages, "moving_variance": averages},
    }
    with (
        arg_scope([conv2d, fully_connected], weights_regularizer=l2_regularizer(weight_decay)),
        arg_scope(
            [conv2d],
            weights_initializer=variance_scaling_initializer(),
            activation_fn=relu,
            normalizer_fn=batch_norm,
            normalizer_params=normalized,
        ) as found,
    ):
        return found
