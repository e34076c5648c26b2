"""Networks of layers one after another, AlexNet and VGG; those for classes are convolutions too.

They are for images of 224 x 224; with ``spatial_squeeze=False`` larger ones give a map of logits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from daskvars.graph.tensor import Tensor
from daskvars.ops.array.reshaping import squeeze
from daskvars.ops.nn.activation import relu
from daskvars.surface.signatures import Argument, Family
from daskvars.v1.contrib.arg_scopes import arg_scope
from daskvars.v1.contrib.networks.collected import convert_collection_to_dict
from daskvars.v1.contrib.networks.plain_layers import dropout, max_pool2d, repeat
from daskvars.v1.contrib.networks.weighted_layers import conv2d, fully_connected
from daskvars.variables.initializers import Constant, TruncatedNormal, Zeros
from daskvars.variables.regularizers import l2_regularizer
from daskvars.variables.scopes.variable_scope import variable_scope

SIZE = 224  # of the images

_NETS = Family(
    {
        "inputs": Argument("[batch, height, width, channels] floating."),
        "num_classes": Argument("number of classes.", 1000, "int"),
        "is_training": Argument("whether units are dropped.", True, "Any"),
        "dropout_keep_prob": Argument("the share of units that are kept.", 0.5, "float"),
        "spatial_squeeze": Argument(
            "whether logits are [batch, num_classes], for images of one size.", True, "bool"
        ),
        "scope": Argument("name or `VariableScope` for its variables.", type="Any"),
    },
    returns="The logits, and a dict of what layers gave, by scope.",
    result="tuple[Tensor, dict[str, Any]]",
)


def _net(
    name: str, doc: str, made: Callable[[Any], Tensor], window: Sequence[int], **first: Any
) -> Callable[..., Any]:
    """Return a network: `made` gives its convolutions, `window` is what classes see of them."""

    def net(a: dict[str, Any]) -> tuple[Tensor, dict[str, Any]]:
        with variable_scope(a["scope"], name, [a["inputs"]]) as scope:
            found = scope.original_name_scope + "_end_points"
            layers = [conv2d, fully_connected, max_pool2d]
            with arg_scope(layers, outputs_collections=found):
                y = made(a["inputs"])
                kept = {"keep_prob": a["dropout_keep_prob"], "is_training": a["is_training"]}
                with arg_scope([conv2d], **first):
                    y = conv2d(y, 4096, window, padding="VALID", scope="fc6")
                    y = dropout(y, scope="dropout6", **kept)
                    y = conv2d(y, 4096, [1, 1], scope="fc7")
                y = dropout(y, scope="dropout7", **kept)
                y = conv2d(
                    y,
                    a["num_classes"],
                    [1, 1],
                    activation_fn=None,
                    normalizer_fn=None,
                    biases_initializer=Zeros(),
                    scope="fc8",
                )
            end_points = convert_collection_to_dict(found)
            if a["spatial_squeeze"]:
                y = squeeze(y, [1, 2], name="fc8/squeezed")
                end_points[f"{scope.name}/fc8"] = y
            return y, end_points

    order = f"inputs num_classes is_training dropout_keep_prob spatial_squeeze scope={name!r}"
    public = _NETS.function(__name__, name, order, net, doc)
    public.default_image_size = SIZE  # type: ignore[attr-defined]
    return public


def _vgg(name: str, counts: Sequence[int], layers: int, version: str) -> Callable[..., Any]:
    """Return a VGG with so many convolutions before each pooling."""

    def made(y: Tensor) -> Tensor:
        for number, (count, depth) in enumerate(zip(counts, _DEPTHS, strict=True), 1):
            y = repeat(y, count, conv2d, depth, [3, 3], scope=f"conv{number}")
            y = max_pool2d(y, [2, 2], scope=f"pool{number}")
        return y

    doc = f"""
Return the logits of VGG with {layers} layers, version {version} of the paper.

Source: Simonyan and Zisserman 2014, "Very Deep Convolutional Networks for Large-Scale Image
Recognition"; TensorFlow 1.15, ``tf.contrib.slim.nets.vgg.{name}``.
"""
    return _net(name, doc.strip(), made, [7, 7])


_DEPTHS = 64, 128, 256, 512, 512
vgg_a = _vgg("vgg_a", (1, 1, 2, 2, 2), 11, "A")
vgg_16 = _vgg("vgg_16", (2, 2, 3, 3, 3), 16, "D")
vgg_19 = _vgg("vgg_19", (2, 2, 4, 4, 4), 19, "E")
vgg_d, vgg_e = vgg_16, vgg_19


def vgg_arg_scope(weight_decay: float = 0.0005) -> Any:
    """Return the arg_scope that a VGG is built in.

    Args:
      weight_decay: of the squares of all weights.

    >>> slim, vgg = tf.contrib.slim, tf.contrib.slim.nets.vgg
    >>> with tf.Graph().as_default(), slim.arg_scope(vgg.vgg_arg_scope()):
    ...     logits, layers = vgg.vgg_16(tf.placeholder(tf.float32, [None, 224, 224, 3]), 10)
    ...     logits.shape.as_list(), layers["vgg_16/pool5"].shape.as_list()
    ([None, 10], [None, 7, 7, 512])
    """
    with (
        arg_scope(
            [conv2d, fully_connected],
            activation_fn=relu,
            weights_regularizer=l2_regularizer(weight_decay),
            biases_initializer=Zeros(),
        ),
        arg_scope([conv2d], padding="SAME") as found,
    ):
        return found


def _alexnet(y: Tensor) -> Tensor:
    y = conv2d(y, 64, [11, 11], 4, padding="VALID", scope="conv1")
    y = max_pool2d(y, [3, 3], 2, scope="pool1")
    y = conv2d(y, 192, [5, 5], scope="conv2")
    y = max_pool2d(y, [3, 3], 2, scope="pool2")
    for number, depth in enumerate((384, 384, 256), 3):
        y = conv2d(y, depth, [3, 3], scope=f"conv{number}")
    return max_pool2d(y, [3, 3], 2, scope="pool5")


alexnet_v2 = _net(
    "alexnet_v2",
    """
Return the logits of AlexNet, as it is on one device.

Source: Krizhevsky 2014, "One weird trick for parallelizing convolutional neural networks";
TensorFlow 1.15, ``tf.contrib.slim.nets.alexnet.alexnet_v2``.
""".strip(),
    _alexnet,
    [5, 5],
    weights_initializer=TruncatedNormal(0.0, 0.005),
    biases_initializer=Constant(0.1),
)


def alexnet_v2_arg_scope(weight_decay: float = 0.0005) -> Any:
    """Return the arg_scope that `alexnet_v2` is built in.

    Args:
      weight_decay: of the squares of all weights.
    """
    with (
        arg_scope(
            [conv2d, fully_connected],
            activation_fn=relu,
            biases_initializer=Constant(0.1),
            weights_regularizer=l2_regularizer(weight_decay),
        ),
        arg_scope([conv2d], padding="SAME"),
        arg_scope([max_pool2d], padding="VALID") as found,
    ):
        return found
