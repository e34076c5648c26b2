"""ResNets of both versions: with normalization after convolutions (v1), or before them (v2).

A network is a list of *blocks*, each of units at one depth; the last unit of a block makes the
image smaller. With an `output_stride` it is not made smaller than that: from there on convolutions
are dilated instead, for a prediction at each place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from daskvars.graph.scopes.collections import GraphKeys
from daskvars.graph.tensor import Tensor
from daskvars.ops.array.padding import pad
from daskvars.ops.math.reduce import reduce_mean
from daskvars.ops.nn.activation import relu
from daskvars.surface.signatures import Argument, Family, named, with_arguments_of
from daskvars.v1.contrib.arg_scopes import add_arg_scope, arg_scope
from daskvars.v1.contrib.networks.collected import (
    collect_named_outputs,
    convert_collection_to_dict,
    last_dimension,
)
from daskvars.v1.contrib.networks.normalizations import batch_norm
from daskvars.v1.contrib.networks.plain_layers import (
    max_pool2d,
    softmax,
    variance_scaling_initializer,
)
from daskvars.v1.contrib.networks.weighted_layers import conv2d
from daskvars.variables.regularizers import l2_regularizer
from daskvars.variables.scopes.variable_scope import variable_scope

SIZE = 224  # of the images


class Block(NamedTuple):
    """Units at one depth.

    Attributes:
      scope: name of their scope.
      unit_fn: a unit, as a function of the input and arguments.
      args: the arguments of each unit, dicts.
    """

    scope: str
    unit_fn: Callable[..., Tensor]
    args: Sequence[Mapping[str, Any]]


def subsample(inputs: Tensor, factor: int, scope: Any = None) -> Tensor:
    """Return each `factor`-th pixel of images, along both sides.

    >>> subsample(dv.reshape(dv.range(4.0), [1, 2, 2, 1]), 2).numpy().ravel().tolist()
    [0.0]
    """
    return inputs if factor == 1 else max_pool2d(inputs, [1, 1], stride=factor, scope=scope)


def conv2d_same(
    inputs: Tensor,
    num_outputs: int,
    kernel_size: int,
    stride: int,
    rate: int = 1,
    scope: Any = None,
) -> Tensor:
    """Return a convolution that has zeros on all sides alike, whatever the stride.

    So it is what a convolution with the stride 1 gives, at each `stride`-th pixel; "SAME" itself
    depends on the size of the image.

    Args:
      inputs: [batch, height, width, channels] floating.
      num_outputs: number of channels.
      kernel_size: of the window, along both sides.
      stride: distance between windows.
      rate: distance between the taps of a window.
      scope: of its variables.
    """
    if stride == 1:
        return conv2d(inputs, num_outputs, kernel_size, 1, rate=rate, padding="SAME", scope=scope)
    total = (kernel_size - 1) * rate
    sides = [total // 2, total - total // 2]
    padded = pad(inputs, [[0, 0], sides, sides, [0, 0]])
    return conv2d(padded, num_outputs, kernel_size, stride, rate=rate, padding="VALID", scope=scope)


@add_arg_scope
def stack_blocks_dense(
    net: Tensor,
    blocks: Sequence[Block],
    output_stride: int | None = None,
    outputs_collections: Any = None,
) -> Tensor:
    """Return what blocks make of images, made smaller by `output_stride` at most.

    Args:
      net: [batch, height, width, channels] floating.
      blocks: the blocks, in order.
      output_stride: the product of the strides of the first units, up to some.
      outputs_collections: collections for what each block gives.

    Raises:
      ValueError: no units have strides of that product.
    """
    stride = rate = 1
    for block in blocks:
        with variable_scope(block.scope, "block", [net]) as scope:
            for number, unit in enumerate(block.args, 1):
                if output_stride is not None and stride > output_stride:
                    raise ValueError("The target output_stride cannot be reached.")
                with variable_scope(f"unit_{number}", values=[net]):
                    if stride == output_stride:
                        net = block.unit_fn(net, rate=rate, **{**unit, "stride": 1})
                        rate *= unit.get("stride", 1)
                    else:
                        net = block.unit_fn(net, rate=1, **unit)
                        stride *= unit.get("stride", 1)
            net = collect_named_outputs(outputs_collections, scope.name, net)
    if output_stride is not None and stride != output_stride:
        raise ValueError("The target output_stride cannot be reached.")
    return net


def resnet_arg_scope(
    weight_decay: float = 0.0001,
    batch_norm_decay: float = 0.997,
    batch_norm_epsilon: float = 1e-5,
    batch_norm_scale: bool = True,
) -> Any:
    """Return the arg_scope that a ResNet is built in.

    Args:
      weight_decay: of the squares of weights.
      batch_norm_decay, batch_norm_epsilon, batch_norm_scale: as of `batch_norm`.
    """
    normalized = {
        "decay": batch_norm_decay,
        "epsilon": batch_norm_epsilon,
        "scale": batch_norm_scale,
        "updates_collections": GraphKeys.UPDATE_OPS,
    }
    with (
        arg_scope(
            [conv2d],
            weights_regularizer=l2_regularizer(weight_decay),
            weights_initializer=variance_scaling_initializer(),
            activation_fn=relu,
            normalizer_fn=batch_norm,
            normalizer_params=normalized,
        ),
        arg_scope([batch_norm], **normalized),
        arg_scope([max_pool2d], padding="SAME") as found,
    ):
        return found


# -- units -----------------------------------------------------------------------------------------


def _bottleneck(
    version: int,
    inputs: Tensor,
    depth: int,
    depth_bottleneck: int,
    stride: int,
    rate: int,
    outputs_collections: Any,
    scope: Any,
) -> Tensor:
    """Return images with a residual added; the second version normalizes before convolutions."""
    is_first = version == 1
    plain = {"activation_fn": None} | ({} if is_first else {"normalizer_fn": None})
    with variable_scope(scope, f"bottleneck_v{version}", [inputs]) as own:
        before = inputs if is_first else batch_norm(inputs, activation_fn=relu, scope="preact")
        if depth == last_dimension(inputs.get_shape(), min_rank=4):
            shortcut = subsample(inputs, stride, "shortcut")
        else:
            shortcut = conv2d(before, depth, [1, 1], stride, scope="shortcut", **plain)
        residual = conv2d(before, depth_bottleneck, [1, 1], 1, scope="conv1")
        residual = conv2d_same(residual, depth_bottleneck, 3, stride, rate, scope="conv2")
        residual = conv2d(residual, depth, [1, 1], 1, scope="conv3", **plain)
        found = shortcut + residual
        return collect_named_outputs(
            outputs_collections, own.name, relu(found) if is_first else found
        )


@add_arg_scope
def bottleneck_v1(
    inputs: Tensor,
    depth: int,
    depth_bottleneck: int,
    stride: int,
    rate: int = 1,
    outputs_collections: Any = None,
    scope: Any = None,
) -> Tensor:
    """Return images with a residual added, of fewer channels within; then relu.

    Args:
      inputs: [batch, height, width, channels] floating.
      depth: number of channels of the output.
      depth_bottleneck: number of channels within.
      stride: how much smaller the output is.
      rate: distance between the taps of the window.
      outputs_collections: collections for the output.
      scope: of its variables.
    """
    given = inputs, depth, depth_bottleneck, stride, rate, outputs_collections, scope
    return _bottleneck(1, *given)


@add_arg_scope
@with_arguments_of(bottleneck_v1)
def bottleneck_v2(**arguments: Any) -> Tensor:
    """Return images with a residual added, normalized before each convolution.

    See `bottleneck_v1`.
    """
    return _bottleneck(2, **arguments)


# -- networks --------------------------------------------------------------------------------------

_NETS = Family(
    {
        "inputs": Argument("[batch, height, width, channels] floating."),
        "blocks": Argument("list of `Block`.", type="Sequence[Block]"),
        "num_classes": Argument("number of classes; None for what is below them.", None, "int"),
        "is_training": Argument("whether batches are normalized by themselves.", True, "Any"),
        "global_pool": Argument("whether the mean is taken over all places.", True, "bool"),
        "output_stride": Argument("how much smaller the image becomes at most.", None, "int"),
        "include_root_block": Argument(
            "whether a convolution and a pooling come before the blocks.", True, "bool"
        ),
        "reuse": Argument("whether its variables exist; needs a `scope`.", None, "Any"),
        "scope": Argument("name or `VariableScope` for its variables.", None, "Any"),
    },
    returns="[batch, height, width, channels], and a dict of what layers gave, by scope.",
    raises="ValueError: the `output_stride` cannot be reached.",
    result="tuple[Tensor, dict[str, Any]]",
)
_ORDER = "num_classes is_training global_pool output_stride"
_UNITS = {50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3), 200: (3, 24, 36, 3)}
_SOURCE = """
Source: He et al. {paper}; TensorFlow 1.15,
``tf.contrib.slim.nets.resnet_v{version}.{name}``.
"""
_PAPERS = {
    1: '2015, "Deep Residual Learning for Image Recognition"',
    2: '2016, "Identity Mappings in Deep Residual Networks"',
}
_UNIT = {1: bottleneck_v1, 2: bottleneck_v2}


def _made(version: int, a: dict[str, Any]) -> tuple[Tensor, dict[str, Any]]:
    """Return a network of blocks."""
    plain: dict[str, Any] = {"activation_fn": None, "normalizer_fn": None}
    with variable_scope(a["scope"], f"resnet_v{version}", [a["inputs"]], reuse=a["reuse"]) as scope:
        found = scope.original_name_scope + "_end_points"
        collected = [conv2d, _UNIT[version], stack_blocks_dense]
        with (
            arg_scope(collected, outputs_collections=found),
            arg_scope([batch_norm], is_training=a["is_training"]),
        ):
            y, stride = a["inputs"], a["output_stride"]
            if a.get("include_root_block", True):
                if stride is not None:
                    if stride % 4:
                        raise ValueError("The output_stride needs to be a multiple of 4.")
                    stride //= 4
                with arg_scope([conv2d], **(plain if version == 2 else {})):
                    y = conv2d_same(y, 64, 7, 2, scope="conv1")
                y = max_pool2d(y, [3, 3], stride=2, scope="pool1")
            y = stack_blocks_dense(y, a["blocks"], stride)
            if version == 2:
                y = batch_norm(y, activation_fn=relu, scope="postnorm")
            if a["global_pool"]:
                y = reduce_mean(y, [1, 2], name="pool5", keepdims=True)
            if a["num_classes"] is not None:
                y = conv2d(y, a["num_classes"], [1, 1], scope="logits", **plain)
            end_points = convert_collection_to_dict(found)
            if a["num_classes"] is not None:
                end_points["predictions"] = softmax(y, scope="predictions")
            return y, end_points


def block(version: int, scope: str, base_depth: int, num_units: int, stride: int) -> Block:
    """Return a block whose last unit has a stride."""
    units = [
        {"depth": base_depth * 4, "depth_bottleneck": base_depth, "stride": 1}
        for _ in range(num_units)
    ]
    units[-1]["stride"] = stride
    return Block(scope, _UNIT[version], units)


def _resnet(version: int) -> Callable[..., Any]:
    name = f"resnet_v{version}"
    doc = f"""
Return a ResNet of version {version} of any blocks.
{_SOURCE.format(paper=_PAPERS[version], version=version, name=name)}"""
    order = f"inputs blocks {_ORDER} include_root_block reuse scope"
    public = _NETS.function(__name__, name, order, lambda a: _made(version, a), doc.strip())
    public.default_image_size = SIZE  # type: ignore[attr-defined]
    return public


def _of_depth(version: int, layers: int) -> Callable[..., Any]:
    name = f"resnet_v{version}_{layers}"

    def net(a: dict[str, Any]) -> tuple[Tensor, dict[str, Any]]:
        strides = 2, 2, 2, 1
        blocks = [
            block(version, f"block{i + 1}", 64 << i, count, strides[i])
            for i, count in enumerate(_UNITS[layers])
        ]
        return _made(version, {**a, "blocks": blocks})

    doc = f"""
Return a ResNet of version {version} with {layers} layers.
{_SOURCE.format(paper=_PAPERS[version], version=version, name=name)}"""
    public = _NETS.function(
        __name__, name, f"inputs {_ORDER} reuse scope={name!r}", net, doc.strip()
    )
    public.default_image_size = SIZE  # type: ignore[attr-defined]
    return public


def names_of(version: int) -> dict[str, Any]:
    """Return the names of ``tf.contrib.slim.nets.resnet_v1`` or ``resnet_v2``.

    >>> sorted(names_of(1))[:3]
    ['bottleneck', 'resnet_arg_scope', 'resnet_v1']
    """

    def of_version(scope: str, base_depth: int, num_units: int, stride: int) -> Block:
        return block(version, scope, base_depth, num_units, stride)

    name = f"resnet_v{version}"
    doc = f"Return a block of units of version {version}, whose last one has a stride."
    return {
        "bottleneck": _UNIT[version],
        "resnet_arg_scope": resnet_arg_scope,
        name: _resnet(version),
        f"{name}_block": named(of_version, f"{name}_block", doc),
        **{f"{name}_{layers}": _of_depth(version, layers) for layers in _UNITS},
    }
