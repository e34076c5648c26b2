"""Families of convolutions: one with its two gradients, as ops, in two and three dimensions.

A convolution is linear in image and filter, so its two gradients are each other's and its own:
one family of three ops is closed under differentiation. The batch may be cut; so may the channels
of `conv2d`, as those of a matrix product.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from daskvars import shapes
from daskvars.graph.definitions.opdef import OpDef, Spec
from daskvars.graph.definitions.patterns import Attrs, Contraction, RankedShapes
from daskvars.graph.indexed_slices import Gradients
from daskvars.graph.interpreter import apply
from daskvars.graph.tensor import Operation, Tensor
from daskvars.kernels.nn import convolution, convolution3d, depthwise
from daskvars.kernels.nn.windows.sliding import channels, conv_shape, depthwise_conv2d_shape
from daskvars.ops.array.constant import full_shape
from daskvars.ops.nn.windows.arguments import (
    PaddingLike,
    PerAxis,
    check_equal,
    image_shape,
    image_sizes,
    of_batch,
    per_axis,
    space_format,
    window_padding,
)
from daskvars.ops.rules import axes
from daskvars.shapes import Shape


def _options(op: Operation) -> dict[str, Any]:
    return {key: op.attrs[key] for key in ("strides", "padding", "dilations", "data_format")}


class Convolution:
    """A convolution and its gradients with respect to images and filter, as three ops.

    Args:
      shape_rule: shape of the result from those of images and filter.
      kernel: name of the convolution's kernel, and of those of its gradients before
        "_backprop_input" and "_backprop_filter".
      letters: labels of images, filter and result, channels last.
      version: ending of the types of the gradients.
    """

    def __init__(
        self,
        type: str,
        shape_rule: Callable[..., tuple],
        kernels: ModuleType,
        kernel: str,
        letters: tuple[str, str, str],
        version: str = "",
    ) -> None:
        self.shape_rule = shape_rule
        self.letters = letters
        self.rank = len(letters[0])
        self.forward = OpDef(
            type,
            "input:D, filter:D",
            infer=self._forward_spec,
            pattern=self._access(0, 1, 2),
            kernel=getattr(kernels, kernel),
            gradient=self._forward_gradient,
        )

        def backward(
            part: str, signature: str, access: Contraction, infer: Any, gradient: Any
        ) -> OpDef:
            return OpDef(
                f"{type}Backprop{part.title()}{version}",
                signature,
                infer=infer,
                pattern=access,
                kernel=getattr(kernels, f"{kernel}_backprop_{part}"),
                gradient=gradient,
                **axes.shaped_by(f"{part}_shape"),
            )

        images = self._access(1, 2, 0), self._images_spec, self._images_gradient
        self.backward_images = backward("input", "filter:D, out_backprop:D", *images)
        filters = self._access(0, 2, 1), self._filter_spec, self._filter_gradient
        self.backward_filter = backward("filter", "input:D, out_backprop:D", *filters)

    def _access(self, left: int, right: int, out: int) -> Contraction:
        """Return the pattern of an op on two of (images, filter, result) that gives the third."""

        def subscripts(inputs: RankedShapes, attrs: Attrs) -> str:
            terms = list(self.letters)
            if attrs["data_format"][1] == "C":
                for i in (0, 2):
                    terms[i] = terms[i][0] + terms[i][-1] + terms[i][1:-1]
            return f"{terms[left]},{terms[right]}->{terms[out]}"

        # For each element of the result the filter's window, and all inputs if it mixes them.
        mixes = self.letters[1][-2:] == "io"
        filter, result = (-1 if n == out else (left, right).index(n) for n in (1, 2))
        taps = [(filter, dim) for dim in range(self.rank - (1 if mixes else 2))]
        work = (*taps, *((result, dim) for dim in range(self.rank)))
        return Contraction(subscripts, work=work, takes_any_batch=True)

    def options(
        self,
        strides: PerAxis | None,
        padding: PaddingLike,
        dilations: PerAxis | None,
        data_format: str | None,
    ) -> dict[str, Any]:
        """Return the attributes from what a user gives for them.

        Raises:
          ValueError: one of them is none of what there is for this number of dimensions.
        """
        data_format = space_format(data_format, self.rank)
        return {
            "strides": per_axis(strides, data_format, "strides"),
            "padding": window_padding(padding, self.rank),
            "dilations": per_axis(dilations, data_format, "dilations"),
            "data_format": data_format,
        }

    # -- shapes --------------------------------------------------------------------------------

    def _shape(self, spec: Spec, what: str = "input") -> tuple:
        return image_shape(spec, what, self.rank)

    def _result(self, image: tuple, w: tuple, **options: Any) -> tuple:
        check_equal(
            channels(image, options["data_format"]),
            w[-2],
            f"channels of the input {shapes.show(image)} and of the filter {shapes.show(w)}",
        )
        return self.shape_rule(image, w, **options)

    def _checked(self, image: tuple, w: tuple, dy: tuple, **options: Any) -> None:
        found = self._result(image, w, **options)
        if not shapes.compatible(found, dy):
            raise ValueError(
                f"Size of out_backprop doesn't match computed: actual = {shapes.show(dy)}, "
                f"computed = {shapes.show(found)} from an input of shape {shapes.show(image)} and "
                f"a filter of shape {shapes.show(w)}"
            )

    def _forward_spec(self, inputs: Sequence[Spec], **options: Any) -> Spec:
        image, w = self._shape(inputs[0]), self._shape(inputs[1], "filter")
        return Spec(inputs[0].dtype, self._result(image, w, **options))

    def _images_spec(
        self,
        inputs: Sequence[Spec],
        *,
        input_shape: Shape,
        operands: Sequence[str] = (),
        **options: Any,
    ) -> Spec:
        w, dy = self._shape(inputs[0], "filter"), self._shape(inputs[1], "out_backprop")
        image = self._shape(Spec(inputs[1].dtype, input_shape), "input_sizes")
        self._checked(image, w, dy, **options)
        return of_batch(inputs[1].dtype, image, dy[0])

    def _filter_spec(
        self,
        inputs: Sequence[Spec],
        *,
        filter_shape: Shape,
        operands: Sequence[str] = (),
        **options: Any,
    ) -> Spec:
        image, dy = self._shape(inputs[0]), self._shape(inputs[1], "out_backprop")
        w = self._shape(Spec(inputs[0].dtype, filter_shape), "filter_sizes")
        self._checked(image, w, dy, **options)
        return Spec(inputs[0].dtype, w)

    # -- gradients -----------------------------------------------------------------------------

    def _forward_gradient(self, op: Operation, dy: Tensor) -> Gradients:
        x, w = op.inputs
        return self._for_images(op, w, dy, x), self._for_filter(op, x, dy, w)

    def _images_gradient(self, op: Operation, g: Tensor) -> Gradients:
        w, dy = op.inputs[:2]
        return self._for_filter(op, g, dy, w), apply(self.forward, g, w, **_options(op))

    def _filter_gradient(self, op: Operation, g: Tensor) -> Gradients:
        x, dy = op.inputs[:2]
        return self._for_images(op, g, dy, x), apply(self.forward, x, g, **_options(op))

    def _for_images(self, op: Operation, w: Tensor, dy: Tensor, x: Tensor) -> Tensor:
        return apply(self.backward_images, w, dy, input_shape=image_sizes(x), **_options(op))

    def _for_filter(self, op: Operation, x: Tensor, dy: Tensor, w: Tensor) -> Tensor:
        return apply(self.backward_filter, x, dy, filter_shape=full_shape(w), **_options(op))


CONV2D = Convolution("Conv2D", conv_shape, convolution, "conv2d", ("n__i", "__io", "n__o"))
CONV3D = Convolution(
    "Conv3D", conv_shape, convolution3d, "conv3d", ("n___i", "___io", "n___o"), "V2"
)
DEPTHWISE = Convolution(
    "DepthwiseConv2dNative",
    depthwise_conv2d_shape,
    depthwise,
    "depthwise_conv2d",
    ("n___", "____", "n___"),
)
