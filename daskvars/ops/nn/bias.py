"""A bias for each channel."""

from __future__ import annotations

from collections.abc import Sequence

from daskvars import shapes
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import OpDef, Spec
from daskvars.graph.definitions.patterns import Attrs, Contraction, RankedShapes
from daskvars.graph.indexed_slices import Gradients
from daskvars.graph.interpreter import apply
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.kernels.nn import bias as kernels
from daskvars.ops.array.constant import full_shape
from daskvars.ops.array.repeating import broadcast_to
from daskvars.ops.array.reshaping import reshape
from daskvars.ops.linalg.products import matmul
from daskvars.ops.nn.activation import relu
from daskvars.ops.rules.families import elementwise
from daskvars.surface.signatures import with_arguments_of


def channels_first(data_format: str | None) -> bool:
    """Return whether channels follow the batch ("NC...") rather than stand last ("N...C").

    Raises:
      ValueError: it is neither.
    """
    if data_format is None or data_format.startswith("NC"):
        return data_format is not None
    if data_format.startswith("N") and data_format.endswith("C"):
        return False
    raise ValueError(f"data_format must be of the form `N...C` or `NC...`, got {data_format!r}")


def _biased(inputs: Sequence[Spec], *, _data_format: str) -> Spec:
    value, bias = inputs
    if value.shape is None:
        return value
    channel = 1 if _data_format == "NCHW" else -1
    if len(value.shape) < 2:
        raise ValueError(f"Shape must be at least rank 2 but is rank {len(value.shape)}")
    given = bias.shape if bias.shape is None or _data_format == "NHWC" else bias.shape[:1]
    if given is not None and not shapes.compatible((value.shape[channel],), given):
        raise ValueError(
            f"Dimensions must be equal, but are {value.shape[channel]} and {given[0]}. There "
            "is one bias for each channel of the value"
        )
    if given is None or value.shape[channel] is not None:
        return value
    shape = list(value.shape)
    shape[channel] = given[0]
    return Spec(value.dtype, tuple(shape))


def _bias_gradient(op: Operation, dy: Tensor) -> Gradients:
    data_format = op.attrs["_data_format"]
    grad = apply(BIAS_ADD_GRAD, dy, data_format=data_format)
    return dy, _laid_out(grad, op.inputs[0], data_format)


def _laid_out(bias: Tensor, value: Tensor, data_format: str) -> Tensor:
    """Return a vector of channels in a shape that broadcasts with `value`."""
    if data_format == "NHWC":
        return bias
    if value.spec.shape is None:
        raise ValueError(f"bias_add(data_format='NC...') needs the rank of {value.name!r}")
    return reshape(bias, (-1,) + (1,) * (len(value.spec.shape) - 2))


# The bias comes in a shape that broadcasts, so that adding it is a plain ufunc.
BIAS_ADD = elementwise("BiasAdd", "value:N, bias:N", "add", _bias_gradient, infer=_biased)


def _all_but_channels(inputs: RankedShapes, attrs: Attrs) -> str:
    if attrs["data_format"] == "NHWC":
        return "...c->c"
    return f"nc{''.join(chr(ord('o') + i) for i in range(len(inputs[0]) - 2))}->c"


def _channel_spec(inputs: Sequence[Spec], *, data_format: str) -> Spec:
    dtype, shape = inputs[0]
    return Spec(dtype, (None if shape is None else shape[1 if data_format == "NCHW" else -1],))


def _bias_grad_gradient(op: Operation, g: Tensor) -> Tensor:
    dy = op.inputs[0]
    return broadcast_to(_laid_out(g, dy, op.attrs["data_format"]), full_shape(dy))


BIAS_ADD_GRAD = OpDef(
    "BiasAddGrad",
    "out_backprop:N",
    infer=_channel_spec,
    pattern=Contraction(_all_but_channels),
    kernel=kernels.bias_add_grad,
    gradient=_bias_grad_gradient,
)


def bias_add(
    value: TensorLike, bias: TensorLike, data_format: str | None = None, name: str | None = None
) -> Tensor:
    """Add a bias to each channel.

    Args:
      value: [..., channels] any number, or [batch, channels, ...].
      bias: [channels] of the dtype of `value`.
      data_format: "N...C" (the default) or "NC...": where the channels are.
      name: name of the operation, by default "BiasAdd".

    Returns:
      A tensor of the shape and dtype of `value`.

    Raises:
      ValueError: there are not as many biases as channels.

    >>> bias_add([[1.0, 2.0]], [10.0, 20.0]).numpy().tolist()
    [[11.0, 22.0]]
    """
    data_format = "NCHW" if channels_first(data_format) else "NHWC"
    with name_scope(name, "BiasAdd", [value, bias]) as scope:
        value = convert_to_tensor(value, name="input")
        bias = convert_to_tensor(bias, value.dtype.base_dtype, name="bias")
        if bias.spec.shape is not None and len(bias.spec.shape) != 1:
            raise ValueError(
                f"Shape must be rank 1 but is rank {len(bias.spec.shape)}: biases "
                f"{bias.name!r} have shape {shapes.show(bias.spec.shape)}"
            )
        bias = _laid_out(bias, value, data_format)
        return apply(BIAS_ADD, value, bias, name=scope, _data_format=data_format)


def xw_plus_b(
    x: TensorLike, weights: TensorLike, biases: TensorLike, name: str | None = None
) -> Tensor:
    """Return matmul(x, weights) + biases.

    Args:
      x: [batch, inputs] floating.
      weights: [inputs, outputs] of the dtype of `x`.
      biases: [outputs] of the dtype of `x`.
      name: name of the operation, by default "xw_plus_b".

    Returns:
      [batch, outputs] of the dtype of `x`.

    >>> xw_plus_b([[2.0]], [[3.0, 4.0]], [1.0, 1.0]).numpy().tolist()
    [[7.0, 9.0]]
    """
    with name_scope(name, "xw_plus_b", [x, weights, biases]) as scope:
        x = convert_to_tensor(x, name="x")
        weights = convert_to_tensor(weights, name="weights")
        biases = convert_to_tensor(biases, name="biases")
        return bias_add(matmul(x, weights), biases, name=scope)


@with_arguments_of(xw_plus_b)
def relu_layer(x: TensorLike, weights: TensorLike, biases: TensorLike, name: str | None) -> Tensor:
    """Return relu(matmul(x, weights) + biases).

    Args:
      name: name of the operation, by default "relu_layer".

    >>> relu_layer([[2.0]], [[3.0, -4.0]], [1.0, 1.0]).numpy().tolist()
    [[7.0, 0.0]]
    """
    with name_scope(name, "relu_layer", [x, weights, biases]) as scope:
        return relu(xw_plus_b(x, weights, biases), name=scope)
