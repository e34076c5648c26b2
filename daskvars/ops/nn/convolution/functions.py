"""The functions of the families: each a convolution, one of its gradients or its transpose.

Their signatures are TensorFlow's, which differ in order and in what may be left out; what an
argument means is said once, with the words of the family.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from daskvars import shapes
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.interpreter import apply
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.ops.nn.convolution.families import CONV2D, CONV3D, DEPTHWISE, Convolution
from daskvars.ops.rules.axes import as_operand, either
from daskvars.surface.accepted import ACCEPTED
from daskvars.surface.signatures import Argument, Family, with_example

IMAGES = "[batch, {space}, inputs] floating, or in the order of `data_format`."
GRADIENT = "[batch, {windows}, {outputs}], the gradient of the result."

CONVOLUTIONS = Family(
    {
        "input": Argument(IMAGES),
        "filter": Argument("[{space}, inputs, {outputs_each}] of the dtype of `input`."),
        "value": Argument("[batch, {windows}, inputs] floating, or in the order of `data_format`."),
        "input_sizes": Argument("[{rank}] int32, the shape of the {images}."),
        "filter_sizes": Argument("[{rank}] int32, the shape of the filter."),
        "output_shape": Argument("[{rank}] int32, shape of the result; it may be a tensor."),
        "out_backprop": Argument(GRADIENT),
        "strides": Argument(
            "distance between windows: an int, {few}, or {all} in the order of `data_format`.",
            type="PerAxis",
        ),
        "padding": Argument("{paddings}.", type="PaddingLike"),
        "use_cudnn_on_gpu": Argument(ACCEPTED["use_cudnn_on_gpu"].text, True, "bool"),
        "data_format": Argument("{formats}.", None, "str | None"),
        "dilations": Argument(
            "distance between the taps of a window, as `strides`.", None, "PerAxis"
        ),
        "name": Argument('name of the operation, by default "{type}".', None, "str | None"),
        "filters": Argument("the new name of `filter`.", None),
    },
    raises="ValueError: the shapes do not fit.",
    result="Tensor",
)
TRANSPOSES = Family(
    {
        **CONVOLUTIONS.arguments,
        "filter": Argument("[{space}, outputs, inputs] of the dtype of `value`."),
        "input": Argument("the new name of `value`.", None),
    },
    returns="[*output_shape] of the dtype of `value`.",
    raises="ValueError: the shapes do not fit.",
    result="Tensor",
)
OF_IMAGES = {
    "images": "images",
    "space": "height, width",
    "windows": "rows, columns",
    "rank": "4",
    "few": "two ints",
    "all": "four",
    "paddings": '"SAME", "VALID", or four (before, after) pairs',
    "formats": '"NHWC" or "NCHW"',
    "outputs": "outputs",
    "outputs_each": "outputs",
}
OF_CHANNELS = {**OF_IMAGES, "outputs": "inputs * multiplier", "outputs_each": "multiplier"}
OF_VOLUMES = {
    "images": "volumes",
    "space": "depth, height, width",
    "windows": "planes, rows, columns",
    "rank": "5",
    "few": "three",
    "all": "five",
    "paddings": '"SAME" or "VALID"',
    "formats": '"NDHWC" or "NCDHW"',
    "outputs": "outputs",
    "outputs_each": "outputs",
}
Documented = Callable[[str], Callable[..., Tensor]]
WORDS = {CONV2D: OF_IMAGES, DEPTHWISE: OF_CHANNELS, CONV3D: OF_VOLUMES}


def _window(family: Convolution, given: dict[str, Any]) -> dict[str, Any]:
    names = ("strides", "padding", "dilations", "data_format")
    return family.options(*(given[name] for name in names))


def _filter(given: dict[str, Any]) -> Any:
    return either(given.get("filters"), given["filter"], "filters", "filter")


def _forward(family: Convolution, name: str, order: str) -> Documented:
    """Return what gives the function of a convolution, by its docstring. See `Family.function`."""
    words = WORDS[family]

    def call(given: dict[str, Any]) -> Tensor:
        options = _window(family, given)
        return apply(family.forward, given["input"], _filter(given), name=given["name"], **options)

    def documented(doc: str) -> Callable[..., Tensor]:
        returns = "\n\nReturns:\n  [batch, {windows}, {outputs}] of the dtype of `input`.\n\n"
        summary, _, example = inspect.cleandoc(doc).partition("\n\n")
        doc = summary + returns.format(**words) + example
        type = family.forward.type
        return CONVOLUTIONS.function(__name__, name, order, call, doc, type=type, **words)

    return documented


def _for_images(family: Convolution, name: str, order: str, example: str) -> Callable[..., Tensor]:
    """Return the function of a gradient with respect to images."""
    words, of = WORDS[family], name.removesuffix("_backprop_input")

    def call(given: dict[str, Any]) -> Tensor:
        sizes, options = as_sizes(given["input_sizes"]), _window(family, given)
        w, dy, name = _filter(given), given["out_backprop"], given["name"]
        return apply(family.backward_images, w, dy, name=name, input_shape=sizes, **options)

    doc = f"""Return the gradient of `{of}` with respect to its {words["images"]}.

    Returns:
      [batch, {words["space"]}, inputs] of the dtype of `out_backprop`.
    """
    type, doc = family.backward_images.type, with_example(doc, example)
    return CONVOLUTIONS.function(__name__, name, order, call, doc, type=type, **words)


def _for_filter(family: Convolution, name: str, order: str, example: str) -> Callable[..., Tensor]:
    """Return the function of a gradient with respect to the filter."""
    words, of = WORDS[family], name.removesuffix("_backprop_filter")

    def call(given: dict[str, Any]) -> Tensor:
        x, dy, name = given["input"], given["out_backprop"], given["name"]
        sizes, options = as_operand(given["filter_sizes"]), _window(family, given)
        return apply(family.backward_filter, x, dy, name=name, filter_shape=sizes, **options)

    doc = f"""Return the gradient of `{of}` with respect to its filter.

    Returns:
      [{words["space"]}, inputs, {words["outputs_each"]}] of the dtype of `input`.
    """
    type, doc = family.backward_filter.type, with_example(doc, example)
    return CONVOLUTIONS.function(__name__, name, order, call, doc, type=type, **words)


def _transpose(family: Convolution, name: str, order: str) -> Documented:
    """Return what gives the function of a convolution's transpose, by its docstring."""

    def call(given: dict[str, Any]) -> Tensor:
        value = either(given["input"], given["value"], "input", "value")
        filter = _filter(given)
        options = _window(family, given)
        with name_scope(given["name"], name, [value, filter]) as scope:
            value = convert_to_tensor(value, name="value")
            filter = convert_to_tensor(filter, name="filter")
            sizes = as_sizes(given["output_shape"])
            return apply(
                family.backward_images, filter, value, name=scope, input_shape=sizes, **options
            )

    words = WORDS[family]
    return functools.partial(TRANSPOSES.function, __name__, name, order, call, type=name, **words)


def as_sizes(value: TensorLike) -> Any:
    """Return the shape of images as an attribute; None stands for a size that is not known yet."""
    if isinstance(value, shapes.TensorShape):
        return value._tuple
    if isinstance(value, list | tuple) and None in value:
        return tuple(value)
    return as_operand(value)


# -- images ------------------------------------------------------------------------------------

WINDOW = "data_format='NHWC' dilations=(1,1,1,1) name"

conv2d = _forward(
    CONV2D,
    "conv2d",
    f"input filter=None strides=None padding=None use_cudnn_on_gpu {WINDOW} filters",
)("""
    Convolve images with a filter (cross-correlation).

    >>> image, filter = dv.ones([1, 3, 3, 1]), dv.ones([2, 2, 1, 1])
    >>> conv2d(image, filter, strides=1, padding="VALID").numpy().ravel().tolist()
    [4.0, 4.0, 4.0, 4.0]
    """)
conv2d_backprop_input = _for_images(
    CONV2D,
    "conv2d_backprop_input",
    "input_sizes filter=None out_backprop=None strides=None padding=None use_cudnn_on_gpu "
    f"{WINDOW} filters",
    "dy, filter = [[[[1.0]]]], [[[[2.0]], [[3.0]]]]\n"
    'conv2d_backprop_input([1, 1, 2, 1], filter, dy, 1, "VALID").numpy().ravel().tolist() -> '
    "[2.0, 3.0]",
)
conv2d_backprop_filter = _for_filter(
    CONV2D,
    "conv2d_backprop_filter",
    f"input filter_sizes out_backprop strides=None padding=None use_cudnn_on_gpu {WINDOW}",
    "dy, images = [[[[2.0]]]], [[[[5.0], [7.0]]]]\n"
    'conv2d_backprop_filter(images, [1, 2, 1, 1], dy, 1, "VALID").numpy().ravel().tolist() -> '
    "[10.0, 14.0]",
)
conv2d_transpose = _transpose(
    CONV2D,
    "conv2d_transpose",
    "value=None filter=None output_shape=None strides=None padding='SAME' data_format='NHWC' name "
    "input filters dilations",
)("""
    Apply the transpose of `conv2d`, often called deconvolution.

    Source: Zeiler et al., "Deconvolutional Networks", 2010.

    >>> conv2d_transpose(dv.ones([1, 1, 1, 1]), dv.ones([2, 2, 1, 1]), [1, 2, 2, 1],
    ...                  strides=2).numpy().ravel().tolist()
    [1.0, 1.0, 1.0, 1.0]
    """)

# -- each channel of images on its own ---------------------------------------------------------

depthwise_conv2d_native = _forward(
    DEPTHWISE, "depthwise_conv2d_native", f"input filter strides padding {WINDOW}"
)("""
    Convolve each channel with its own filters.

    >>> images, filters = dv.ones([1, 1, 1, 2]), dv.ones([1, 1, 2, 3])
    >>> depthwise_conv2d_native(images, filters, 1, "SAME").shape.as_list()
    [1, 1, 1, 6]
    """)
depthwise_conv2d_native_backprop_input = _for_images(
    DEPTHWISE,
    "depthwise_conv2d_native_backprop_input",
    f"input_sizes filter out_backprop strides padding {WINDOW}",
    "dy, filter = [[[[1.0, 1.0]]]], [[[[2.0], [3.0]]]]\n"
    "dx = depthwise_conv2d_native_backprop_input([1, 1, 1, 2], filter, dy, 1, 'SAME')\n"
    "dx.numpy().ravel().tolist() -> [2.0, 3.0]",
)
depthwise_conv2d_native_backprop_filter = _for_filter(
    DEPTHWISE,
    "depthwise_conv2d_native_backprop_filter",
    f"input filter_sizes out_backprop strides padding {WINDOW}",
    "dy, images = [[[[1.0, 2.0]]]], [[[[5.0, 7.0]]]]\n"
    "dw = depthwise_conv2d_native_backprop_filter(images, [1, 1, 2, 1], dy, 1, 'SAME')\n"
    "dw.numpy().ravel().tolist() -> [5.0, 14.0]",
)
depthwise_conv2d_backprop_input = depthwise_conv2d_native_backprop_input
depthwise_conv2d_backprop_filter = depthwise_conv2d_native_backprop_filter

# -- volumes -----------------------------------------------------------------------------------

WINDOW3D = "data_format='NDHWC' dilations=(1,1,1,1,1) name"

conv3d = _forward(
    CONV3D, "conv3d", f"input filter=None strides=None padding=None {WINDOW3D} filters"
)("""
    Convolve volumes with a filter (cross-correlation).

    >>> volume, filter = dv.ones([1, 3, 2, 2, 1]), dv.ones([2, 2, 2, 1, 1])
    >>> conv3d(volume, filter, strides=1, padding="VALID").numpy().ravel().tolist()
    [8.0, 8.0]
    """)
conv3d_backprop_filter = _for_filter(
    CONV3D,
    "conv3d_backprop_filter",
    f"input filter_sizes out_backprop strides padding {WINDOW3D}",
    "dy, volumes = [[[[[2.0]]]]], [[[[[5.0], [7.0]]]]]\n"
    'conv3d_backprop_filter(volumes, [1, 1, 2, 1, 1], dy, 1, "VALID").numpy().ravel().tolist() -> '
    "[10.0, 14.0]",
)
conv3d_backprop_filter_v2 = conv3d_backprop_filter
conv3d_transpose = _transpose(
    CONV3D,
    "conv3d_transpose",
    "value filter=None output_shape=None strides=None padding='SAME' data_format='NDHWC' name "
    "input filters dilations",
)("""
    Apply the transpose of `conv3d`, often called deconvolution.

    >>> value, filter = dv.ones([1, 1, 1, 1, 1]), dv.ones([2, 2, 2, 1, 1])
    >>> conv3d_transpose(value, filter, [1, 2, 2, 2, 1], strides=2).numpy().sum().item()
    8.0
    """)
