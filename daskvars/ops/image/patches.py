"""Patches of images: what windows see, as the channels of one pixel each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from daskvars import shapes
from daskvars.graph.definitions.opdef import OpDef, Spec
from daskvars.graph.definitions.patterns import Contraction
from daskvars.graph.interpreter import apply
from daskvars.graph.records import attribute_kinds as kinds_of
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.kernels.image import patches as kernels
from daskvars.kernels.nn.windows.sliding import windowed_shape
from daskvars.ops.nn.windows.arguments import PerAxis, image_shape, image_sizes, of_batch, per_axis
from daskvars.ops.rules import axes
from daskvars.ops.rules.axes import either
from daskvars.shapes import Shape

_KINDS = {
    "ksizes": kinds_of.INTS,
    "strides": kinds_of.INTS,
    "rates": kinds_of.INTS,
    "padding": kinds_of.TEXT,
}


def _options(op: Operation) -> dict[str, Any]:
    return {name: op.attrs[name] for name in _KINDS}


def _patched(inputs: Sequence[Spec], *, ksizes: Any, rates: Any, **options: Any) -> Spec:
    shape = image_shape(inputs[0], "images")
    depth = None if shape[3] is None else shape[3] * ksizes[1] * ksizes[2]
    found = windowed_shape(shape, ksizes[1:3], depth, dilations=rates, **options)
    return Spec(inputs[0].dtype, found)


PATCHES = OpDef(
    "ExtractImagePatches",
    "images:R",
    infer=_patched,
    pattern=Contraction("n___->n___", None),
    kernel=kernels.extract_image_patches,
    gradient=lambda op, dy: apply(
        PATCHES_GRAD, dy, input_shape=image_sizes(op.inputs[0]), **_options(op)
    ),
    attributes=_KINDS,
)


def _pictures(
    inputs: Sequence[Spec], *, input_shape: Shape, operands: Sequence[str] = (), **options: Any
) -> Spec:
    batch = image_shape(inputs[0], "grads")[0]
    wanted = image_shape(Spec(inputs[0].dtype, input_shape), "input_shape")
    if not shapes.compatible((batch,), wanted[:1]):
        raise ValueError(f"{batch} images of patches do not fit {shapes.show(wanted)}")
    return of_batch(inputs[0].dtype, wanted, batch)


PATCHES_GRAD: OpDef = OpDef(
    "ExtractImagePatchesGrad",
    "grads:R",
    infer=_pictures,
    pattern=Contraction("n___->n___", None),
    kernel=kernels.extract_image_patches_grad,
    **axes.shaped_by("input_shape"),
    gradient=lambda op, g: apply(PATCHES, g, **_options(op)),
    attributes={**_KINDS, "input_shape": kinds_of.SHAPE},
)


def extract_image_patches(
    images: TensorLike,
    ksizes: PerAxis | None = None,
    strides: PerAxis | None = None,
    rates: PerAxis | None = None,
    padding: str | None = None,
    name: str | None = None,
    sizes: PerAxis | None = None,
) -> Tensor:
    """Return what windows see of images.

    Args:
      images: [batch, height, width, channels] real.
      ksizes: size of a window: an int, two, or four, [1, rows, columns, 1].
      strides: distance between windows, likewise.
      rates: distance between the pixels that a window sees, likewise.
      padding: "SAME" or "VALID".
      name: name of the operation, by default "ExtractImagePatches".
      sizes: the new name of `ksizes`.

    Returns:
      [batch, rows, columns, window height * window width * channels] of the dtype of `images`.

    Raises:
      ValueError: the rank is not 4, or a window is larger than the images.

    Source: TensorFlow 1.15, ``tf.image.extract_image_patches``.

    >>> image = dv.reshape(dv.range(9.0), [1, 3, 3, 1])
    >>> extract_image_patches(image, 2, 1, 1, "VALID").numpy()[0, 0, 0].tolist()
    [0.0, 1.0, 3.0, 4.0]
    """
    if padding not in ("SAME", "VALID"):
        raise ValueError(f"padding must be 'SAME' or 'VALID', got {padding!r}")
    return apply(
        PATCHES,
        images,
        name=name,
        ksizes=per_axis(either(sizes, ksizes, "sizes", "ksizes"), "NHWC", "ksizes"),
        strides=per_axis(strides, "NHWC", "strides"),
        rates=per_axis(rates, "NHWC", "rates"),
        padding=padding,
    )
